/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PERCENT = READING_RATIO_ONE / 100, HOUR_MS = 3600000 };

/* Two GPUs, and a stretch that begins at 10 o'clock of the journal. */
struct world {
    struct state *state;
    struct ledger ledger;
    usec_t from;
    bool has_begun;
};

static void tell(struct world *world, usec_t at, struct event event)
{
    struct error err;

    event.at = at;
    if (!world->has_begun && at >= world->from) {
        ledger_begin(&world->ledger, world->state, world->from);
        world->has_begun = true;
    }
    if (world->has_begun)
        ledger_pass(&world->ledger, at);
    if (state_apply(world->state, &event, &err) < 0)
        fail_msg("%s", err.text);
    if (world->has_begun)
        ledger_note(&world->ledger, &event);
}

static struct world *world_create(void)
{
    struct world *world = mem_zero(1, sizeof(*world));

    world->state = state_create();
    world->from = 10 * USEC_PER_HOUR;
    tell(world, 1,
         (struct event){ .kind = EVENT_NODE, .node = { .name = "a", .cpu_milli = 4000 } });
    for (uint32_t i = 0; i < 2; i++)
        tell(world, 1,
             (struct event){ .kind = EVENT_DEVICE,
                             .device = { .node = "a",
                                         .uuid = i == 0 ? "a0" : "a1",
                                         .model = "h100",
                                         .index = i,
                                         .memory_mib = 80000 } });
    return world;
}

static void world_destroy(struct world *world)
{
    ledger_release(&world->ledger);
    state_destroy(world->state);
    free(world);
}

static void submit(struct world *world, usec_t at, uint64_t id, const char *user)
{
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = id, .name = "j", .user = user, .queue = "default", .preemptible = 1 }
    };

    request_default(&event.submit.request);
    tell(world, at, event);
}

static void grant(struct world *world, usec_t at, uint64_t id, uint32_t attempt, uint32_t device,
                  uint32_t milli)
{
    static const struct lease_member member = { 0 };
    struct slice slice = { .device = device,
                           .milli = milli,
                           .kind = milli == 1000 ? SHARE_WHOLE : SHARE_FRACTION,
                           .memory_mib = milli * 80 };
    struct event event = { .kind = EVENT_GRANT,
                           .grant = { .job = id,
                                      .attempt = attempt,
                                      .lease = { .members = &member,
                                                 .members_count = 1,
                                                 .slices = &slice,
                                                 .slices_count = 1,
                                                 .milli = milli } } };

    tell(world, at, event);
    tell(world, at,
         (struct event){ .kind = EVENT_STARTED, .started = { .job = id, .attempt = attempt } });
}

static void end(struct world *world, usec_t at, uint64_t id, uint32_t attempt, int exit_code)
{
    tell(world, at,
         (struct event){
             .kind = EVENT_ENDED,
             .ended = {
                 .job = id, .attempt = attempt, .kind = ENGINE_ENDED, .exit_code = exit_code } });
}

/* A whole device's time, of which it was used so much, and idle for so many hours. */
static void used(struct world *world, usec_t at, uint64_t id, uint32_t attempt, int hours, int use,
                 int idle_hours)
{
    struct usage_gpu gpu = { .watched_ms = (int64_t)hours * HOUR_MS, .use = use * PERCENT };
    struct event event = { .kind = EVENT_USAGE, .usage = { .job = id, .attempt = attempt } };
    struct usage *usage = &event.usage.usage;

    usage->sums_count = USAGE_KINDS;
    usage->watched_ms = gpu.watched_ms;
    usage->low_ms = (int64_t)idle_hours * HOUR_MS;
    usage->energy_mj = (int64_t)hours * 1000000;
    usage->device_mib = 80000;
    usage->gpus = &gpu;
    usage->gpus_count = 1;
    usage_add(&usage->sums[USAGE_GPU], (int64_t)use * PERCENT, gpu.watched_ms);
    usage_add(&usage->sums[USAGE_MEMORY], 20000, gpu.watched_ms);
    if (at > 0)
        tell(world, at, event);
    else /* of one that runs, as the daemon says it */
        ledger_note(&world->ledger, &event);
}

static const struct ledger_job *entry_of(const struct world *world, uint64_t id)
{
    for (size_t i = 0; i < world->ledger.jobs.count; i++) {
        if (world->ledger.jobs.items[i].id == id)
            return &world->ledger.jobs.items[i];
    }
    return NULL;
}

static usec_t hour(int count)
{
    return count * USEC_PER_HOUR;
}

static void only_what_is_within_counts(void **state)
{
    (void)state;
    struct world *world = world_create();

    submit(world, hour(1), 1, "ana");
    submit(world, hour(1), 2, "ana");
    grant(world, hour(2), 1, 1, 0, 1000); /* over before it begins */
    end(world, hour(6), 1, 1, 0);
    used(world, hour(6), 1, 1, 4, 90, 0);
    grant(world, hour(8), 2, 1, 0, 1000); /* two hours before, six within */
    end(world, hour(16), 2, 1, 1);
    used(world, hour(16), 2, 1, 8, 50, 4);
    ledger_finish(&world->ledger, hour(20));

    assert_null(entry_of(world, 1));
    const struct ledger_sum *sum = &entry_of(world, 2)->sum;
    assert_int_equal(sum->gpu_ms, 6 * HOUR_MS);
    assert_int_equal(sum->watched_ms, 6 * HOUR_MS);
    assert_int_equal(sum->busy_ms, 3 * HOUR_MS);
    assert_int_equal(sum->idle_ms, 3 * HOUR_MS);
    assert_int_equal(sum->energy_mj, 6000000);
    assert_int_equal(sum->memory_used / sum->memory_ms, 20000);
    assert_int_equal(sum->memory_given / sum->memory_ms, 80000);
    assert_int_equal(sum->failed, 1);
    assert_int_equal(sum->ok + sum->cancelled + sum->running, 0);
    assert_int_equal(world->ledger.capacity_ms, 2 * 10 * HOUR_MS);
    world_destroy(world);
}

static void who_runs_counts_until_now_and_what_nobody_read_is_not_zero(void **state)
{
    (void)state;
    struct world *world = world_create();

    submit(world, hour(11), 1, "ana");
    submit(world, hour(11), 2, "ben");
    grant(world, hour(12), 1, 1, 0, 1000);
    grant(world, hour(12), 2, 1, 1, 1000);
    ledger_finish(&world->ledger, hour(16));
    used(world, 0, 1, 1, 3, 90, 0); /* the first hour nobody looked */

    const struct ledger_sum *ana = &entry_of(world, 1)->sum, *ben = &entry_of(world, 2)->sum;
    assert_int_equal(ana->gpu_ms, 4 * HOUR_MS);
    assert_int_equal(ana->watched_ms, 3 * HOUR_MS);
    assert_int_equal(ana->busy_ms, (int64_t)(2.7 * HOUR_MS));
    assert_int_equal(ana->running, 1);
    assert_int_equal(ben->gpu_ms, 4 * HOUR_MS);
    assert_int_equal(ben->watched_ms, 0);
    assert_int_equal(ben->memory_ms, 0);
    assert_int_equal(ben->energy_ms, 0);
    world_destroy(world);
}

/* What a job reports while it runs is part of what it reports at its end. If the daemon was down at
 * the end, the last report counts. */
static void reports_of_a_running_job_count_once(void **state)
{
    (void)state;
    struct world *world = world_create();

    submit(world, hour(11), 1, "ana");
    submit(world, hour(11), 2, "ben");
    grant(world, hour(12), 1, 1, 0, 1000);
    grant(world, hour(12), 2, 1, 1, 1000);
    for (int hours = 1; hours <= 2; hours++) {
        used(world, hour(12 + hours), 1, 1, hours, 90, 0);
        used(world, hour(12 + hours), 2, 1, hours, 90, 0);
    }
    end(world, hour(16), 1, 1, 0);
    end(world, hour(16), 2, 1, 0);
    used(world, hour(16), 1, 1, 4, 90, 0);
    ledger_finish(&world->ledger, hour(17));
    const struct ledger_sum *whole = &entry_of(world, 1)->sum, *cut = &entry_of(world, 2)->sum;
    assert_int_equal(whole->watched_ms, 4 * HOUR_MS);
    assert_int_equal(whole->energy_mj, 4000000);
    assert_int_equal(whole->energy_ms, 4 * HOUR_MS);
    assert_int_equal(cut->watched_ms, 2 * HOUR_MS);
    assert_int_equal(cut->energy_mj, 2000000);
    assert_int_equal(cut->energy_ms, 2 * HOUR_MS); /* of four: the measured ones */
    world_destroy(world);
}

/* A quarter of a device that was busy all the time, alone on it. */
static void a_share_is_used_to_a_hundred_percent_at_most(void **state)
{
    (void)state;
    struct world *world = world_create();

    submit(world, hour(11), 1, "ana");
    grant(world, hour(12), 1, 1, 0, 250);
    end(world, hour(16), 1, 1, 0);
    used(world, hour(16), 1, 1, 4, 90, 0);
    ledger_finish(&world->ledger, hour(17));
    const struct ledger_sum *sum = &entry_of(world, 1)->sum;
    assert_int_equal(sum->watched_ms, HOUR_MS);
    assert_int_equal(sum->busy_ms, HOUR_MS);
    assert_int_equal(sum->energy_ms, HOUR_MS);
    world_destroy(world);
}

static void every_attempt_counts_and_of_a_share_what_was_given(void **state)
{
    (void)state;
    struct world *world = world_create();

    submit(world, hour(10), 1, "ana");
    grant(world, hour(11), 1, 1, 0, 500);
    tell(world, hour(13),
         (struct event){ .kind = EVENT_STOP, .stop = { .job = 1, .cause = STOP_PREEMPT } });
    tell(world, hour(13),
         (struct event){
             .kind = EVENT_ENDED,
             .ended = {
                 .job = 1, .attempt = 1, .kind = ENGINE_ENDED, .signal = 15, .was_stopped = 1 } });
    grant(world, hour(14), 1, 2, 1, 500); /* before its first attempt's use is known */
    used(world, hour(14), 1, 1, 2, 25, 0);
    end(world, hour(18), 1, 2, 0);
    used(world, hour(18), 1, 2, 4, 25, 2);
    ledger_finish(&world->ledger, hour(20));

    const struct ledger_sum *sum = &entry_of(world, 1)->sum;
    assert_int_equal(sum->gpu_ms, 3 * HOUR_MS); /* six hours of a half */
    assert_int_equal(sum->watched_ms, 3 * HOUR_MS);
    assert_int_equal(sum->busy_ms, (int64_t)(1.5 * HOUR_MS)); /* a quarter of six */
    assert_int_equal(sum->idle_ms, 1 * HOUR_MS);
    assert_int_equal(sum->memory_given / sum->memory_ms, 40000);
    assert_int_equal(sum->preempted, 1);
    assert_int_equal(sum->ok, 1);
    assert_int_equal(sum->energy_mj, 6000000);
    world_destroy(world);
}

static void one_that_ends_while_it_is_asked_counts_once(void **state)
{
    (void)state;
    struct world *world = world_create();

    submit(world, hour(10), 1, "ana");
    grant(world, hour(10), 1, 1, 0, 1000);
    end(world, hour(14), 1, 1, 0);
    used(world, hour(14), 1, 1, 4, 50, 1);
    ledger_finish(&world->ledger, hour(15));
    used(world, 0, 1, 1, 3, 50, 1); /* as it was when it still ran */

    const struct ledger_sum *sum = &entry_of(world, 1)->sum;
    assert_int_equal(sum->gpu_ms, 4 * HOUR_MS);
    assert_int_equal(sum->watched_ms, 4 * HOUR_MS);
    assert_int_equal(sum->busy_ms, 2 * HOUR_MS);
    assert_int_equal(sum->energy_mj, 4000000);
    world_destroy(world);
}

/* Of what nobody watched nothing is said, in a stretch and of a share alike. */
static void only_what_was_watched_is_known(void **state)
{
    (void)state;
    struct world *world = world_create();

    submit(world, hour(1), 1, "ana");
    submit(world, hour(1), 2, "ben");
    grant(world, hour(8), 1, 1, 0, 1000); /* half of it within */
    grant(world, hour(10), 2, 1, 1, 500);
    end(world, hour(12), 1, 1, 0);
    used(world, hour(12), 1, 1, 2, 50, 0);
    end(world, hour(14), 2, 1, 0);
    used(world, hour(14), 2, 1, 2, 50, 0);
    ledger_finish(&world->ledger, hour(20));

    const struct ledger_sum *ana = &entry_of(world, 1)->sum, *ben = &entry_of(world, 2)->sum;
    assert_int_equal(ana->gpu_ms, 2 * HOUR_MS);
    assert_int_equal(ana->watched_ms, 1 * HOUR_MS);
    assert_int_equal(ana->busy_ms, HOUR_MS / 2);
    assert_int_equal(ben->gpu_ms, 2 * HOUR_MS); /* four hours of a half */
    assert_int_equal(ben->watched_ms, 1 * HOUR_MS);
    world_destroy(world);
}

static void what_is_noticed_is_counted_and_the_worst_is_kept(void **state)
{
    (void)state;
    struct world *world = world_create();

    submit(world, hour(10), 1, "ana");
    grant(world, hour(11), 1, 1, 0, 1000);
    end(world, hour(15), 1, 1, 0);
    used(world, hour(15), 1, 1, 4, 2, 4);
    ledger_finish(&world->ledger, hour(20));

    assert_true(entry_of(world, 1)->has_diagnosis);
    assert_int_equal(entry_of(world, 1)->diagnosis.id, DIAGNOSIS_IDLE);
    assert_int_equal(world->ledger.diagnoses[DIAGNOSIS_IDLE].jobs, 1);
    assert_int_equal(world->ledger.diagnoses[DIAGNOSIS_IDLE].gpu_ms, 4 * HOUR_MS);
    assert_int_equal(world->ledger.diagnoses[DIAGNOSIS_HANG].jobs, 0);
    world_destroy(world);
}

static void the_interval_is_divided_into_periods(void **state)
{
    (void)state;
    struct world *world = world_create();

    tell(world, hour(10),
         (struct event){ .kind = EVENT_PRICE,
                         .price = { .resource = "h100", .price_micro = 2000000 } });
    for (int i = 10; i < 16; i += 2)
        list_add(&world->ledger.periods, (struct ledger_period){ .from = hour(i) });
    world->ledger.counts_queues = true;
    submit(world, hour(10), 1, "ana");
    grant(world, hour(11), 1, 1, 0, 1000);
    end(world, hour(15), 1, 1, 0);
    used(world, hour(15), 1, 1, 4, 50, 2);
    ledger_finish(&world->ledger, hour(16));

    static const int held[] = { 1, 2, 1 };
    for (size_t i = 0; i < COUNT_OF(held); i++) {
        const struct ledger_period *period = &world->ledger.periods.items[i];
        assert_int_equal(period->capacity_ms, 4 * HOUR_MS);
        assert_int_equal(period->gpu_ms, held[i] * HOUR_MS);
        assert_int_equal((int64_t)(period->watched_ms + 0.5), held[i] * HOUR_MS);
        assert_int_equal((int64_t)(period->busy_ms + 0.5), held[i] * HOUR_MS / 2);
        assert_int_equal((int64_t)(period->idle_ms + 0.5), held[i] * HOUR_MS / 2);
        assert_int_equal((int64_t)(period->cost_micro + 0.5), held[i] * 2000000);
        assert_int_equal(period->starts, i == 0);
        assert_int_equal(period->queues_ms.items[state_job(world->state, 1)->queue],
                         held[i] * HOUR_MS);
    }
    assert_int_equal(world->ledger.periods.items[0].waiting_ms, HOUR_MS);
    assert_int_equal(world->ledger.periods.items[0].starts_waited_ms, HOUR_MS);
    assert_int_equal(world->ledger.periods.items[1].waiting_ms, 0);
    world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_within_counts),
        cmocka_unit_test(who_runs_counts_until_now_and_what_nobody_read_is_not_zero),
        cmocka_unit_test(one_that_ends_while_it_is_asked_counts_once),
        cmocka_unit_test(reports_of_a_running_job_count_once),
        cmocka_unit_test(a_share_is_used_to_a_hundred_percent_at_most),
        cmocka_unit_test(every_attempt_counts_and_of_a_share_what_was_given),
        cmocka_unit_test(the_interval_is_divided_into_periods),
        cmocka_unit_test(only_what_was_watched_is_known),
        cmocka_unit_test(what_is_noticed_is_counted_and_the_worst_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
