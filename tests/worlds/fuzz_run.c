/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "core/snapshot/snapshot.h"
#include "core/state/attempt_launch.h"
#include "sim/trace/dice.h"
#include "worlds/fuzz_check.h"
#include "worlds/fuzz_text.h"

enum {
    PLANS_AT_ONCE_MAX = 2000,   /* more at one instant: the brain never has enough */
    INSTANTS_AFTER_MAX = 20000, /* when all actions are done: for what still runs */
};

void fuzz_fail(struct fuzz_run *run, const char *invariant, const struct error *found)
{
    if (run->failure.invariant)
        return;
    run->failure = (struct fuzz_failure){
        .invariant = invariant, .found = *found, .step = run->step, .at = run->now
    };
}

static void on_outcome(void *user, const struct engine_outcome *outcome);
static void on_checkpoint(void *user, struct member_id id);

static struct fuzz_run *run_create(const struct fuzz_world *world, const struct fuzz_look *look,
                                   bool is_looked_at)
{
    struct fuzz_run *run = mem_zero(1, sizeof(*run));

    run->world = world;
    run->look = look;
    run->state = state_create();
    run->brain = brain_create(run->state);
    run->asker = inquiry_create();
    run->shadow = shadow_create();
    run->engine = fuzz_engine_create(
        &(struct fuzz_engine_options){ .temper = &world->temper,
                                       .reports = { .user = run, .outcome = on_outcome },
                                       .checkpoint = on_checkpoint });
    run->checks = is_looked_at ? fuzz_checks_create() : NULL;
    return run;
}

static void run_destroy(struct fuzz_run *run)
{
    inquiry_destroy(run->asker);
    brain_destroy(run->brain);
    state_destroy(run->state);
    brain_destroy(run->twin);
    state_destroy(run->twin_state);
    shadow_destroy(run->shadow);
    fuzz_engine_destroy(run->engine);
    fuzz_checks_destroy(run->checks);
    list_release(&run->decisions.events);
    list_release(&run->twin_decisions.events);
    list_release(&run->digests);
    text_release(&run->snapshot);
    text_release(&run->followed);
    text_release(&run->scratch);
    arena_release(&run->arena);
    free(run);
}

/* ---- what was decided ---- */

static const char *encode(struct fuzz_run *run, const struct event *event)
{
    text_clear(&run->scratch);
    event_encode(event, &run->scratch);
    return run->scratch.bytes;
}

static void trace(struct fuzz_run *run, const struct event *event)
{
    if (!run->look->trace || !run->checks)
        return;
    text_printf(run->look->trace, "%" PRId64 " %s", event->at, event_name(event->kind));
    fuzz_text_put(event_type(event->kind), event_body(event), run->look->trace);
    text_add_char(run->look->trace, '\n');
}

static void keep(struct fuzz_run *run, const struct event *event)
{
    if (!run->has_snapshot)
        return;
    encode(run, event);
    uint64_t length = run->scratch.length;
    text_add_bytes(&run->followed, &length, sizeof(length));
    text_add_bytes(&run->followed, run->scratch.bytes, run->scratch.length);
}

static void start_job(struct fuzz_run *run, uint64_t id)
{
    struct engine *engine = fuzz_engine_port(run->engine);
    struct attempt_launch launch;

    attempt_launch_make(run->state, state_job(run->state, id), &launch);
    engine->ops->start(engine, launch.members, launch.count, NULL);
    attempt_launch_release(&launch);
}

static void stop_job(struct fuzz_run *run, const struct event_stop *stop)
{
    struct engine *engine = fuzz_engine_port(run->engine);
    const struct job *job = state_job(run->state, stop->job);

    if (stop->cause == STOP_PREEMPT || stop->cause == STOP_MOVE || stop->cause == STOP_RESCUE)
        fuzz_engine_keep(run->engine, stop->job);
    engine->ops->stop(engine, &(struct engine_attempt){ .job = stop->job }, job->grace);
}

static void note_decision(struct fuzz_run *run, const struct event *decision)
{
    keep(run, decision);
    trace(run, decision);
    if (run->world->temper.is_repeated) {
        encode(run, decision);
        list_add(&run->digests, map_hash(run->scratch.bytes, run->scratch.length));
    }
    fuzz_check(run, FUZZ_BEFORE, decision);
    if (run->failure.invariant)
        return;
    shadow_apply(run->shadow, decision);
    fuzz_check(run, FUZZ_AFTER, decision);
    fuzz_engine_set_time(run->engine, run->now);
    if (decision->kind == EVENT_GRANT)
        start_job(run, decision->grant.job);
    else if (decision->kind == EVENT_STOP)
        stop_job(run, &decision->stop);
}

/* The brain that was started again must decide as the one that went on. */
static void compare_twins(struct fuzz_run *run)
{
    const struct decisions *one = &run->decisions, *two = &run->twin_decisions;
    struct text other = { 0 };
    struct error found;

    for (size_t i = 0; i < one->events.count || i < two->events.count; i++) {
        bool is_same = i < one->events.count && i < two->events.count;
        if (is_same) {
            encode(run, &one->events.items[i]);
            text_clear(&other);
            event_encode(&two->events.items[i], &other);
            is_same = other.length == run->scratch.length &&
                      memcmp(other.bytes, run->scratch.bytes, other.length) == 0;
        }
        if (is_same)
            continue;
        const struct event *a = i < one->events.count ? &one->events.items[i] : NULL;
        const struct event *b = i < two->events.count ? &two->events.items[i] : NULL;
        error_set(&found, 0,
                  "decision %zu of a plan: %s of job %" PRIu64
                  " by the brain that went on, %s of job "
                  "%" PRIu64 " by the one that was started again",
                  i, a ? event_name(a->kind) : "nothing", a ? event_job(a) : 0,
                  b ? event_name(b->kind) : "nothing", b ? event_job(b) : 0);
        fuzz_fail(run, "restart_changes_nothing", &found);
        break;
    }
    text_release(&other);
}

/* ---- telling ---- */

static void tell(struct fuzz_run *run, const struct event *event)
{
    struct error found;

    run->events++;
    run->decisions.events.count = 0;
    if (event->kind != EVENT_PLAN)
        shadow_apply(run->shadow, event);
    keep(run, event);
    trace(run, event);
    int code = sched_step(run->brain, event, &run->decisions, &found);
    if (code < 0)
        fuzz_fail(run, "accepted", &found);
    if (run->twin) {
        run->twin_decisions.events.count = 0;
        if (sched_step(run->twin, event, &run->twin_decisions, &found) < 0)
            fuzz_fail(run, "accepted", &found);
        compare_twins(run);
    }
    if (event->kind == EVENT_PLAN)
        shadow_apply(run->shadow, event);
    run->events += run->decisions.events.count;
    for (size_t i = 0; i < run->decisions.events.count && !run->failure.invariant; i++)
        note_decision(run, &run->decisions.events.items[i]);
}

/* Some come with a time before the last one's. */
static void tell_outcome(struct fuzz_run *run, struct event *event)
{
    event->at = run->now;
    if (run->told++ % 100 < run->world->temper.old)
        event->at -= USEC_PER_MIN;
    if (shadow_accepts(run->shadow, event))
        tell(run, event);
}

/* The engine gave the member another device of its node. */
static void choose_device(struct fuzz_run *run, struct member_id id)
{
    const struct job *job = state_job(run->state, id.job);
    uint64_t key[] = { run->world->temper.seed, id.job, id.attempt, id.rank };
    struct dice dice = dice_of(map_hash(key, sizeof(key)));
    struct event_held held;
    uint32_t refused;

    if (dice_below(&dice, 100) >= run->world->temper.chooses || !job || !job_is_active(job) ||
        lease_place(job->run->lease, id.rank) == job->run->lease->members_count)
        return;
    uint32_t node = job->run->lease->members[lease_place(job->run->lease, id.rank)].node;
    for (size_t i = dice_below(&dice, 8); i < run->state->devices.count; i++) {
        const struct device *device = &run->state->devices.items[i];
        const char *uuid = device->uuid;
        if (device->node != node || !device_is_usable(run->state, device))
            continue;
        struct event assigned = event_of_assignment(run->state, id, &uuid, 1, &held, &refused);
        tell_outcome(run, &assigned);
        return;
    }
}

static void on_outcome(void *user, const struct engine_outcome *outcome)
{
    struct event event = event_of_outcome(outcome);
    struct fuzz_run *run = user;

    if (outcome->kind == ENGINE_STARTED && run->world->temper.chooses > 0)
        choose_device(run, outcome->id);
    if (!run->failure.invariant)
        tell_outcome(run, &event);
}

static void on_checkpoint(void *user, struct member_id id)
{
    struct event event = { .kind = EVENT_CHECKPOINT,
                           .checkpoint = { .job = id.job, .attempt = id.attempt } };

    tell_outcome(user, &event);
}

static void settle(struct fuzz_run *run)
{
    struct event plan = { .kind = EVENT_PLAN, .at = run->now };
    struct error found;

    for (int i = 0; sched_next_wakeup(run->brain) <= run->now && !run->failure.invariant; i++) {
        if (i == PLANS_AT_ONCE_MAX) {
            error_set(&found, 0, "more than %d plans at one instant", PLANS_AT_ONCE_MAX);
            fuzz_fail(run, "settles", &found);
            return;
        }
        tell(run, &plan);
    }
    if (run->failure.invariant)
        return;
    fuzz_check(run, FUZZ_SETTLED, NULL);
    fuzz_check(run, FUZZ_SAMPLED, NULL);
}

static void say_outcomes(struct fuzz_run *run)
{
    bool is_more = true;

    fuzz_engine_set_time(run->engine, run->now);
    while (!run->failure.invariant && is_more)
        is_more = fuzz_engine_say(run->engine);
}

/* When something happens of itself; USEC_NEVER: nothing does. */
static usec_t next_instant(const struct fuzz_run *run)
{
    usec_t outcome = fuzz_engine_next(run->engine), wakeup = sched_next_wakeup(run->brain);

    return outcome < wakeup ? outcome : wakeup;
}

static void pass_to(struct fuzz_run *run, usec_t at)
{
    while (!run->failure.invariant) {
        usec_t next = next_instant(run);
        if (next >= at)
            break;
        run->now = next > run->now ? next : run->now;
        say_outcomes(run);
        settle(run);
    }
    run->now = at > run->now ? at : run->now;
}

/* ---- restarts ---- */

static void take_snapshot(struct fuzz_run *run)
{
    text_clear(&run->snapshot);
    text_clear(&run->followed);
    snapshot_save(run->state, &run->snapshot);
    run->has_snapshot = true;
}

static int fold_what_followed(struct fuzz_run *run, struct brain *brain, struct error *err)
{
    const char *at = run->followed.bytes, *end = at + run->followed.length;
    int code = 0;

    while (code == 0 && at < end) {
        struct event event;
        uint64_t length;
        memcpy(&length, at, sizeof(length));
        arena_clear(&run->arena);
        code = event_decode(at + sizeof(length), length, &run->arena, &event, err);
        if (code == 0)
            code = sched_fold(brain, &event, err);
        at += sizeof(length) + length;
    }
    return code;
}

static bool is_same_state(struct fuzz_run *run, const struct state *other)
{
    struct text text = { 0 };

    text_clear(&run->scratch);
    snapshot_save(run->state, &run->scratch);
    snapshot_save(other, &text);
    bool is_same = text.length == run->scratch.length &&
                   memcmp(text.bytes, run->scratch.bytes, text.length) == 0;
    text_release(&text);
    return is_same;
}

/* The old brain dies, or goes on beside the new one. */
static void take_over(struct fuzz_run *run, struct state *state, struct brain *brain)
{
    struct event boot = { .kind = EVENT_BOOT,
                          .at = run->now,
                          .boot = { .version = "fuzz", .brain = SCHED_VERSION, .engine = "fuzz" } };

    brain_destroy(run->twin);
    state_destroy(run->twin_state);
    run->twin = NULL;
    run->twin_state = NULL;
    if (run->world->temper.is_twin) {
        run->twin = brain;
        run->twin_state = state;
    } else {
        brain_destroy(run->brain);
        state_destroy(run->state);
        run->brain = brain;
        run->state = state;
    }
    run->has_snapshot = false;
    tell(run, &boot);
}

static void restart(struct fuzz_run *run)
{
    struct state *state = NULL;
    struct error found;

    if (!run->has_snapshot)
        take_snapshot(run);
    int code = snapshot_load(run->snapshot.bytes, run->snapshot.length, &state, &found);
    if (code < 0) {
        fuzz_fail(run, "snapshot_is_all", &found);
        return;
    }
    struct brain *brain = brain_create(state);
    code = fold_what_followed(run, brain, &found);
    if (code == 0 && !is_same_state(run, state)) {
        error_set(&found, 0, "the snapshot and what followed give another state than all events");
        code = -EINVAL;
    }
    if (code < 0) {
        fuzz_fail(run, "snapshot_is_all", &found);
        brain_destroy(brain);
        state_destroy(state);
        return;
    }
    take_over(run, state, brain);
}

/* ---- actions ---- */

static void do_event(struct fuzz_run *run, const struct event *event)
{
    struct event told = *event;

    fuzz_engine_set_time(run->engine, run->now);
    told.at = run->now;
    if (!shadow_accepts(run->shadow, &told))
        return;
    tell(run, &told);
    if (told.kind == EVENT_SUBMIT) {
        fuzz_engine_submit(run->engine, &told.submit);
        if (run->checks && told.submit.request.max_duration > run->checks->limit_most)
            run->checks->limit_most = told.submit.request.max_duration;
    }
    if (told.kind == EVENT_NODE && told.node.state != NODE_DRAINED)
        fuzz_engine_node(run->engine, told.node.name, told.node.state == NODE_UP);
}

static void forget(struct fuzz_run *run)
{
    const struct shadow *shadow = run->shadow;
    struct event event = { .kind = EVENT_FORGET, .at = run->now };

    for (uint64_t id = 1; id < shadow->next_id && !run->failure.invariant; id++) {
        const struct shadow_job *job = shadow_job(shadow, id);
        const struct shadow_group *group = job ? shadow_group(shadow, job->group) : NULL;
        bool is_needed = false; /* by its group */
        for (; group; group = shadow_group(shadow, group->parent))
            is_needed |= group->ended < group->jobs;
        event.forget.id = id;
        if (job && !is_needed && shadow_accepts(shadow, &event))
            tell(run, &event);
    }
    /* A group goes when nothing of it is left: inner ones come after the outer ones. */
    for (uint64_t id = shadow->groups.count; id-- > 1 && !run->failure.invariant;) {
        const struct shadow_group *group = shadow_group(shadow, id);
        bool is_empty = group != NULL;
        for (uint64_t part = id + 1; is_empty && part <= group->last; part++)
            is_empty = !shadow_job(shadow, part) && !shadow_group(shadow, part);
        event.forget.id = id;
        if (is_empty && shadow_accepts(shadow, &event))
            tell(run, &event);
    }
}

static void do_action(struct fuzz_run *run, const struct fuzz_action *action)
{
    switch ((enum fuzz_action_kind)action->kind) {
    case FUZZ_EVENT:
        do_event(run, &action->event);
        break;
    case FUZZ_SNAPSHOT:
        take_snapshot(run);
        break;
    case FUZZ_RESTART:
        restart(run);
        break;
    case FUZZ_ENGINE_RESTART:
        fuzz_engine_set_time(run->engine, run->now);
        fuzz_engine_restart(run->engine);
        break;
    case FUZZ_FORGET:
        forget(run);
        break;
    case FUZZ_REFRESH:
        if (run->checks) /* a second run does not: nothing depends on it */
            sched_refresh(run->brain);
        break;
    case FUZZ_ACTION_KINDS:
        break;
    }
}

static void run_all(struct fuzz_run *run)
{
    const struct fuzz_world *world = run->world;

    for (size_t i = 0; i < world->actions.count && !run->failure.invariant;) {
        usec_t at = world->actions.items[i].at;
        pass_to(run, at);
        for (; i < world->actions.count && world->actions.items[i].at == at &&
               !run->failure.invariant;
             i++) {
            run->step = i + 1;
            do_action(run, &world->actions.items[i]);
        }
        say_outcomes(run);
        settle(run);
    }
    for (int i = 0; i < INSTANTS_AFTER_MAX && !run->failure.invariant; i++) {
        usec_t next = fuzz_engine_next(run->engine);
        if (next == USEC_NEVER || run->shadow->active.count == 0)
            break;
        pass_to(run, next);
        say_outcomes(run);
        settle(run);
    }
    fuzz_check(run, FUZZ_END, NULL);
}

static void compare_runs(struct fuzz_run *run, const struct fuzz_run *again)
{
    size_t count =
        run->digests.count < again->digests.count ? run->digests.count : again->digests.count;
    struct error found;
    size_t i = 0;

    while (i < count && run->digests.items[i] == again->digests.items[i])
        i++;
    if (i == run->digests.count && i == again->digests.count)
        return;
    error_set(&found, 0, "decision %zu of %zu is another one when the world is run again", i + 1,
              run->digests.count);
    fuzz_fail(run, "same_again", &found);
}

void fuzz_run(const struct fuzz_world *world, const struct fuzz_look *look, struct fuzz_result *ret)
{
    struct fuzz_run *run = run_create(world, look, true);

    run_all(run);
    if (world->temper.is_repeated && !run->failure.invariant) {
        struct fuzz_run *again = run_create(world, look, false);
        run_all(again);
        compare_runs(run, again);
        run->events += again->events;
        run_destroy(again);
    }
    *ret = (struct fuzz_result){ .failure = run->failure, .events = run->events };
    run_destroy(run);
}
