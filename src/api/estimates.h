/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_ESTIMATES_H
#define API_ESTIMATES_H

/* estimates - the single source of start and end times for all answers
 *
 * The times come from the forecast of the daemon. A job may be missing from it, because it is too
 * far in the future for the forecast's processor time, or was submitted while no forecast could be
 * made. Then the estimate of the list schedule is used (sched/explain/estimate.h).
 */

#include "api/call.h"

/* When a waiting job starts. False: it does not wait, is held, or can never run. */
bool api_start(const struct api *api, const struct job *job, struct start_estimate *ret);
/* The same beside the reason why it waits. False also where the reason rules a start out. */
bool api_start_beside(const struct api *api, const struct job *job, const struct why *why,
                      struct start_estimate *ret);
/* When a job or a group will end. False: not known. */
bool api_end(const struct api *api, uint64_t id, struct end_estimate *ret);

/* The patience of an answer to a question about the future. */
#define FORECAST_PATIENCE (500 * USEC_PER_MS)

/* True: the forecast is fresh, or takes too long. False: the waiter is called when it is. */
bool api_forecast_is_fresh(const struct api *api, bool is_of_waiting,
                           struct forecast_waiter *waiter);

#endif
