/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/lookahead.h"
#include "sched/placement/cells.h"

enum {
    PLANS_AT_ONCE_MAX = 100000, /* more at one instant: the brain never has enough */
    IDLE_WAKEUPS_MAX = 100000,  /* one after another that bring nothing, and nothing else is left */
    LOOKS_PART = 2,             /* looks ahead: at most this part of the events of the run */
};

/* The run begins at this time: 0 stands for "never" in places. */
static const usec_t run_origin = USEC_PER_HOUR;

struct run *run_create(const struct experiment *experiment, const struct workload *workload,
                       const struct sim_ports *ports, uint64_t seed)
{
    struct run *run = mem_zero(1, sizeof(*run));

    run->experiment = experiment;
    run->workload = workload;
    run->ports = ports;
    run->seed = seed;
    run->origin = run_origin;
    run->outcomes = mem_zero(workload->jobs.count, sizeof(run->outcomes[0]));
    sim_engine_init(&run->engine);
    run->state = state_create();
    run->brain = brain_create(run->state);
    run->inquiry = inquiry_create();
    run->now = run_origin;
    return run;
}

void run_destroy(struct run *run)
{
    if (!run)
        return;
    inquiry_destroy(run->inquiry);
    brain_destroy(run->brain);
    state_destroy(run->state);
    list_release(&run->decisions.events);
    list_release(&run->dues.heap);
    sim_engine_release(&run->engine);
    list_release(&run->granted);
    list_release(&run->stopped);
    list_release(&run->ended);
    fragment_destroy(run->fragment);
    free(run->demands);
    free(run->speeds);
    meter_release(&run->meter);
    for (size_t i = 0; i < run->queue_count; i++)
        free((char *)(uintptr_t)run->queue_names[i]);
    free(run->queue_names);
    free(run->queue_shares);
    free(run->outcomes);
    free(run);
}

static int tell_setup(void *user, const struct event *event, struct error *err)
{
    struct event copy = *event;

    return run_tell(user, &copy, err);
}

static int compare_demands(const void *a, const void *b)
{
    int64_t left, right;

    memcpy(&left, a, sizeof(left));
    memcpy(&right, b, sizeof(right));
    return (left > right) - (left < right);
}

static void find_demands(struct run *run)
{
    const struct workload *workload = run->workload;
    size_t count = workload->jobs.count;
    uint32_t kinds = 0;

    run->demands = mem_zero(count + 1, sizeof(run->demands[0]));
    for (size_t i = 0; i < count; i++)
        run->demands[i] = sim_job_milli(&workload->jobs.items[i]);
    qsort(run->demands, count, sizeof(run->demands[0]), compare_demands);
    for (size_t i = 0; i < count; i++) {
        if (kinds == 0 || run->demands[kinds - 1] != run->demands[i])
            run->demands[kinds++] = run->demands[i];
    }
    usec_t span = workload->jobs.items[count - 1].submit;
    meter_init(&run->meter, run->experiment->cluster.gpu_count * GPU_MILLI, run_origin, span,
               run->demands, kinds, run->queue_count);
    run->meter.from = run_origin + (usec_t)((double)span * run->experiment->window_from);
    if (run->experiment->window_to > 0)
        run->meter.to = run_origin + (usec_t)((double)span * run->experiment->window_to);
    for (size_t i = 0; i < count; i++) {
        run->outcomes[i].start = run->outcomes[i].end = -1;
        run->outcomes[i].demand =
            meter_demand_of(&run->meter, sim_job_milli(&workload->jobs.items[i]));
    }
}

/* Of those that jobs have of their own, and 1. */
static double least_of_jobs(const struct workload *workload)
{
    double least = 1;

    LIST_EACH (const struct sim_job, job, &workload->jobs) {
        for (uint32_t i = 0; i < job->speed_count; i++)
            least = job->speeds[i].factor < least ? job->speeds[i].factor : least;
    }
    return least;
}

static bool has_speed(const struct adapt *adapt, const char *model, const char *kind)
{
    LIST_EACH (const struct speed, speed, &adapt->speeds) {
        if (strcmp(speed->model, model) == 0 && (!speed->kind || strcmp(speed->kind, kind) == 0))
            return true;
    }
    return false;
}

/* Steps without a throughput have no duration. */
static int check_kind(const struct run *run, const char *kind, struct error *err)
{
    const char *last = "";

    LIST_EACH (const struct device, device, &run->state->devices) {
        if (strcmp(device->model, last) == 0)
            continue;
        last = device->model;
        if (!has_speed(&run->experiment->adapt, last, kind))
            return error_set(err, -EINVAL,
                             "%s: the trace states steps, and workload: speeds has none for model "
                             "%s; expected steps per second, like speeds: {%s: {\"%s\": 12.5}}",
                             kind, last, last, kind);
    }
    return 0;
}

static int check_steps(const struct run *run, struct error *err)
{
    struct map checked = { 0 };
    int code = 0;

    if (run->workload->is_in_steps && run->experiment->adapt.load > 0)
        code = error_set(err, -EINVAL,
                         "workload: load: the trace states steps, and not how long a "
                         "job runs");
    for (size_t i = 0; run->workload->is_in_steps && i < run->workload->jobs.count && code == 0;
         i++) {
        const char *kind = run->workload->jobs.items[i].group; /* equal ones are one string */
        if (map_get(&checked, (uintptr_t)kind, &(uint64_t){ 0 }))
            continue;
        map_set(&checked, (uintptr_t)kind, 1);
        code = check_kind(run, kind, err);
    }
    map_release(&checked);
    return code;
}

static void find_speeds(struct run *run)
{
    const struct adapt *adapt = &run->experiment->adapt;
    size_t count = run->state->devices.count;

    run->speed_least = least_of_jobs(run->workload);
    if (adapt->speeds.count == 0)
        return;
    run->speeds = mem_zero(count + 1, sizeof(double));
    for (size_t i = 0; i < count; i++) {
        run->speeds[i] = 1;
        LIST_EACH (const struct speed, speed, &adapt->speeds) {
            if (strcmp(speed->model, run->state->devices.items[i].model) != 0)
                continue;
            if (!speed->kind)
                run->speeds[i] = speed->factor;
            run->has_kind_speeds |= speed->kind != NULL;
            run->speed_least = speed->factor < run->speed_least ? speed->factor : run->speed_least;
        }
    }
}

static void plan_snapshots(struct run *run)
{
    const struct wanted *wanted = &run->experiment->wanted;
    const struct percents *lists[] = {
        wanted->is_on[METRIC_ALLOCATION_AT] ? &wanted->allocation_at : NULL,
        wanted->is_on[METRIC_FRAGMENTATION_AT] ? &wanted->fragmentation_at : NULL,
    };

    for (size_t k = 0; k < COUNT_OF(lists); k++) {
        for (uint32_t i = 0; lists[k] && i < lists[k]->count; i++) {
            bool is_known = false;
            for (size_t m = 0; m < run->at_count; m++)
                is_known |= run->at[m].percent == lists[k]->items[i];
            if (!is_known)
                run->at[run->at_count++].percent = lists[k]->items[i];
        }
    }
}

/* The shapes of all queues must be there at once. */
static int check_shapes(const struct run *run, struct error *err)
{
    const struct config *config = run->experiment->config;
    AUTO_FREE struct cells_wanted *wanted = mem_zero(config->queue_count + 1, sizeof(*wanted));

    for (size_t i = 0; i < config->queue_count; i++)
        wanted[i] = (struct cells_wanted){ config->queues[i].name, config->queues[i].cells,
                                           config->queues[i].cells_count };
    return cells_check(run->state, wanted, config->queue_count, err);
}

static int set_up(struct run *run, struct error *err)
{

    int code = run_set_up(run, tell_setup, run, err);
    if (code == 0)
        code = check_shapes(run, err);
    if (code < 0)
        return code;
    run->first_id = run->state->next_id;
    find_demands(run);
    code = check_steps(run, err);
    if (code < 0)
        return code;
    find_speeds(run);
    plan_snapshots(run);
    run->fragment = fragment_create(run->state, run->workload);
    const struct wanted *wanted = &run->experiment->wanted;
    if (run->has_report || wanted->is_on[METRIC_FRAGMENTATION] ||
        wanted->is_on[METRIC_LARGEST_GANG])
        run->meter.fragment = run->fragment;
    return 0;
}

static int plan(struct run *run, struct error *err)
{
    bool is_timed = run->experiment->wanted.is_on[METRIC_DECISION_LATENCY];
    struct event event = { .kind = EVENT_PLAN };
    uint64_t before = is_timed ? latency_now() : 0;

    int code = run_tell(run, &event, err);
    if (is_timed)
        latency_add(&run->latency, latency_now() - before);
    run->plans++;
    run_take_decisions(run);
    for (size_t i = 0; i < run->stopped.count && code == 0; i++)
        code = run_job_stop(run, &run->stopped.items[i], err);
    for (size_t i = 0; i < run->granted.count && code == 0; i++)
        code = run_job_start(run, &run->granted.items[i], err);
    return code;
}

static int settle(struct run *run, struct error *err)
{
    uint64_t before = run->grants;
    int code = 0;

    for (uint32_t i = 0; code == 0 && sched_next_wakeup(run->brain) <= run->now; i++) {
        if (i == PLANS_AT_ONCE_MAX)
            return error_set(err, -ELOOP, "more than %d plans at one instant", i);
        code = plan(run, err);
    }
    run->idle_wakeups = run->grants == before ? run->idle_wakeups + 1 : 0;
    return code;
}

/* A job that does not fit at its arrival is dropped. */
static int drop(struct run *run, uint32_t number, struct error *err)
{
    struct outcome *outcome = &run->outcomes[number];
    struct event event = {
        .kind = EVENT_CANCEL,
        .cancel = { .job = run_id(run, number), .user = "" },
    };

    meter_wait(&run->meter, outcome->queue, outcome->demand, -1);
    run_job_over(run, number, FATE_DROPPED);
    return run_tell(run, &event, err);
}

/* What is planned, and what is estimated, for those that came now and wait. */
static void note_promise(struct run *run, uint32_t number)
{
    const struct wanted *wanted = &run->experiment->wanted;
    struct outcome *outcome = &run->outcomes[number];
    struct why why;

    if (!wanted->is_on[METRIC_BACKFILL] && !wanted->is_on[METRIC_START_ESTIMATES])
        return;
    const struct job *job = state_job(run->state, run_id(run, number));
    if (!job)
        return;
    if (wanted->is_on[METRIC_BACKFILL] && run->state->settings.order != ORDER_DEFAULT) {
        sched_why(run->brain, run->inquiry, job, &why, NULL);
        outcome->promised = why.at > run->now && why.at != USEC_NEVER ? why.at : 0;
    }
    if (wanted->is_on[METRIC_START_ESTIMATES] && run->ports->estimate_start)
        outcome->has_estimate =
            run->ports->estimate_start(run->brain, run->inquiry, job, &outcome->estimate);
}

/* In the default order, a start is promised when it is served first. */
static void note_served(struct run *run)
{
    usec_t by;

    for (uint32_t queue = 0; queue < run->state->queues.count; queue++) {
        const struct job *job = sched_served_first(run->brain, queue, &by);
        struct outcome *outcome = job ? &run->outcomes[job->id - run->first_id] : NULL;
        if (outcome && outcome->promised == 0)
            outcome->promised = by;
    }
}

static int look_after_arrivals(struct run *run, uint32_t from, struct error *err)
{
    int code = 0;

    for (uint32_t i = from; i < run->submitted && code == 0; i++) {
        if (run->outcomes[i].fate != FATE_WAITS)
            continue;
        if (run->experiment->is_dropping)
            code = drop(run, i, err);
        else
            note_promise(run, i);
    }
    return code;
}

static void take_snapshots(struct run *run, bool is_last)
{
    double capacity = (double)run->meter.capacity_milli;

    for (size_t i = 0; i < run->at_count; i++) {
        struct snapshot_at *at = &run->at[i];
        double arrived = 100.0 * (double)run->arrived_milli / capacity;
        bool is_near = is_last && arrived > at->percent - 1.0;
        if (at->is_taken || (arrived < at->percent && !is_near))
            continue;
        at->is_taken = true;
        at->arrived_milli = run->arrived_milli;
        at->allocated_pct = 100.0 * (double)run->meter.used_milli / capacity;
        fragment_look(run->fragment, &at->fragment_pct, NULL, NULL);
    }
}

/* All that have ended but the last submissions, which come again in a look ahead. */
static int forget(struct run *run, struct error *err)
{
    uint32_t kept = 0;
    int code = 0;

    for (size_t i = 0; i < run->ended.count && code == 0; i++) {
        uint32_t number = run->ended.items[i];
        struct event event = { .kind = EVENT_FORGET, .forget = { .id = run_id(run, number) } };
        if (run->state->settings.look_ahead && number + LOOKAHEAD_AGAIN >= run->submitted)
            run->ended.items[kept++] = number;
        else
            code = run_tell(run, &event, err);
    }
    run->ended.count = kept;
    return code;
}

/* A look costs several times as much for each event as the run, which has fewer waiting jobs. */
static int look_ahead(struct run *run, struct error *err)
{
    struct lookahead_ask ask = { .state = run->state, .brain = run->brain, .now = run->now };
    struct lookahead look;

    if (!lookahead_is_due(run->state, run->looked_at) ||
        run->events_ahead > run->events / LOOKS_PART)
        return 0;
    run->looked_at = run->state->next_id;
    int code = lookahead_make(&ask, &look, err);
    run->events_ahead += look.events;
    if (code < 0)
        return error_prefix(err, code, "look ahead (policy: {look_ahead: false} runs without it)");
    if (!look.is_other)
        return 0;
    run->slack_choices++;
    return run_tell(run, &(struct event){ .kind = EVENT_SLACK, .slack = look.choice }, err);
}

/* One instant: ends, then submissions, then plans. */
static int step(struct run *run, struct error *err)
{
    const struct workload *workload = run->workload;
    uint32_t from = run->submitted;

    meter_advance(&run->meter, run->now);
    int code = run_end_those_due(run, err);
    while (code == 0 && run->submitted < workload->jobs.count &&
           run_origin + workload->jobs.items[run->submitted].submit <= run->now)
        code = run_job_submit(run, run->submitted++, err);
    if (run->submitted > from)
        run->idle_wakeups = 0;
    if (code == 0)
        code = settle(run, err);
    if (code == 0 && run->submitted > from)
        code = look_ahead(run, err);
    if (code == 0)
        code = look_after_arrivals(run, from, err);
    if (code < 0)
        return code;
    if (run->experiment->wanted.is_on[METRIC_BACKFILL])
        note_served(run);
    take_snapshots(run, run->submitted == workload->jobs.count);
    meter_settle(&run->meter, run->queue_shares, run->over == workload->jobs.count);
    return forget(run, err);
}

static usec_t next_instant(const struct run *run)
{
    usec_t next = due_first(&run->dues);

    if (run->submitted < run->workload->jobs.count) {
        usec_t submit = run_origin + run->workload->jobs.items[run->submitted].submit;
        return submit < next ? submit : next;
    }
    return next;
}

int run_go(struct run *run, struct error *err)
{
    uint64_t before = latency_now();

    int code = set_up(run, err);
    if (code == 0 && run->experiment->is_recorded)
        code = run_recorded(run, err);
    while (code == 0 && !run->experiment->is_recorded) {
        usec_t next = next_instant(run), wakeup = sched_next_wakeup(run->brain);
        if (next == USEC_NEVER &&
            (run->over == run->workload->jobs.count || run->idle_wakeups > IDLE_WAKEUPS_MAX))
            break; /* jobs that still wait will never run */
        next = wakeup < next ? wakeup : next;
        if (next == USEC_NEVER)
            break;
        run->now = next > run->now ? next : run->now;
        code = step(run, err);
    }
    if (code == 0)
        meter_settle(&run->meter, run->queue_shares, true);
    run->seconds = (double)(latency_now() - before) / 1e9;
    return code;
}
