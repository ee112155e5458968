/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_OUTPUT_CHECKS_H
#define DAEMON_OUTPUT_CHECKS_H

/* output_checks - the end of a job that declares outputs is reported after they were checked
 *
 * A process that has become the job's user looks at the files (node/job_outputs.h): they may be on
 * a file system that hangs. It is started at the end of the last member of the job, if all of them
 * succeeded, and until it has ended, that member has not. A daemon that is restarted gets the end
 * from the engine again.
 *
 *   tarnd --check-outputs UID GID
 *     descriptor 3: a file with the names (a/b), then with the reason
 *     environment: TARN_OUT, TARN_IN, TARN_STAGE
 *
 * Limits: a check that takes longer than OUTPUT_CHECK_MS fails the job
 */

#include <uv.h>

#include "core/journal/event.h"

enum { OUTPUT_CHECK_ARGS = 2, OUTPUT_CHECK_MS = 10 * 60 * 1000 };

struct hub;
struct output_checks;

struct output_checks *output_checks_create(uv_loop_t *loop, struct hub *hub, const char *state_dir);
/* Ends that are being checked are not reported. NULL is fine. */
void output_checks_destroy(struct output_checks *checks);

/* False: there is nothing to check, and the caller reports this event. */
bool output_checks_take(struct output_checks *checks, const struct event *ended);

int run_check_outputs(char *const *words);

#endif
