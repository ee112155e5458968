/* SPDX-License-Identifier: Apache-2.0 */
/* A journal of seven days on a cluster of 10,000 GPUs, as a daemon would have written it.
 *
 *   past DIR [JOBS [PREEMPTIBLE [RACKS]]]
 *
 * DIR is empty. So many percent of the jobs may be stopped for others; machines stand in so many
 * racks (0: that is not known). Prints "now" (journal time, us) and what it wrote.
 *
 * Who waits starts up to ten seconds late, so that it does not take minutes. Jobs come by day more
 * than by night, ask for one to 64 GPUs, and offer 92 % of the cluster. What they are made of is
 * drawn; when they start and where is what the brain decides.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine.h"
#include "forecast/forward.h"
#include "store/journal.h"

enum { NODES = 1250, NODE_GPUS = 8, JOBS = 100000, USERS = 60, NAMES = 12, QUEUES = 8, DAYS = 7 };
enum { BATCH = 5000 };

static const struct size {
    uint32_t part, gpus, members;
} sizes[] = { { 60, 1, 1 }, { 12, 2, 1 }, { 10, 4, 1 }, { 13, 8, 1 }, { 4, 8, 2 }, { 1, 8, 8 } };

struct coming {
    usec_t at, run;
};

struct past {
    struct journal *journal;
    struct text scratch;
    struct coming *jobs;
    size_t count, next;
    usec_t from, until;
    uint64_t records;
    size_t batch;
    double preemptible;
    uint32_t racks;
};

static uint64_t seed = 7;

static double dice(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static void give_up(const char *what, const struct error *err)
{
    fprintf(stderr, "past: %s: %s\n", what, err->text);
    exit(1);
}

static void told(void *user, const struct event *event)
{
    struct past *past = user;
    struct error err;

    text_clear(&past->scratch);
    event_encode(event, &past->scratch);
    journal_append(past->journal, past->scratch.bytes, past->scratch.length);
    past->records++;
    if (++past->batch < BATCH)
        return;
    past->batch = 0;
    if (journal_commit(past->journal, &err) < 0)
        give_up("commit", &err);
}

static const struct size *draw_size(void)
{
    uint32_t at = (uint32_t)(dice() * 100), i = 0;

    while (at >= sizes[i].part)
        at -= sizes[i++].part;
    return &sizes[i];
}

/* Minutes to a day, most of them short. */
static usec_t draw_run(double scale)
{
    double hours = exp(log(0.02) + dice() * (log(30) - log(0.02)));

    return (usec_t)(hours * scale * (double)USEC_PER_HOUR);
}

static int compare(const void *a, const void *b)
{
    const struct coming *left = a, *right = b;

    return (left->at > right->at) - (left->at < right->at);
}

/* By day twice as many as by night. */
static void draw_jobs(struct past *past)
{
    for (size_t i = 0; i < past->count; i++) {
        double day;
        do
            day = dice() * DAYS;
        while (dice() > (2 - cos(2 * 3.14159265 * day)) / 3);
        past->jobs[i].at = past->from + (usec_t)(day * (double)USEC_PER_DAY);
        past->jobs[i].run = draw_run(1);
    }
    qsort(past->jobs, past->count, sizeof(past->jobs[0]), compare);
}

static void submit(struct past *past, struct forward *forward, size_t number)
{
    const struct size *size = draw_size();
    uint32_t user = (uint32_t)(dice() * USERS), kind = (uint32_t)(dice() * NAMES);
    char name[32], owner[16], queue[16];
    struct error err;

    snprintf(name, sizeof(name), "train-%c-%zu", (char)('a' + kind), number);
    snprintf(owner, sizeof(owner), "user%u", user);
    snprintf(queue, sizeof(queue), "team%u", user % QUEUES);
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = forward->state->next_id,
                                       .name = name,
                                       .user = owner,
                                       .uid = 1000 + user,
                                       .gid = 1000,
                                       .queue = queue,
                                       .launch = number + 1,
                                       .grace = 30 * USEC_PER_SEC,
                                       .preemptible = dice() < past->preemptible,
                                       .restart_cost = 2 * USEC_PER_MIN } };
    struct request *request = &event.submit.request;
    request_default(request);
    request->gpu_alternatives = 1;
    request->gpus[0].count = (uint16_t)size->gpus;
    request->gpus[0].milli = GPU_MILLI;
    request->members = request->nodes_max = size->members;
    request->cpu_milli = 4000 * size->gpus;
    request->memory_mib = 32768 * size->gpus;
    usec_t hours = past->jobs[number].run / USEC_PER_HOUR + 1;
    request->max_duration = (hours < 4 ? 4 : hours < 12 ? 12 : 48) * USEC_PER_HOUR;
    if (forward_tell(forward, &event, &err) < 0)
        give_up("submit", &err);
}

static usec_t next(void *user)
{
    const struct past *past = user;

    return past->next < past->count ? past->jobs[past->next].at : past->until;
}

static int come(void *user, struct forward *forward, usec_t now, struct error *err)
{
    struct past *past = user;

    (void)err;
    while (past->next < past->count && past->jobs[past->next].at <= now)
        submit(past, forward, past->next++);
    if (past->next == past->count && now >= past->until)
        past->until = USEC_NEVER; /* all are over */
    return 0;
}

static bool fate_of(void *user, const struct job *job, struct forward_fate *ret)
{
    const struct past *past = user;

    ret->work = past->jobs[job->launch - 1].run;
    return true;
}

static void tell(struct forward *forward, struct event *event)
{
    struct error err;

    if (forward_tell(forward, event, &err) < 0)
        give_up(event_name(event->kind), &err);
}

static void put_up(const struct past *past, struct forward *forward)
{
    for (uint32_t i = 0; i < QUEUES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "team%u", i);
        tell(forward,
             &(struct event){ .kind = EVENT_QUEUE,
                              .queue = { .name = name,
                                         .parent = "",
                                         .weight = 1,
                                         .gpus = { i < 4 ? 1000 * GPU_MILLI : 0, QUOTA_NONE,
                                                   QUOTA_NONE, QUOTA_NONE } } });
    }
    for (uint32_t i = 0; i < NODES; i++) {
        char name[16], uuid[24], rack[16] = "";
        snprintf(name, sizeof(name), "n%04u", i);
        if (past->racks > 0)
            snprintf(rack, sizeof(rack), "r%u", i % past->racks);
        tell(forward, &(struct event){ .kind = EVENT_NODE,
                                       .node = { .name = name,
                                                 .cpu_milli = 128000,
                                                 .memory_mib = 1048576,
                                                 .reason = "",
                                                 .rack = rack,
                                                 .block = "" } });
        for (uint32_t k = 0; k < NODE_GPUS; k++) {
            snprintf(uuid, sizeof(uuid), "n%04u.%u", i, k);
            tell(forward, &(struct event){ .kind = EVENT_DEVICE,
                                           .device = { .node = name,
                                                       .uuid = uuid,
                                                       .model = i % 5 ? "h100" : "a100",
                                                       .product = "",
                                                       .address = "",
                                                       .vendor = "nvidia",
                                                       .sick = "",
                                                       .index = k,
                                                       .memory_mib = 81559,
                                                       .island = 1 } });
        }
    }
}

/* So that 92 % of the cluster is offered. */
static void scale_runs(struct past *past)
{
    double gpus = 0, hours = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        gpus += sizes[i].part / 100.0 * sizes[i].gpus * sizes[i].members;
    for (size_t i = 0; i < past->count; i++)
        hours += (double)past->jobs[i].run / (double)USEC_PER_HOUR;
    double factor = 0.92 * NODES * NODE_GPUS * DAYS * 24 / (hours * gpus);
    for (size_t i = 0; i < past->count; i++)
        past->jobs[i].run = (usec_t)((double)past->jobs[i].run * factor);
}

int main(int argc, char **argv)
{
    struct past past = { .from = 30 * USEC_PER_DAY, .count = JOBS };
    struct error err;

    if (argc < 2) {
        fprintf(stderr, "Usage: past DIR [JOBS [PREEMPTIBLE [RACKS]]]\n");
        return 2;
    }
    if (argc > 2)
        past.count = strtoul(argv[2], NULL, 10);
    if (argc > 3)
        past.preemptible = strtod(argv[3], NULL) / 100;
    if (argc > 4)
        past.racks = (uint32_t)strtoul(argv[4], NULL, 10);
    past.jobs = mem_zero(past.count, sizeof(past.jobs[0]));
    past.until = past.from + 3 * DAYS * USEC_PER_DAY;
    draw_jobs(&past);
    scale_runs(&past);
    if (journal_open(argv[1], JOURNAL_WRITE, &past.journal, &err) < 0)
        give_up(argv[1], &err);

    struct state *state = state_create();
    struct brain *brain = brain_create(state);
    struct forward *forward =
        forward_create(&(struct forward_options){ .state = state,
                                                  .brain = brain,
                                                  .now = past.from - 1,
                                                  .user = &past,
                                                  .fate_of = fate_of,
                                                  .next = next,
                                                  .come = come,
                                                  .told = told,
                                                  .grain = 10 * USEC_PER_SEC });
    tell(forward, &(struct event){
                      .kind = EVENT_BOOT,
                      .boot = { .version = "bench", .brain = SCHED_VERSION, .engine = "none" } });
    put_up(&past, forward);
    if (forward_go(forward, &err) < 0 || journal_commit(past.journal, &err) < 0)
        give_up("go", &err);
    double waits = 0;
    for (size_t i = 0; i < forward->jobs.count; i++)
        waits += (double)(forward->jobs.items[i].start - forward->jobs.items[i].submitted);
    printf("now %lld\nrecords %llu\njobs %zu\nwait_mean %.1f\nended %u\n",
           (long long)(past.from + DAYS * USEC_PER_DAY), (unsigned long long)past.records,
           forward->jobs.count, waits / (double)forward->jobs.count / 1e6,
           state->job_counts[JOB_ENDED]);
    forward_destroy(forward);
    brain_destroy(brain);
    state_destroy(state);
    journal_close(past.journal);
    text_release(&past.scratch);
    free(past.jobs);
    return 0;
}
