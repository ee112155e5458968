/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/lookahead.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/copy.h"
#include "sched/ordering/plain.h"

/* Waits and run times below this count as this: the bound of the bounded slowdown. */
static const usec_t least_time = 10 * USEC_PER_SEC;

/* ---- the submissions that come again ---- */

struct again {
    const struct job *job;
    usec_t at;   /* when it comes */
    uint64_t id; /* that it gets */
    usec_t work; /* -1: not known */
};

struct side {
    const struct lookahead_ask *ask;
    usec_t least; /* the slack */
    struct again again[LOOKAHEAD_AGAIN];
    uint32_t count, next;
};

/* Of one that ran to its end. */
static usec_t known_work(const struct job *job)
{
    bool has_run = job->result == RESULT_OK || job->result == RESULT_TIMEOUT;

    if (job->state != JOB_ENDED || !has_run || job->run->started < job->run->granted)
        return -1;
    return job->run->attained + job->run->ended - job->run->started;
}

/* With the mean distance between the last of them and the first that comes again. */
static void find_again(struct side *side)
{
    const struct state *state = side->ask->state;
    usec_t now = side->ask->now;

    for (const struct job *job = state->last_job; job && side->count < LOOKAHEAD_AGAIN;
         job = job->previous) {
        if (!state->queues.items[job->queue].is_removed && !job->run->external)
            side->again[side->count++] = (struct again){ .job = job, .work = known_work(job) };
    }
    if (side->count == 0)
        return;
    usec_t first = side->again[side->count - 1].job->submitted;
    usec_t shift = now - first + (now - first) / side->count;
    for (uint32_t i = 0; i < side->count / 2; i++) {
        struct again swapped = side->again[i];
        side->again[i] = side->again[side->count - 1 - i];
        side->again[side->count - 1 - i] = swapped;
    }
    for (uint32_t i = 0; i < side->count; i++)
        side->again[i].at = usec_after(side->again[i].job->submitted, shift);
}

static usec_t next(void *user)
{
    const struct side *side = user;

    return side->next < side->count ? side->again[side->next].at : USEC_NEVER;
}

static int submit_again(struct forward *forward, struct again *again, struct error *err)
{
    const struct job *job = again->job;
    struct event event = { .kind = EVENT_SUBMIT, .submit = state_submission(forward->state, job) };

    event.submit.begin = 0;
    if (job->deadline > 0)
        event.submit.deadline = usec_after(job->deadline, again->at - job->submitted);
    again->id = event.submit.id;
    return forward_tell(forward, &event, err);
}

static int come(void *user, struct forward *forward, usec_t now, struct error *err)
{
    struct side *side = user;
    int code = 0;

    while (code == 0 && next(side) <= now)
        code = submit_again(forward, &side->again[side->next++], err);
    return code;
}

static bool fate_of(void *user, const struct job *job, struct forward_fate *ret)
{
    const struct side *side = user;

    for (uint32_t i = side->next; i-- > 0;) {
        if (side->again[i].id == job->id && side->again[i].work >= 0) {
            ret->work = side->again[i].work;
            return true;
        }
    }
    return false;
}

/* ---- one simulation, in a copy ---- */

struct side_head {
    int64_t code;
    uint64_t events, jobs;
    usec_t processor;
};

static int simulate(struct side *side, struct text *out, struct side_head *ret, struct error *err)
{
    struct forward_options options = { .state = side->ask->state,
                                       .brain = side->ask->brain,
                                       .now = side->ask->now,
                                       .processor = side->ask->processor / 2,
                                       .user = side,
                                       .fate_of = fate_of,
                                       .next = next,
                                       .come = come };
    struct event slack = { .kind = EVENT_SLACK, .slack = { .least = side->least } };

    find_again(side);
    AUTO(forward) struct forward *forward = forward_create(&options);
    int code = forward_tell(forward, &slack, err);
    if (code == 0)
        code = forward_go(forward, err);
    if (code == 0 && forward->horizon != USEC_NEVER)
        code = error_set(err, -ETIME, "its processor time was used up");
    LIST_EACH (const struct forward_job, job, &forward->jobs) {
        struct lookahead_job said = { job->start < 0 ? -1 : job->start - job->submitted,
                                      job->work };
        if (job->was_active || job->was_held)
            continue;
        text_add_bytes(out, &said, sizeof(said));
        ret->jobs++;
    }
    ret->events = forward->events;
    ret->processor = forward_processor(forward);
    return code;
}

static void say_side(void *user, int fd)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    struct side_head head = { 0 };
    struct error err = { "" };

    head.code = simulate(user, &out, &head, &err);
    if (!copy_write(fd, &head, sizeof(head)))
        return;
    if (head.code < 0)
        copy_write(fd, err.text, strlen(err.text));
    else
        copy_write(fd, out.bytes, out.length);
}

static int take_side(struct copy *copy, lookahead_jobs *ret_jobs, struct lookahead *ret,
                     struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct side_head head;

    while (copy_read(copy, &bytes))
        continue;
    copy_end(copy);
    if (bytes.length < sizeof(head))
        return error_set(err, -EIO, "a simulation ended early");
    memcpy(&head, bytes.bytes, sizeof(head));
    const char *rest = bytes.bytes + sizeof(head);
    size_t length = bytes.length - sizeof(head);
    ret->events += head.events;
    ret->processor += head.processor;
    if (head.code < 0)
        return error_set(err, (int)head.code, "%.*s", (int)length, rest);
    if (length != head.jobs * sizeof(struct lookahead_job))
        return error_set(err, -EIO, "a simulation ended early");
    list_reserve(ret_jobs, head.jobs + 1);
    ret_jobs->count = head.jobs;
    memcpy(ret_jobs->items, rest, length);
    return 0;
}

static int go(const struct lookahead_ask *ask, usec_t least, lookahead_jobs *ret_jobs,
              struct lookahead *ret, struct error *err)
{
    struct side side = { .ask = ask, .least = least };
    struct copy copy;

    int code = copy_start(say_side, &side, &copy, err);
    return code < 0 ? code : take_side(&copy, ret_jobs, ret, err);
}

/* ---- the choice ---- */

static int compare_times(const void *a, const void *b)
{
    const usec_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static double log_of(usec_t time)
{
    return log((double)(time > least_time ? time : least_time));
}

/* Of those that start in `beside`, too. False: there are none. */
static bool score(const lookahead_jobs *jobs, const lookahead_jobs *beside,
                  struct lookahead_score *ret)
{
    usec_t *waits = mem_zero(jobs->count + 1, sizeof(waits[0]));
    double slowdown = 0, sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < jobs->count; i++) {
        const struct lookahead_job *job = &jobs->items[i];
        if (job->wait < 0 || beside->items[i].wait < 0 || job->work == USEC_NEVER)
            continue;
        double run = (double)(job->work > least_time ? job->work : least_time);
        double slowed = (double)(job->wait + job->work) / run;
        slowdown += slowed > 1 ? slowed : 1;
        sum += (double)job->wait;
        waits[count++] = job->wait;
    }
    if (count > 0) {
        qsort(waits, count, sizeof(waits[0]), compare_times);
        ret->mean = (usec_t)(sum / (double)count);
        ret->longest = waits[count - 1];
        ret->score =
            log(slowdown / (double)count) + log_of(ret->mean) +
            LOOKAHEAD_TAIL * (log_of(waits[(count - 1) * 99 / 100]) + log_of(ret->longest));
    }
    free(waits);
    return count > 0;
}

bool lookahead_compare(const lookahead_jobs *now, const lookahead_jobs *other,
                       struct lookahead_score *ret_now, struct lookahead_score *ret_other)
{
    return now->count == other->count && score(now, other, ret_now) && score(other, now, ret_other);
}

/* Whether a queue is there that sets no slack of its own. */
static bool is_of_use(const struct state *state)
{
    for (uint32_t i = 0; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        struct queue_rules rules = queue_rules_of(state->queues.items, i);
        if (!queue->is_removed && queue->child_count == 0 && !queue_sets_slack(&rules))
            return true;
    }
    return false;
}

bool lookahead_is_due(const struct state *state, uint64_t next_id)
{
    return state->settings.look_ahead && state->settings.order == ORDER_DEFAULT &&
           state->job_counts[JOB_QUEUED] >= LOOKAHEAD_WAITING &&
           state->job_counts[JOB_QUEUED] <= LOOKAHEAD_MOST &&
           state->next_id - next_id >= LOOKAHEAD_EVERY && is_of_use(state);
}

/* A wide slack must not lengthen the longest wait: for that alone it is given up. */
bool lookahead_is_better(const struct lookahead_score *other, const struct lookahead_score *now,
                         bool is_wider)
{
    if (!is_wider && other->longest < now->longest)
        return true;
    return other->score < now->score - LOOKAHEAD_MARGIN &&
           (!is_wider || other->longest <= now->longest);
}

int lookahead_make(const struct lookahead_ask *ask, struct lookahead *ret, struct error *err)
{
    const struct state *state = ask->state;
    usec_t least = state->slack.least > 0 ? state->slack.least : PLAIN_SLACK_LEAST;
    usec_t other = least == LOOKAHEAD_WIDE ? PLAIN_SLACK_LEAST : LOOKAHEAD_WIDE;
    lookahead_jobs jobs[2] = { 0 };
    struct lookahead_score scores[2] = { 0 };

    *ret = (struct lookahead){ 0 };
    int code = go(ask, least, &jobs[0], ret, err);
    if (code == 0)
        code = go(ask, other, &jobs[1], ret, err);
    if (code == 0 && lookahead_compare(&jobs[0], &jobs[1], &scores[0], &scores[1])) {
        ret->is_other = lookahead_is_better(&scores[1], &scores[0], other == LOOKAHEAD_WIDE);
        ret->choice = (struct event_slack){ .least = other,
                                            .waited = state->job_counts[JOB_QUEUED],
                                            .mean = scores[1].mean,
                                            .mean_other = scores[0].mean,
                                            .longest = scores[1].longest,
                                            .longest_other = scores[0].longest };
    }
    list_release(&jobs[0]);
    list_release(&jobs[1]);
    return code;
}
