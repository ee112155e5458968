/* SPDX-License-Identifier: Apache-2.0 */
/* The brain without a daemon around it: how fast it decides, and how much many jobs take.
 *
 *   brain decisions [SECONDS]   lines of NAME VALUE, times in microseconds; SECONDS with idle time
 *                               between decisions (sched_refresh), then as many without
 *   brain pending [COUNT]       MB and seconds
 *
 * The machines are put into the state at once, as a snapshot would: 100,000 events that each
 * measure the whole cluster anew are not what is measured here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/snapshot/snapshot.h"
#include "core/state/fold.h"
#include "sched/brain.h"
#include "sched/sched.h"

enum {
    NODES = 20000,
    USERS = 20,
    NAMES = 50,
    PENDING_SHAPES = 200,
    WARM_UP = 100,
    PENDING_MOST = 1000
};

/* Of each hundred machines. */
static const struct machine {
    uint32_t part, gpus;
    const char *model;
    int64_t memory_mib, cpu_milli, main_mib;
} machines[] = {
    { 40, 8, "g2", 22731, 96000, 393216 },   { 10, 8, "v100m32", 32768, 96000, 786432 },
    { 8, 8, "g3", 81920, 128000, 1048576 },  { 20, 4, "t4", 15360, 64000, 262144 },
    { 12, 2, "p100", 16384, 64000, 262144 }, { 10, 1, "v100m16", 16384, 48000, 196608 },
};

/* As openb's pods: milli-GPUs of one, or whole ones; most by far have one or a part of one. */
static const struct pod {
    uint32_t part, count, milli;
    const char *model;
} pods[] = {
    { 90, 1, 810, "" },    { 40, 1, 470, "" },  { 25, 1, 650, "" },  { 20, 1, 320, "" },
    { 15, 1, 230, "" },    { 10, 1, 120, "" },  { 8, 1, 550, "t4" }, { 190, 1, 1000, "" },
    { 40, 1, 1000, "g2" }, { 20, 2, 1000, "" }, { 12, 4, 1000, "" }, { 30, 8, 1000, "" },
};
static const struct beside {
    int64_t cpu_milli, memory_mib;
} besides[] = {
    { 3152, 5600 }, { 8000, 30517 }, { 11300, 49152 }, { 4000, 24576 }, { 9810, 41560 },
};

static uint64_t seed = 42;

static uint32_t dice(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 32) % below;
}

static double microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

struct bench {
    struct state *state;
    struct brain *brain;
    struct decisions decisions;
    usec_t now;
    uint64_t turned_away;
    LIST(uint64_t) running;
    LIST(double) times;
};

static void give_up(const char *what, const struct error *err)
{
    fprintf(stderr, "brain: %s: %s\n", what, err->text);
    exit(1);
}

static void tell(struct bench *bench, const struct event *event)
{
    struct event told = *event;
    struct error err;

    told.at = bench->now;
    bench->decisions.events.count = 0;
    if (sched_step(bench->brain, &told, &bench->decisions, &err) < 0)
        give_up(event_name(event->kind), &err);
}

static void add_machine(struct state *state, uint32_t number, const struct machine *like)
{
    struct node node = { .name = mem_printf("n%05u", number),
                         .rack = mem_printf("r%u", number / 32),
                         .block = mem_printf("b%u", number / 1024),
                         .cpu_milli = like->cpu_milli,
                         .memory_mib = like->main_mib };

    list_add(&state->room.nodes, (struct room_node){ node.cpu_milli, node.memory_mib });
    list_add(&state->nodes, node);
    for (uint32_t i = 0; i < like->gpus; i++) {
        list_add(&state->room.devices,
                 (struct room_device){ .memory_mib = like->memory_mib, .milli = GPU_MILLI });
        list_add(&state->devices, (struct device){ .uuid = mem_printf("n%05u.%u", number, i),
                                                   .model = mem_string(like->model),
                                                   .product = mem_string(like->model),
                                                   .address = mem_string(""),
                                                   .vendor = mem_string("nvidia"),
                                                   .memory_mib = like->memory_mib,
                                                   .node = number,
                                                   .index = i });
    }
}

static void make_cluster(struct bench *bench, uint32_t count)
{
    bench->state = state_create();
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i * 37 % 100, kind = 0; /* mixed, so that no model has a run of numbers */
        while (at >= machines[kind].part)
            at -= machines[kind++].part;
        add_machine(bench->state, i, &machines[kind]);
    }
    state_measure(bench->state);
    bench->brain = brain_create(bench->state);
}

static void release(struct bench *bench)
{
    brain_destroy(bench->brain);
    state_destroy(bench->state);
    list_release(&bench->decisions.events);
    list_release(&bench->running);
    list_release(&bench->times);
}

/* ---- how fast it decides ---- */

static void ask(struct request *request)
{
    uint32_t all = 0, pod = 0;

    for (size_t i = 0; i < sizeof(pods) / sizeof(pods[0]); i++)
        all += pods[i].part;
    for (uint32_t at = dice(all); at >= pods[pod].part; pod++)
        at -= pods[pod].part;
    const struct beside *beside = &besides[dice(sizeof(besides) / sizeof(besides[0]))];
    struct gpu_ask *gpus = &request->gpus[0];

    request_default(request);
    request->gpu_alternatives = 1;
    gpus->count = (uint16_t)pods[pod].count;
    gpus->milli = pods[pod].milli;
    gpus->kind = pods[pod].milli < GPU_MILLI ? SHARE_FRACTION : SHARE_WHOLE;
    snprintf(gpus->model, sizeof(gpus->model), "%s", pods[pod].model);
    request->cpu_milli = beside->cpu_milli * pods[pod].count * pods[pod].milli / GPU_MILLI;
    request->memory_mib = beside->memory_mib * pods[pod].count * pods[pod].milli / GPU_MILLI;
    request->max_duration = USEC_NEVER;
}

static uint64_t submit(struct bench *bench)
{
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = bench->state->next_id,
                                       .name = "train",
                                       .user = "ana",
                                       .queue = "default" } };

    ask(&event.submit.request);
    tell(bench, &event);
    return event.submit.id;
}

static void end(struct bench *bench, uint64_t id)
{
    uint32_t attempt = state_job(bench->state, id)->run->attempt;

    tell(bench,
         &(struct event){ .kind = EVENT_STARTED, .started = { .job = id, .attempt = attempt } });
    tell(bench,
         &(struct event){ .kind = EVENT_ENDED,
                          .ended = { .job = id, .attempt = attempt, .kind = ENGINE_ENDED } });
    tell(bench, &(struct event){ .kind = EVENT_FORGET, .forget = { .id = id } });
}

/* One that finds no room goes away, so that each plan is one decision. */
static void turn_away(struct bench *bench)
{
    uint64_t id = bench->state->last_job->id;

    if (bench->brain->pending.count == 0)
        return;
    bench->turned_away++;
    tell(bench, &(struct event){ .kind = EVENT_CANCEL, .cancel = { .job = id, .user = "ana" } });
    tell(bench, &(struct event){ .kind = EVENT_FORGET, .forget = { .id = id } });
}

/* Whatever the plan granted runs. */
static double plan(struct bench *bench)
{
    double began = microseconds();
    tell(bench, &(struct event){ .kind = EVENT_PLAN });
    double took = microseconds() - began;

    for (size_t i = 0; i < bench->decisions.events.count; i++) {
        const struct event *event = &bench->decisions.events.items[i];
        if (event->kind == EVENT_GRANT)
            list_add(&bench->running, event->grant.job);
    }
    turn_away(bench);
    return took;
}

/* The same placement by a look at every machine. */
static double scan(struct bench *bench, const struct job *job)
{
    struct arena arena = { 0 };
    struct lease lease;

    brain_refresh(bench->brain);
    struct place_query query = brain_query(bench->brain, job);
    query.shapes = NULL;
    double began = microseconds();
    place_job(&query, &arena, &lease, NULL);
    double took = microseconds() - began;
    arena_release(&arena);
    return took;
}

/* One ends and one comes; between plans there is time to catch up, or there is none. */
static void churn(struct bench *bench, bool is_busy)
{
    uint64_t which = dice((uint32_t)bench->running.count);
    uint64_t id = bench->running.items[which];

    while (!is_busy && sched_refresh(bench->brain))
        continue;
    bench->now += USEC_PER_SEC;
    bench->running.items[which] = bench->running.items[--bench->running.count];
    end(bench, id);
    submit(bench);
}

static int compare(const void *a, const void *b)
{
    const double *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static void report(struct bench *bench, const char *of)
{
    double sum = 0;
    size_t count = bench->times.count;

    qsort(bench->times.items, count, sizeof(double), compare);
    for (size_t i = 0; i < count; i++)
        sum += bench->times.items[i];
    printf("%s_count %zu\n%s_p50 %.3f\n%s_p99 %.3f\n", of, count, of, bench->times.items[count / 2],
           of, bench->times.items[count / 100 * 99]);
    printf("%s_most %.3f\n%s_mean %.3f\n", of, bench->times.items[count - 1], of,
           sum / (double)count);
    bench->times.count = 0;
}

/* seconds of decisions; every 100th time a look at every machine is timed beside. */
static void decide(struct bench *bench, const char *of, double seconds, bool is_busy)
{
    double began = microseconds(), scanned = 0;
    uint32_t scans = 0;

    bench->turned_away = 0;
    for (uint32_t i = 0; i < 2 * WARM_UP || microseconds() - began < seconds * 1e6; i++) {
        churn(bench, is_busy);
        if (is_busy && i % 100 == 0) {
            scanned += scan(bench, bench->state->last_job);
            scans++;
        }
        double took = plan(bench);
        if (i >= WARM_UP)
            list_add(&bench->times, took);
    }
    printf("%s_turned_away %llu\n", of, (unsigned long long)bench->turned_away);
    if (scans > 0)
        printf("scan %.1f\n", scanned / scans);
    report(bench, of);
}

static void bench_decisions(double seconds)
{
    struct bench bench = { .now = USEC_PER_SEC };

    make_cluster(&bench, NODES);
    tell(&bench, &(struct event){ .kind = EVENT_BOOT });
    tell(&bench, &(struct event){ .kind = EVENT_SETTINGS,
                                  .settings = { .placement = PLACEMENT_SFG,
                                                .half_life = QUEUE_HALF_LIFE_DEFAULT,
                                                .backfill_depth = 1 } });
    int64_t all = bench.state->capacity.milli;
    while (bench.state->queues.items[QUEUE_ROOT].used.of[RESOURCE_GPUS] < all / 10 * 9) {
        bench.now += USEC_PER_MS;
        submit(&bench);
        plan(&bench);
    }
    printf("gpus %lld\nfilled %.1f\nrunning %zu\n", (long long)all / GPU_MILLI,
           100.0 * (double)bench.state->queues.items[QUEUE_ROOT].used.of[RESOURCE_GPUS] /
               (double)all,
           bench.running.count);
    decide(&bench, "quiet", seconds, false);
    decide(&bench, "busy", seconds, true);
    printf("shapes %zu\n", bench.brain->shapes.all.count);
    release(&bench);
}

/* ---- how much many jobs take ---- */

static double resident_mb(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        exit(1);
    fclose(file);
    return (double)resident * 4096 / 1024 / 1024;
}

/* Folded, never planned: what waits waits. */
static void queue_many(struct bench *bench, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kind = i % PENDING_SHAPES;
        char name[32], user[16];
        snprintf(name, sizeof(name), "train-%s-%u", kind % 2 ? "resnet" : "llm", kind % NAMES);
        snprintf(user, sizeof(user), "user%u", kind % USERS);
        struct event event = { .kind = EVENT_SUBMIT,
                               .submit = { .id = bench->state->next_id,
                                           .name = name,
                                           .user = user,
                                           .queue = "default",
                                           .uid = 1000 + kind % USERS,
                                           .gid = 1000,
                                           .launch = i + 1,
                                           .grace = 30 * USEC_PER_SEC } };
        struct request *request = &event.submit.request;
        request_default(request);
        request->gpu_alternatives = 1;
        request->gpus[0].count = (uint16_t)(1 + kind % 8);
        request->gpus[0].milli = GPU_MILLI;
        request->cpu_milli = 1000 * (1 + kind / 8);
        request->max_duration = (1 + kind % 5) * USEC_PER_HOUR;
        bench->now += USEC_PER_MS;
        tell(bench, &event);
    }
}

static void bench_pending(uint32_t count)
{
    struct bench bench = { .now = USEC_PER_SEC };
    struct text bytes = { 0 };
    struct error err;

    make_cluster(&bench, 8);
    tell(&bench, &(struct event){ .kind = EVENT_BOOT });
    double before = resident_mb();
    double began = microseconds();
    queue_many(&bench, count);
    printf("job %zu\nbefore %.1f\nresident %.1f\nfold %.3f\nbuckets %zu\n", sizeof(struct job),
           before, resident_mb(), (microseconds() - began) / 1e6,
           bench.brain->pending.queues.items[1].buckets.count);

    began = microseconds();
    snapshot_save(bench.state, &bytes);
    printf("save %.3f\nbytes %zu\n", (microseconds() - began) / 1e6, bytes.length);
    release(&bench);
    bench = (struct bench){ 0 };

    began = microseconds();
    if (snapshot_load(bytes.bytes, bytes.length, &bench.state, &err) < 0)
        give_up("load", &err);
    double read = microseconds();
    bench.brain = brain_create(bench.state);
    printf("load %.3f\n", (microseconds() - began) / 1e6);
    printf("load_brain %.3f\n", (microseconds() - read) / 1e6);
    text_release(&bytes);
    release(&bench);
}

int main(int argc, char **argv)
{
    double number = argc > 2 ? strtod(argv[2], NULL) : 0;

    if (argc > 1 && strcmp(argv[1], "decisions") == 0)
        bench_decisions(number > 0 ? number : 10);
    else if (argc > 1 && strcmp(argv[1], "pending") == 0)
        bench_pending(number > 0 ? (uint32_t)number : 1000000);
    else {
        fprintf(stderr, "Usage: brain decisions [SECONDS] | pending [COUNT]\n");
        return 2;
    }
    return 0;
}
