/* SPDX-License-Identifier: Apache-2.0 */
#include "node/limit_watch.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "io/log.h"

enum { SLACK_MIB = 64, SLACK_PART = 50 };

static const struct watch_rules *rules_of(const struct warden *warden)
{
    return &node_port_state(warden->port)->settings.watch;
}

static void warn(struct warden *warden, const struct job *job, enum warning kind, uint8_t count,
                 int64_t amount)
{
    struct event event = { .kind = EVENT_WARN,
                           .warn = { .job = job->id,
                                     .attempt = job->run->attempt,
                                     .kind = (uint8_t)kind,
                                     .count = count,
                                     .amount = amount } };

    node_port_report(warden->port, &event);
}

static void cancel(struct warden *warden, const struct job *job, const char *why)
{
    struct event event = { .kind = EVENT_CANCEL, .cancel = { .job = job->id, .user = why } };

    log_line(LOG_NOTICE, "a job is stopped job=%" PRIu64 " reason='%s'", job->id, why);
    node_port_report(warden->port, &event);
}

/* ---- idle ---- */

static bool is_exempt(const struct warden *warden, const struct job *job)
{
    const struct state *state = node_port_state(warden->port);
    const struct watch_rules *rules = rules_of(warden);
    bool is_named = watch_names_have(rules->idle_exempt, state_user(state, job->user));

    for (uint32_t at = job->queue; !is_named && at != QUEUE_ROOT;
         at = state->queues.items[at].parent)
        is_named = watch_names_have(rules->idle_exempt, state->queues.items[at].name);
    return is_named;
}

static void stop_idle(struct warden *warden, const struct job *job, usec_t idle)
{
    const struct watch_rules *rules = rules_of(warden);
    char buffer[UNITS_TEXT_SIZE], why[120];

    warn(warden, job, WARNING_IDLE, WARNING_LAST, idle);
    if (rules->idle_dry_run || rules->idle_action == IDLE_WARN) {
        log_line(LOG_NOTICE, "an idle job would be stopped job=%" PRIu64, job->id);
        return;
    }
    snprintf(why, sizeof(why), "idle policy: its GPUs did nothing for %s",
             units_format_duration(buffer, idle));
    if (rules->idle_action == IDLE_CANCEL) {
        cancel(warden, job, why);
        return;
    }
    struct event event = { .kind = EVENT_REQUEUE, .requeue = { .job = job->id } };
    log_line(LOG_NOTICE, "a job is requeued job=%" PRIu64 " reason='%s'", job->id, why);
    node_port_report(warden->port, &event);
}

void warden_look_idle(struct warden *warden, const struct job *job, usec_t now)
{
    const struct watch_rules *rules = rules_of(warden);
    usec_t idle = tally_idle_ms(warden->tally, job->id) * USEC_PER_MS;
    usec_t second = (rules->idle_warn + rules->idle_stop) / 2;
    uint8_t warnings = job->run->idle_warnings;
    bool was_warned_lately = now - job->run->warned < watch_warned_least(rules);

    if (rules->idle_warn == 0 || is_exempt(warden, job))
        return;
    if (idle < rules->idle_warn) {
        if (warnings > 0 && idle < watch_idle_least(rules))
            warn(warden, job, WARNING_IDLE, 0, 0);
        return;
    }
    if (warnings == 0)
        warn(warden, job, WARNING_IDLE, 1, idle);
    else if (rules->idle_stop > 0 && warnings == 1 && idle >= second)
        warn(warden, job, WARNING_IDLE, 2, idle);
    else if (rules->idle_stop > 0 && warnings == 2 && idle >= rules->idle_stop &&
             !was_warned_lately)
        stop_idle(warden, job, idle);
}

/* ---- memory ---- */

/* Drivers round, and count some of their own. */
static bool is_too_much(const struct warden_hold *hold)
{
    return !hold->is_enforced && hold->given_mib > 0 && hold->memory_mib >= 0 &&
           hold->memory_mib > hold->given_mib + hold->given_mib / SLACK_PART + SLACK_MIB;
}

static struct warden_over *claim_over(struct warden *warden, const struct warden_hold *hold,
                                      usec_t now)
{
    for (size_t i = 0; i < warden->over.count; i++) {
        struct warden_over *over = &warden->over.items[i];
        if (over->job == hold->job && over->device == hold->device)
            return over;
    }
    list_add(&warden->over, (struct warden_over){ hold->job, hold->device, now, false });
    return &warden->over.items[warden->over.count - 1];
}

static void judge_memory(struct warden *warden, const struct warden_hold *hold, usec_t now)
{
    const struct job *job = state_job(node_port_state(warden->port), hold->job);
    const struct watch_rules *rules = rules_of(warden);
    usec_t grace = rules->memory_grace;
    struct warden_over *over = claim_over(warden, hold, now);
    char used[UNITS_TEXT_SIZE], given[UNITS_TEXT_SIZE], why[160];

    over->is_seen = true;
    if (!job || job->run->attempt != hold->attempt || job->state != JOB_RUNNING)
        return;
    if (job->run->memory_warnings == 0) {
        log_line(LOG_NOTICE, "a job has more GPU memory than it was given job=%" PRIu64, job->id);
        warn(warden, job, WARNING_MEMORY, 1, hold->memory_mib);
    } else if (job->run->memory_warnings < WARNING_LAST && now - over->since >= grace) {
        snprintf(why, sizeof(why), "gpu memory: %s used, %s given",
                 units_format_mib(used, hold->memory_mib),
                 units_format_mib(given, hold->given_mib));
        warn(warden, job, WARNING_MEMORY, WARNING_LAST, hold->memory_mib);
        cancel(warden, job, why);
    }
}

void warden_look_memory(struct warden *warden, const struct warden_hold *holds, size_t count,
                        usec_t now)
{
    for (size_t i = 0; i < warden->over.count; i++)
        warden->over.items[i].is_seen = false;
    for (size_t i = 0; i < count; i++) {
        if (is_too_much(&holds[i]))
            judge_memory(warden, &holds[i], now);
    }
    for (size_t i = warden->over.count; i-- > 0;) {
        const struct warden_over *over = &warden->over.items[i];
        const struct job *job =
            over->is_seen ? NULL : state_job(node_port_state(warden->port), over->job);
        if (over->is_seen)
            continue;
        if (job && job->run->memory_warnings > 0 && job->run->memory_warnings < WARNING_LAST)
            warn(warden, job, WARNING_MEMORY, 0, 0);
        list_remove(&warden->over, i);
    }
}

void warden_release(struct warden *warden)
{
    list_release(&warden->over);
}
