/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_FOLD_H
#define CORE_STATE_FOLD_H

/* fold - what changes the state: for state_*.c, fold_*.c, snapshot_load.c and tests only
 *
 * state_apply() dispatches to the folds, one for each kind of subject. What several of them need
 * is below, by the file that has it. Files nearer to the top of this list use those below them:
 *
 *   state_apply     one event
 *   fold_*          events about nodes, times, jobs, attempts
 *   state_standing  the state of a job       state_measure   what follows from nodes and pools
 *   state_times     what windows change      state_charge    use and cost of leases
 *   state_link      lists and indices        state           the rest: lookup and description
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

/* Change the job's state, and with it indices, counts and the demand for GPUs. */
void state_become(struct state *state, struct job *job, enum job_state to);
/* Make a job that holds nothing and has not ended held, waiting or queued, and call on_job. */
void state_settle(struct state *state, struct job *job);
/* End the job, and the jobs with a need that can no longer be met. */
void state_end_job(struct state *state, struct job *job, enum job_result result);
/* All members of the job run for the first time: count it in its groups, release its dependents. */
void state_note_start(struct state *state, struct job *job);
void state_count_end(struct state *state, const struct job *job, int sign); /* in its groups */
void state_count_wanted(struct state *state, const struct job *job, int sign);
void state_notify(struct state *state, struct job *job, bool is_gone); /* call on_job */
void job_clear_end(struct job *job); /* forget how the attempt before ended */

/* Set the labels of its lease to those of its class. */
void state_mark_lease(struct state *state, struct job *job);

/* ---- state_measure.c ---- */

/* Compute properties of nodes from what they report and from their settings. */
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
/* Make the job's user a payer in each of its queues that has a budget for the user. */
void state_claim_payers(struct state *state, const struct job *job);
void state_follow_budgets(struct state *state, uint32_t queue); /* after they have changed */
/* Charge a job up to now; begins: from now on at the rate of its lease. */
void state_charge_job(struct state *state, struct job *job, bool begins);
void state_reprice(struct state *state); /* prices have changed: apply them from now on */
void state_charge(struct state *state, struct job *job, int sign); /* up to now, then count */
/* Take the job's lease from what is free (sign 1), or give it back (-1). */
void state_count(struct state *state, struct job *job, int sign);
void state_recount(struct state *state); /* recompute used amounts of queues, users and groups */
/* Set the shares of a lease that is a part of `from`, in proportion to the shares of `from`. */
void state_scale_shares(const struct state *state, struct lease *lease, const struct lease *from);

/* ---- state_link.c ---- */

/* Update the indices for a change of a job's state; for a new job, from ENDED. */
void state_note_state(struct state *state, struct job *job, enum job_state from, enum job_state to);
void state_link_job(struct state *state, struct job *job);
/* From the jobs that the same job submitted. */
void state_unlink_submitted(struct state *state, const struct job *job);
void state_link_group(struct state *state, struct group *group);

/* ---- state.c ---- */

void state_note_node_prices(struct state *state);             /* those that apply */
void state_name_node(struct state *state, uint32_t number);   /* index the name of a new one */
void state_name_device(struct state *state, uint32_t number); /* the same for a device */
uint32_t state_claim_user(struct state *state, const char *name);
uint32_t state_add_payer(struct state *state, uint32_t queue, uint32_t user); /* a new one */
int state_window_of(struct state *state, const char *name, uint32_t *ret, struct error *err);
void string_set(char **where, const char *string); /* to a copy; NULL: to "" */
void string_put(char **where, char *string);       /* takes ownership */
/* Copies; NULL for an empty string. The second is for text that may contain bytes of a user's
 * program, which older journals and snapshots hold unchecked. */
char *string_or_null(const char *string);
char *string_clean_or_null(const char *string);

#endif
