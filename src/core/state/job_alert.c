/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/job_alert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put(char *ret, size_t size, const char *words)
{
    snprintf(ret, size, "%.*s", (int)size - 1, words);
}

/* ---- jobs ---- */

static struct alert_thing about(const struct state *state, const struct job *job, enum alert_of of)
{
    struct alert_thing thing = { .gpu = -1, .severity = HEALTH_WARNING, .job = job->id };

    put(thing.name, sizeof(thing.name), alert_of_names[of]);
    snprintf(thing.subject, sizeof(thing.subject), "job:%" PRIu64, job->id);
    put(thing.owner, sizeof(thing.owner), state_user(state, job->user));
    return thing;
}

static void add_idle(const struct state *state, const struct job *job, struct alert_things *ret)
{
    const struct watch_rules *rules = &state->settings.watch;
    struct alert_thing thing = about(state, job, ALERT_OF_IDLE);
    bool is_stopped = rules->idle_stop > 0 && rules->idle_action != IDLE_WARN;
    char after[UNITS_TEXT_SIZE];

    if (is_stopped && !rules->idle_dry_run)
        snprintf(thing.words, sizeof(thing.words),
                 "its GPUs are idle; it will be %s after %s of idle time",
                 rules->idle_action == IDLE_CANCEL ? "cancelled" : "requeued",
                 units_format_duration(after, rules->idle_stop));
    else
        put(thing.words, sizeof(thing.words), "its GPUs are idle");
    list_add(&ret->list, thing);
}

static void add_memory(const struct state *state, const struct job *job, struct alert_things *ret)
{
    struct alert_thing thing = about(state, job, ALERT_OF_MEMORY);

    put(thing.words, sizeof(thing.words),
        "it uses more GPU memory than allocated; tarn ends it if that continues");
    list_add(&ret->list, thing);
}

static void add_limit(const struct state *state, const struct job *job, usec_t now,
                      struct alert_things *ret)
{
    struct alert_thing thing = about(state, job, ALERT_OF_LIMIT);
    char limit[UNITS_TEXT_SIZE];

    if (!job_is_near_limit(job, now) || job->max_duration < ALERT_LIMIT_LEAST_S * USEC_PER_SEC)
        return;
    snprintf(thing.words, sizeof(thing.words), "it will be ended soon: its time limit is %s",
             units_format_duration(limit, job->max_duration));
    list_add(&ret->list, thing);
}

/* One is enough: where they differ, the first that is sick. */
static void add_device(const struct state *state, const struct job *job, struct alert_things *ret)
{
    const struct lease *lease = job->run->lease;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct device *device = &state->devices.items[lease->slices[i].device];
        struct alert_thing thing = about(state, job, ALERT_OF_DEVICE);
        if (!device->sick || !device->sick[0] || device->is_occupied)
            continue;
        thing.severity = HEALTH_CRITICAL;
        thing.gpu = device->index;
        put(thing.node, sizeof(thing.node), state->nodes.items[device->node].name);
        char sick[121];
        string_clean(sick, sizeof(sick), device->sick, strlen(device->sick));
        snprintf(thing.words, sizeof(thing.words), "it runs on a faulty GPU: %s", sick);
        list_add(&ret->list, thing);
        return;
    }
}

void alert_of_job(const struct state *state, const struct job *job, usec_t now,
                  struct alert_things *ret)
{
    if (!job_is_active(job) || !job->run->lease)
        return;
    if (job->run->idle_warnings > 0)
        add_idle(state, job, ret);
    if (job->run->memory_warnings > 0)
        add_memory(state, job, ret);
    add_limit(state, job, now, ret);
    add_device(state, job, ret);
}

/* ---- budgets ---- */

static void add_budget(const struct state *state, const struct payer *payer, enum account_kind kind,
                       const struct account *account, struct alert_things *ret)
{
    static const char *const kinds[ACCOUNTS] = { "money", "gpu_hours" };
    struct alert_thing thing = { .gpu = -1, .severity = HEALTH_WARNING };
    bool is_spent = account->spent >= account->most;
    bool is_user = payer->user != PAYER_ALL;
    const char *queue = state->queues.items[payer->queue].name;
    const char *user = is_user ? state_user(state, payer->user) : "";

    if (account->most == ACCOUNT_NO_BUDGET ||
        account->spent < account->most / 100 * ALERT_BUDGET_PART)
        return;
    put(thing.name, sizeof(thing.name), alert_of_names[ALERT_OF_BUDGET]);
    snprintf(thing.subject, sizeof(thing.subject), "queue:%.64s%s%.64s:%s", queue,
             is_user ? ":" : "", user, kinds[kind]);
    snprintf(thing.words, sizeof(thing.words), "%s%.64s%squeue %.64s has spent %s budget of %s",
             is_user ? "user " : "", user, is_user ? " of " : "", queue,
             is_spent  ? (is_user ? "their" : "its")
             : is_user ? "90 % of their"
                       : "90 % of its",
             kind == ACCOUNT_MONEY ? "money" : "GPU-hours");
    thing.severity = is_spent ? HEALTH_CRITICAL : HEALTH_WARNING;
    put(thing.owner, sizeof(thing.owner), user);
    list_add(&ret->list, thing);
}

void alert_of_budgets(const struct state *state, usec_t now, struct alert_things *ret)
{
    for (uint32_t i = 0; i < state->payers.items.count; i++) {
        const struct payer *payer = &state->payers.items.items[i];
        struct account accounts[ACCOUNTS];
        if (!payer_has_budget(payer))
            continue;
        state_accounts(state, i, now, accounts);
        for (enum account_kind kind = 0; kind < ACCOUNTS; kind++)
            add_budget(state, payer, kind, &accounts[kind], ret);
    }
}
