/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reporter.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/submit.h"
#include "daemon/inventory.h"
#include "io/log.h"
#include "node/machine.h"

static const struct state *state_of(const struct reporter *reporter)
{
    return hub_state(reporter->hub);
}

static void on_outcome(void *user, const struct engine_outcome *outcome)
{
    const struct reporter *reporter = user;
    struct event event = { .kind = EVENT_NONE };

    if (outcome->kind == ENGINE_STARTED) {
        event.kind = EVENT_STARTED;
        event.started = (struct event_started){
            .job = outcome->id.job,
            .attempt = outcome->id.attempt,
            .rank = outcome->id.rank,
            .processes = (uint8_t)outcome->isolation.processes,
            .cpu = (uint8_t)outcome->isolation.cpu,
            .memory = (uint8_t)outcome->isolation.memory,
            .gpu = (uint8_t)outcome->isolation.gpu,
        };
    } else {
        event.kind = EVENT_ENDED;
        event.ended = (struct event_ended){
            .job = outcome->id.job,
            .attempt = outcome->id.attempt,
            .rank = outcome->id.rank,
            .kind = (uint8_t)outcome->kind,
            .exit_code = outcome->exit_code,
            .signal = (uint32_t)outcome->signal,
            .was_stopped = outcome->was_stopped,
            .was_oom = outcome->was_oom,
            .was_killed = outcome->was_killed,
            .user_us = outcome->user_us,
            .system_us = outcome->system_us,
            .memory_kib_max = outcome->memory_kib_max,
            .reason = outcome->reason,
        };
    }
    hub_report(reporter->hub, &event);
}

static void on_node(void *user, const struct engine_node *node, bool is_last)
{
    inventory_report(((struct reporter *)user)->inventory, node, is_last);
}

static void on_reading(void *user, const char *uuid, const struct reading *reading)
{
    machine_reading(((struct reporter *)user)->machine, uuid, reading);
}

/* ---- devices that the engine chose ---- */

static bool is_among(const char *uuid, const char *const *uuids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(uuids[i], uuid) == 0)
            return true;
    }
    return false;
}

static bool is_leased(const struct state *state, const struct lease *lease, uint32_t place,
                      const char *uuid)
{
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (lease->slices[i].rank == place &&
            strcmp(state->devices.items[lease->slices[i].device].uuid, uuid) == 0)
            return true;
    }
    return false;
}

static void report_exchange(const struct reporter *reporter, const struct job *job, uint32_t rank,
                            uint32_t from, const char *uuid)
{
    int64_t to = state_find_device(state_of(reporter), uuid);
    struct event event = { .kind = EVENT_ASSIGNED,
                           .assigned = { .job = job->id,
                                         .attempt = job->run->attempt,
                                         .rank = rank,
                                         .from = from,
                                         .to = (uint32_t)to } };

    if (to >= 0 && assignment_is_possible(state_of(reporter), job, &event.assigned))
        hub_report(reporter->hub, &event);
    else
        log_line(LOG_ERR,
                 "the engine allocated a device that its job cannot have job=%" PRIu64
                 " device='%s'",
                 job->id, uuid);
}

/* Each leased device that the member does not have is exchanged for one that it has. */
static void on_assigned(void *user, struct member_id id, const char *const *uuids, uint32_t count)
{
    const struct reporter *reporter = user;
    const struct state *state = state_of(reporter);
    const struct job *job = state_job(state, id.job);
    uint32_t next = 0;

    if (!job || !job_is_active(job) || job->run->attempt != id.attempt)
        return;
    const struct lease *lease = job->run->lease;
    uint32_t place = lease_place(lease, id.rank);
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        uint32_t from = lease->slices[i].device;
        if (lease->slices[i].rank != place ||
            is_among(state->devices.items[from].uuid, uuids, count))
            continue;
        while (next < count && is_leased(state, lease, place, uuids[next]))
            next++;
        if (next < count)
            report_exchange(reporter, job, id.rank, from, uuids[next++]);
    }
}

/* ---- jobs that were submitted to the engine ---- */

struct arrival {
    struct change change;
    const struct reporter *reporter;
    struct identity who;
    char *name, *document; /* document: NULL: withdrawn */
    char *reason;          /* of a withdrawal */
    uint64_t job;
};

static int submit_arrival(struct arrival *arrival, struct error *err)
{
    json_error_t where;
    json_t *document = json_loads(arrival->document, 0, &where);
    struct submit submit;

    if (!document)
        return error_set(err, REFUSED_BAD, "%s: not JSON: %s", arrival->name, where.text);
    int code = submit_read(&submit, &arrival->who, document, err);
    submit.external = arrival->name;
    if (code == 0 && !submit_is_one_job(&submit))
        code = error_set(err, REFUSED_BAD, "%s: expected one job", arrival->name);
    if (code == 0)
        code = submit_run(arrival->reporter->control, &submit, err);
    if (code == 0)
        arrival->job = submit.ids[0];
    submit_release(&submit);
    return code;
}

static int run_arrival(struct change *change, struct error *err)
{
    struct arrival *arrival = CONTAINER_OF(change, struct arrival, change);
    const struct job *known = state_external(state_of(arrival->reporter), arrival->name);

    if (!known)
        return submit_arrival(arrival, err);
    arrival->job = known->id; /* it was reported before */
    return 0;
}

static int run_withdrawal(struct change *change, struct error *err)
{
    struct arrival *arrival = CONTAINER_OF(change, struct arrival, change);
    const struct job *job = state_external(state_of(arrival->reporter), arrival->name);

    (void)err;
    if (!job || job->state == JOB_ENDED)
        return 0;
    struct event event = { .kind = EVENT_CANCEL,
                           .cancel = { .job = job->id,
                                       .user = arrival->reporter->engine->ops->name,
                                       .reason = arrival->reason } };
    hub_emit(arrival->reporter->hub, &event);
    return 0;
}

/* While nothing can be made durable, and when the daemon stops, there is no answer yet. */
static void done_arrival(struct change *change, int code, const struct error *err)
{
    struct arrival *arrival = CONTAINER_OF(change, struct arrival, change);
    struct engine *engine = arrival->reporter->engine;

    if (arrival->document && code != REFUSED_DISK_FULL && code != REFUSED_STOPPING)
        engine->ops->answer(engine, arrival->name, code < 0 ? 0 : arrival->job, err);
    free(arrival->name);
    free(arrival->document);
    free(arrival->reason);
    free(arrival);
}

static void enqueue(struct arrival arrival)
{
    struct arrival *copy = mem_zero(1, sizeof(*copy));

    *copy = arrival;
    copy->change.done = done_arrival;
    hub_enqueue(copy->reporter->hub, &copy->change);
}

static void on_arrived(void *user, const struct engine_arrival *arrival)
{
    const struct reporter *reporter = user;
    struct arrival made = { .change.run = run_arrival,
                            .reporter = reporter,
                            .name = mem_string(arrival->name),
                            .document = mem_string(arrival->document) };

    assert(reporter->engine->ops->answer);
    identity_set(&made.who, IDENTITY_ENGINE, arrival->user, arrival->uid, arrival->gid,
                 reporter->control->owner);
    enqueue(made);
}

static void on_withdrawn(void *user, const char *name, const char *reason)
{
    enqueue((struct arrival){ .change.run = run_withdrawal,
                              .reporter = user,
                              .name = mem_string(name),
                              .reason = mem_string(reason) });
}

struct engine_reports reporter_callbacks(struct reporter *reporter)
{
    return (struct engine_reports){ reporter,    on_outcome, on_node,     on_reading,
                                    on_assigned, on_arrived, on_withdrawn };
}
