/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/plain.h"

#include "base/wide.h"
#include "sched/ordering/run_time.h"

#define SECONDS_NEVER UINT32_MAX

enum { PLAIN_ARRIVED = 128 }; /* arrivals that are over leave the list together, so many at least */

static uint32_t seconds_of(usec_t time)
{
    usec_t seconds = time / USEC_PER_SEC + (time % USEC_PER_SEC > 0);

    if (time < 0)
        return 0;
    return time == USEC_NEVER || seconds >= SECONDS_NEVER ? SECONDS_NEVER : (uint32_t)seconds;
}

static usec_t after_seconds(usec_t from, uint32_t seconds)
{
    return seconds == SECONDS_NEVER ? USEC_NEVER : usec_after(from, seconds * USEC_PER_SEC);
}

/* So much of real time, at the present rate of the queue's clock. */
static usec_t on_clock(const struct plain_queue *queue, usec_t passed)
{
    if (queue->rate == QUEUE_SHARE_ONE)
        return passed;
    return (usec_t)wide_scale((uint64_t)passed, queue->rate, QUEUE_SHARE_ONE);
}

static usec_t clock_at(const struct plain_queue *queue, usec_t now)
{
    return queue->clock + on_clock(queue, now - queue->at);
}

/* ---- jobs that really started before they did in the plain schedule ---- */

static void set_early(struct plain *plain, uint64_t job, uint8_t real, usec_t run)
{
    map_set(&plain->early, job, (uint64_t)run << 3 | real);
}

static uint8_t early_of(const struct plain *plain, uint64_t job, usec_t *ret_run)
{
    uint64_t value;

    *ret_run = 0;
    if (!map_get(&plain->early, job, &value))
        return REAL_WAITS;
    *ret_run = (usec_t)((int64_t)value >> 3);
    return value & 7;
}

/* ---- those that run in it ---- */

static void run_in_plain(struct plain_queue *queue, struct plain_started started, usec_t now)
{
    started.limit = after_seconds(started.start, started.job.limit);
    plain_running_add(&queue->running, started, now);
}

static usec_t protected_start(const struct plain_queue *queue, usec_t submitted, usec_t start)
{
    usec_t wait = start > submitted ? start - submitted : 0, floor = queue->longest / 2;
    usec_t slack = wait * queue->slack_percent / 100;

    wait = usec_after(wait, slack > queue->slack_least ? slack : queue->slack_least);
    return usec_after(submitted, wait > floor ? wait : floor);
}

static usec_t line_of(const struct plain_started *started, usec_t run)
{
    return plain_line(started->job.is_preemptible, started->job.estimate * USEC_PER_SEC,
                      started->due, run);
}

static void raise_due(struct plain_queue *queue, const struct plain_started *started, usec_t run)
{
    usec_t line = line_of(started, run);

    queue->due_least = line > queue->due_least ? line : queue->due_least;
}

/* A job that starts in the plain schedule at this time is not due before those that run in it have
 * come as far. Ends raised it before. */
static usec_t due_least(struct plain_queue *queue, usec_t at)
{
    if (queue->due_at == at)
        return queue->due_least;
    queue->due_at = at;
    for (struct plain_walk walk = plain_running_first(&queue->running); walk.job;
         plain_running_next(&walk)) {
        if (walk.job->job.estimate == 0)
            raise_due(queue, walk.job, at > walk.job->start ? at - walk.job->start : 0);
    }
    return queue->due_least;
}

/* The job in this place of those that wait. */
static void start_waiting(struct plain *plain, struct plain_queue *queue, struct plain_place *place,
                          usec_t at)
{
    struct plain_started started = { .job = plain_waiting_take(&queue->waiting, place),
                                     .start = at };
    usec_t wait = at - started.job.submitted;

    started.real = early_of(plain, started.job.id, &started.run);
    map_remove(&plain->early, started.job.id);
    queue->longest = wait > queue->longest ? wait : queue->longest;
    started.protected = protected_start(queue, started.job.submitted, at);
    if (queue->has_preemptible) {
        usec_t least = due_least(queue, at);
        started.due = started.protected > least ? started.protected : least;
    }
    run_in_plain(queue, started, queue->at);
}

/* EASY: in order; behind the first that finds no room, those that do not delay it. */
static void plan_plainly(struct plain *plain, struct plain_queue *queue)
{
    const struct plain_waiting *waiting = &queue->waiting;
    usec_t at = queue->reached;
    struct plain_place place = { 0 };
    const struct plain_job *first;
    uint32_t extra;

    while ((first = plain_waiting_at(waiting, place)) &&
           queue->running.held + first->share <= QUEUE_SHARE_ONE)
        start_waiting(plain, queue, &place, at);
    if (!first || queue->running.held == QUEUE_SHARE_ONE)
        return;
    usec_t shadow = plain_running_shadow(&queue->running, QUEUE_SHARE_ONE - first->share, &extra);
    uint32_t endless = queue->has_preemptible ? 0 : SECONDS_NEVER;
    uint32_t window = shadow == USEC_NEVER ? endless
                      : shadow > at        ? (uint32_t)((shadow - at) / USEC_PER_SEC)
                                           : 0;
    place = plain_waiting_after(waiting, place);
    while (
        plain_waiting_fit(waiting, &place, QUEUE_SHARE_ONE - queue->running.held, window, extra)) {
        const struct plain_job *job = plain_waiting_at(waiting, place);
        extra -= job->limit > window ? job->share : 0;
        start_waiting(plain, queue, &place, at);
    }
}

/* ---- time ---- */

/* Those that have ended by `reached` leave. */
static void let_end(struct plain_queue *queue)
{
    struct plain_started ended;

    while (plain_running_take_ended(&queue->running, queue->reached, &ended))
        raise_due(queue, &ended, ended.run);
}

static void let_arrive(struct plain *plain, struct plain_queue *queue)
{
    usec_t run;

    for (; queue->arrived < queue->arrivals.count; queue->arrived++) {
        const struct plain_job *job = &queue->arrivals.items[queue->arrived];
        if (job->submitted > queue->reached)
            break;
        if (early_of(plain, job->id, &run) == REAL_LEFT)
            map_remove(&plain->early, job->id);
        else
            plain_waiting_add(&queue->waiting, job);
    }
    if (queue->arrived > PLAIN_ARRIVED && queue->arrived > queue->arrivals.count / 2) {
        queue->arrivals.count -= queue->arrived;
        memmove(queue->arrivals.items, queue->arrivals.items + queue->arrived,
                queue->arrivals.count * sizeof(queue->arrivals.items[0]));
        queue->arrived = 0;
    }
}

static usec_t next_arrival(const struct plain_queue *queue)
{
    return queue->arrived < queue->arrivals.count ? queue->arrivals.items[queue->arrived].submitted
                                                  : USEC_NEVER;
}

static void set_slack(struct plain_queue *queue, const struct state *state,
                      const struct queue_rules *rules)
{
    usec_t least = queue_sets_slack(rules) ? rules->slack_least : state_chosen_slack(state);

    queue->slack_percent = rules->slack_percent;
    queue->slack_least = least > 0 ? least : PLAIN_SLACK_LEAST;
}

/* Ends that pass while the queue has no waiting job are processed when one arrives. */
static void advance_queue(struct plain *plain, struct plain_queue *queue, usec_t now)
{
    queue->clock = clock_at(queue, now);
    queue->at = now;
    if (plain_waiting_is_empty(&queue->waiting) && next_arrival(queue) > queue->clock)
        return;
    let_end(queue);
    for (;;) {
        usec_t next = next_arrival(queue), known = plain_running_known(&queue->running, now);
        queue->next_end = plain_running_next_end(&queue->running);
        next = queue->next_end < next ? queue->next_end : next;
        known = known < queue->clock ? known : queue->clock;
        if (next == USEC_NEVER || next > usec_after(known, PLAIN_TICK)) {
            queue->reached = known > queue->reached ? known : queue->reached;
            return;
        }
        queue->reached = next > queue->reached ? next : queue->reached;
        let_end(queue);
        let_arrive(plain, queue);
        plan_plainly(plain, queue);
    }
}

void plain_set_rates(struct plain *plain, const struct state *state)
{
    const struct queue *root = &state->queues.items[QUEUE_ROOT];
    int kind = SHARE_OF_GPUS;

    for (int i = 0; i < SHARES; i++)
        kind = root->share[i] > root->share[kind] ? i : kind;
    for (uint32_t i = 0; i < plain->queues.count; i++) {
        int64_t own = state->queues.items[i].share[kind], all = root->share[kind];
        plain->queues.items[i].rate =
            own == all ? QUEUE_SHARE_ONE : (uint32_t)(own * QUEUE_SHARE_ONE / all);
    }
}

/* ---- what happens to jobs ---- */

static struct plain_queue *claim_queue(struct plain *plain, const struct state *state,
                                       uint32_t number)
{
    while (plain->queues.count <= number)
        list_add(&plain->queues, (struct plain_queue){ .clock = state->now,
                                                       .at = state->now,
                                                       .reached = state->now,
                                                       .rate = QUEUE_SHARE_ONE });
    return &plain->queues.items[number];
}

static uint32_t stated(const struct job *job)
{
    return job->is_preemptible && job->estimate > 0 ? seconds_of(job->estimate) : 0;
}

static struct plain_job describe(const struct plain_queue *queue, const struct state *state,
                                 const struct job *job)
{
    const struct pending_bucket *bucket = job->pending_bucket;
    usec_t since = job->queued > 0 && job->queued < state->now ? job->queued : state->now;
    usec_t submitted = clock_at(queue, state->now) - on_clock(queue, state->now - since);
    usec_t turn = usec_after(submitted, plain_usual(bucket->usual) / PLAIN_PATIENCE);

    return (struct plain_job){ .id = job->id,
                               .submitted = submitted,
                               .turn = seconds_of(turn),
                               .limit = seconds_of(job->max_duration),
                               .usual = seconds_of(bucket->usual),
                               .share = bucket->share > 0 ? bucket->share : 1,
                               .estimate = stated(job),
                               .priority = job->priority,
                               .is_preemptible = job->is_preemptible };
}

static void add_arrival(struct plain_queue *queue, struct plain_job job)
{
    size_t place = queue->arrivals.count;

    while (place > queue->arrived && queue->arrivals.items[place - 1].submitted > job.submitted)
        place--;
    list_insert(&queue->arrivals, place, job);
}

/* It starts, stops, or ends. Its run time is counted across attempts. */
static void set_real(struct plain *plain, struct plain_queue *queue, const struct job *job,
                     uint8_t real, usec_t now)
{
    const struct plain_started *started = plain_running_find(&queue->running, job->id);
    struct plain_started early = { 0 };

    if (!started)
        early.real = early_of(plain, job->id, &early.run);
    usec_t run = plain_run_until(started ? started : &early, now);
    usec_t kept = real == REAL_RUNS ? run - now : run;
    if (started) {
        plain_running_set_real(&queue->running, job->id, real, kept, now);
        return;
    }
    struct plain_job key = { .id = job->id, .turn = job->plain_turn, .priority = job->priority };
    struct plain_place place;
    bool has_left = real == REAL_ENDED && run == 0;
    if (has_left && plain_waiting_find(&queue->waiting, &key, &place))
        plain_waiting_take(&queue->waiting, &place);
    else
        set_early(plain, job->id, has_left ? REAL_LEFT : real, kept);
}

static uint8_t real_of(const struct job *job, bool is_gone)
{
    if (is_gone || (job->state != JOB_QUEUED && !job_is_active(job)))
        return REAL_NONE;
    return job->state == JOB_QUEUED ? REAL_WAITS : REAL_RUNS;
}

/* One that runs and did not wait: when the brain begins, or started by others. */
static void adopt(struct plain_queue *queue, const struct state *state, const struct job *job)
{
    struct plain_started started = {
        .job = { .id = job->id,
                 .limit = seconds_of(job->max_duration),
                 .usual = seconds_of(job->run->window),
                 .share =
                     job->run->lease && job->run->lease->share > 0 ? job->run->lease->share : 1,
                 .estimate = stated(job),
                 .priority = job->priority,
                 .is_preemptible = job->is_preemptible },
        .real = REAL_RUNS,
        .run = -job->run->granted,
    };

    started.start = clock_at(queue, state->now) + started.run + state->now > 0
                        ? clock_at(queue, state->now) - (started.run + state->now)
                        : 0;
    started.job.submitted = started.start;
    started.due =
        queue->has_preemptible ? protected_start(queue, started.job.submitted, started.start) : 0;
    if (queue->running.held + started.job.share <= QUEUE_SHARE_ONE)
        run_in_plain(queue, started, state->now);
}

void plain_note(struct plain *plain, const struct state *state, struct job *job, bool is_gone)
{
    uint8_t real = real_of(job, is_gone), before = job->plain_real;

    if (real == before || plain->is_off)
        return;
    struct plain_queue *queue = claim_queue(plain, state, job->queue);
    job->plain_real = real;
    queue->has_preemptible |= job->is_preemptible;
    if (before != REAL_NONE)
        set_real(plain, queue, job, real == REAL_NONE ? REAL_ENDED : real, state->now);
    else if (real == REAL_RUNS)
        adopt(queue, state, job);
    else {
        run_time_bucket(state, job->pending_bucket);
        struct plain_job arrival = describe(queue, state, job);
        job->plain_turn = arrival.turn;
        add_arrival(queue, arrival);
    }
}

void plain_renew(struct plain *plain, const struct state *state, struct job *job)
{
    LIST_EACH (struct plain_queue, queue, &plain->queues) {
        plain_running_disown(&queue->running, job->id, state->now);
        struct plain_place place = { 0 };
        const struct plain_job *waits;
        while ((waits = plain_waiting_at(&queue->waiting, place)) && waits->id != job->id)
            place = plain_waiting_after(&queue->waiting, place);
        if (waits)
            plain_waiting_take(&queue->waiting, &place);
        for (size_t i = queue->arrived; i < queue->arrivals.count; i++) {
            if (queue->arrivals.items[i].id == job->id) {
                list_remove(&queue->arrivals, i);
                break;
            }
        }
    }
    job->plain_real = REAL_NONE;
    plain_note(plain, state, job, false);
}

/* Forget all, and begin anew from what the jobs do now, or not. */
static void restart(struct plain *plain, const struct state *state, bool is_off)
{
    plain_release(plain);
    *plain = (struct plain){ .is_off = is_off };
    for (struct job *job = state->first_job; job; job = job->next) {
        job->plain_real = REAL_NONE;
        plain_note(plain, state, job, false);
    }
}

void plain_advance(struct plain *plain, const struct state *state, size_t running)
{
    size_t most = plain->is_off ? PLAIN_MOST / 2 - 1 : PLAIN_MOST;
    bool is_off = state->settings.order == ORDER_FIFO || running > most;

    if (plain->is_off != is_off)
        restart(plain, state, is_off);
    for (uint32_t i = 0; i < plain->queues.count; i++) {
        struct plain_queue *queue = &plain->queues.items[i];
        struct queue_rules rules = queue_rules_of(state->queues.items, i);
        set_slack(queue, state, &rules);
        advance_queue(plain, queue, state->now);
    }
}

/* ---- protected starts ---- */

static void add_claim(const struct plain_queue *queue, const struct plain_job *job, usec_t start,
                      usec_t protected, bool is_foreseen, plain_claim_list *ret)
{
    usec_t to_real = queue->at - queue->clock;

    list_add(ret, (struct plain_claim){
                      .job = job->id,
                      .start = start + to_real,
                      .protected = usec_after(protected, to_real),
                      .work = plain_work(job->share, after_seconds(0, job->usual)),
                      .is_foreseen = is_foreseen,
                  });
}

struct foreseen_end {
    usec_t at;
    uint32_t share;
};

static bool ends_before(const void *a, const void *b)
{
    const struct foreseen_end *left = a, *right = b;

    return left->at < right->at;
}

typedef LIST(struct foreseen_end) foreseen_ends;

static void add_end(foreseen_ends *ends, usec_t at, uint32_t share)
{
    size_t place = ends->count;
    struct foreseen_end end = { at, share };

    list_add(ends, end);
    while (place > 0 && ends->items[(place - 1) / 2].at > at) {
        ends->items[place] = ends->items[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    ends->items[place] = end;
}

static struct foreseen_end take_end(foreseen_ends *ends)
{
    struct foreseen_end first = ends->items[0];

    ends->items[0] = ends->items[--ends->count];
    if (ends->count > 0)
        list_sift(ends, 0, ends_before);
    return first;
}

/* When it is expected to end; one that has outlived what was expected goes on half as long. */
static usec_t foresee_end(const struct plain_started *started, usec_t now)
{
    usec_t run = plain_run_until(started, now), end = after_seconds(0, started->job.usual);

    if (started->real == REAL_ENDED)
        return started->start + run;
    if (run > end)
        end = run + run / 2 + USEC_PER_MIN;
    end = usec_after(started->start, end);
    return end < started->limit ? end : started->limit;
}

/* In the order of the queue, from where the plain schedule has come to. */
static void foresee(const struct plain *plain, const struct plain_queue *queue, usec_t now,
                    plain_claim_list *ret)
{
    foreseen_ends ends = { 0 };
    uint32_t held = queue->running.held, looked = 0;
    struct plain_place place = { 0 };
    const struct plain_job *job;
    usec_t at = queue->reached, run;

    if (plain_waiting_is_empty(&queue->waiting))
        return;
    for (struct plain_walk walk = plain_running_first(&queue->running); walk.job;
         plain_running_next(&walk))
        add_end(&ends, foresee_end(walk.job, now), walk.job->job.share);
    for (; (job = plain_waiting_at(&queue->waiting, place)) && looked < PLAIN_LOOK; looked++) {
        place = plain_waiting_after(&queue->waiting, place);
        while (held + job->share > QUEUE_SHARE_ONE && ends.count > 0) {
            struct foreseen_end end = take_end(&ends);
            at = end.at > at ? end.at : at;
            held -= end.share;
        }
        if (at == USEC_NEVER)
            break;
        held += job->share;
        add_end(&ends, after_seconds(at, job->usual < job->limit ? job->usual : job->limit),
                job->share);
        if (early_of(plain, job->id, &run) == REAL_WAITS)
            add_claim(queue, job, at, protected_start(queue, job->submitted, at), true, ret);
    }
    list_release(&ends);
}

static int compare_dues(const void *a, const void *b)
{
    const struct plain_due *left = a, *right = b;

    return (left->job > right->job) - (left->job < right->job);
}

void plain_list_due(const struct plain *plain, uint32_t number, plain_due_list *ret)
{
    ret->count = 0;
    if (number >= plain->queues.count)
        return;
    const struct plain_queue *queue = &plain->queues.items[number];
    usec_t to_real = queue->at - queue->clock;
    for (struct plain_walk walk = plain_running_first(&queue->running); walk.job;
         plain_running_next(&walk)) {
        if (walk.job->due > 0 && walk.job->real != REAL_ENDED)
            list_add(ret, (struct plain_due){ .job = walk.job->job.id,
                                              .start = walk.job->start + to_real,
                                              .due = usec_after(walk.job->due, to_real) });
    }
    list_sort(ret, compare_dues);
}

usec_t plain_next(const struct plain *plain, uint32_t number, usec_t now)
{
    usec_t at = now;

    if (number >= plain->queues.count || !plain->queues.items[number].has_preemptible)
        return USEC_NEVER;
    const struct plain_queue *queue = &plain->queues.items[number];
    usec_t next = next_arrival(queue);
    next = queue->next_end < next ? queue->next_end : next;
    if (next == USEC_NEVER)
        return USEC_NEVER;
    for (struct plain_walk walk = plain_running_first(&queue->running); walk.job;
         plain_running_next(&walk)) {
        usec_t needed = next - walk.job->start;
        if (walk.job->real == REAL_ENDED || plain_run_known(walk.job, now) >= needed)
            continue;
        if (walk.job->real != REAL_RUNS)
            return USEC_NEVER;
        usec_t then = now + needed - plain_run_until(walk.job, now);
        at = then > at ? then : at;
    }
    return at > now ? usec_after(at, at - now < USEC_PER_SEC ? USEC_PER_SEC : 0) : USEC_NEVER;
}

/* Jobs that state their speeds are passed where others gain more from the model that is free: such
 * a job may start as much later as it would run on its slowest. */
static void give_way(const struct state *state, plain_claim_list *claims)
{
    LIST_EACH (struct plain_claim, claim, claims) {
        const struct job *job = state_job(state, claim->job);
        const struct pending_bucket *bucket = job ? job->pending_bucket : NULL;
        if (bucket && bucket->has_speeds && bucket->estimate > 0)
            claim->protected = usec_after(claim->protected, bucket->most);
    }
}

static int compare_claims(const void *a, const void *b)
{
    const struct plain_claim *left = a, *right = b;

    if (left->protected != right->protected)
        return left->protected < right->protected ? -1 : 1;
    return (left->job > right->job) - (left->job < right->job);
}

void plain_list(const struct plain *plain, const struct state *state, uint32_t number,
                plain_claim_list *ret)
{
    ret->count = 0;
    if (number >= plain->queues.count)
        return;
    const struct plain_queue *queue = &plain->queues.items[number];
    struct plain_walk walk = plain_running_first(&queue->running);
    for (plain_running_skip_to_waiting(&walk); walk.job; plain_running_skip_to_waiting(&walk)) {
        add_claim(queue, &walk.job->job, walk.job->start, walk.job->protected, false, ret);
        plain_running_next(&walk);
    }
    foresee(plain, queue, state->now, ret);
    give_way(state, ret);
    list_sort(ret, compare_claims);
}

void plain_release(struct plain *plain)
{
    LIST_EACH (struct plain_queue, queue, &plain->queues) {
        list_release(&queue->arrivals);
        plain_waiting_release(&queue->waiting);
        plain_running_release(&queue->running);
    }
    list_release(&plain->queues);
    map_release(&plain->early);
}
