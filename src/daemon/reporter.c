/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reporter.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/job_change.h"
#include "control/submit.h"
#include "core/state/attempt_launch.h"
#include "daemon/arrival_notes.h"
#include "daemon/nodes/inventory.h"
#include "daemon/nodes/shortage.h"
#include "daemon/output_checks.h"
#include "io/log.h"
#include "io/net/peer.h"
#include "node/machine.h"
#include "wire/json.h"

enum { DOCUMENT_MAX = 32 << 20 }; /* as of a request */

static const struct state *state_of(const struct reporter *reporter)
{
    return hub_state(reporter->hub);
}

static void on_outcome(void *user, const struct engine_outcome *outcome)
{
    const struct reporter *reporter = user;
    struct event event = event_of_outcome(outcome);

    if (outcome->kind == ENGINE_RETURNED && !reporter->engine->abilities.has_own_nodes)
        shortage_note(reporter->shortage, outcome->reason);
    if (!output_checks_take(reporter->checks, &event))
        hub_report(reporter->hub, &event);
}

static void on_node(void *user, const struct engine_node *node, bool is_last)
{
    inventory_report(((struct reporter *)user)->inventory, node, is_last);
}

static void on_reading(void *user, const struct engine_reading *reading)
{
    machine_reading(((struct reporter *)user)->machine, reading);
}

/* ---- devices that the engine chose ---- */

static void on_assigned(void *user, struct member_id id, const char *const *uuids, uint32_t count)
{
    const struct reporter *reporter = user;
    AUTO_FREE struct event_held *held = mem_zero(count + 1, sizeof(held[0]));
    uint32_t refused;

    struct event event = event_of_assignment(state_of(reporter), id, uuids, count, held, &refused);
    hub_report(reporter->hub, &event);
    if (refused > 0)
        log_line(LOG_ERR,
                 "the engine allocated devices that the job cannot have job=%" PRIu64
                 " rank=%" PRIu32 " devices=%" PRIu32,
                 id.job, id.rank, refused);
}

/* ---- jobs that were submitted to the engine ---- */

struct arrival {
    struct change change;
    const struct reporter *reporter;
    struct identity who;
    char *name, *document; /* name: NULL: see job; document: NULL: withdrawn */
    char *account;         /* may be NULL */
    char *reason;          /* of a withdrawal */
    uint64_t job;
    bool lacks_nodes;    /* it is refused because no node could ever hold it */
    usec_t duration_max; /* of a change of the limit */
};

/* An account is a queue of the same name, if that takes jobs. */
static void choose_queue(const struct arrival *arrival, json_t *document)
{
    const struct state *state = state_of(arrival->reporter);
    int64_t found = arrival->account ? state_find_queue(state, arrival->account) : -1;

    if (found < 0 || state->queues.items[found].is_removed ||
        state->queues.items[found].child_count > 0)
        return;
    json_object_set_new(document, "queue", json_string(arrival->account));
}

static int submit_arrival(struct arrival *arrival, struct error *err)
{
    json_t *document = NULL;
    struct submit submit;

    int code = json_parse(arrival->document, strlen(arrival->document), DOCUMENT_MAX, "document",
                          &document, err);
    if (code < 0)
        return error_prefix(err, REFUSED_BAD, "%s", arrival->name);
    choose_queue(arrival, document);
    code = submit_read(&submit, &arrival->who, document, err);
    submit.external = arrival->name;
    if (code == 0 && !submit_is_one_job(&submit))
        code = error_set(err, REFUSED_BAD, "%s: expected one job", arrival->name);
    if (code == 0)
        code = submit_run(arrival->reporter->control, &submit, err);
    if (code == 0)
        arrival->job = submit.ids[0];
    arrival->lacks_nodes = submit.lacks_nodes;
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
    const struct state *state = state_of(arrival->reporter);
    const struct job *job =
        arrival->name ? state_external(state, arrival->name) : state_job(state, arrival->job);

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

static int run_limit(struct change *change, struct error *err)
{
    struct arrival *arrival = CONTAINER_OF(change, struct arrival, change);
    const struct job *job = state_job(state_of(arrival->reporter), arrival->job);
    struct job_change wish = { .who = &arrival->who,
                               .id = arrival->job,
                               .kind = EVENT_UPDATE,
                               .verb = "update",
                               .max_duration = arrival->duration_max };

    if (!job || job->state == JOB_ENDED || job->max_duration == arrival->duration_max)
        return 0;
    int code = job_change(arrival->reporter->control, &wish, err);
    if (code < 0)
        log_line(LOG_WARNING,
                 "a time limit of the engine cannot be followed job=%" PRIu64 " reason='%s'",
                 arrival->job, err->text);
    list_release(&wish.changed);
    return 0;
}

/* While nothing can be made durable, and when the daemon stops, there is no answer yet. A
 * withdrawal has none, and waits. */
static void done_arrival(struct change *change, int code, const struct error *err)
{
    struct arrival *arrival = CONTAINER_OF(change, struct arrival, change);
    struct engine *engine = arrival->reporter->engine;

    if (!arrival->document && code == REFUSED_DISK_FULL) {
        hub_report_change(arrival->reporter->hub, change);
        return;
    }
    if (arrival->document && code != REFUSED_DISK_FULL && code != REFUSED_STOPPING)
        engine->ops->answer(engine, arrival->name, code < 0 ? 0 : arrival->job, err,
                            arrival->lacks_nodes);
    if (arrival->document && code == 0)
        arrival_notes_add(arrival->reporter->notes, arrival->job, arrival->name);
    free(arrival->account);
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
                            .document = mem_string(arrival->document),
                            .account = mem_string(arrival->account) };
    char name[IDENTITY_NAME_SIZE];

    assert(reporter->engine->ops->answer);
    if (!arrival->user)
        peer_name(arrival->uid, name, NULL);
    identity_set(&made.who, IDENTITY_ENGINE, arrival->user ? arrival->user : name, arrival->uid,
                 arrival->gid, reporter->control->owner);
    enqueue(made);
}

/* In the order of the outcomes. */
static void report_change(struct arrival arrival)
{
    struct arrival *copy = mem_zero(1, sizeof(*copy));

    *copy = arrival;
    copy->change.done = done_arrival;
    hub_report_change(copy->reporter->hub, &copy->change);
}

static void on_cancelled(void *user, uint64_t job, const char *reason)
{
    report_change((struct arrival){
        .change.run = run_withdrawal, .reporter = user, .job = job, .reason = mem_string(reason) });
}

static void on_limited(void *user, uint64_t job, usec_t duration_max)
{
    const struct reporter *reporter = user;
    struct arrival made = {
        .change.run = run_limit, .reporter = reporter, .job = job, .duration_max = duration_max
    };

    identity_set(&made.who, IDENTITY_ENGINE, reporter->engine->ops->name, reporter->control->owner,
                 0, reporter->control->owner);
    report_change(made);
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
    return (struct engine_reports){ .user = reporter,
                                    .outcome = on_outcome,
                                    .node = on_node,
                                    .reading = on_reading,
                                    .assigned = on_assigned,
                                    .cancelled = on_cancelled,
                                    .limited = on_limited,
                                    .arrived = on_arrived,
                                    .withdrawn = on_withdrawn };
}
