/* SPDX-License-Identifier: Apache-2.0 */
/* The brain without a daemon around it: how fast it decides, and how much many jobs take.
 *
 *   brain decisions [SECONDS]   lines of NAME VALUE, times in microseconds; SECONDS with idle time
 *                               between decisions (sched_refresh), then as many without
 *   brain pending [COUNT]       MB and seconds
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster.h"
#include "core/snapshot/snapshot.h"
#include "sched/brain.h"

enum {
    NODES = 20000,
    USERS = 20,
    NAMES = 50,
    PENDING_SHAPES = 200,
    WARM_UP = 100,
    PENDING_MOST = 1000
};

struct bench {
    struct cluster cluster;
    LIST(double) times;
};

static double microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* ---- how fast it decides ---- */

static double plan(struct cluster *cluster)
{
    double began = microseconds();
    cluster_plan(cluster);
    double took = microseconds() - began;

    cluster_turn_away(cluster);
    return took;
}

/* The same placement by a look at every machine. */
static double scan(struct brain *brain, const struct job *job)
{
    struct arena arena = { 0 };
    struct lease lease;

    brain_refresh(brain);
    struct place_query query = brain_query(brain, job);
    query.shapes = NULL;
    double began = microseconds();
    place_job(&query, &arena, &lease, NULL);
    double took = microseconds() - began;
    arena_release(&arena);
    return took;
}

/* One ends and one comes; between plans there is time to catch up, or there is none. */
static void churn(struct cluster *cluster, bool is_busy)
{
    uint64_t which = cluster_dice(cluster, (uint32_t)cluster->running.count);
    uint64_t id = cluster->running.items[which];

    while (!is_busy && sched_refresh(cluster->brain))
        continue;
    cluster->now += USEC_PER_SEC;
    cluster->running.items[which] = cluster->running.items[--cluster->running.count];
    cluster_end(cluster, id);
    cluster_submit(cluster);
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

    struct cluster *cluster = &bench->cluster;
    cluster->turned_away = 0;
    for (uint32_t i = 0; i < 2 * WARM_UP || microseconds() - began < seconds * 1e6; i++) {
        churn(cluster, is_busy);
        if (is_busy && i % 100 == 0) {
            scanned += scan(cluster->brain, cluster->state->last_job);
            scans++;
        }
        double took = plan(cluster);
        if (i >= WARM_UP)
            list_add(&bench->times, took);
    }
    printf("%s_turned_away %llu\n", of, (unsigned long long)cluster->turned_away);
    if (scans > 0)
        printf("scan %.1f\n", scanned / scans);
    report(bench, of);
}

static void bench_decisions(double seconds)
{
    struct bench bench = { 0 };
    struct cluster *cluster = &bench.cluster;

    cluster_make(cluster, NODES);
    cluster_fill(cluster, 90);
    double all = (double)cluster->state->capacity.milli;
    printf("gpus %.0f\nfilled %.1f\nrunning %zu\n", all / GPU_MILLI,
           100 * (double)cluster->state->queues.items[QUEUE_ROOT].used.of[RESOURCE_GPUS] / all,
           cluster->running.count);
    decide(&bench, "quiet", seconds, false);
    decide(&bench, "busy", seconds, true);
    printf("shapes %zu\n", cluster->brain->shapes.all.count);
    cluster_release(cluster);
    list_release(&bench.times);
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
static void queue_many(struct cluster *cluster, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kind = i % PENDING_SHAPES;
        char name[32], user[16];
        snprintf(name, sizeof(name), "train-%s-%u", kind % 2 ? "resnet" : "llm", kind % NAMES);
        snprintf(user, sizeof(user), "user%u", kind % USERS);
        struct event event = { .kind = EVENT_SUBMIT,
                               .submit = { .id = cluster->state->next_id,
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
        cluster->now += USEC_PER_MS;
        cluster_tell(cluster, &event);
    }
}

static void bench_pending(uint32_t count)
{
    struct cluster cluster;
    struct text bytes = { 0 };
    struct error err;

    cluster_make(&cluster, 8);
    double before = resident_mb();
    double began = microseconds();
    queue_many(&cluster, count);
    printf("job %zu\nbefore %.1f\nresident %.1f\nfold %.3f\nbuckets %zu\n", sizeof(struct job),
           before, resident_mb(), (microseconds() - began) / 1e6,
           cluster.brain->pending.queues.items[1].buckets.count);

    began = microseconds();
    snapshot_save(cluster.state, &bytes);
    printf("save %.3f\nbytes %zu\n", (microseconds() - began) / 1e6, bytes.length);
    cluster_release(&cluster);
    cluster = (struct cluster){ 0 };

    began = microseconds();
    if (snapshot_load(bytes.bytes, bytes.length, &cluster.state, &err) < 0) {
        fprintf(stderr, "brain: load: %s\n", err.text);
        exit(1);
    }
    double read = microseconds();
    cluster.brain = brain_create(cluster.state);
    printf("load %.3f\n", (microseconds() - began) / 1e6);
    printf("load_brain %.3f\n", (microseconds() - read) / 1e6);
    text_release(&bytes);
    cluster_release(&cluster);
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
