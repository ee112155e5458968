/* SPDX-License-Identifier: Apache-2.0 */

/* Elastic gangs: which sizes there are, and what holds of all worlds with some. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "core/job/gang_size.h"
#include "core/snapshot/snapshot.h"

static struct request gang(uint32_t least, uint32_t most, enum request_sizes sizes)
{
    struct request request;

    request_default(&request);
    request.members = least;
    request.members_max = most;
    request.sizes = (uint8_t)sizes;
    return request;
}

static void powers_of_two_and_both_ends_are_sizes(void **state)
{
    struct request request = gang(3, 20, SIZES_POWERS);
    uint32_t sizes[] = { 3, 4, 8, 16, 20 }, count = 0;
    (void)state;

    for (uint32_t members = 0; members < 40; members++) {
        if (request_allows(&request, members))
            assert_int_equal(members, sizes[count++]);
    }
    assert_int_equal(count, COUNT_OF(sizes));
    assert_int_equal(request_fit(&request, 19), 16);
    assert_int_equal(request_fit(&request, 100), 20);
    assert_int_equal(request_fit(&request, 2), 0);
}

static void a_plain_gang_has_one_size(void **state)
{
    struct request request = gang(4, 0, SIZES_ANY);
    (void)state;

    assert_false(request_is_elastic(&request));
    assert_int_equal(request_most(&request), 4);
    assert_int_equal(request_fit(&request, 9), 4);
    assert_int_equal(request_fit(&request, 3), 0);
}

static void a_gang_by_nodes_has_any_number_of_them(void **state)
{
    struct request request = gang(1, 6, SIZES_POWERS), sized;
    (void)state;

    request.per_node = 1;
    assert_int_equal(request_fit(&request, 5), 5);
    request_resize(&request, 5, &sized);
    assert_int_equal(sized.members, 5);
    assert_int_equal(sized.nodes_min, 5);
    assert_false(request_is_elastic(&sized));
}

struct bound {
    uint32_t most, last; /* what fits; the last that did */
};

static bool is_within(void *user, uint32_t members)
{
    struct bound *bound = user;

    bound->last = members <= bound->most ? members : bound->last;
    return members <= bound->most;
}

static void a_search_finds_what_looking_at_all_sizes_finds(void **state)
{
    (void)state;
    for (uint32_t least = 1; least < 9; least++) {
        for (uint32_t most = least; most < 40; most++) {
            for (uint32_t fits = least; fits < 42; fits++) {
                struct request request =
                    gang(least, most, (least + most) % 2 ? SIZES_ANY : SIZES_POWERS);
                struct bound bound = { fits, least };
                uint32_t found = request_search(&request, least, most, is_within, &bound);
                assert_int_equal(found, request_fit(&request, fits));
                assert_int_equal(found, bound.last);
            }
        }
    }
}

/* ---- one machine of alike GPUs, jobs of one queue that run for hours ---- */

enum { GPUS = 12, MEMBERS = 16, SEEDS = 400, STEPS = 120 };

struct world {
    struct lab *lab;
    struct random random;
    bool goes_on; /* gangs do, without lost members */
    uint32_t resizes, preemptions, losses;
};

static uint32_t below(struct world *world, uint32_t bound)
{
    return (uint32_t)(random_next(&world->random) % bound);
}

static void submit(struct world *world)
{
    struct lab *lab = world->lab;
    struct event event = { .kind = EVENT_SUBMIT };
    struct event_submit *job = &event.submit;
    bool is_gang = below(world, 2);

    *job = (struct event_submit){ .id = lab->state->next_id,
                                  .name = "job",
                                  .user = "ana",
                                  .queue = "default",
                                  .restart_cost = USEC_PER_MIN,
                                  .preemptible = below(world, 2) == 1,
                                  .heals = below(world, 3),
                                  .goes_on = world->goes_on,
                                  .estimate = (2 + below(world, 40)) * USEC_PER_HOUR };
    request_default(&job->request);
    job->request.cpu_milli = 0;
    assert_int_equal(request_parse_gpus(&job->request, "1", NULL), 0);
    job->request.members = 1 + below(world, 4);
    job->request.members_max = is_gang ? job->request.members + 1 + below(world, 8) : 0;
    job->request.sizes = below(world, 2) ? SIZES_ANY : SIZES_POWERS;
    lab_tell(lab, &event);
}

/* The devices by rank; each member has one. */
static void devices_of(const struct lease *lease, int64_t *devices)
{
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        devices[rank] = -1;
    for (uint32_t i = 0; i < lease->slices_count; i++)
        devices[lease_rank(lease, lease->slices[i].rank)] = lease->slices[i].device;
}

/* A gang continues without a lost member: its part is gone, and no other member changes. */
static void tell(struct world *world, const struct event *event)
{
    const struct job *job = state_job(world->lab->state, event_job(event));
    uint32_t lost = job->run->members_lost, left = 0;
    int64_t before[MEMBERS], after[MEMBERS];
    bool was_active = job_is_active(job);

    if (was_active)
        devices_of(job->run->lease, before);
    lab_tell(world->lab, event);
    if (!was_active || !job->run->lease || job->run->members_lost == lost)
        return;
    devices_of(job->run->lease, after);
    for (uint32_t rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(after[rank], rank == event->ended.rank ? -1 : before[rank]);
        left += after[rank] >= 0;
    }
    assert_int_equal(job->run->members_lost, lost + 1);
    assert_int_equal(job->run->lease->milli, left * 1000);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_true(job->goes_on && left >= state_request(world->lab->state, job)->members);
    world->losses++;
}

/* The engine: members start, stop, end, are lost; late and twice. */
static void act_on(struct world *world, struct job *job)
{
    uint64_t id = job->id;
    uint32_t attempt = job->run->attempt, count = job->run->lease->members_count;
    struct event event = { .kind = EVENT_STARTED, .started = { .job = id, .attempt = attempt } };
    bool is_stopping = job->state == JOB_STOPPING;
    uint32_t ranks[MEMBERS];

    if (job->state == JOB_RUNNING && below(world, 100) > 3)
        return;
    if (job->state == JOB_RUNNING || is_stopping)
        event =
            (struct event){ .kind = EVENT_ENDED,
                            .ended = { .job = id,
                                       .attempt = attempt,
                                       .kind = below(world, 4) ? ENGINE_ENDED : ENGINE_LOST,
                                       .was_stopped = is_stopping,
                                       .exit_code = is_stopping ? 143 : (int)below(world, 2) } };
    for (uint32_t i = 0; i < count; i++)
        ranks[i] = lease_rank(job->run->lease, (i + attempt) % count); /* in any order */
    for (uint32_t i = 0; i < count; i++) {
        *(event.kind == EVENT_STARTED ? &event.started.rank : &event.ended.rank) = ranks[i];
        if (world->goes_on && event.kind == EVENT_ENDED && !is_stopping)
            event.ended.exit_code = below(world, 4) == 0;
        tell(world, &event);
        if (below(world, 8) == 0)
            tell(world, &event); /* twice */
        if (below(world, 12) == 0)
            return; /* the others later */
    }
}

static void everybody_acts(struct world *world)
{
    for (struct job *job = world->lab->state->first_job, *next; job; job = next) {
        next = job->next;
        if (job_is_active(job))
            act_on(world, job);
        else if (job->state != JOB_ENDED && below(world, 60) == 0)
            lab_tell(world->lab, &(struct event){ .kind = EVENT_CANCEL,
                                                  .cancel = { .job = job->id, .user = "ana" } });
    }
}

/* What gangs could give up now, and what is free, but for those who have a right to it already; in
 * members, of one GPU each. */
static uint32_t room_without_stops(const struct world *world)
{
    const struct state *state = world->lab->state;
    uint32_t free = GPUS, surplus = 0, claimed = 0;

    for (const struct job *job = state->first_job; job; job = job->next) {
        const struct request *request = state_request(state, job);
        claimed +=
            job->state == JOB_QUEUED && job->is_awaited > AWAITED_IN_QUEUE ? request->members : 0;
        if (!job_is_active(job))
            continue;
        free -= job->run->lease->members_count;
        if (job->state == JOB_RUNNING && request_is_elastic(request) &&
            job->run->members_ended == 0 && !job->run->is_cancel_wanted &&
            world->lab->now - job->run->started >= job->restart_cost)
            surplus += job->run->lease->members_count - request->members;
    }
    return free + surplus > claimed ? free + surplus - claimed : 0;
}

static void assert_sound(const struct world *world, uint64_t seed)
{
    const struct state *state = world->lab->state;
    bool is_taken[GPUS] = { false };

    for (const struct job *job = state->first_job; job; job = job->next) {
        const struct request *request = state_request(state, job);
        const struct lease *lease = job->run->lease;
        if (!lease)
            continue;
        if (!request_allows(request, lease->members_count + job->run->members_lost) ||
            lease->members_count < request->members)
            fail_msg("seed %" PRIu64 ": job %" PRIu64 " has %" PRIu32 " members", seed, job->id,
                     lease->members_count);
        for (uint32_t i = 0; i < lease->slices_count; i++) {
            if (is_taken[lease->slices[i].device])
                fail_msg("seed %" PRIu64 ": a device is given twice", seed);
            is_taken[lease->slices[i].device] = true;
        }
    }
}

/* What the decision leaves of it. */
static uint32_t less(const struct world *world, const struct event *event, uint32_t room)
{
    const struct state *state = world->lab->state;
    const struct job *job = state_job(state, event_job(event));
    uint32_t taken = 0;

    if (event->kind == EVENT_GRANT)
        taken = event->grant.lease.members_count;
    if (event->kind == EVENT_STOP && event->stop.cause == STOP_RESIZE)
        taken = job->run->lease->members_count - state_request(state, job)->members;
    return taken < room ? room - taken : 0;
}

static void plan(struct world *world, uint64_t seed)
{
    struct lab *lab = world->lab;
    uint32_t room = room_without_stops(world);

    lab_plan(lab);
    for (size_t i = 0; i < lab->decisions.events.count; i++) {
        const struct event *event = &lab->decisions.events.items[i];
        room = less(world, event, room);
        if (event->kind != EVENT_STOP)
            continue;
        world->resizes += event->stop.cause == STOP_RESIZE;
        if (event->stop.cause != STOP_PREEMPT)
            continue;
        const struct job *taker = state_job(lab->state, event->stop.other);
        world->preemptions++;
        /* One that starts now took a place that the stopped one could have moved to. */
        if (taker && taker->state == JOB_QUEUED && !world->goes_on &&
            state_request(lab->state, taker)->members <= room)
            fail_msg("seed %" PRIu64 ": job %" PRIu64 " is stopped for %" PRIu64
                     ", though gangs could give up enough",
                     seed, event->stop.job, taker->id);
    }
    assert_sound(world, seed);
}

static void run_world(uint64_t seed, struct world *world)
{
    struct lab *lab = world->lab = lab_create();

    world->random = (struct random){ seed };
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS, .settings = { .backfill_depth = 1 } });
    lab_node(lab, "n", 64000, 0);
    lab_gpus(lab, "n", "h100", 81920, GPUS);
    for (int step = 0; step < STEPS; step++) {
        if (lab->state->job_counts[JOB_QUEUED] < 4)
            submit(world);
        everybody_acts(world);
        for (int plans = 0; plans < 50 && sched_next_wakeup(lab->brain) <= lab->now; plans++)
            plan(world, seed);
        assert_true(sched_next_wakeup(lab->brain) > lab->now); /* it comes to rest */
        usec_t next = sched_next_wakeup(lab->brain);
        lab->now += below(world, 2) ? USEC_PER_MIN : 40 * USEC_PER_MIN;
        lab->now = next < lab->now ? next : lab->now;
        if (below(world, 20) == 0)
            lab_reload(lab);
    }
    lab_destroy(lab);
}

static void gangs_shrink_before_anybody_is_stopped(void **state)
{
    struct world world = { 0 };
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_world(seed, &world);
    print_message("%" PRIu32 " resizes, %" PRIu32 " preemptions\n", world.resizes,
                  world.preemptions);
    assert_true(world.resizes > 1000);
    assert_true(world.preemptions > 1000);
}

static void who_goes_on_without_a_member_touches_nobody(void **state)
{
    struct world world = { .goes_on = true };
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_world(seed, &world);
    print_message("%" PRIu32 " losses\n", world.losses);
    assert_true(world.losses > 100);
}

/* ---- healing ---- */

static uint64_t submit_gang(struct lab *lab, uint32_t heals, uint32_t retry)
{
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = lab->state->next_id,
                                       .name = "gang",
                                       .user = "ana",
                                       .queue = "default",
                                       .heals = heals,
                                       .retry = retry } };

    request_default(&event.submit.request);
    event.submit.request.members = 2;
    event.submit.request.cpu_milli = 1000;
    lab_tell(lab, &event);
    lab_settle(lab);
    return event.submit.id;
}

static void lose(struct lab *lab, uint64_t id, uint32_t rank, enum engine_outcome_kind kind)
{
    lab_tell(lab, &(struct event){ .kind = EVENT_ENDED,
                                   .ended = { .job = id,
                                              .attempt = lab_job(lab, id)->run->attempt,
                                              .rank = rank,
                                              .kind = (uint8_t)kind,
                                              .exit_code = 1,
                                              .reason = "" } });
    lab_settle(lab);
}

static void heals_come_before_retries_and_are_counted_apart(void **state)
{
    AUTO(lab) struct lab *lab = lab_create();
    (void)state;

    lab_node(lab, "n", 4000, 0);
    uint64_t id = submit_gang(lab, 2, 1);
    for (uint32_t round = 1; round <= 4; round++) {
        assert_int_equal(lab_job(lab, id)->run->attempt, round);
        lab_started(lab, id);
        lose(lab, id, 1, ENGINE_LOST);
        assert_int_equal(lab_job(lab, id)->state, JOB_STOPPING);
        assert_int_equal(lab_job(lab, id)->run->stop_cause, round <= 2 ? STOP_HEAL : STOP_MEMBER);
        lose(lab, id, 0, ENGINE_ENDED);
        if (round == 4)
            break;
        assert_int_equal(lab_job(lab, id)->state, JOB_GRANTED);
        assert_int_equal(lab_job(lab, id)->run->heals, round < 2 ? round : 2);
        assert_int_equal(lab_job(lab, id)->run->retries, round == 3);
        if (round == 3)
            lab_reload(lab);
    }
    assert_int_equal(lab_job(lab, id)->state, JOB_ENDED);
    assert_int_equal(lab_job(lab, id)->result, RESULT_LOST);
}

static void what_can_not_be_started_is_not_healed(void **state)
{
    AUTO(lab) struct lab *lab = lab_create();
    (void)state;

    lab_node(lab, "n", 4000, 0);
    uint64_t id = submit_gang(lab, 3, 0);
    lose(lab, id, 0, ENGINE_FAILED);
    lose(lab, id, 1, ENGINE_ENDED);
    assert_int_equal(lab_job(lab, id)->state, JOB_ENDED);
    assert_int_equal(lab_job(lab, id)->run->heals, 0);
}

static void who_cancels_is_obeyed_while_a_gang_is_healed(void **state)
{
    AUTO(lab) struct lab *lab = lab_create();
    (void)state;

    lab_node(lab, "n", 4000, 0);
    uint64_t id = submit_gang(lab, 3, 3);
    lab_started(lab, id);
    lose(lab, id, 1, ENGINE_LOST);
    lab_tell(lab, &(struct event){ .kind = EVENT_CANCEL, .cancel = { .job = id, .user = "ana" } });
    lose(lab, id, 0, ENGINE_ENDED);
    assert_int_equal(lab_job(lab, id)->state, JOB_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_of_two_and_both_ends_are_sizes),
        cmocka_unit_test(a_plain_gang_has_one_size),
        cmocka_unit_test(a_gang_by_nodes_has_any_number_of_them),
        cmocka_unit_test(a_search_finds_what_looking_at_all_sizes_finds),
        cmocka_unit_test(gangs_shrink_before_anybody_is_stopped),
        cmocka_unit_test(who_goes_on_without_a_member_touches_nobody),
        cmocka_unit_test(heals_come_before_retries_and_are_counted_apart),
        cmocka_unit_test(what_can_not_be_started_is_not_healed),
        cmocka_unit_test(who_cancels_is_obeyed_while_a_gang_is_healed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
