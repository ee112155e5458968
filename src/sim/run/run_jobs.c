/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to the jobs of a run: submitted, started, stopped, over. */
#include "sim/run/run.h"

#include <errno.h>
#include <string.h>

#include "core/job/own_speed.h"
#include "core/state/attempt_launch.h"

int run_tell(struct run *run, struct event *event, struct error *err)
{
    event->at = run->now;
    run->events++;
    return sched_step(run->brain, event, &run->decisions, err);
}

static double speed_on(const struct run *run, const struct sim_job *job, uint32_t device)
{
    const char *model = run->state->devices.items[device].model;

    for (uint32_t i = 0; i < job->speed_count; i++) {
        if (strcmp(job->speeds[i].model, model) == 0)
            return job->speeds[i].factor;
    }
    if (!run->speeds)
        return 1;
    LIST_EACH (const struct speed, speed, &run->experiment->adapt.speeds) {
        if (run->has_kind_speeds && speed->kind && strcmp(speed->kind, job->group) == 0 &&
            strcmp(speed->model, model) == 0)
            return speed->factor;
    }
    return run->speeds[device];
}

static bool has_model(const own_speed_list *speeds, const char *model)
{
    bool has = false;

    for (size_t i = 0; i < speeds->count && !has; i++)
        has = strcmp(speeds->items[i].model, model) == 0;
    return has;
}

/* On the models of the cluster. */
static int say_speeds(const struct run *run, const struct sim_job *job, own_speed_list *speeds,
                      struct request *request, struct error *err)
{
    for (uint32_t i = 0; i < run->state->devices.count; i++) {
        const char *model = run->state->devices.items[i].model;
        double milli = speed_on(run, job, i) * 1000 + 0.5;
        struct own_speed own = { .milli = milli < 1                ? 1
                                          : milli > OWN_SPEED_MOST ? OWN_SPEED_MOST
                                                                   : (uint32_t)milli };
        if (has_model(speeds, model))
            continue;
        if (strlen(model) >= sizeof(own.model))
            return error_set(err, -EINVAL, "model '%s': by_model takes up to %zu characters", model,
                             sizeof(own.model) - 1);
        memcpy(own.model, model, strlen(model));
        if (!own_speeds_add(speeds, &own))
            return error_set(err, -E2BIG, "model '%s': by_model takes up to %d models", model,
                             OWN_SPEEDS_MAX);
    }
    request->speeds = speeds->items;
    request->speeds_count = (uint32_t)speeds->count;
    return 0;
}

/* How long its user says that it may run, or the estimates of the experiment do. */
static void say_times(const struct run *run, const struct sim_job *job, struct event_submit *submit)
{
    const struct adapt *adapt = &run->experiment->adapt;
    usec_t longest = job->run, limit = 0;

    if (job->run == USEC_NEVER)
        return;
    if (run->speed_least < 1)
        longest = (usec_t)((double)job->run / run->speed_least) + 1;
    switch (adapt->estimates) {
    case ESTIMATES_REQUEST:
    case ESTIMATES_PREDICTED:
        limit = job->limit > longest ? job->limit : longest;
        break;
    case ESTIMATES_ORACLE:
    case ESTIMATES_BY_MODEL:
        limit = longest;
        submit->estimate = job->run > 0 ? job->run : 1;
        break;
    case ESTIMATES_DOUBLE:
        limit = 2 * longest;
        break;
    case ESTIMATES_NONE:
        return;
    }
    if (adapt->preemption)
        limit += adapt->restart_cost; /* an attempt may have to do that as well */
    submit->request.max_duration = limit > 0 ? limit : 1;
}

int run_job_submit(struct run *run, uint32_t number, struct error *err)
{
    const struct sim_job *job = &run->workload->jobs.items[number];
    const struct adapt *adapt = &run->experiment->adapt;
    struct outcome *outcome = &run->outcomes[number];
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = run_id(run, number),
                    .name = job->name[0] ? job->name : "job",
                    .user = job->user[0] ? job->user : "user",
                    .queue = run->queue_names[outcome->queue],
                    .priority = job->priority,
                    .deadline = job->deadline > 0 ? run->origin + job->deadline : 0,
                    .preemptible = adapt->preemption,
                    .restart_cost = adapt->preemption ? adapt->restart_cost : 0 },
    };

    own_speed_list speeds = { 0 };
    int code = 0;
    run_request(run, job, &event.submit.request);
    say_times(run, job, &event.submit);
    if (run->experiment->adapt.estimates == ESTIMATES_BY_MODEL &&
        (run->speeds || job->speed_count > 0))
        code = say_speeds(run, job, &speeds, &event.submit.request, err);
    outcome->contention = run->meter.contention;
    meter_wait(&run->meter, outcome->queue, outcome->demand, 1);
    run->arrived_milli += sim_job_milli(job);
    if (code == 0)
        code = run_tell(run, &event, err);
    list_release(&speeds);
    return code;
}

/* What the engine reports happens now. */
static int tell_outcomes(struct run *run, struct error *err)
{
    struct engine_outcome outcome;
    int code = 0;

    while (code == 0 && sim_engine_take(&run->engine, &outcome)) {
        struct event event = event_of_outcome(&outcome);
        code = run_tell(run, &event, err);
    }
    return code;
}

void run_give_back(struct run *run, uint32_t number)
{
    struct outcome *outcome = &run->outcomes[number];

    meter_use(&run->meter, outcome->queue, -outcome->used_milli);
    outcome->held += run->now - outcome->began;
    outcome->used_milli = 0;
}

void run_job_over(struct run *run, uint32_t number, enum fate fate)
{
    struct outcome *outcome = &run->outcomes[number];

    outcome->fate = (uint8_t)fate;
    outcome->end = run->now;
    outcome->contention = run->meter.contention - outcome->contention;
    run->over++;
    if (run->progress)
        ++*run->progress;
    list_add(&run->ended, number);
}

int run_end_those_due(struct run *run, struct error *err)
{
    struct due end;
    int code = 0;

    while (code == 0 && due_take(&run->dues, run->now, &end)) {
        struct outcome *outcome = &run->outcomes[end.job];
        if (outcome->fate != FATE_RUNS || outcome->attempt != end.attempt)
            continue;
        outcome->paid += outcome->owed;
        outcome->owed = 0;
        run_give_back(run, end.job);
        run_job_over(run, end.job, FATE_DONE);
        sim_engine_end(&run->engine,
                       (struct member_id){ .job = run_id(run, end.job), .attempt = end.attempt },
                       run->workload->jobs.items[end.job].members);
        code = tell_outcomes(run, err);
    }
    return code;
}

static double speed_of(const struct run *run, const struct sim_job *job, const struct lease *lease)
{
    double speed = 1;

    for (uint32_t i = 0; (run->speeds || job->speed_count > 0) && i < lease->slices_count; i++) {
        double one = speed_on(run, job, lease->slices[i].device);
        speed = i == 0 || one < speed ? one : speed;
    }
    return speed;
}

/* Record the decisions before telling the brain anything else, because leases may end then. */
void run_take_decisions(struct run *run)
{
    run->granted.count = run->stopped.count = 0;
    for (size_t i = 0; i < run->decisions.events.count; i++) {
        const struct event *event = &run->decisions.events.items[i];
        uint32_t number = (uint32_t)(event_job(event) - run->first_id);
        if (event->kind == EVENT_GRANT) {
            list_add(&run->granted,
                     (struct granted){ .job = number,
                                       .attempt = event->grant.attempt,
                                       .milli = event->grant.lease.milli,
                                       .speed = speed_of(run, &run->workload->jobs.items[number],
                                                         &event->grant.lease),
                                       .is_backfill = event->grant.is_backfill });
        } else if (event->kind == EVENT_STOP) {
            list_add(&run->stopped,
                     (struct stopped){ .job = number,
                                       .attempt = run->outcomes[number].attempt,
                                       .members = run->workload->jobs.items[number].members,
                                       .cause = event->stop.cause });
        }
    }
    run->events += run->decisions.events.count;
    run->decisions.events.count = 0;
}

int run_job_start(struct run *run, const struct granted *granted, struct error *err)
{
    const struct sim_job *job = &run->workload->jobs.items[granted->job];
    struct outcome *outcome = &run->outcomes[granted->job];

    run->grants++;
    run->backfills += granted->is_backfill;
    if (outcome->start < 0) {
        outcome->start = run->now;
        outcome->is_backfill = granted->is_backfill;
    }
    outcome->began = run->now;
    outcome->attempt = granted->attempt;
    outcome->fate = FATE_RUNS;
    outcome->speed = granted->speed;
    outcome->used_milli = granted->milli;
    meter_wait(&run->meter, outcome->queue, outcome->demand, -1);
    meter_use(&run->meter, outcome->queue, granted->milli);
    if (job->run != USEC_NEVER) {
        double left = (double)(job->run - outcome->done) / granted->speed;
        const double most = (double)(USEC_NEVER / 4);
        usec_t runs = left <= 0 ? 0 : left < most ? (usec_t)(left + 0.5) : USEC_NEVER / 4;
        usec_t at = run->now + outcome->owed + runs;
        due_add(&run->dues, (struct due){ at, granted->job, granted->attempt });
    }
    struct attempt_launch launch;
    attempt_launch_make(run->state, state_job(run->state, run_id(run, granted->job)), &launch);
    run->engine.port.ops->start(&run->engine.port, launch.members, launch.count, err);
    attempt_launch_release(&launch);
    return tell_outcomes(run, err);
}

/* What it did in this attempt stays, less what it had to pay first. */
static void keep_progress(struct run *run, uint32_t number)
{
    struct outcome *outcome = &run->outcomes[number];
    usec_t ran = run->now - outcome->began;
    usec_t paid = ran < outcome->owed ? ran : outcome->owed;

    outcome->paid += paid;
    outcome->done += (usec_t)((double)(ran - paid) * outcome->speed);
    outcome->owed = run->experiment->adapt.restart_cost;
    outcome->preemptions++;
}

int run_job_stop(struct run *run, const struct stopped *stopped, struct error *err)
{
    struct outcome *outcome = &run->outcomes[stopped->job];

    if (outcome->fate != FATE_RUNS)
        return 0;
    AUTO_FREE uint32_t *ranks = mem_zero(stopped->members, sizeof(ranks[0]));
    for (uint32_t rank = 0; rank < stopped->members; rank++)
        ranks[rank] = rank;
    run_give_back(run, stopped->job);
    run->engine.port.ops->stop(&run->engine.port,
                               &(struct engine_attempt){ .job = run_id(run, stopped->job),
                                                         .attempt = outcome->attempt,
                                                         .ranks = ranks,
                                                         .count = stopped->members },
                               0);
    int code = tell_outcomes(run, err);
    if (code < 0)
        return code;
    if (stopped->cause != STOP_PREEMPT) {
        run_job_over(run, stopped->job, FATE_TIMEOUT);
        return 0;
    }
    keep_progress(run, stopped->job);
    outcome->fate = FATE_WAITS;
    meter_wait(&run->meter, outcome->queue, outcome->demand, 1);
    return 0;
}
