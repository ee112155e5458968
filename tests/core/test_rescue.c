/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on devices that get sick: who is charged for it, what they lose, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/health/health.h"
#include "core/snapshot/snapshot.h"
#include "core/state/rescue.h"
#include "core/state/state.h"

static void tell(struct state *state, usec_t at, struct event event)
{
    struct error err;

    event.at = at;
    if (state_apply(state, &event, &err) < 0)
        fail_msg("%s", err.text);
}

static void tell_device(struct state *state, usec_t at, const char *sick, enum harm harm)
{
    tell(state, at,
         (struct event){ .kind = EVENT_DEVICE,
                         .device = { .node = "a",
                                     .uuid = "GPU-3",
                                     .model = "h100",
                                     .index = 3,
                                     .memory_mib = 80000,
                                     .sick = sick,
                                     .harm = (uint8_t)harm } });
}

static struct state *world(void)
{
    struct state *state = state_create();

    tell(state, 0,
         (struct event){ .kind = EVENT_NODE, .node = { .name = "a", .cpu_milli = 4000 } });
    tell_device(state, 0, "", HARM_NONE);
    return state;
}

/* The one device of the one node, for its next attempt, whose number it returns. */
static uint32_t grant(struct state *state, usec_t at, const struct job *job)
{
    struct lease_member member = { .node = 0 };
    struct slice slice = { .milli = GPU_MILLI };
    struct lease lease = { .members = &member,
                           .members_count = 1,
                           .slices = &slice,
                           .slices_count = 1,
                           .milli = GPU_MILLI };
    uint32_t attempt = job->run->attempt + 1;

    tell(state, at,
         (struct event){ .kind = EVENT_GRANT,
                         .grant = { .job = job->id, .attempt = attempt, .lease = lease } });
    return attempt;
}

static void start(struct state *state, usec_t at, const struct job *job)
{
    uint32_t attempt = grant(state, at, job);

    tell(
        state, at,
        (struct event){ .kind = EVENT_STARTED, .started = { .job = job->id, .attempt = attempt } });
}

static const struct job *submit(struct state *state, struct event_submit submit)
{
    submit.id = state->next_id;
    submit.name = "j";
    submit.user = "ana";
    submit.queue = "default";
    request_default(&submit.request);
    tell(state, state->now, (struct event){ .kind = EVENT_SUBMIT, .submit = submit });
    return state_job(state, submit.id);
}

static void fall(struct state *state, usec_t at, const struct job *job, bool was_stopped)
{
    tell(state, at,
         (struct event){ .kind = EVENT_ENDED,
                         .ended = { .job = job->id,
                                    .attempt = job->run->attempt,
                                    .kind = ENGINE_ENDED,
                                    .exit_code = 1,
                                    .was_stopped = was_stopped } });
}

static void rescue(struct state *state, usec_t at, const struct job *job)
{
    tell(state, at,
         (struct event){ .kind = EVENT_STOP,
                         .stop = { .job = job->id, .cause = STOP_RESCUE, .device = 1 } });
}

static void who_may_leave_hangs_on_what_it_loses(void **unused)
{
    static const struct {
        struct event_submit submit;
        enum sick_jobs rule;
        bool leaves, dies; /* what may leave which */
    } cases[] = {
        { { .preemptible = 1 }, SICK_ABLE, true, true },
        { { .checkpoint_every = USEC_PER_HOUR }, SICK_ABLE, true, true },
        { { .checkpoint_auto = 1 }, SICK_ABLE, true, true },
        { { .retry = 1 }, SICK_ABLE, false, true },
        { { .retry = 1, .no_requeue = 1 }, SICK_ABLE, false, false },
        { { .retry = 0 }, SICK_ABLE, false, false },
        { { .retry = 0 }, SICK_ALL, false, true },
        { { .no_requeue = 1 }, SICK_ALL, false, false },
        { { .preemptible = 1 }, SICK_STAY, false, false },
    };
    (void)unused;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(state) struct state *state = world();
        state->settings.watch.sick_jobs = (uint8_t)cases[i].rule;
        const struct job *job = submit(state, cases[i].submit);
        start(state, 0, job);
        assert_int_equal(rescue_may(state, job, HARM_LEAVE), cases[i].leaves);
        assert_int_equal(rescue_may(state, job, HARM_DIE), cases[i].dies);
        assert_false(rescue_may(state, job, HARM_NONE));
    }
}

static void who_fell_with_its_device_is_not_charged(void **unused)
{
    static const struct {
        enum harm harm;
        uint32_t retries, rescues;
    } cases[] = { { HARM_NONE, 1, 0 }, { HARM_LEAVE, 1, 0 }, { HARM_DIE, 0, 1 } };
    (void)unused;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(state) struct state *state = world();
        const struct job *job = submit(state, (struct event_submit){ .retry = 1 });
        start(state, 0, job);
        tell_device(state, 10, cases[i].harm ? "XID 79" : "", cases[i].harm);
        fall(state, 20, job, false);
        assert_int_equal(job->state, JOB_QUEUED);
        assert_int_equal(job->run->retries, cases[i].retries);
        assert_int_equal(job->run->rescues, cases[i].rescues);
        if (cases[i].rescues > 0) {
            assert_string_equal(job->run->rescued_from, "a:3");
            assert_string_equal(job->run->rescued_reason, "XID 79");
        }
    }
}

static void who_may_not_run_again_has_failed(void **unused)
{
    AUTO(state) struct state *state = world();
    const struct job *job = submit(state, (struct event_submit){ 0 });
    (void)unused;

    start(state, 0, job);
    tell_device(state, 10, "XID 79", HARM_DIE);
    fall(state, 20, job, false);
    assert_int_equal(job->state, JOB_ENDED);
    assert_int_equal(job->result, RESULT_FAILED);
}

static void one_that_kills_its_devices_is_charged_in_the_end(void **unused)
{
    AUTO(state) struct state *state = world();
    const struct job *job = submit(state, (struct event_submit){ .retry = 1 });
    (void)unused;

    for (usec_t i = 1; i <= RESCUES_MOST + 2; i++) {
        assert_int_equal(job->state, JOB_QUEUED);
        tell_device(state, i * 100, "", HARM_NONE);
        start(state, i * 100 + 1, job);
        tell_device(state, i * 100 + 2, "XID 79", HARM_DIE);
        fall(state, i * 100 + 3, job, false);
    }
    assert_int_equal(job->run->rescues, RESCUES_MOST);
    assert_int_equal(job->run->retries, 1);
    assert_int_equal(job->state, JOB_ENDED);
}

static void work_is_kept_as_far_as_it_was_saved(void **unused)
{
    static const struct {
        struct event_submit submit;
        enum harm harm;
        usec_t checkpoint; /* in hours; 0: none */
        usec_t attained;
    } cases[] = {
        { { .preemptible = 1 }, HARM_LEAVE, 0, 5 },
        { { .preemptible = 1 }, HARM_DIE, 0, 0 },
        { { .preemptible = 1 }, HARM_DIE, 3, 3 },
        { { .checkpoint_every = 2 * USEC_PER_HOUR }, HARM_DIE, 0, 4 },
        { { .retry = 1 }, HARM_DIE, 0, 0 },
    };
    (void)unused;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(state) struct state *state = world();
        const struct job *job = submit(state, cases[i].submit);
        start(state, 0, job);
        if (cases[i].checkpoint > 0)
            tell(state, cases[i].checkpoint * USEC_PER_HOUR,
                 (struct event){ .kind = EVENT_CHECKPOINT,
                                 .checkpoint = { .job = job->id, .attempt = 1 } });
        tell_device(state, 5 * USEC_PER_HOUR, "XID 79", cases[i].harm);
        rescue(state, 5 * USEC_PER_HOUR, job);
        fall(state, 5 * USEC_PER_HOUR, job, true);
        assert_int_equal(job->state, JOB_QUEUED);
        assert_int_equal(job->run->attained, cases[i].attained * USEC_PER_HOUR);
        assert_int_equal(job->is_awaited, AWAITED_FROM_OTHERS);
    }
}

static void who_ends_well_while_it_is_stopped_is_done_and_a_cancel_counts(void **unused)
{
    AUTO(state) struct state *state = world();
    const struct job *done = submit(state, (struct event_submit){ .retry = 1 });
    const struct job *gone = submit(state, (struct event_submit){ .retry = 1 });
    (void)unused;

    start(state, 0, done);
    tell_device(state, 10, "XID 79", HARM_DIE);
    rescue(state, 10, done);
    tell(state, 20,
         (struct event){ .kind = EVENT_ENDED,
                         .ended = { .job = done->id, .attempt = 1, .kind = ENGINE_ENDED } });
    assert_int_equal(done->result, RESULT_OK);
    tell_device(state, 30, "", HARM_NONE);
    start(state, 30, gone);
    tell_device(state, 40, "XID 79", HARM_DIE);
    rescue(state, 40, gone);
    tell(state, 41,
         (struct event){ .kind = EVENT_CANCEL, .cancel = { .job = gone->id, .user = "ana" } });
    fall(state, 50, gone, true);
    assert_int_equal(gone->result, RESULT_CANCELLED);
}

static void it_survives_a_snapshot(void **unused)
{
    AUTO(state) struct state *state = world();
    AUTO(state) struct state *loaded = NULL;
    AUTO_RELEASE(text) struct text first = { 0 }, second = { 0 };
    struct error err;
    (void)unused;

    const struct job *job = submit(state, (struct event_submit){ .retry = 1 });
    start(state, 0, job);
    tell_device(state, 10, "XID 79", HARM_DIE);
    rescue(state, 10, job);
    snapshot_save(state, &first);
    if (snapshot_load(first.bytes, first.length, &loaded, &err) < 0)
        fail_msg("%s", err.text);
    snapshot_save(loaded, &second);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.bytes, second.bytes, first.length);
    assert_string_equal(state_job(loaded, job->id)->run->rescued_from, "a:3");
    fall(loaded, 20, state_job(loaded, job->id), true);
    assert_int_equal(state_job(loaded, job->id)->run->rescues, 1);
    assert_int_equal(loaded->devices.items[0].harm, HARM_DIE);
}

static void who_has_not_started_leaves_any_sick_device_and_nothing_is_counted(void **unused)
{
    AUTO(state) struct state *state = world();
    const struct job *job = submit(state, (struct event_submit){ 0 });
    uint32_t device = 9;
    (void)unused;

    state->settings.watch.sick_jobs = SICK_STAY;
    grant(state, 0, job);
    assert_int_equal(rescue_harm(state, job, &device), HARM_NONE);
    tell_device(state, 10, "its health check failed", HARM_NONE);
    assert_int_equal(rescue_harm(state, job, &device), HARM_LEAVE);
    assert_int_equal(device, 0);
    assert_true(rescue_may(state, job, HARM_LEAVE));
    rescue(state, 10, job);
    tell(state, 11,
         (struct event){ .kind = EVENT_ENDED,
                         .ended = { .job = job->id, .attempt = 1, .kind = ENGINE_LOST } });
    assert_int_equal(job->state, JOB_QUEUED);
    assert_int_equal(job->run->rescues, 0);
    assert_int_equal(job->run->retries, 0);
    tell_device(state, 20, "", HARM_NONE);
    start(state, 20, job);
    tell_device(state, 30, "its health check failed", HARM_NONE);
    assert_int_equal(rescue_harm(state, job, &device), HARM_NONE); /* it runs: it stays */
}

static void who_came_from_the_engine_stays_on_a_sick_device(void **unused)
{
    AUTO(state) struct state *state = world();
    const struct job *job = submit(state, (struct event_submit){ .external = "slurm/4711" });
    uint32_t device = 9;
    (void)unused;

    grant(state, 0, job);
    tell_device(state, 10, "in use by Slurm job 8", HARM_NONE);
    assert_int_equal(rescue_harm(state, job, &device), HARM_LEAVE);
    assert_false(rescue_may(state, job, HARM_LEAVE));
}

static void an_attempt_that_is_returned_is_not_counted(void **unused)
{
    AUTO(state) struct state *state = world();
    const struct job *job =
        submit(state, (struct event_submit){ .external = "kube/1", .no_requeue = true });
    (void)unused;

    for (uint32_t attempt = 1; attempt < 20; attempt++) {
        grant(state, attempt, job);
        tell(state, attempt,
             (struct event){
                 .kind = EVENT_ENDED,
                 .ended = { .job = job->id, .attempt = attempt, .kind = ENGINE_RETURNED } });
        assert_int_equal(job->state, JOB_QUEUED);
        assert_int_equal(job->run->retries, 0);
    }
    grant(state, 20, job);
    tell(state, 20, (struct event){ .kind = EVENT_CANCEL, .cancel = { .job = job->id } });
    tell(state, 20,
         (struct event){ .kind = EVENT_ENDED,
                         .ended = { .job = job->id, .attempt = 20, .kind = ENGINE_RETURNED } });
    assert_int_equal(job->state, JOB_ENDED);
    assert_int_equal(job->result, RESULT_CANCELLED);
}

static void a_program_s_own_fault_harms_nobody(void **unused)
{
    static const uint32_t own[] = { 13, 31, 43, 45, 94 }, dead[] = { 46, 79, 95, 119 };
    (void)unused;

    for (size_t i = 0; i < COUNT_OF(own); i++) {
        struct health health = { 0 };
        health_xid(&health, own[i], 0);
        assert_int_equal(health_harm(&health), HARM_NONE);
    }
    for (size_t i = 0; i < COUNT_OF(dead); i++) {
        struct health health = { 0 };
        health_xid(&health, dead[i], 0);
        assert_int_equal(health_harm(&health), HARM_DIE);
    }
}

/* Of journals and snapshots from before such words were made fit where they arise. */
static void what_a_program_of_somebody_says_is_fit_for_people(void **unused)
{
    static const char raw[] = "process 4 (\xff\x1b[2J) of job 1 is still on it";
    static const char clean[] = "process 4 (??[2J) of job 1 is still on it";
    AUTO(state) struct state *state = world(), *loaded = NULL;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct error err;
    (void)unused;

    const struct job *job = submit(state, (struct event_submit){ .retry = 1 });
    start(state, 1, job);
    tell_device(state, 2, raw, HARM_DIE);
    rescue(state, 3, job);
    assert_string_equal(state->devices.items[0].sick, clean);
    assert_string_equal(job->run->rescued_reason, clean);
    memcpy(state->devices.items[0].sick, raw, sizeof(raw));
    memcpy(job->run->rescued_reason, raw, sizeof(raw));
    snapshot_save(state, &bytes);
    assert_int_equal(snapshot_load(bytes.bytes, bytes.length, &loaded, &err), 0);
    assert_string_equal(loaded->devices.items[0].sick, clean);
    assert_string_equal(state_job(loaded, job->id)->run->rescued_reason, clean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_may_leave_hangs_on_what_it_loses),
        cmocka_unit_test(who_fell_with_its_device_is_not_charged),
        cmocka_unit_test(who_may_not_run_again_has_failed),
        cmocka_unit_test(one_that_kills_its_devices_is_charged_in_the_end),
        cmocka_unit_test(work_is_kept_as_far_as_it_was_saved),
        cmocka_unit_test(who_ends_well_while_it_is_stopped_is_done_and_a_cancel_counts),
        cmocka_unit_test(it_survives_a_snapshot),
        cmocka_unit_test(who_has_not_started_leaves_any_sick_device_and_nothing_is_counted),
        cmocka_unit_test(who_came_from_the_engine_stays_on_a_sick_device),
        cmocka_unit_test(an_attempt_that_is_returned_is_not_counted),
        cmocka_unit_test(a_program_s_own_fault_harms_nobody),
        cmocka_unit_test(what_a_program_of_somebody_says_is_fit_for_people),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
