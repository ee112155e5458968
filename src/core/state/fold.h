/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_FOLD_H
#define CORE_STATE_FOLD_H

/* fold - what changes the state: for state_*.c, fold_*.c, snapshot_load.c and tests only
 *
 * state_apply() dispatches to the folds, one for each kind of subject. What several of them need
 * is below, by the file that has it. Files nearer to the top of this list use those below them:
 *
 *   state_apply     one event
 *   fold_*          events about machines, times, jobs, attempts
 *   state_standing  where a job stands       state_measure   what follows from machines and pools
 *   state_times     what windows change      state_charge    what leases take and cost
 *   state_link      lists and indices        state           the rest: finds and describes
 */

#include "core/state/state.h"

int fold_world(struct state *state, const struct event *event, struct error *err);
int fold_agenda(struct state *state, const struct event *event, struct error *err);
int fold_job(struct state *state, const struct event *event, struct error *err);

/* Events of one attempt of a job. */
int fold_grant(struct state *state, struct job *job, const struct event_grant *event,
               struct error *err);
void fold_stop(struct state *state, struct job *job, const struct event_stop *event);
void fold_started(struct state *state, struct job *job, const struct event_started *event);
void fold_assigned(struct state *state, struct job *job, const struct event_assigned *event);
void fold_ended(struct state *state, struct job *job, const struct event_ended *event);
void fold_checkpoint(struct state *state, struct job *job, uint32_t attempt);

/* ---- state_standing.c ---- */

/* The job changes to this job state: indices, counts and the demand for GPUs follow. */
void state_become(struct state *state, struct job *job, enum job_state to);
/* A job that holds nothing and has not ended is held, waits or is queued, and on_job is told. */
void state_settle(struct state *state, struct job *job);
/* End the job, and the jobs with a need that can no longer be met. */
void state_end_job(struct state *state, struct job *job, enum job_result result);
/* All members of the job run for the first time: its groups count it, its dependents may go on. */
void state_note_start(struct state *state, struct job *job);
void state_count_end(struct state *state, const struct job *job, int sign); /* in its groups */
void state_count_wanted(struct state *state, const struct job *job, int sign);
void state_notify(struct state *state, struct job *job, bool is_gone); /* call on_job */
void job_clear_end(struct job *job); /* forget how the attempt before ended */

/* Its lease has the labels of its class. */
void state_mark_lease(struct state *state, struct job *job);

/* ---- state_measure.c ---- */

/* Properties of nodes, of what is reported and what settings say of them. */
void state_settle_nodes(struct state *state);
void state_measure(struct state *state); /* recompute capacity and the devices of static pools */
/* Around a change of a device: capacity without it, then with what it is now. */
void state_remove_device(struct state *state, uint32_t number);
void state_insert_device(struct state *state, uint32_t number);

/* ---- state_times.c ---- */

void state_pass_time(struct state *state, usec_t until); /* over the edges of windows on the way */
void state_set_times(struct state *state);      /* recompute what windows change, as of now */
void state_renew_accounts(struct state *state); /* where a new period has begun */

/* ---- state_charge.c ---- */

void state_advance_clock(struct state *state);                /* the tariff's clock, to now */
void state_charge_payer(struct state *state, uint32_t payer); /* its accounts, up to now */
/* The user of the job is a payer in each of its queues that has a budget for the user. */
void state_claim_payers(struct state *state, const struct job *job);
void state_follow_budgets(struct state *state, uint32_t queue); /* they have changed */
/* The cost of a job up to now; begins: from now on it costs what its lease costs. */
void state_charge_job(struct state *state, struct job *job, bool begins);
void state_reprice(struct state *state); /* prices have changed: they hold from now on */
void state_charge(struct state *state, struct job *job, int sign); /* up to now, then count */
/* Take the job's lease from what is free (sign 1), or give it back (-1). */
void state_count(struct state *state, struct job *job, int sign);
void state_recount(struct state *state); /* recompute used amounts of queues, users and groups */
/* Set the shares of a lease that is a part of another one: that one's shares in proportion. */
void state_scale_shares(const struct state *state, struct lease *lease, const struct lease *from);

/* ---- state_link.c ---- */

/* The indices of a job that changes from one job state to another; a new job: from ENDED. */
void state_note_state(struct state *state, struct job *job, enum job_state from, enum job_state to);
void state_link_job(struct state *state, struct job *job);
void state_link_group(struct state *state, struct group *group);

/* ---- state.c ---- */

void state_note_node_prices(struct state *state);             /* those that count */
void state_name_node(struct state *state, uint32_t number);   /* a new one has its name */
void state_name_device(struct state *state, uint32_t number); /* the same */
uint32_t state_claim_user(struct state *state, const char *name);
uint32_t state_add_payer(struct state *state, uint32_t queue, uint32_t user); /* a new one */
int state_window_of(struct state *state, const char *name, uint32_t *ret, struct error *err);
void string_set(char **where, const char *string); /* a copy; of NULL: empty */
void string_put(char **where, char *string);       /* taken over */
/* Copies; NULL of an empty one. The second is for words that may have bytes of a user's program,
 * which older journals and snapshots have unchecked. */
char *string_or_null(const char *string);
char *string_clean_or_null(const char *string);

#endif
