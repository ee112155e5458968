/* SPDX-License-Identifier: Apache-2.0 */
#include "node/limit_watch.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "io/log.h"

#define IDLE_RULE   "idle policy"
#define MEMORY_RULE "gpu memory"

enum { SLACK_MIB = 64, SLACK_PART = 50 };

static const struct watch_rules *rules_of(const struct limit_watch *limits)
{
    return &node_port_state(limits->port)->settings.watch;
}

static void warn(struct limit_watch *limits, const struct job *job, enum warning kind,
                 uint8_t count, int64_t amount)
{
    struct event event = { .kind = EVENT_WARN,
                           .warn = { .job = job->id,
                                     .attempt = job->run->attempt,
                                     .kind = (uint8_t)kind,
                                     .count = count,
                                     .amount = amount } };

    node_port_report(limits->port, &event);
}

static void cancel(struct limit_watch *limits, const struct job *job, const char *rule,
                   const char *reason)
{
    struct event event = { .kind = EVENT_CANCEL,
                           .cancel = { .job = job->id, .user = rule, .reason = reason } };

    log_line(LOG_NOTICE, "a job is stopped job=%" PRIu64 " reason='%s: %s'", job->id, rule, reason);
    node_port_report(limits->port, &event);
}

/* ---- idle ---- */

static bool is_exempt(const struct limit_watch *limits, const struct job *job)
{
    const struct state *state = node_port_state(limits->port);
    const struct watch_rules *rules = rules_of(limits);
    bool is_named = watch_names_have(rules->idle_exempt, state_user(state, job->user));

    for (uint32_t at = job->queue; !is_named && at != QUEUE_ROOT;
         at = state->queues.items[at].parent)
        is_named = watch_names_have(rules->idle_exempt, state->queues.items[at].name);
    return is_named;
}

static void stop_idle(struct limit_watch *limits, const struct job *job, usec_t idle)
{
    const struct watch_rules *rules = rules_of(limits);
    char buffer[UNITS_TEXT_SIZE], why[120];

    warn(limits, job, WARNING_IDLE, WARNING_LAST, idle);
    if (rules->idle_dry_run || rules->idle_action == IDLE_WARN) {
        log_line(LOG_NOTICE, "an idle job would be stopped job=%" PRIu64, job->id);
        return;
    }
    snprintf(why, sizeof(why), "its GPUs were idle for %s", units_format_duration(buffer, idle));
    if (rules->idle_action == IDLE_CANCEL) {
        cancel(limits, job, IDLE_RULE, why);
        return;
    }
    struct event event = { .kind = EVENT_REQUEUE,
                           .requeue = { .job = job->id, .user = IDLE_RULE } };
    log_line(LOG_NOTICE, "a job is requeued job=%" PRIu64 " reason='" IDLE_RULE ": %s'", job->id,
             why);
    node_port_report(limits->port, &event);
}

void limit_watch_idle(struct limit_watch *limits, const struct job *job, usec_t now)
{
    const struct watch_rules *rules = rules_of(limits);
    usec_t idle = tally_idle_ms(limits->tally, job->id) * USEC_PER_MS;
    usec_t second = (rules->idle_warn + rules->idle_stop) / 2;
    uint8_t warnings = job->run->idle_warnings;
    bool was_warned_lately = now - job->run->warned < watch_warned_least(rules);

    if (rules->idle_warn == 0 || is_exempt(limits, job))
        return;
    if (idle < rules->idle_warn) {
        if (warnings > 0 && idle < watch_idle_least(rules))
            warn(limits, job, WARNING_IDLE, 0, 0);
        return;
    }
    if (warnings == 0)
        warn(limits, job, WARNING_IDLE, 1, idle);
    else if (rules->idle_stop > 0 && warnings == 1 && idle >= second)
        warn(limits, job, WARNING_IDLE, 2, idle);
    else if (rules->idle_stop > 0 && warnings == 2 && idle >= rules->idle_stop &&
             !was_warned_lately)
        stop_idle(limits, job, idle);
}

/* ---- memory ---- */

/* Drivers round, and count some of their own. */
static bool is_too_much(const struct limit_hold *hold)
{
    return !hold->is_enforced && hold->given_mib > 0 && hold->memory_mib >= 0 &&
           hold->memory_mib > hold->given_mib + hold->given_mib / SLACK_PART + SLACK_MIB;
}

static struct limit_over *claim_over(struct limit_watch *limits, const struct limit_hold *hold,
                                     usec_t now)
{
    for (size_t i = 0; i < limits->over.count; i++) {
        struct limit_over *over = &limits->over.items[i];
        if (over->job == hold->job && over->device == hold->device)
            return over;
    }
    list_add(&limits->over, (struct limit_over){ hold->job, hold->device, now, false });
    return &limits->over.items[limits->over.count - 1];
}

static void judge_memory(struct limit_watch *limits, const struct limit_hold *hold, usec_t now)
{
    const struct job *job = state_job(node_port_state(limits->port), hold->job);
    const struct watch_rules *rules = rules_of(limits);
    usec_t grace = rules->memory_grace;
    struct limit_over *over = claim_over(limits, hold, now);
    char used[UNITS_TEXT_SIZE], given[UNITS_TEXT_SIZE], why[160];

    over->is_seen = true;
    if (!job || job->run->attempt != hold->attempt || job->state != JOB_RUNNING)
        return;
    if (job->run->memory_warnings == 0) {
        log_line(LOG_NOTICE, "a job uses more GPU memory than allocated job=%" PRIu64, job->id);
        warn(limits, job, WARNING_MEMORY, 1, hold->memory_mib);
    } else if (job->run->memory_warnings < WARNING_LAST && now - over->since >= grace) {
        snprintf(why, sizeof(why), "%s used, %s allocated",
                 units_format_mib(used, hold->memory_mib),
                 units_format_mib(given, hold->given_mib));
        warn(limits, job, WARNING_MEMORY, WARNING_LAST, hold->memory_mib);
        cancel(limits, job, MEMORY_RULE, why);
    }
}

void limit_watch_memory(struct limit_watch *limits, const struct limit_hold *holds, size_t count,
                        usec_t now)
{
    for (size_t i = 0; i < limits->over.count; i++)
        limits->over.items[i].is_seen = false;
    for (size_t i = 0; i < count; i++) {
        if (is_too_much(&holds[i]))
            judge_memory(limits, &holds[i], now);
    }
    for (size_t i = limits->over.count; i-- > 0;) {
        const struct limit_over *over = &limits->over.items[i];
        const struct job *job =
            over->is_seen ? NULL : state_job(node_port_state(limits->port), over->job);
        if (over->is_seen)
            continue;
        if (job && job->run->memory_warnings > 0 && job->run->memory_warnings < WARNING_LAST)
            warn(limits, job, WARNING_MEMORY, 0, 0);
        list_remove(&limits->over, i);
    }
}

void limit_watch_release(struct limit_watch *limits)
{
    list_release(&limits->over);
}
