/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_PHRASES_H
#define CONTROL_PHRASES_H

/* phrases - amounts, jobs and refusals as text for people */

#include "base/text.h"
#include "core/job/why.h"
#include "core/state/state.h"

const char *plural(int64_t count);                                  /* "" or "s" */
void say_milli(struct text *text, int64_t milli, const char *unit); /* "0.5 gpus" */
void say_mib(struct text *text, int64_t mib);
/* "4 gpus", "2 h100", "64 GiB of memory" */
void say_amount(const struct state *state, struct text *text, uint32_t resource, int64_t amount);
/* "7", "7_3" */
void say_job(const struct state *state, const struct job *job, struct text *text);
/* A task of an array by its index; NULL: there is none. */
const struct job *find_task(const struct state *state, const struct group *group, uint32_t index);

/* The request to which a reason applies. For a role without a place, its request; adds its name. */
const struct request *say_role(const struct request *request, const struct why *why,
                               struct text *text);
/* "zone=a excludes n2, n3; fast excludes no node": the conditions of a request. */
void where_say(const struct state *state, const struct request *request, struct text *text);

/* Why a request can never run: "8 gpus: no node has more than 4". */
void never_say(const struct state *state, const struct request *request, const struct why *why,
               struct text *text);

#endif
