/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_ADMISSION_H
#define CONTROL_ADMISSION_H

/* admission - whether a queue takes a request at all */

#include "base/error.h"
#include "core/state/state.h"

/* The queue of that name, which takes jobs. Refused: no such queue (with the nearest name), or it
 * has queues below it. */
int admit_find_queue(const struct state *state, const char *name, uint32_t *ret, struct error *err);

/* REFUSED_NEVER, with the reason, when it could never run there. */
int admit_check(const struct state *state, const struct request *request, uint32_t queue,
                bool is_preemptible, struct error *err);

#endif
