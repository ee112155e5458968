/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/allowance.h"
#include "core/state/fold.h"

static void note_receipt(struct state *state, const struct event_receipt *event)
{
    receipt_log_add(&state->receipts, &(struct receipt){ .user = (char *)(uintptr_t)event->user,
                                                         .key = (char *)(uintptr_t)event->key,
                                                         .fingerprint = event->fingerprint,
                                                         .job = event->job,
                                                         .cron = event->cron,
                                                         .at = state->now });
}

/* It changes nothing itself. */
static void note_request(struct state *state, const struct event_audit *event)
{
    if (event->stored > 0 && event->user[0])
        allowance_take(state, state_claim_user(state, event->user), event->stored);
}

static void note_slack(struct state *state, const struct event_slack *event)
{
    if (event->least < 0)
        return;
    state->slack = (struct slack_choice){ .least = event->least,
                                          .at = state->now,
                                          .waited = event->waited,
                                          .mean = event->mean,
                                          .mean_other = event->mean_other,
                                          .longest = event->longest,
                                          .longest_other = event->longest_other };
}

int state_apply(struct state *state, const struct event *event, struct error *err)
{
    if (event->at >= state->agenda.next_edge)
        state_pass_time(state, event->at);
    if (event->at > state->now)
        state->now = event->at;
    if (event->kind == EVENT_CHANGE)
        return config_log_note(&state->config_log, &event->change, state->now, err);
    if (event->kind == EVENT_AUDIT) {
        note_request(state, &event->audit);
        return 0;
    }
    if (event->kind == EVENT_TOKEN)
        return token_list_put(&state->tokens, &event->token, err);
    if (event->kind == EVENT_TOKEN_REMOVE)
        return token_list_remove(&state->tokens, event->token_remove.id, err);
    if (event->kind == EVENT_RECEIPT) {
        note_receipt(state, &event->receipt);
        return 0;
    }
    if (event->kind == EVENT_SLACK) {
        note_slack(state, &event->slack);
        return 0;
    }
    if (!event_is_of_world(event->kind))
        return fold_job(state, event, err);
    state->world++;
    return fold_world(state, event, err);
}
