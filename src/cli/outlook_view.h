/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OUTLOOK_VIEW_H
#define CLI_OUTLOOK_VIEW_H

/* outlook_view - formats a what-if or a replay for people: without and with the change */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* One line per queue: waits and cost of preemption; only queues with a value. */
void outlook_print_queues(const json_t *outlook);
/* New jobs and those with the largest changes, at most `most`. is_past: use the past tense. Returns
 * the number. */
size_t outlook_print_jobs(const json_t *outlook, size_t most, bool is_past);
/* The number of job rows that fit on the screen with the rest of the answer. */
size_t outlook_rows(const json_t *outlook);

#endif
