/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_SOONER_H
#define API_SOONER_H

/* sooner - changes of a waiting job with which it would start sooner, confirmed by the forecast
 *
 * Each candidate (sched/explain/advice.h) is submitted to a copy of the daemon in place of the job,
 * and the forecast of that copy says when it starts, as `tarn when` would. Nodes that
 * `tarn scale` advises for the job are added as `tarn whatif --add-nodes` adds them. Only those
 * that start much earlier are shown, with that time.
 */

#include "api/call.h"

/* Add the changes to the answer about a job: to its list "sooner" and, if it has lines, as a line.
 * Takes the view over. Returns it, or NULL if the answer comes later. */
json_t *sooner_answer(struct call *call, const struct job *job, json_t *view);

#endif
