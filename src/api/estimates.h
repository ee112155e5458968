/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_ESTIMATES_H
#define API_ESTIMATES_H

/* estimates - the one place from which every answer has its times
 *
 * They come from the forecast of the daemon. A job that is not in it (too far away for the
 * processor time that a forecast may take, or submitted while none may be made) has the estimate of
 * the list schedule (sched/explain/estimate.h).
 */

#include "api/call.h"

/* When a waiting job starts. False: it does not wait, is held, or can never run. */
bool api_start(const struct api *api, const struct job *job, struct start_estimate *ret);
/* When a job or a group has ended. False: not known. */
bool api_end(const struct api *api, uint64_t id, struct end_estimate *ret);

/* True: the forecast is fresh. False: the waiter is called when it is. */
bool api_forecast_is_fresh(const struct api *api, bool is_of_waiting,
                           struct forecast_waiter *waiter);

#endif
