/* SPDX-License-Identifier: Apache-2.0 */
#include "control/job_change.h"

#include <stdio.h>

#include "desk.h"

#define JOB "run: 'true', sender_cwd: /"

static int change(struct desk *desk, const struct identity *who, uint64_t id, enum event_kind kind,
                  struct error *err)
{
    static const char *const verbs[EVENT_KIND_MAX] = {
        [EVENT_CANCEL] = "cancel",   [EVENT_HOLD] = "hold",     [EVENT_RELEASE] = "release",
        [EVENT_REQUEUE] = "requeue", [EVENT_UPDATE] = "update", [EVENT_CHECKPOINT] = "checkpoint",
    };
    struct job_change wish = { .who = who, .id = id, .kind = kind, .verb = verbs[kind] };

    int code = job_change(&desk->control, &wish, err);
    list_release(&wish.changed);
    return code;
}

static int update(struct desk *desk, const struct identity *who, uint64_t id,
                  struct job_change wish, struct error *err)
{
    wish.who = who;
    wish.id = id;
    wish.kind = EVENT_UPDATE;
    wish.verb = "update";
    int code = job_change(&desk->control, &wish, err);
    list_release(&wish.changed);
    return code;
}

static void a_job_is_held_released_and_cancelled(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB "}");
    const struct job *job = state_job(desk->state, id);

    ASSERT_DONE(change(desk, &desk->ana, id, EVENT_HOLD, &err));
    assert_int_equal(job->state, JOB_HELD);
    ASSERT_DONE(change(desk, &desk->root, id, EVENT_RELEASE, &err));
    assert_int_equal(job->state, JOB_QUEUED);
    ASSERT_DONE(change(desk, &desk->ana, id, EVENT_CANCEL, &err));
    assert_int_equal(job->state, JOB_ENDED);
    assert_string_equal(job->run->cancelled_by, "ana");
    ASSERT_DONE(change(desk, &desk->ana, id, EVENT_REQUEUE, &err));
    assert_int_equal(job->state, JOB_QUEUED);
}

static void a_running_job_reports_that_its_work_is_saved(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB ", gpus: 1}");

    ASSERT_REFUSED(desk, change(desk, &desk->ana, id, EVENT_CHECKPOINT, &err), REFUSED_CONFLICT,
                   "job 1 is queued; checkpoint changes nothing");
    desk_start(desk, id);
    desk->now += USEC_PER_MIN;
    ASSERT_DONE(change(desk, &desk->ana, id, EVENT_CHECKPOINT, &err));
    assert_int_equal(state_job(desk->state, id)->run->checkpointed, desk->now);
    ASSERT_REFUSED(desk, change(desk, &desk->root, id, EVENT_CHECKPOINT, &err), REFUSED_FORBIDDEN,
                   "job 1: belongs to another user");
}

static void what_changes_nothing_is_refused(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB "}");
    uint64_t array = desk_submit(desk, &desk->ana, "{" JOB ", array: 4-5}");

    ASSERT_REFUSED(desk, change(desk, &desk->ana, 99, EVENT_HOLD, &err), REFUSED_NOT_FOUND,
                   "job 99: no such job");
    ASSERT_REFUSED(desk, change(desk, &desk->eve, id, EVENT_HOLD, &err), REFUSED_FORBIDDEN,
                   "job 1: belongs to another user");
    ASSERT_REFUSED(desk, change(desk, &desk->eve, array, EVENT_HOLD, &err), REFUSED_FORBIDDEN,
                   "array 2: belongs to another user");
    ASSERT_REFUSED(desk, change(desk, &desk->ana, id, EVENT_RELEASE, &err), REFUSED_CONFLICT,
                   "job 1 is queued; release changes nothing");
    ASSERT_REFUSED(desk, change(desk, &desk->ana, array, EVENT_RELEASE, &err), REFUSED_CONFLICT,
                   "array 2: release changes nothing");
    ASSERT_DONE(change(desk, &desk->ana, array, EVENT_HOLD, &err));
    ASSERT_REFUSED(desk, change(desk, &desk->ana, array + 1, EVENT_HOLD, &err), REFUSED_CONFLICT,
                   "job 2_4 is held; hold changes nothing");
    ASSERT_DONE(change(desk, &desk->ana, id, EVENT_CANCEL, &err));
    ASSERT_REFUSED(desk, change(desk, &desk->ana, id, EVENT_CANCEL, &err), REFUSED_CONFLICT,
                   "job 1 has ended already; cancel changes nothing");
}

static void an_update_says_what_it_may_not_change(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, "queues: {research: {}, parent: {queues: {child: {limit: 1}}}}");
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB ", gpus: 2, max_duration: 1h}");
    uint64_t active = desk_submit(desk, &desk->ana, "{" JOB ", gpus: 1, max_duration: 1h}");
    desk_start(desk, active);

    struct job_change higher = { .has_priority = true, .priority = 3 };
    ASSERT_REFUSED(desk, update(desk, &desk->ana, id, higher, &err), REFUSED_FORBIDDEN,
                   "job 1: priority 3: only administrators can set one above 0");
    ASSERT_DONE(update(desk, &desk->root, id, higher, &err));
    assert_int_equal(state_job(desk->state, id)->priority, 3);

    struct job_change longer = { .max_duration = 2 * USEC_PER_HOUR };
    ASSERT_REFUSED(desk, update(desk, &desk->ana, active, longer, &err), REFUSED_FORBIDDEN,
                   "job 2: only administrators can extend a running job");
    ASSERT_DONE(update(desk, &desk->ana, id, longer, &err));
    ASSERT_DONE(update(desk, &desk->root, active, longer, &err));
    assert_int_equal(state_job(desk->state, active)->max_duration, 2 * USEC_PER_HOUR);

    struct job_change elsewhere = { .queue = "research" };
    ASSERT_REFUSED(desk, update(desk, &desk->ana, active, elsewhere, &err), REFUSED_CONFLICT,
                   "job 2: is running; only priority and max_duration can change");
    ASSERT_REFUSED(desk, update(desk, &desk->ana, id, elsewhere, &err), REFUSED_FORBIDDEN,
                   "job 1: priority 3: only administrators can set one above 0");
    ASSERT_DONE(update(desk, &desk->root, id, elsewhere, &err));
    assert_string_equal(desk->state->queues.items[state_job(desk->state, id)->queue].name,
                        "research");
    ASSERT_REFUSED(desk,
                   update(desk, &desk->ana, id, (struct job_change){ .queue = "parent" }, &err),
                   REFUSED_BAD, "queue parent: has queues below it; name one of them");
    ASSERT_REFUSED(desk,
                   update(desk, &desk->ana, id, (struct job_change){ .queue = "nowhere" }, &err),
                   REFUSED_NOT_FOUND, "queue nowhere: no such queue");
    struct error err = { "" };
    assert_int_equal(update(desk, &desk->root, id, (struct job_change){ .queue = "child" }, &err),
                     REFUSED_NEVER);
    assert_true(strlen(err.text) > 0);
}

static void what_it_was_admitted_to_may_be_gone(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, "queues: {research: {}}");
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB ", queue: research}");
    ASSERT_DONE(change(desk, &desk->ana, id, EVENT_CANCEL, &err));
    desk_configure(desk, "{}");
    ASSERT_REFUSED(desk, change(desk, &desk->ana, id, EVENT_REQUEUE, &err), REFUSED_CONFLICT,
                   "job 1: its queue research takes no jobs any more");
}

static void a_move_keeps_to_the_bounds_of_the_queue(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    struct job_change move = { .queue = "short" }, longer = { .max_duration = 3 * USEC_PER_HOUR };

    desk_configure(desk, "queues: {short: {longest_duration: 2h, models: a100, max_priority: 5},\n"
                         "  closed: {submit: {users: [eve]}}}");
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB ", gpus: h100:1, max_duration: 1d}");
    uint64_t good = desk_submit(desk, &desk->ana, "{" JOB ", gpus: a100:1, max_duration: 1h}");
    ASSERT_REFUSED(desk, update(desk, &desk->ana, id, move, &err), REFUSED_NEVER,
                   "queue short: max_duration 1d00h: the longest is 2h00m");
    move.max_duration = USEC_PER_HOUR;
    ASSERT_REFUSED(desk, update(desk, &desk->ana, id, move, &err), REFUSED_NEVER,
                   "queue short: model h100: its jobs use a100 only");
    ASSERT_REFUSED(
        desk, update(desk, &desk->ana, good, (struct job_change){ .queue = "closed" }, &err),
        REFUSED_FORBIDDEN,
        "queue closed: only users and groups that its configuration lists under 'submit' may "
        "submit to it; ana is not among them");
    ASSERT_DONE(update(desk, &desk->ana, good, move, &err));
    ASSERT_REFUSED(desk, update(desk, &desk->ana, good, longer, &err), REFUSED_NEVER,
                   "queue short: max_duration 3h00m: the longest is 2h00m");
    ASSERT_DONE(update(desk, &desk->ana, good,
                       (struct job_change){ .has_priority = true, .priority = 5 }, &err));
    ASSERT_REFUSED(desk,
                   update(desk, &desk->ana, good,
                          (struct job_change){ .has_priority = true, .priority = 6 }, &err),
                   REFUSED_FORBIDDEN, "job 2: priority 6: queue short allows up to 5");
    ASSERT_DONE(change(desk, &desk->ana, good, EVENT_CANCEL, &err));
    desk_configure(desk, "queues: {short: {longest_duration: 30m}, closed: {}}");
    ASSERT_REFUSED(desk, change(desk, &desk->ana, good, EVENT_REQUEUE, &err), REFUSED_NEVER,
                   "queue short: max_duration 1h00m: the longest is 30m00s");
}

static void a_move_keeps_to_the_limits_of_the_user(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    struct job_change move = { .queue = "small" };

    desk_configure(desk, "queues: {small: {users: {each: 1, eve: 2}}, large: {}}");
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB ", gpus: 2, queue: large}");
    uint64_t one = desk_submit(desk, &desk->ana, "{" JOB ", gpus: 1, queue: large}");
    ASSERT_REFUSED(desk, update(desk, &desk->ana, id, move, &err), REFUSED_NEVER,
                   "2 gpus: a user in queue small never holds more than 1 gpu");
    /* The limit is that of the job's user, whichever user moves it. */
    ASSERT_REFUSED(desk, update(desk, &desk->root, id, move, &err), REFUSED_NEVER,
                   "2 gpus: a user in queue small never holds more than 1 gpu");
    ASSERT_DONE(update(desk, &desk->ana, one, move, &err));
    uint64_t other = desk_submit(desk, &desk->eve, "{" JOB ", gpus: 2, queue: large}");
    ASSERT_DONE(update(desk, &desk->root, other, move, &err));
    ASSERT_DONE(change(desk, &desk->eve, other, EVENT_CANCEL, &err));
    desk_configure(desk, "queues: {small: {users: {each: 1}}, large: {}}");
    ASSERT_REFUSED(desk, change(desk, &desk->eve, other, EVENT_REQUEUE, &err), REFUSED_NEVER,
                   "2 gpus: a user in queue small never holds more than 1 gpu");
}

static void a_queue_has_administrators_of_its_own(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    struct job_change high = { .has_priority = true, .priority = 50 };
    struct job_change longer = { .max_duration = USEC_PER_HOUR };

    desk_configure(desk, "queues: {lab: {administer: eve, submit: [ana], queues: {vision: {}}},\n"
                         "  other: {}}");
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB ", queue: vision}");
    uint64_t elsewhere = desk_submit(desk, &desk->ana, "{" JOB ", queue: other}");
    ASSERT_DONE(change(desk, &desk->eve, id, EVENT_HOLD, &err));
    ASSERT_DONE(update(desk, &desk->eve, id, high, &err));
    ASSERT_DONE(change(desk, &desk->eve, id, EVENT_RELEASE, &err));
    assert_int_equal(state_job(desk->state, id)->priority, 50);
    ASSERT_REFUSED(desk, update(desk, &desk->eve, id, longer, &err), REFUSED_FORBIDDEN,
                   "job 1: belongs to another user");
    ASSERT_REFUSED(desk, change(desk, &desk->eve, elsewhere, EVENT_CANCEL, &err), REFUSED_FORBIDDEN,
                   "job 2: belongs to another user");
    ASSERT_DONE(change(desk, &desk->eve, id, EVENT_CANCEL, &err));
    assert_string_equal(state_job(desk->state, id)->run->cancelled_by, "eve");
    ASSERT_REFUSED(desk, change(desk, &desk->eve, id, EVENT_REQUEUE, &err), REFUSED_FORBIDDEN,
                   "job 1: belongs to another user");
    desk_submit(desk, &desk->eve, "{" JOB ", queue: vision, priority: 9}");
}

#define PIPELINE                                                                                   \
    "{name: p, sender_cwd: /, stages: {a: {run: 'true'}, b: {needs: [a], run: 'true'}, "           \
    "c: {needs: [b], run: 'true'}, d: {run: 'true'}}}"

static void end_badly(struct desk *desk, uint64_t id)
{
    desk_start(desk, id);
    desk_tell(desk, (struct event){ .kind = EVENT_ENDED,
                                    .ended = { .job = id,
                                               .attempt = state_job(desk->state, id)->run->attempt,
                                               .kind = ENGINE_ENDED,
                                               .exit_code = 1 } });
}

static enum job_state job_state_of(const struct desk *desk, uint64_t id)
{
    return (enum job_state)state_job(desk->state, id)->state;
}

static const struct job *stage_job(const struct desk *desk, const char *name)
{
    const struct job *job = desk->state->first_job;

    while (job && strcmp(job->name, name) != 0)
        job = job->next;
    assert_non_null(job);
    return job;
}

static void a_pipeline_goes_on_from_what_failed(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t pipeline = desk_submit(desk, &desk->ana, PIPELINE);
    uint64_t a = stage_job(desk, "a")->id, b = stage_job(desk, "b")->id,
             c = stage_job(desk, "c")->id, d = stage_job(desk, "d")->id;

    desk_start(desk, d);
    desk_end(desk, d);
    for (unsigned i = 0; i < 2; i++) { /* again, when it failed again */
        end_badly(desk, a);
        assert_int_equal(stage_job(desk, "c")->result, RESULT_CANCELLED);
        assert_int_equal(stage_job(desk, "b")->needs_left, 0);
        ASSERT_DONE(change(desk, &desk->ana, pipeline, EVENT_REQUEUE, &err));
        assert_int_equal(job_state_of(desk, a), JOB_QUEUED);
        assert_int_equal(job_state_of(desk, b), JOB_WAITING);
        assert_int_equal(job_state_of(desk, c), JOB_WAITING);
        assert_int_equal(job_state_of(desk, d), JOB_ENDED);
    }
    desk_start(desk, a);
    desk_end(desk, a);
    assert_int_equal(job_state_of(desk, b), JOB_QUEUED);
    end_badly(desk, b);
    ASSERT_DONE(change(desk, &desk->ana, pipeline, EVENT_REQUEUE, &err));
    assert_int_equal(job_state_of(desk, a), JOB_ENDED);
    assert_int_equal(job_state_of(desk, b), JOB_QUEUED);
    assert_int_equal(job_state_of(desk, c), JOB_WAITING);
}

static void a_stage_alone_runs_without_what_failed(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_submit(desk, &desk->ana, PIPELINE);
    end_badly(desk, stage_job(desk, "a")->id);
    ASSERT_DONE(change(desk, &desk->ana, stage_job(desk, "b")->id, EVENT_REQUEUE, &err));
    assert_int_equal(stage_job(desk, "b")->state, JOB_QUEUED);
    assert_int_equal(stage_job(desk, "c")->state, JOB_ENDED);
}

static void what_a_group_needs_from_elsewhere_is_requeued_first(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t first = desk_submit(desk, &desk->ana, "{" JOB "}");
    uint64_t array = desk_submit(desk, &desk->ana, "{" JOB ", array: 0-1, depends: [{on: 1}]}");

    end_badly(desk, first);
    assert_int_equal(job_state_of(desk, array + 1), JOB_ENDED);
    ASSERT_REFUSED(desk, change(desk, &desk->ana, array, EVENT_REQUEUE, &err), REFUSED_CONFLICT,
                   "job 3: needs job 1, which did not end as needed; requeue that one first");
    ASSERT_DONE(change(desk, &desk->ana, first, EVENT_REQUEUE, &err));
    ASSERT_DONE(change(desk, &desk->ana, array, EVENT_REQUEUE, &err));
    assert_int_equal(job_state_of(desk, array + 1), JOB_WAITING);
    assert_int_equal(job_state_of(desk, array + 2), JOB_WAITING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_held_released_and_cancelled),
        cmocka_unit_test(a_running_job_reports_that_its_work_is_saved),
        cmocka_unit_test(what_changes_nothing_is_refused),
        cmocka_unit_test(an_update_says_what_it_may_not_change),
        cmocka_unit_test(what_it_was_admitted_to_may_be_gone),
        cmocka_unit_test(a_move_keeps_to_the_bounds_of_the_queue),
        cmocka_unit_test(a_move_keeps_to_the_limits_of_the_user),
        cmocka_unit_test(a_queue_has_administrators_of_its_own),
        cmocka_unit_test(a_pipeline_goes_on_from_what_failed),
        cmocka_unit_test(a_stage_alone_runs_without_what_failed),
        cmocka_unit_test(what_a_group_needs_from_elsewhere_is_requeued_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
