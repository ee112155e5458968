/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of the whole: ends, starvation, and that the books of both agree. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/snapshot/snapshot.h"
#include "worlds/fuzz_check.h"
#include "worlds/fuzz_known.h"

/* ---- those that hold something ---- */

static bool has_fallen(const struct shadow_job *job)
{
    const struct job_end *end = &job->end;

    return job->members_ended > 0 &&
           (end->kind != ENGINE_ENDED || end->exit_code != 0 || end->signal != 0);
}

bool check_gang_falls_together(struct fuzz_run *run, const struct event *event, struct error *found)
{
    (void)event;
    for (size_t i = 0; i < run->shadow->active.count; i++) {
        const struct shadow_job *job = shadow_job(run->shadow, run->shadow->active.items[i]);
        if (has_fallen(job) && job->state != JOB_STOPPING)
            return NOT_HELD(found, "job %" PRIu64 ": a member has failed, and the others run on",
                            job->id);
    }
    return true;
}

/* When the brain must have done something about it. */
static usec_t due_of(const struct shadow_job *job)
{
    if (job->state == JOB_WAITING)
        return job->needs_left + job->needs_expected == 0 ? job->begin : USEC_NEVER;
    if (job->state != JOB_GRANTED && job->state != JOB_RUNNING)
        return USEC_NEVER;
    if (job->is_cancel_wanted || job->is_requeue_wanted)
        return 0;
    return shadow_end_of(job);
}

bool check_ends_in_time(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    usec_t wakeup = sched_next_wakeup(run->brain);

    (void)event;
    for (size_t i = 0; i < shadow->active.count + shadow->waiting.count; i++) {
        const struct shadow_job *job = shadow_job(
            shadow, i < shadow->active.count ? shadow->active.items[i]
                                             : shadow->waiting.items[i - shadow->active.count]);
        usec_t due = due_of(job);
        if (due <= shadow->now)
            return NOT_HELD(found,
                            "job %" PRIu64 ": is %s, and was due at %" PRId64 ", now %" PRId64,
                            job->id, job_state_name((enum job_state)job->state), due, shadow->now);
        if (wakeup > due)
            return NOT_HELD(found,
                            "job %" PRIu64 ": due at %" PRId64 ", the brain wakes up at %" PRId64,
                            job->id, due, wakeup);
    }
    return true;
}

bool check_sick_left(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;

    (void)event;
    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *job = shadow_job(shadow, shadow->active.items[i]);
        uint8_t harm = shadow_harm(shadow, job);
        if (job->state != JOB_STOPPING && shadow_may_leave(shadow, job, harm))
            return NOT_HELD(found, "job %" PRIu64 ": is %s on a sick device (harm %u)", job->id,
                            job_state_name((enum job_state)job->state), harm);
    }
    return true;
}

/* ---- in worlds without surprises ---- */

/* False: the shadow can't tell, one alternative may be. */
static bool is_within_limit(const struct shadow *shadow, const struct shadow_job *job)
{
    const struct request *request = &shadow->requests.items[job->request];
    int64_t limit = shadow_bound_of(&shadow->queues.items[job->queue], SHADOW_GPUS, false);

    for (uint32_t i = 0; i < request->gpu_alternatives && limit >= 0; i++) {
        if (shadow_most_milli(request, i) > limit)
            return false;
    }
    return true;
}

static const struct shadow_job *find_head(const struct shadow *shadow)
{
    struct shadow_fit ever = { .is_empty = true, .is_free = true };

    for (const struct shadow_job *job = shadow->first_queued; job; job = job->next) {
        const struct request *request = &shadow->requests.items[job->request];
        if (request->roles_count > 0 ||
            (request->nodes_max > 1 && request->nodes_max < request->members))
            return NULL; /* the shadow can't tell whether it is its turn */
        if (shadow_fits(shadow, request, job->queue, &ever))
            return is_within_limit(shadow, job) ? job : NULL;
    }
    return NULL;
}

/* As the policies say it, not as the brain has it. */
#define SLACK_SAID USEC_PER_HOUR

enum {
    LOST_PROMISES = 8, /* one after another, before it counts as starving */
    SLIPS = 4,         /* short ones that go before it by default, each for a part of its length */
};

/* What keeps it: was it ever without room, or without quota, since it is the oldest? */
static void look_at_head(struct fuzz_checks *checks, const struct shadow *shadow,
                         const struct shadow_job *head)
{
    const struct request *request = &shadow->requests.items[head->request];
    struct shadow_fit now = { .is_free = true };
    struct shadow_amounts most = shadow_most_of(shadow, request, 0);

    if (!shadow_fits(shadow, request, head->queue, &now))
        checks->lacked_room = true;
    if (!shadow_quota_is_wide(shadow, head->queue, &most))
        checks->lacked_quota = true;
}

/* The oldest is served next (fifo), or holds a promise (shortest first), or has its turn for quota:
 * all that runs ends within its limit, and then it starts. Where promises are known to be lost,
 * some time later, or, when it lacks both room and quota, at an unknown time. By default that
 * begins at its protected start (sched/ordering/plain.h), a tenth of its wait in the plain
 * schedule later than there, or an hour. Serving in order takes at most twice as long as the work
 * does on a full cluster, and the longest job (Graham 1969). It may slip by a part of its own
 * length. */
static usec_t bound_of(const struct fuzz_run *run, const struct shadow_job *head)
{
    const struct shadow *shadow = run->shadow;
    const struct fuzz_checks *checks = run->checks;
    struct why promise = { .at = checks->lacked_room ? shadow->now : 0 };
    bool is_known = fuzz_is_known(run, head, &promise);
    usec_t times = is_known ? LOST_PROMISES : 1;
    usec_t plain = 2 * shadow->work_most + checks->limit_most;
    usec_t served = head->submitted + plain / 10 * 11 + SLACK_SAID;

    if (is_known && checks->lacked_quota)
        return USEC_NEVER;
    if (shadow->settings.order != ORDER_DEFAULT)
        return checks->head_since + times * checks->limit_most;
    served = served > checks->head_since ? served : checks->head_since;
    return served + (times + SLIPS) * checks->limit_most;
}

bool check_no_job_starves(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    struct fuzz_checks *checks = run->checks;

    (void)event;
    if (!run->world->temper.is_obedient || shadow->settings.backfill_depth == 0)
        return true;
    const struct shadow_job *head = shadow_job(shadow, checks->head);
    if (!head || head->state != JOB_QUEUED) {
        head = find_head(shadow);
        checks->head = head ? head->id : 0;
        checks->head_since = shadow->now;
        checks->lacked_room = checks->lacked_quota = false;
    }
    if (head)
        look_at_head(checks, shadow, head);
    if (!head || shadow->now <= bound_of(run, head))
        return true;
    return NOT_HELD(found,
                    "job %" PRIu64 ": the oldest since %" PRId64 ", expected to start by %" PRId64
                    ", now %" PRId64,
                    head->id, checks->head_since, bound_of(run, head), shadow->now);
}

static bool check_promise(struct fuzz_run *run, struct shadow_job *job, struct error *found)
{
    struct why why = { .at = job->promised };

    if (fuzz_is_known(run, job, &why))
        return true;
    if (job->promised > 0 && job->promised < run->shadow->now)
        return NOT_HELD(found, "job %" PRIu64 ": promised to start at %" PRId64 ", now %" PRId64,
                        job->id, job->promised, run->shadow->now);
    sched_why(run->brain, run->asker, state_job(run->state, job->id), &why, NULL);
    if (why.at > 0 && why.at != USEC_NEVER && !why_is_never(why.kind) &&
        (job->promised == 0 || why.at < job->promised))
        job->promised = why.at;
    return true;
}

bool check_promise_kept(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    bool is_in_order = run->world->temper.is_obedient && shadow->settings.order == ORDER_FIFO;

    (void)event;
    /* Those behind it may be promised another time when those in front find a better one. */
    struct shadow_job *head = shadow_job(shadow, run->checks->head);
    return !is_in_order || !head || head->state != JOB_QUEUED || check_promise(run, head, found);
}

/* ---- both say the same ---- */

static bool check_job(const struct shadow_job *job, const struct job *said, struct error *found)
{
    if (!said)
        return NOT_HELD(found, "job %" PRIu64 ": the state has none", job->id);
    if (said->state != job->state || said->result != job->result)
        return NOT_HELD(found, "job %" PRIu64 ": is %s %s, expected %s %s", job->id,
                        job_state_name((enum job_state)said->state),
                        job_result_name((enum job_result)said->result),
                        job_state_name((enum job_state)job->state),
                        job_result_name((enum job_result)job->result));
    if (said->needs_left != job->needs_left || said->run->attempt != job->attempt ||
        said->run->retries != job->retries || said->run->preemptions != job->preemptions ||
        said->run->moves != job->moves || said->run->rescues != job->rescues)
        return NOT_HELD(found,
                        "job %" PRIu64 ": needs, attempt, retries, preemptions, rescues are "
                        "%u %u %u %u %u, expected %u %u %u %u %u",
                        job->id, said->needs_left, said->run->attempt, said->run->retries,
                        said->run->preemptions, said->run->rescues, job->needs_left, job->attempt,
                        job->retries, job->preemptions, job->rescues);
    return true;
}

bool check_jobs_agree(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;

    (void)event;
    for (size_t i = 0; i < shadow->jobs.count; i++) {
        const struct shadow_job *job = shadow->jobs.items[i];
        if (job && !check_job(job, state_job(run->state, job->id), found))
            return false;
    }
    for (int i = 0; i < JOB_STATE_COUNT; i++) {
        if (shadow->job_counts[i] != run->state->job_counts[i])
            return NOT_HELD(found, "%u jobs are %s, expected %u", run->state->job_counts[i],
                            job_state_name((enum job_state)i), shadow->job_counts[i]);
    }
    return true;
}

bool check_jobs_agree_at_end(struct fuzz_run *run, const struct event *event, struct error *found)
{
    return check_jobs_agree(run, event, found) && check_books_agree(run, event, found);
}

static bool check_rooms(const struct shadow *shadow, const struct state *state, struct error *found)
{
    for (size_t i = 0; i < shadow->nodes.count; i++) {
        const struct shadow_node *node = &shadow->nodes.items[i];
        const struct room_node *room = &state->room.nodes.items[i];
        if (room->cpu_milli != node->cpu_free || room->memory_mib != node->memory_free)
            return NOT_HELD(found,
                            "machine %s: %" PRId64 " milli-CPUs and %" PRId64
                            " MiB free, expected %" PRId64 " and %" PRId64,
                            node->name, room->cpu_milli, room->memory_mib, node->cpu_free,
                            node->memory_free);
    }
    for (size_t i = 0; i < shadow->devices.count; i++) {
        const struct shadow_device *device = &shadow->devices.items[i];
        const struct room_device *room = &state->room.devices.items[i];
        if (room->milli != device->milli_free || room->memory_mib != device->memory_free ||
            state->devices.items[i].pool != device->owner)
            return NOT_HELD(found,
                            "device %s: %" PRId64 " milli and %" PRId64 " MiB free in pool %u, "
                            "expected %" PRId64 ", %" PRId64 " and %u",
                            device->uuid, room->milli, room->memory_mib,
                            state->devices.items[i].pool, device->milli_free, device->memory_free,
                            device->owner);
    }
    return true;
}

static bool check_holders(const struct shadow *shadow, const struct state *state,
                          struct error *found)
{
    for (size_t i = 0; i < shadow->queues.count; i++) {
        const struct shadow_queue *queue = &shadow->queues.items[i];
        for (uint32_t k = 0; k < shadow->resources.count; k++) {
            int64_t used = state->queues.items[i].used.of[k],
                    firm = state->queues.items[i].firm.of[k];
            if (used != queue->used.of[k] || firm != queue->firm.of[k])
                return NOT_HELD(found,
                                "queue %s: holds %" PRId64 ", for good %" PRId64
                                " of resource %u, expected %" PRId64 " and %" PRId64,
                                queue->name, used, firm, k, queue->used.of[k], queue->firm.of[k]);
        }
    }
    for (size_t i = 0; i < shadow->pools.count; i++) {
        if (state->room.pools.items[i] != shadow->pools.items[i].held)
            return NOT_HELD(found, "pool %s: holds %" PRId64 ", expected %" PRId64,
                            shadow->pools.items[i].name, state->room.pools.items[i],
                            shadow->pools.items[i].held);
    }
    for (size_t i = 0; i < shadow->groups.count; i++) {
        const struct shadow_group *group = shadow->groups.items[i];
        const struct group *said = group ? state_group(state, group->id) : NULL;
        if (group &&
            (!said || said->active_count != group->active || said->ended_count != group->ended ||
             said->bad_count != group->bad || said->started_count != group->started))
            return NOT_HELD(found,
                            "group %" PRIu64 ": expected %u active, %u ended, %u badly, %u started",
                            group->id, group->active, group->ended, group->bad, group->started);
    }
    return true;
}

bool check_books_agree(struct fuzz_run *run, const struct event *event, struct error *found)
{
    (void)event;
    return check_rooms(run->shadow, run->state, found) &&
           check_holders(run->shadow, run->state, found);
}

/* ---- another machine ---- */

enum { REQUESTS_ASKED = 3 };

static int add_machine(struct state *state, struct error *err)
{
    struct event event = { .kind = EVENT_NODE,
                           .at = state->now,
                           .node = { .name = "another",
                                     .cpu_milli = 64000,
                                     .memory_mib = 512 * 1024,
                                     .reason = "",
                                     .rack = "r0",
                                     .block = "b0" } };
    char uuid[16];

    int code = state_apply(state, &event, err);
    for (uint32_t i = 0; i < 4 && code == 0; i++) {
        snprintf(uuid, sizeof(uuid), "another.%u", i);
        event = (struct event){ .kind = EVENT_DEVICE,
                                .at = state->now,
                                .device = { .node = "another",
                                            .uuid = uuid,
                                            .model = i < 2 ? "h100" : "l4",
                                            .index = i,
                                            .memory_mib = i < 2 ? 81920 : 24000,
                                            .sick = "" } };
        code = state_apply(state, &event, err);
    }
    return code;
}

bool check_more_is_no_less(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    struct text bytes = { 0 };
    struct state *more = NULL;
    bool holds = true;

    (void)event;
    if (run->look->sample > 1 && run->world->temper.seed % 4 != 0)
        return true; /* to ask what an empty cluster holds takes long */
    snapshot_save(run->state, &bytes);
    int code = snapshot_load(bytes.bytes, bytes.length, &more, found);
    text_release(&bytes);
    if (code == 0)
        code = add_machine(more, found);
    size_t count = run->look->sample > 1 ? REQUESTS_ASKED : shadow->requests.count;
    for (size_t i = 0; i < shadow->requests.count && i < count && code == 0 && holds; i++) {
        uint32_t queue = i % 2 ? QUEUE_DEFAULT : (uint32_t)shadow->queues.count - 1;
        const struct request *request = &shadow->requests.items[i];
        struct why before, after;
        sched_admit(run->state, request, queue, false, &before);
        sched_admit(more, request, queue, false, &after);
        holds = why_is_never(before.kind) || !why_is_never(after.kind) ||
                fuzz_is_known_to_be_refused(run, request) ||
                NOT_HELD(found, "shape %zu in queue %u: was %s, and with another machine is %s", i,
                         queue, why_name(before.kind), why_name(after.kind));
    }
    state_destroy(more);
    return code == 0 && holds;
}
