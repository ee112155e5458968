/* SPDX-License-Identifier: Apache-2.0 */
/* What many tenants cost the brain, on 10,000 GPUs:
 *
 *   tenants   lines of NAME VALUE, times in milliseconds
 *
 *   reclaim      a gang of 2,000 GPUs, whose queue is owed them, finds the jobs that have to stop
 *   reclaim_one  a job of 8 GPUs does
 *   moves        a job of 8 GPUs finds one GPU free on each of 1,250 machines, and the jobs that
 * have to move moves_off    the same plan, when no job is moved moves_none   the same, when none of
 * the jobs that would have to move finds another place never        a gang of 20,000 GPUs is told
 * that it can never run, and why change       a queue's guarantee and limit are changed while
 * 100,000 jobs wait: the event and the plan that follows estimates    a start estimate for each of
 * 100,000 waiting jobs
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sched/brain.h"
#include "sched/sched.h"

enum { NODES = 1250, GPUS = 8, TEAMS = 20, WAITING = 100000, KINDS = 400 };

struct bench {
    struct state *state;
    struct brain *brain;
    struct decisions decisions;
    usec_t now;
};

static double milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void tell(struct bench *bench, const struct event *event)
{
    struct event told = *event;
    struct error err;

    told.at = bench->now;
    bench->decisions.events.count = 0;
    if (sched_step(bench->brain, &told, &bench->decisions, &err) < 0) {
        fprintf(stderr, "tenants: %s: %s\n", event_name(event->kind), err.text);
        exit(1);
    }
}

static void tell_settings(struct bench *bench, int64_t defrag_most)
{
    tell(bench, &(struct event){ .kind = EVENT_SETTINGS,
                                 .settings = { .placement = PLACEMENT_SFG,
                                               .half_life = QUEUE_HALF_LIFE_DEFAULT,
                                               .predict = 1,
                                               .defrag_most = defrag_most,
                                               .backfill_depth = 1 } });
}

static void make_cluster(struct bench *bench)
{
    bench->state = state_create();
    bench->brain = brain_create(bench->state);
    bench->now = USEC_PER_DAY;
    tell(bench, &(struct event){ .kind = EVENT_BOOT });
    for (uint32_t i = 0; i < NODES; i++) {
        AUTO_FREE char *name = mem_printf("n%04u", i);
        tell(bench, &(struct event){
                        .kind = EVENT_NODE,
                        .node = { .name = name, .cpu_milli = 128000, .memory_mib = 1 << 20 } });
        for (uint32_t k = 0; k < GPUS; k++) {
            AUTO_FREE char *uuid = mem_printf("n%04u.%u", i, k);
            tell(bench, &(struct event){ .kind = EVENT_DEVICE,
                                         .device = { .node = name,
                                                     .uuid = uuid,
                                                     .model = "h100",
                                                     .index = k,
                                                     .memory_mib = 81559 } });
        }
    }
    tell_settings(bench, 0);
}

static void define_queue(struct bench *bench, const char *name, int64_t guarantee, int64_t limit)
{
    tell(bench,
         &(struct event){ .kind = EVENT_QUEUE,
                          .queue = { .name = name,
                                     .weight = 1,
                                     .gpus = { guarantee, limit, QUOTA_NONE, QUOTA_NONE } } });
}

static uint64_t submit(struct bench *bench, const char *queue, uint32_t kind, uint32_t members,
                       uint16_t gpus)
{
    AUTO_FREE char *name = mem_printf("train-%u", kind % 50);
    AUTO_FREE char *user = mem_printf("user%u", kind % 40);
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = bench->state->next_id,
                                       .name = name,
                                       .user = user,
                                       .queue = queue,
                                       .preemptible = 1,
                                       .estimate = (30 + kind % 20) * USEC_PER_HOUR,
                                       .restart_cost = (kind % 10) * USEC_PER_MIN } };

    request_default(&event.submit.request);
    event.submit.request.members = members;
    event.submit.request.gpu_alternatives = 1;
    event.submit.request.gpus[0].count = gpus;
    event.submit.request.gpus[0].milli = GPU_MILLI;
    event.submit.request.cpu_milli = 4000 * (int64_t)gpus;
    tell(bench, &event);
    return event.submit.id;
}

static void start_all(struct bench *bench)
{
    while (sched_next_wakeup(bench->brain) <= bench->now) {
        tell(bench, &(struct event){ .kind = EVENT_PLAN });
        LIST(uint64_t) granted = { 0 };
        for (size_t i = 0; i < bench->decisions.events.count; i++) {
            if (bench->decisions.events.items[i].kind == EVENT_GRANT)
                list_add(&granted, bench->decisions.events.items[i].grant.job);
        }
        for (size_t i = 0; i < granted.count; i++) {
            const struct job *job = state_job(bench->state, granted.items[i]);
            for (uint32_t rank = 0; rank < job->run->lease->members_count; rank++)
                tell(bench, &(struct event){ .kind = EVENT_STARTED,
                                             .started = { .job = job->id,
                                                          .attempt = job->run->attempt,
                                                          .rank = rank } });
        }
        list_release(&granted);
    }
}

/* Those that were stopped are gone; who waited for that runs. */
static void end_stopping(struct bench *bench)
{
    LIST(uint64_t) stopping = { 0 };

    for (const struct job *job = bench->state->first_job; job; job = job->next) {
        if (job->state == JOB_STOPPING)
            list_add(&stopping, job->id);
    }
    for (size_t i = 0; i < stopping.count; i++) {
        const struct job *job = state_job(bench->state, stopping.items[i]);
        uint32_t members = job->run->lease->members_count, attempt = job->run->attempt;
        for (uint32_t rank = 0; rank < members; rank++)
            tell(bench, &(struct event){ .kind = EVENT_ENDED,
                                         .ended = { .job = stopping.items[i],
                                                    .attempt = attempt,
                                                    .rank = rank,
                                                    .kind = ENGINE_ENDED,
                                                    .signal = 15,
                                                    .exit_code = -1,
                                                    .was_stopped = 1 } });
    }
    list_release(&stopping);
    start_all(bench);
}

/* Twenty teams borrow everything. */
static void fill(struct bench *bench)
{
    static const uint16_t sizes[] = { 1, 1, 2, 4, 8, 8 };
    const int64_t all = bench->state->capacity.milli;

    define_queue(bench, "owner", 2000 * GPU_MILLI, QUOTA_NONE);
    for (uint32_t i = 0; i < TEAMS; i++) {
        AUTO_FREE char *name = mem_printf("team%u", i);
        define_queue(bench, name, 100 * GPU_MILLI, QUOTA_NONE);
    }
    for (uint32_t i = 0; bench->state->queues.items[QUEUE_ROOT].used.of[RESOURCE_GPUS] < all; i++) {
        AUTO_FREE char *name = mem_printf("team%u", i % TEAMS);
        bench->now += USEC_PER_SEC;
        submit(bench, name, i, i % 40 == 0 ? 8 : 1, sizes[i % COUNT_OF(sizes)]);
        start_all(bench);
        end_stopping(bench);
    }
    printf("running %zu\n", bench->brain->ends.count);
}

static double plan(struct bench *bench)
{
    double began = milliseconds();

    tell(bench, &(struct event){ .kind = EVENT_PLAN });
    return milliseconds() - began;
}

static size_t count_stops(const struct bench *bench)
{
    size_t count = 0;

    for (size_t i = 0; i < bench->decisions.events.count; i++)
        count += bench->decisions.events.items[i].kind == EVENT_STOP;
    return count;
}

static void bench_reclaim(struct bench *bench)
{
    bench->now += 10 * USEC_PER_HOUR;
    submit(bench, "owner", 7, 1, 8);
    printf("reclaim_one %.3f\n", plan(bench));
    printf("reclaim_one_stops %zu\n", count_stops(bench));
    submit(bench, "owner", 8, 249, 8);
    printf("reclaim %.3f\n", plan(bench));
    printf("reclaim_stops %zu\n", count_stops(bench));
}

static void bench_never(struct bench *bench)
{
    struct request request;
    struct why why;

    request_default(&request);
    request.members = 2500;
    request.gpu_alternatives = 1;
    request.gpus[0].count = 8;
    request.gpus[0].milli = GPU_MILLI;
    double began = milliseconds();
    sched_admit(bench->state, &request, QUEUE_DEFAULT, true, &why);
    printf("never %.3f\n", milliseconds() - began);
    if (!why_is_never(why.kind))
        exit(1);
}

static void bench_waiting(struct bench *bench)
{
    struct start_estimate estimate;
    uint64_t first = bench->state->next_id;
    AUTO(inquiry) struct inquiry *inquiry = inquiry_create();
    uint32_t known = 0;

    for (uint32_t i = 0; i < WAITING; i++) {
        AUTO_FREE char *name = mem_printf("team%u", i % TEAMS);
        submit(bench, name, i % KINDS, 1, (uint16_t)(1 + i % 8));
    }
    printf("first_plan %.3f\n", plan(bench));
    do {
        end_stopping(bench);
        plan(bench);
    } while (bench->decisions.events.count > 0);
    bench->now += USEC_PER_SEC;
    printf("plan %.3f\n", plan(bench));
    bench->now += USEC_PER_SEC;
    double began = milliseconds();
    define_queue(bench, "team3", 300 * GPU_MILLI, 900 * GPU_MILLI);
    tell(bench, &(struct event){ .kind = EVENT_PLAN });
    printf("change %.3f\n", milliseconds() - began);
    began = milliseconds();
    for (uint64_t id = first; id < first + WAITING; id++)
        known +=
            sched_estimate_start(bench->brain, inquiry, state_job(bench->state, id), &estimate);
    printf("estimates %.3f\n", milliseconds() - began);
    printf("estimated %u\n", known);
}

/* Jobs of so many GPUs everywhere; those that have the last device of their machine end. */
static void scatter(struct bench *bench, uint16_t gpus)
{
    LIST(uint64_t) last = { 0 };

    make_cluster(bench);
    define_queue(bench, "owner", 0, QUOTA_NONE);
    define_queue(bench, "team0", 0, QUOTA_NONE);
    for (uint32_t i = 0; i < NODES * (GPUS / gpus); i++)
        submit(bench, "team0", 0, 1, gpus);
    start_all(bench);
    for (const struct job *job = bench->state->first_job; job; job = job->next) {
        const struct lease *lease = job->run->lease;
        if (bench->state->devices.items[lease->slices[lease->slices_count - 1].device].index == 7)
            list_add(&last, job->id);
    }
    bench->now += 10 * USEC_PER_HOUR;
    for (size_t i = 0; i < last.count; i++)
        tell(bench, &(struct event){
                        .kind = EVENT_ENDED,
                        .ended = { .job = last.items[i], .attempt = 1, .kind = ENGINE_ENDED } });
    list_release(&last);
    start_all(bench);
    bench->now += USEC_PER_MIN;
}

static void bench_moves(uint16_t gpus, int64_t defrag_most, const char *name)
{
    struct bench bench = { 0 };

    scatter(&bench, gpus);
    tell_settings(&bench, defrag_most);
    plan(&bench);
    submit(&bench, "owner", 1, 1, 8);
    printf("%s %.3f\n", name, plan(&bench));
    printf("%s_stops %zu\n", name, count_stops(&bench));
    list_release(&bench.decisions.events);
    brain_destroy(bench.brain);
    state_destroy(bench.state);
}

int main(void)
{
    struct bench bench = { 0 };

    bench_moves(1, 0, "moves_off");
    bench_moves(1, 100 * USEC_PER_HOUR, "moves");
    bench_moves(5, 0, "moves_none_off");
    bench_moves(5, 100 * USEC_PER_HOUR, "moves_none");
    make_cluster(&bench);
    fill(&bench);
    bench_reclaim(&bench);
    end_stopping(&bench);
    bench_never(&bench);
    bench_waiting(&bench);
    list_release(&bench.decisions.events);
    brain_destroy(bench.brain);
    state_destroy(bench.state);
    return 0;
}
