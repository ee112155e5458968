/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_VIEW_VIEW_H
#define API_VIEW_VIEW_H

/* view - the state as JSON, and the sentences in it
 *
 * Views only read. Each returns a new reference. Order of the files, lowest first:
 * values, start, why_times, why, the parts of a job (moves, usage, warnings), job, row.
 *
 * Spec: api/contract/schemas.def
 */

#include "api/call.h"
#include "control/phrases.h"

struct whatif_nodes;

/* values.c */
json_t *view_time(const struct api *api, usec_t at); /* ISO 8601 in UTC, null for 0 and never */
json_t *view_edge(const struct api *api, usec_t at); /* the same, of whole seconds of the clock */
json_t *view_seconds(usec_t duration);               /* null: never */
json_t *view_milli(int64_t milli);
json_t *number_or_null(int64_t number); /* null: 0 or less */
json_t *text_or_null(const char *text); /* null: NULL, empty, not UTF-8 */
/* The same of one text; new. */
char *view_words(const struct api *api, const char *words);
/* Without the labels of the engine, and conditions on them. */
void view_own(const struct api *api, json_t *labels);
/* What labels of the engine in these texts, or their parts, stand for instead of them. */
void view_spell(const struct api *api, json_t *texts);
json_t *view_isolation(const struct engine_isolation *isolation);
bool is_no_more(const struct device *device);

/* view_start.c: when a waiting job will start. */
json_t *view_start(const struct api *api, const struct start_estimate *start);
json_t *view_end(const struct api *api, const struct end_estimate *end);
void say_end(const struct api *api, const struct end_estimate *end, struct text *text);
/* "in about 25 min (between 10 min and 1 h 10 min, 8 of 10 times)" */
void say_start(const struct api *api, const struct start_estimate *start, struct text *text);
struct advice;
/* A change that would start the job sooner. */
json_t *view_advice(const struct api *api, const struct advice *advice);
/* Nodes of a type with which it would start then; rate: their price per hour, in millionths. */
json_t *view_node_advice(const struct api *api, const struct whatif_nodes *nodes, int64_t rate,
                         usec_t start);

/* why_times.c: reasons of time and money; false: the reason is of another kind. */
/* "maintenance service", "reservation demo, for user ana," */
void say_reservation_name(const struct reservation *reservation, struct text *text);
bool why_say_time(const struct api *api, const struct why *why, struct text *text);
void view_why_time(const struct api *api, const struct why *why, json_t *view);
/* Add the budgets of a queue, and of users in it, to its view. */
void view_accounts(const struct api *api, uint32_t queue, json_t *view);

/* view_occupied.c: GPUs that jobs have which tarn does not know, "; "-separated: "2 gpus of n1 are
 * in use by Slurm job 12". node: of this one only, without its name; OCCUPIED_ANYWHERE: of all. */
#define OCCUPIED_ANYWHERE UINT32_MAX
/* "; node a is drained (disk full); gpus b/0-6 are faulty (XID 79)", up to eight causes. */
void say_unusable(const struct state *state, struct text *text);
void say_occupied(const struct state *state, uint32_t node, struct text *text);

/* view_why.c: the reason in words, without a full stop: "4 gpus wanted, 2 free". */
void why_say(const struct api *api, const struct job *job, const struct why *why, uint32_t ahead,
             struct text *text);
json_t *view_why(const struct api *api, const struct job *job, const struct why *why,
                 uint32_t ahead);

/* view_choice.c: why the job has its model; null: there was no choice. */
json_t *view_model_choice(const struct api *api, const struct job *job);
struct model_offer;
json_t *view_model_offer(const struct model_offer *offer);

/* view_moves.c: size and range of an elastic gang; null for others. */
json_t *view_elastic(const struct api *api, const struct job *job);
/* The last resize and its reason; null: never. */
json_t *view_resized(const struct api *api, const struct job *job);

/* The last move, and the last departure from a faulty device; null: never. */
json_t *view_moved(const struct api *api, const struct job *job);
json_t *view_rescued(const struct api *api, const struct job *job);
/* Moves of other jobs that would make room for a waiting one; null, and no text: none. */
json_t *view_moves(const struct api *api, struct job *job, struct text *ret_text);

/* view_usage.c: GPU usage and diagnosis; null: not known. */
json_t *view_usage(const struct api *api, const struct job *job);

/* view_warnings.c: warnings about a running job: a list of {name, text}. */
json_t *view_warnings(const struct api *api, const struct job *job);

/* view_job.c */
json_t *view_job(const struct api *api, const struct job *job, bool is_whole);
/* Time since it could have run; after a retry, since the retry. */
usec_t view_waited(const struct api *api, const struct job *job);
usec_t view_ran(const struct api *api, const struct job *job); /* USEC_NEVER: it did not run */
int64_t view_gpu_milli(const struct state *state, const struct job *job);
bool view_is_synthetic(const struct state *state, const struct job *job);
json_t *view_gpu_indices(const struct state *state, const struct job *job);
json_t *view_gpu_nodes(const struct api *api, const struct job *job);
/* The devices of a lease by node; NULL: none. */
json_t *view_lease_nodes(const struct state *state, const struct lease *lease);
json_t *view_preempted_for(const struct api *api, const struct job *job);
json_t *view_failed_rank(const struct api *api, const struct job *job);
json_t *view_group(const struct api *api, const struct group *group);
json_t *view_gpus_given(const struct state *state);
json_t *view_counts(const struct state *state); /* jobs by state */

/* view_row.c: a job as a row of a table, as bytes; absent values are omitted. first to last: tasks
 * of an array that wait for the same reason. */
void view_row(const struct api *api, const struct job *first, const struct job *last,
              struct text *out);

#endif
