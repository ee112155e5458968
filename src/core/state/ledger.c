/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/ledger.h"

#include <string.h>

#include "core/state/job_diagnosis.h"

#include "base/wide.h"

static struct ledger_job *find(const struct ledger *ledger, uint64_t id)
{
    uint64_t place;

    return map_get(&ledger->by_id, id, &place) ? &ledger->jobs.items[place - 1] : NULL;
}

static struct ledger_job *claim(struct ledger *ledger, const struct job *job)
{
    struct ledger_job *entry = find(ledger, job->id);

    if (entry)
        return entry;
    list_add(&ledger->jobs, (struct ledger_job){
                                .id = job->id,
                                .group = job->group,
                                .index = job->index,
                                .user = job->user,
                                .queue = job->queue,
                                .name = arena_string(&ledger->names, job->name, strlen(job->name)),
                                .model = "",
                                .cost_at = ledger->now,
                            });
    map_set(&ledger->by_id, job->id, ledger->jobs.count);
    return &ledger->jobs.items[ledger->jobs.count - 1];
}

/* ---- periods ---- */

static usec_t period_end(const struct ledger *ledger, size_t i)
{
    return i + 1 < ledger->periods.count ? ledger->periods.items[i + 1].from : USEC_NEVER;
}

struct spread {
    double watched_ms, busy_ms, idle_ms, cost_micro;
};

/* Evenly over the time from `from` to `until`. */
static void spread(struct ledger *ledger, usec_t from, usec_t until, const struct spread *amounts)
{
    for (size_t i = 0; i < ledger->periods.count && until > from; i++) {
        struct ledger_period *period = &ledger->periods.items[i];
        usec_t begin = period->from > from ? period->from : from, end = period_end(ledger, i);
        end = end < until ? end : until;
        if (end <= begin)
            continue;
        double part = (double)(end - begin) / (double)(until - from);
        period->watched_ms += amounts->watched_ms * part;
        period->busy_ms += amounts->busy_ms * part;
        period->idle_ms += amounts->idle_ms * part;
        period->cost_micro += amounts->cost_micro * part;
    }
}

/* ---- what was held ---- */

static int64_t gpu_ms(int64_t milli, usec_t duration)
{
    return (int64_t)wide_scale((uint64_t)milli, (uint64_t)duration, GPU_MILLI * USEC_PER_MS);
}

static void open_attempt(struct ledger *ledger, const struct job *job, usec_t since)
{
    const struct lease *lease = job->run->lease;
    struct ledger_job *entry = claim(ledger, job);
    struct ledger_attempt *now = &entry->now;

    if (now->number != job->run->attempt) {
        entry->last = *now;
        *now = (struct ledger_attempt){ .number = job->run->attempt };
    }
    now->since = since;
    now->from = now->from > 0 ? now->from : since;
    now->until = 0;
    now->milli = lease->milli;
    now->slices = lease->slices_count;
    now->memory_mib = 0;
    for (uint32_t i = 0; i < lease->slices_count; i++)
        now->memory_mib += lease->slices[i].memory_mib;
    if (lease->slices_count == 0)
        return;
    const char *model = ledger->state->devices.items[lease->slices[0].device].model;
    if (strcmp(entry->model, model) != 0)
        entry->model = arena_string(&ledger->names, model, strlen(model));
}

static void close_attempt(struct ledger *ledger, struct ledger_job *entry)
{
    struct ledger_attempt *now = &entry->now;
    int64_t held = ledger->now > now->since ? gpu_ms(now->milli, ledger->now - now->since) : 0;

    if (now->since == 0)
        return;
    now->inside_ms += held;
    now->whole_ms += held;
    entry->sum.gpu_ms += held;
    now->since = 0;
    now->until = ledger->now;
}

static void note_start(struct ledger *ledger, const struct job *job)
{
    usec_t since = job->queued > 0 ? job->queued : job->submitted;

    if (ledger->periods.count == 0)
        return;
    struct ledger_period *period = &ledger->periods.items[ledger->period];
    period->starts++;
    period->starts_waited_ms += ledger->now > since ? (ledger->now - since) / USEC_PER_MS : 0;
}

static void on_lease(void *user, struct job *job, int sign)
{
    struct ledger *ledger = user;

    if (sign > 0) {
        open_attempt(ledger, job, ledger->now);
        note_start(ledger, job);
    } else
        close_attempt(ledger, claim(ledger, job));
}

/* ---- what was used ---- */

static int64_t part_of(int64_t value, int64_t part, int64_t whole)
{
    if (value <= 0 || part <= 0 || whole <= 0)
        return 0;
    return (int64_t)wide_scale((uint64_t)value, (uint64_t)part, (uint64_t)whole);
}

static void add_memory(struct ledger_sum *sum, const struct ledger_attempt *attempt,
                       const struct usage *usage, int64_t watched)
{
    int64_t peak = usage_peak(usage, USAGE_MEMORY);
    int64_t given = attempt->slices > 0 ? attempt->memory_mib / attempt->slices : 0;

    given = given > 0 ? given : usage->device_mib;
    if (peak < 0 || given <= 0)
        return;
    sum->memory_ms += watched;
    sum->memory_used += peak * watched;
    sum->memory_given += given * watched;
}

static void add_use(struct ledger_sum *sum, const struct ledger_attempt *attempt,
                    const struct usage *usage)
{
    const struct usage_sum *use = &usage->sums[USAGE_GPU];
    /* Of device-time, what was given of it; of that, what is within. */
    int64_t given = part_of(use->ms, attempt->milli, attempt->slices * GPU_MILLI);
    int64_t watched = part_of(given, attempt->inside_ms, attempt->whole_ms);
    int64_t low = part_of(usage->low_ms, attempt->milli, attempt->slices * GPU_MILLI);

    int64_t busy = part_of(use->sum / READING_RATIO_ONE, attempt->inside_ms, attempt->whole_ms);

    watched = watched < attempt->inside_ms ? watched : attempt->inside_ms;
    low = part_of(low, attempt->inside_ms, attempt->whole_ms);
    if (watched > 0) {
        sum->watched_ms += watched;
        sum->busy_ms += busy < watched ? busy : watched; /* a share may use more than its part */
        sum->idle_ms += low < watched ? low : watched;
        add_memory(sum, attempt, usage, watched);
    }
    if (usage->energy_mj > 0) {
        sum->energy_mj += part_of(usage->energy_mj, attempt->inside_ms, attempt->whole_ms);
        int64_t measured = part_of(usage->watched_ms, attempt->milli, attempt->slices * GPU_MILLI);
        measured = part_of(measured, attempt->inside_ms, attempt->whole_ms);
        sum->energy_ms += measured < attempt->inside_ms ? measured : attempt->inside_ms;
    }
}

static void note_usage(struct ledger *ledger, const struct event_usage *event)
{
    struct ledger_job *entry = find(ledger, event->job);
    const struct job *job = state_job(ledger->state, event->job);
    struct diagnosis found[DIAGNOSES];

    if (!entry || event->usage.sums_count > USAGE_KINDS)
        return;
    struct ledger_attempt *attempt = entry->now.number == event->attempt    ? &entry->now
                                     : entry->last.number == event->attempt ? &entry->last
                                                                            : NULL;
    /* One that ended while the question was asked is told of by the journal, and as running, too.
     */
    if (!attempt || attempt->since > 0) { /* while it runs: more will follow */
        if (attempt)
            attempt->is_seen = true;
        return;
    }
    if (attempt->inside_ms == 0 || attempt->is_told)
        return;
    attempt->is_told = true;
    struct ledger_sum before = entry->sum;
    add_use(&entry->sum, attempt, &event->usage);
    spread(ledger, attempt->from, attempt->until > 0 ? attempt->until : ledger->now,
           &(struct spread){ .watched_ms = (double)(entry->sum.watched_ms - before.watched_ms),
                             .busy_ms = (double)(entry->sum.busy_ms - before.busy_ms),
                             .idle_ms = (double)(entry->sum.idle_ms - before.idle_ms) });
    if (!job)
        return;
    struct diagnosis_ask ask = diagnosis_ask_of(ledger->state, job, &event->usage);
    size_t count = diagnose(&ask, found, DIAGNOSES);
    entry->has_diagnosis = count > 0;
    if (count > 0)
        entry->diagnosis = found[0];
    for (size_t i = 0; i < count; i++) {
        ledger->diagnoses[found[i].id].jobs++;
        ledger->diagnoses[found[i].id].gpu_ms += attempt->inside_ms;
    }
}

/* ---- what became of it ---- */

static void note_end(struct ledger *ledger, const struct job *job)
{
    struct ledger_job *entry = claim(ledger, job);

    if (entry->is_ended)
        return;
    entry->is_ended = true;
    entry->sum.ok += job->result == RESULT_OK;
    entry->sum.cancelled += job->result == RESULT_CANCELLED;
    entry->sum.failed += job->result != RESULT_OK && job->result != RESULT_CANCELLED;
}

static void note_cost(struct ledger *ledger, const struct job *job)
{
    struct ledger_job *entry = find(ledger, job->id);

    if (!entry)
        return;
    int64_t cost = state_cost(ledger->state, job, ledger->now) - entry->cost_before;
    if (cost != entry->sum.cost_micro)
        spread(ledger, entry->cost_at, ledger->now,
               &(struct spread){ .cost_micro = (double)(cost - entry->sum.cost_micro) });
    entry->sum.cost_micro = cost;
    entry->cost_at = ledger->now;
}

void ledger_note(struct ledger *ledger, const struct event *event)
{
    const struct job *job = state_job(ledger->state, event_job(event));

    if (event->kind == EVENT_USAGE) {
        note_usage(ledger, &event->usage);
        return;
    }
    if (!job)
        return;
    if (event->kind == EVENT_STOP && event->stop.cause == STOP_PREEMPT)
        claim(ledger, job)->sum.preempted++;
    note_cost(ledger, job);
    if (job->state == JOB_ENDED)
        note_end(ledger, job);
}

/* ---- begin and end ---- */

static void pass_queues(const struct ledger *ledger, struct ledger_period *period, usec_t time)
{
    const struct state *state = ledger->state;

    while (period->queues_ms.count < state->queues.count)
        list_add(&period->queues_ms, 0);
    for (size_t i = 0; i < state->queues.count; i++)
        period->queues_ms.items[i] += gpu_ms(state->queues.items[i].used.of[RESOURCE_GPUS], time);
}

/* What holds from one event to the next, in each period between them. */
static void pass_periods(struct ledger *ledger, usec_t now)
{
    const struct state *state = ledger->state;
    int64_t held = state->queues.items[QUEUE_ROOT].used.of[RESOURCE_GPUS];

    for (usec_t at = ledger->now; ledger->periods.count > 0 && at < now;) {
        struct ledger_period *period = &ledger->periods.items[ledger->period];
        usec_t end = period_end(ledger, ledger->period), until = end < now ? end : now;
        if (until > at) {
            period->capacity_ms += gpu_ms(state->capacity.milli, until - at);
            period->gpu_ms += gpu_ms(held, until - at);
            period->waiting_ms +=
                (int64_t)state->job_counts[JOB_QUEUED] * ((until - at) / USEC_PER_MS);
            if (ledger->counts_queues)
                pass_queues(ledger, period, until - at);
        }
        at = until > at ? until : at;
        ledger->period += end <= now && ledger->period + 1 < ledger->periods.count;
    }
}

void ledger_pass(struct ledger *ledger, usec_t now)
{
    if (now <= ledger->now)
        return;
    pass_periods(ledger, now);
    ledger->capacity_ms += gpu_ms(ledger->state->capacity.milli, now - ledger->now);
    ledger->now = now;
}

void ledger_begin(struct ledger *ledger, struct state *state, usec_t from)
{
    *ledger = (struct ledger){ .state = state, .from = from, .now = from };
    state->on_lease = on_lease;
    state->on_lease_user = ledger;
    for (struct job *job = state->first_active; job; job = job->run->active_next) {
        open_attempt(ledger, job, from);
        struct ledger_job *entry = claim(ledger, job);
        entry->now.whole_ms =
            from > job->run->granted ? gpu_ms(entry->now.milli, from - job->run->granted) : 0;
        entry->cost_before = state_cost(state, job, from);
    }
}

void ledger_finish(struct ledger *ledger, usec_t until)
{
    ledger_pass(ledger, until);
    for (size_t i = 0; i < ledger->jobs.count; i++) {
        struct ledger_job *entry = &ledger->jobs.items[i];
        const struct job *job = state_job(ledger->state, entry->id);
        close_attempt(ledger, entry);
        if (job && !job_is_active(job) && entry->now.is_seen && job->run->usage)
            note_usage(ledger, &(struct event_usage){ .job = job->id,
                                                      .attempt = entry->now.number,
                                                      .usage = *job->run->usage });
        if (job && job_is_active(job))
            note_cost(ledger, job);
        entry->sum.running = !entry->is_ended;
    }
    ledger->state->on_lease = NULL;
}

void ledger_release(struct ledger *ledger)
{
    list_release(&ledger->jobs);
    LIST_EACH (struct ledger_period, period, &ledger->periods)
        list_release(&period->queues_ms);
    list_release(&ledger->periods);
    map_release(&ledger->by_id);
    arena_release(&ledger->names);
}

void ledger_add(struct ledger_sum *to, const struct ledger_sum *sum)
{
    to->gpu_ms += sum->gpu_ms;
    to->watched_ms += sum->watched_ms;
    to->busy_ms += sum->busy_ms;
    to->idle_ms += sum->idle_ms;
    to->memory_ms += sum->memory_ms;
    to->memory_used += sum->memory_used;
    to->memory_given += sum->memory_given;
    to->energy_mj += sum->energy_mj;
    to->energy_ms += sum->energy_ms;
    to->cost_micro += sum->cost_micro;
    to->ok += sum->ok;
    to->failed += sum->failed;
    to->cancelled += sum->cancelled;
    to->running += sum->running;
    to->preempted += sum->preempted;
}
