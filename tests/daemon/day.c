/* SPDX-License-Identifier: Apache-2.0 */
/* day - plays days of mixed work through the daemon on a virtual clock, and judges its estimates
 *
 * Usage: day [--seeds A..B] [--hours N] [--load PERCENT]
 *
 * The daemon is the real one, with its journal on disk; forecasts are made in copies, as always.
 * What differs is below it: the clock goes to the next thing that happens, and the members of jobs
 * are rows in a table, on four nodes of four GPUs. The first hours have no history. Jobs come in
 * families (a user trains, evaluates, prepares) whose true run times tarn does not know; queues
 * have guarantees that others borrow, hours, budgets and limits of users; pipelines have stages.
 * Estimates are asked for at each submission, and of all that wait every quarter of an hour.
 *
 * Fails when, over all seeds, the coverage of the 80 % range is not 77 to 90 %, in all or for a
 * kind of wait with KIND_LEAST ranges; when a guarantee was broken; when a job for which a time was
 * said can never run.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/estimates.h"
#include "base/mem.h"
#include "control/config/apply.h"
#include "control/submit.h"
#include "daemon/study/forecaster.h"
#include "world.h"

enum { NODES = 4, GPUS = 4, KIND_LEAST = 200, ASK_MIN = 15, TURNS_MAX = 2000000 };
static const double least_coverage = 0.77, most_coverage = 0.90;

static struct world the_world;
static struct dice dice;
static usec_t begin, end; /* of the day */
static bool is_over;

static void fail(const char *words)
{
    fprintf(stderr, "day: %s\n", words);
    _exit(WORLD_BROKEN);
}

/* ---- the engine: members are rows ---- */

struct member {
    struct member_id id;
    usec_t from, until; /* until: its end, unless it is stopped */
    bool told_start, is_over, was_stopped;
};

static LIST(struct member) members;
static struct map left; /* job -> run time that is left, in microseconds */

static struct member *find(struct member_id id)
{
    LIST_EACH (struct member, member, &members) {
        if (member->id.job == id.job && member->id.attempt == id.attempt &&
            member->id.rank == id.rank)
            return member;
    }
    return NULL;
}

static void start_member(const struct engine_launch *launch)
{
    uint64_t run = strtoull(launch->argv[1], NULL, 10) * USEC_PER_SEC, rest;

    if (find(launch->id))
        return;
    if (map_get(&left, launch->id.job, &rest))
        run = rest;
    list_add(&members, ((struct member){ .id = launch->id,
                                         .from = world->since_boot,
                                         .until = world->since_boot + (usec_t)run }));
}

static void stop_member(struct member_id id, usec_t grace)
{
    struct member *member = find(id);

    (void)grace;
    if (!member || member->was_stopped)
        return;
    usec_t rest = member->until - world->since_boot;
    map_set(&left, id.job, (uint64_t)(rest > 0 ? rest : 0));
    member->was_stopped = true;
    member->until = world->since_boot + USEC_PER_SEC;
}

static void forget_member(struct member_id id)
{
    struct member *member = find(id);

    if (member)
        list_remove(&members, (size_t)(member - members.items));
}

const struct world_engine world_engine = {
    .has_own_nodes = true,
    .start = start_member,
    .stop = stop_member,
    .forget = forget_member,
};

static void tell_nodes(void)
{
    for (int i = 0; i < NODES; i++) {
        struct probe_device devices[GPUS] = { 0 };
        char name[16];
        snprintf(name, sizeof(name), "n%d", i + 1);
        for (int k = 0; k < GPUS; k++) {
            devices[k] = (struct probe_device){ .model = "h100",
                                                .memory_mib = 81920,
                                                .numa_node = PROBE_UNKNOWN };
            snprintf(devices[k].uuid, sizeof(devices[k].uuid), "GPU-%s-%d", name, k);
        }
        house.reports.node(house.reports.user,
                           &(struct engine_node){ .name = name,
                                                  .rack = "",
                                                  .block = "",
                                                  .boot = "",
                                                  .reason = "",
                                                  .cpu_milli = 64000,
                                                  .memory_mib = 1 << 20,
                                                  .devices = devices,
                                                  .device_count = GPUS },
                           i == NODES - 1);
    }
}

/* What the members did until now. */
static void tell_members(void)
{
    LIST_EACH (struct member, member, &members) {
        struct engine_outcome outcome = { .id = member->id, .kind = ENGINE_STARTED };
        if (!member->told_start)
            house.reports.outcome(house.reports.user, &outcome);
        member->told_start = true;
        if (member->is_over || member->until > world->since_boot)
            continue;
        outcome.kind = ENGINE_ENDED;
        outcome.was_stopped = member->was_stopped;
        outcome.exit_code = member->was_stopped ? -1 : 0;
        outcome.signal = member->was_stopped ? 15 : 0;
        member->is_over = true;
        house.reports.outcome(house.reports.user, &outcome);
    }
}

static usec_t next_end(void)
{
    usec_t next = USEC_NEVER;

    LIST_EACH (const struct member, member, &members) {
        if (!member->is_over && member->until < next)
            next = member->until;
    }
    return next;
}

/* ---- the work ---- */

struct family {
    const char *user, *queue, *name;
    double per_hour;         /* submissions, on average */
    double median_s, spread; /* of run times: log-normal, spread in the natural logarithm */
    int gpus, limit_s;
    bool is_preemptible, has_estimate;
};

static const struct family families[] = {
    { "ana", "research", "train", 4, 1500, 0.5, 4, 7200, true, false },
    { "ana", "research", "eval", 14, 180, 0.4, 1, 1800, false, false },
    { "ben", "research", "sweep", 12, 420, 0.9, 1, 3600, true, false },
    { "cem", "vision", "train", 4, 1200, 0.6, 2, 7200, true, true },
    { "cem", "vision", "detect", 10, 300, 0.7, 2, 3600, true, false },
    { "dia", "vision", "prepare", 12, 120, 0.5, 1, 900, false, false },
    { "eva", "nightly", "report", 3, 600, 0.5, 1, 3600, false, false },
    { "fay", "metered", "rent", 8, 500, 0.5, 1, 1800, false, false },
    { "gus", "lab", "exercise", 14, 400, 0.8, 1, 1200, false, false },
    { "hal", "lab", "homework", 12, 500, 0.8, 1, 1800, false, false },
};

static double load = 0.85;

static double unit(void)
{
    return ((double)dice_below(&dice, 1u << 30) + 0.5) / (1u << 30);
}

static double normal(void)
{
    return sqrt(-2 * log(unit())) * cos(2 * 3.14159265358979 * unit());
}

struct arrival {
    usec_t at;
    size_t family;
};

static LIST(struct arrival) arrivals;
static size_t arrived;

static int compare_arrivals(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* People work by day: twice as much at 14:00 as at 02:00. */
static double busy_at(double hour)
{
    return 1 + 0.35 * cos((hour - 14) / 24 * 2 * 3.14159265358979);
}

static void draw_arrivals(void)
{
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        double hour = 0, last = (double)(end - begin) / USEC_PER_HOUR - 2;
        for (;;) {
            hour -= log(unit()) / (families[i].per_hour * load * busy_at(hour));
            if (hour >= last)
                break;
            list_add(&arrivals, ((struct arrival){ begin + (usec_t)(hour * USEC_PER_HOUR), i }));
        }
    }
    list_sort(&arrivals, compare_arrivals);
}

static json_t *draw_job(const struct family *family)
{
    double run = family->median_s * exp(family->spread * normal());
    json_t *job = json_pack("{s:[s, o], s:i, s:f, s:s, s:s}", "command", "played",
                            json_sprintf("%.0f", run < 1 ? 1 : run), "gpus", family->gpus, "cpus",
                            1.0, "max_duration", "1s", "sender_cwd", "/");

    json_object_set_new(job, "max_duration", json_sprintf("%ds", family->limit_s));
    if (family->is_preemptible) {
        json_object_set_new(job, "preemptible", json_true());
        json_object_set_new(job, "restart_cost", json_string("10s"));
    }
    if (family->has_estimate)
        json_object_set_new(job, "estimate", json_sprintf("%.0fs", family->median_s));
    return job;
}

/* One of ten is a pipeline: prepare, twice the job, report. */
static json_t *draw_document(const struct family *family)
{
    json_t *job = draw_job(family);

    if (dice_below(&dice, 10) > 0) {
        json_object_set_new(job, "name", json_string(family->name));
        json_object_set_new(job, "queue", json_string(family->queue));
        return job;
    }
    json_t *stages = json_pack("{s:o, s:o, s:o}", "first", job, "second", draw_job(family), "third",
                               draw_job(family));
    json_object_set_new(json_object_get(stages, "second"), "needs", json_pack("[s]", "first"));
    json_object_set_new(json_object_get(stages, "third"), "needs", json_pack("[s]", "second"));
    for (void *at = json_object_iter(stages); at; at = json_object_iter_next(stages, at))
        json_object_del(json_object_iter_value(at), "sender_cwd");
    return json_pack("{s:s, s:s, s:s, s:o}", "name", family->name, "queue", family->queue,
                     "sender_cwd", "/", "stages", stages);
}

static json_t *configuration(void)
{
    return json_pack(
        "{s:s, s:{s:s}, s:{s:{s:i}, s:{s:i}, s:{s:i, s:{s:{s:i}}}, s:{s:i, s:{s:f, s:s}}, s:{s:i, "
        "s:{s:i}}}}",
        "timezone", "UTC", "windows", "office", "08:00-20:00", "queues", "research", "guarantee", 8,
        "vision", "guarantee", 4, "nightly", "limit", 4, "during", "office", "limit", 0, "metered",
        "limit", 4, "gpu_hours", "amount", 1.0, "per", "hour", "lab", "limit", 8, "users", "each",
        2);
}

struct asking {
    struct change change;
    const char *user; /* NULL: the configuration */
    json_t *document;
    bool is_done;
};

static int run_asking(struct change *change, struct error *err)
{
    struct asking *asking = CONTAINER_OF(change, struct asking, change);
    struct identity who;

    if (!asking->user)
        return apply_impose(&house.ports->control, asking->document, err);
    identity_set(&who, IDENTITY_PEER, asking->user, 0, 0, 0);
    json_t *documents = json_pack("[O]", asking->document);
    int code = submit_all(&house.ports->control, &who, documents, err);
    json_decref(documents);
    return code;
}

static void done_asking(struct change *change, int code, const struct error *err)
{
    struct asking *asking = CONTAINER_OF(change, struct asking, change);

    if (code < 0)
        fail(err->text);
    json_decref(asking->document);
    asking->is_done = true;
}

/* ---- the loop is the day's ---- */

int __real_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode);

/* Until nothing is left to do at this time. */
static void settle(void)
{
    const uint32_t *counts = hub_state(house.hub)->job_counts;
    uint32_t quiet = 0;

    for (uint32_t i = 0; quiet < 4; i++) {
        if (i == TURNS_MAX)
            fail("the daemon does not come to rest");
        tell_members();
        __real_uv_run(house.loop, UV_RUN_NOWAIT);
        bool is_busy =
            counts[JOB_GRANTED] > 0 || sched_next_wakeup(hub_brain(house.hub)) <= world->since_boot;
        if (is_busy && i % 64 == 63)
            usleep(100);
        quiet = is_busy ? 0 : quiet + 1;
    }
}

static void ask(const char *user, json_t *document)
{
    struct asking asking = { .change = { .run = run_asking, .done = done_asking },
                             .user = user,
                             .document = document };

    hub_enqueue(house.hub, &asking.change);
    while (!asking.is_done)
        __real_uv_run(house.loop, UV_RUN_NOWAIT);
    settle();
}

struct waiting {
    struct forecast_waiter waiter;
    bool is_done;
};

static void on_fresh(struct forecast_waiter *waiter)
{
    CONTAINER_OF(waiter, struct waiting, waiter)->is_done = true;
}

static struct map told; /* jobs for which a time was said */
static uint32_t never;

static void look_at(const struct job *job)
{
    struct start_estimate estimate;
    uint64_t known;
    bool waits = job->state == JOB_QUEUED || job->state == JOB_WAITING;

    if (!waits)
        return;
    if (!job_can_start(hub_state(house.hub), job) && map_get(&told, job->id, &known))
        never++;
    if (api_start(house.api, job, &estimate) && estimate.median != USEC_NEVER)
        map_set(&told, job->id, 1);
}

/* As tarn ls would show them; from: jobs from this one on. */
static void look(uint64_t from)
{
    struct waiting waiting = { .waiter = { .done = on_fresh, .patience = FORECAST_PATIENCE } };
    const struct state *state = hub_state(house.hub);

    if (state->job_counts[JOB_QUEUED] + state->job_counts[JOB_WAITING] == 0)
        return;
    inquiry_set_time(house.api->inquiry, clock_now(hub_clock(house.hub)));
    /* One that takes long is not waited for; here its time is none. */
    for (int i = 0; i < 2; i++) {
        waiting.is_done = api_forecast_is_fresh(house.api, true, &waiting.waiter);
        while (!waiting.is_done || forecaster_is_busy(house.ports->forecasts.user)) {
            __real_uv_run(house.loop, UV_RUN_NOWAIT);
            usleep(200);
        }
    }
    for (const struct job *job = state->last_job; job && job->id >= from; job = job->previous)
        look_at(job);
}

static void play(void)
{
    usec_t ask_at = begin + ASK_MIN * USEC_PER_MIN;

    tell_nodes();
    settle();
    ask(NULL, configuration());
    draw_arrivals();
    while (world->since_boot < end) {
        const usec_t ahead = clock_now(hub_clock(house.hub)) - world->since_boot;
        usec_t wakeup = sched_next_wakeup(hub_brain(house.hub)), next = next_end();
        usec_t arrival = arrived < arrivals.count ? arrivals.items[arrived].at : USEC_NEVER;
        next = arrival < next ? arrival : next;
        next = ask_at < next ? ask_at : next;
        if (wakeup != USEC_NEVER && wakeup - ahead < next)
            next = wakeup - ahead + USEC_PER_MS;
        if (next > world->since_boot) {
            world->wall += next - world->since_boot;
            world->since_boot = next;
        }
        settle();
        if (world->since_boot >= ask_at) {
            look(0);
            ask_at += ASK_MIN * USEC_PER_MIN;
        }
        while (arrived < arrivals.count && arrivals.items[arrived].at <= world->since_boot) {
            const struct family *family = &families[arrivals.items[arrived++].family];
            uint64_t from = hub_state(house.hub)->next_id;
            ask(family->user, draw_document(family));
            look(from);
        }
    }
}

static void report(void)
{
    json_t *view = NULL;
    struct error err;

    if (house.ports->forecasts.report(house.ports->forecasts.user, 30 * USEC_PER_DAY, &view, &err) <
        0)
        fail(err.text);
    json_object_set_new(view, "never", json_integer(never));
    json_object_set_new(view, "jobs", json_integer((json_int_t)hub_state(house.hub)->next_id - 1));
    json_dumpf(view, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    putchar('\n');
    fflush(stdout);
    json_decref(view);
}

int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode)
{
    if (mode != UV_RUN_DEFAULT || !house.api || is_over)
        return __real_uv_run(loop, mode == UV_RUN_DEFAULT ? UV_RUN_NOWAIT : mode);
    play();
    report();
    is_over = true;
    return 0;
}

/* ---- a day in a process of its own ---- */

static int live(uint64_t seed, usec_t hours, const char *folder, int out)
{
    struct error err = { "" };

    dup2(out, STDOUT_FILENO);
    dice = dice_of(seed);
    the_world = (struct world){ .since_boot = 1000 * USEC_PER_SEC,
                                .wall = INT64_C(1700006400) * USEC_PER_SEC }; /* midnight */
    snprintf(the_world.boot, sizeof(the_world.boot), "boot");
    world = &the_world;
    begin = world->since_boot;
    end = begin + hours * USEC_PER_HOUR;
    if (house_run(folder, "none", &err) < 0)
        fail(err.text);
    return 0;
}

static json_t *play_day(uint64_t seed, usec_t hours)
{
    AUTO_FREE char *folder = house_folder("day", seed);
    int fds[2], status = -1;

    if (pipe(fds) < 0)
        return NULL;
    pid_t child = fork();
    if (child == 0)
        _exit(live(seed, hours, folder, fds[1]));
    close(fds[1]);
    FILE *from = fdopen(fds[0], "r");
    json_t *view = json_loadf(from, JSON_DISABLE_EOF_CHECK, NULL);
    fclose(from);
    waitpid(child, &status, 0);
    house_forget(folder);
    return status == 0 ? view : NULL;
}

/* ---- the verdict ---- */

static double real(const json_t *tally, const char *key)
{
    return json_number_value(json_object_get(tally, key));
}

/* Sums of several days. */
struct sum {
    char name[40];
    double ranged, covered, below, above, exact, right, sure, broken;
};

static LIST(struct sum) sums;

static void add(const char *kind, const json_t *tally)
{
    char name[sizeof(sums.items[0].name)];
    size_t i = 0;

    snprintf(name, sizeof(name), "%s%s", kind, json_string_value(json_object_get(tally, "name")));
    while (i < sums.count && strcmp(sums.items[i].name, name) != 0)
        i++;
    if (i == sums.count) {
        struct sum none = { .name = "" };
        snprintf(none.name, sizeof(none.name), "%s", name);
        list_add(&sums, none);
    }
    struct sum *sum = &sums.items[i];
    double ranged = real(tally, "ranged"), exact = real(tally, "exact");
    sum->ranged += ranged;
    sum->covered += ranged * real(tally, "coverage");
    sum->below += ranged * real(tally, "below");
    sum->above += ranged * real(tally, "above");
    sum->exact += exact;
    sum->right += exact * real(tally, "exact_right");
    sum->sure += real(tally, "guaranteed");
    sum->broken += real(tally, "broken");
}

static void add_list(const char *kind, const json_t *list)
{
    const json_t *tally;
    size_t i;

    json_array_foreach(list, i, tally) add(kind, tally);
}

static bool is_true_enough(const struct sum *sum)
{
    double coverage = sum->ranged > 0 ? sum->covered / sum->ranged : 0.8;
    bool is_judged = strncmp(sum->name, "kind ", 5) == 0 || strcmp(sum->name, "total") == 0;

    return sum->broken == 0 && (!is_judged || sum->ranged < KIND_LEAST ||
                                (coverage >= least_coverage && coverage <= most_coverage));
}

int main(int argc, char **argv)
{
    uint64_t first = 1, last = 2, bad = 0, nevers = 0, jobs = 0;
    long hours = 24;

    for (int i = 1; i < argc; i += 2) {
        bool is_right = i + 1 < argc;
        if (is_right && strcmp(argv[i], "--seeds") == 0)
            is_right = house_seeds(argv[i + 1], &first, &last);
        else if (is_right && strcmp(argv[i], "--hours") == 0)
            hours = strtol(argv[i + 1], NULL, 10);
        else if (is_right && strcmp(argv[i], "--load") == 0)
            load = strtod(argv[i + 1], NULL) / 100;
        else
            is_right = false;
        if (!is_right) {
            fprintf(stderr, "usage: day [--seeds A..B] [--hours N] [--load PERCENT]\n");
            return 2;
        }
    }
    for (uint64_t seed = first; seed <= last; seed++) {
        json_t *view = play_day(seed, hours);
        if (!view) {
            printf("seed %" PRIu64 ": the day was not played to its end\n", seed);
            return 1;
        }
        nevers += (uint64_t)real(view, "never");
        jobs += (uint64_t)real(view, "jobs");
        add_list("queue ", json_object_get(view, "queues"));
        add_list("kind ", json_object_get(view, "kinds"));
        add_list("horizon ", json_object_get(view, "horizons"));
        add_list("history ", json_object_get(view, "history"));
        add("total", json_object_get(view, "total"));
        json_decref(view);
    }
    printf("%-28s %7s %7s %7s %7s %7s %7s %6s %6s\n", "", "ranges", "within", "earlier", "later",
           "exact", "right", "sure", "broken");
    LIST_EACH (const struct sum, sum, &sums) {
        double ranged = sum->ranged > 0 ? sum->ranged : 1, exact = sum->exact > 0 ? sum->exact : 1;
        bool is_good = is_true_enough(sum);
        printf("%-28s %7.0f %6.1f%% %6.1f%% %6.1f%% %7.0f %6.1f%% %6.0f %6.0f%s\n", sum->name,
               sum->ranged, sum->covered / ranged * 100, sum->below / ranged * 100,
               sum->above / ranged * 100, sum->exact, sum->right / exact * 100, sum->sure,
               sum->broken, is_good ? "" : "  <--");
        bad += !is_good;
    }
    printf("%" PRIu64 " jobs; %" PRIu64 " were told a time and can never run\n", jobs, nevers);
    return bad > 0 || nevers > 0;
}
