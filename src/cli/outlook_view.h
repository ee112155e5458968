/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OUTLOOK_VIEW_H
#define CLI_OUTLOOK_VIEW_H

/* outlook_view - what if and a replay as people read them: as it is, and with the change */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A line a queue: waits, what preemption cost; only where something is to be said. */
void outlook_print_queues(const json_t *outlook);
/* Those that are new, and the most changed, at most so many. is_past: they waited, rather than will
 * wait. Returns how many. */
size_t outlook_print_jobs(const json_t *outlook, size_t most, bool is_past);
/* How many rows of jobs a screen has room for, beside the rest of the answer. */
size_t outlook_rows(const json_t *outlook);

#endif
