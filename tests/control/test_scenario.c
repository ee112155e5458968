/* SPDX-License-Identifier: Apache-2.0 */
#include "control/config/scenario.h"

#include "desk.h"
#include "wire/whatif_request.h"

#define JOB "run: 'true', sender_cwd: /"

static int suppose(struct desk *desk, const char *yaml, struct error *err)
{
    AUTO(json) json_t *document = desk_json(yaml);
    AUTO(whatif) struct whatif *whatif = NULL;

    int code = whatif_parse(document, &whatif, err);
    if (code < 0)
        fail_msg("%s", err->text);
    return scenario_apply(&desk->control, whatif, &desk->ana, err);
}

static void more_machines_are_like_those_that_are_there(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    ASSERT_DONE(suppose(desk, "add_nodes: ['2:h100:4']", &err));
    assert_int_equal(desk->state->nodes.count, 4);
    assert_int_equal(desk->state->nodes.items[3].cpu_milli, 8000);
    assert_int_equal(desk->state->devices.count, 14);
    assert_int_equal(desk->state->devices.items[13].memory_mib, 81920);
}

static void machines_are_drained_and_taken_away(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB ", gpus: 1}");

    desk_start(desk, id);
    ASSERT_DONE(suppose(desk, "drain: [b]", &err));
    assert_int_equal(desk->state->nodes.items[1].state, NODE_DRAINED);
    assert_true(job_is_active(state_job(desk->state, id)));
    ASSERT_DONE(suppose(desk, "remove: [a]", &err));
    assert_int_equal(desk->state->nodes.items[0].state, NODE_DOWN);
    assert_false(job_is_active(state_job(desk->state, id)));
    ASSERT_REFUSED(desk, suppose(desk, "drain: [c]", &err), REFUSED_NOT_FOUND,
                   "node c: no such node; tarn nodes lists them");
}

static void jobs_are_cancelled_and_submitted(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB "}");
    uint64_t array = desk_submit(desk, &desk->eve, "{" JOB ", array: 1-3}");

    ASSERT_DONE(suppose(desk, "{cancel: ['1', '2_2'], submit: [{" JOB "}]}", &err));
    assert_int_equal(state_job(desk->state, id)->state, JOB_ENDED);
    assert_int_equal(state_job(desk->state, array + 2)->state, JOB_ENDED);
    assert_int_equal(state_job(desk->state, array + 1)->state, JOB_QUEUED);
    assert_non_null(state_job(desk->state, array + 4));
    ASSERT_REFUSED(desk, suppose(desk, "cancel: ['99']", &err), REFUSED_NOT_FOUND,
                   "cancel: job 99: no such job");
}

static void a_setting_is_another(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, "queues: {research: {weight: 1}}");
    ASSERT_DONE(suppose(desk, "set: ['queues.research.weight=7']", &err));
    int64_t research = state_find_queue(desk->state, "research");
    assert_int_equal(desk->state->queues.items[research].weight, 7);
    desk_submit(desk, &desk->ana, "{" JOB ", queue: research}");
    ASSERT_REFUSED(desk, suppose(desk, "config: {}", &err), REFUSED_CONFLICT,
                   "queue research: job 1 is in it; cancel or move its jobs first");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_machines_are_like_those_that_are_there),
        cmocka_unit_test(machines_are_drained_and_taken_away),
        cmocka_unit_test(jobs_are_cancelled_and_submitted),
        cmocka_unit_test(a_setting_is_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
