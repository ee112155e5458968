/* SPDX-License-Identifier: Apache-2.0 */
#include "control/drain.h"

#include "control/lookup.h"
#include "core/snapshot/snapshot.h"
#include "desk.h"

static const struct node *node_a(const struct desk *desk)
{
    return &desk->state->nodes.items[state_find_node(desk->state, "a")];
}

static void a_drained_node_counts_as_no_room(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    ASSERT_DONE(drain_node(&desk->control, "a", "new disk", &err));
    assert_int_equal(node_a(desk)->state, NODE_DRAINED);
    assert_string_equal(node_a(desk)->reason, "new disk");
    assert_int_equal(node_a(desk)->cpu_milli, 8000);
    assert_int_equal(desk->state->capacity.milli, 2000);
    ASSERT_DONE(drain_node(&desk->control, "a", "new disk on Monday", &err));
    ASSERT_DONE(drain_node(&desk->control, "a", NULL, &err));
    assert_int_equal(node_a(desk)->state, NODE_UP);
    assert_null(node_a(desk)->reason);
    assert_int_equal(desk->state->capacity.milli, 6000);
}

static void what_is_not_drained_is_refused(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    ASSERT_REFUSED(desk, drain_node(&desk->control, "c", "x", &err), REFUSED_NOT_FOUND,
                   "node c: no such node");
    ASSERT_REFUSED(desk, drain_node(&desk->control, "a", NULL, &err), REFUSED_CONFLICT,
                   "node a is not drained");
    ASSERT_REFUSED(desk, drain_device(&desk->control, "a/0", NULL, &err), REFUSED_CONFLICT,
                   "gpu a/0 is not drained");
}

static void a_node_that_is_down_can_be_drained_for_its_return(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_tell(desk,
              (struct event){ .kind = EVENT_NODE,
                              .node = { .name = "a", .state = NODE_DOWN, .reason = "no power" } });
    ASSERT_REFUSED(desk, drain_node(&desk->control, "a", NULL, &err), REFUSED_CONFLICT,
                   "node a is not drained");
    ASSERT_DONE(drain_node(&desk->control, "a", "new disk", &err));
    assert_int_equal(node_a(desk)->state, NODE_DOWN);
    assert_string_equal(node_a(desk)->reason, "no power");
    assert_string_equal(node_a(desk)->drained, "new disk");
    ASSERT_DONE(drain_node(&desk->control, "a", NULL, &err));
    assert_null(node_a(desk)->drained);
    assert_int_equal(node_a(desk)->state, NODE_DOWN);
}

static void a_drained_gpu_stays_so_whatever_is_reported_of_it(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct event_device described;
    uint32_t device;

    ASSERT_DONE(drain_device(&desk->control, "a/2", "loud fan", &err));
    ASSERT_DONE(device_find(desk->state, "GPU-a2", &device, &err));
    state_describe_device(desk->state, &desk->state->devices.items[device], &described);
    described.node = "a";
    described.uuid = "GPU-a2";
    described.model = described.product = "h100";
    described.vendor = described.address = described.boot = described.labels = "";
    desk_tell(desk, (struct event){ .kind = EVENT_DEVICE, .device = described });
    assert_string_equal(desk->state->devices.items[device].drained, "loud fan");
    assert_int_equal(desk->state->capacity.milli, 5000);

    snapshot_save(desk->state, &bytes);
    AUTO(state) struct state *again = NULL;
    ASSERT_DONE(snapshot_load(bytes.bytes, bytes.length, &again, &err));
    assert_string_equal(again->devices.items[device].drained, "loud fan");

    ASSERT_DONE(drain_device(&desk->control, "GPU-a2", NULL, &err));
    assert_int_equal(desk->state->capacity.milli, 6000);
}

static void a_gpu_is_found_by_uuid_by_place_and_by_a_number_that_one_has(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint32_t device;

    ASSERT_DONE(device_find(desk->state, "GPU-b1", &device, &err));
    assert_int_equal(device, 5);
    ASSERT_DONE(device_find(desk->state, "b/1", &device, &err));
    assert_int_equal(device, 5);
    ASSERT_DONE(device_find(desk->state, "3", &device, &err));
    assert_int_equal(device, 3);
    ASSERT_REFUSED(desk, device_find(desk->state, "1", &device, &err), REFUSED_BAD,
                   "gpu 1: several nodes have one; name it a/1, b/1");
    ASSERT_REFUSED(desk, device_find(desk->state, "7", &device, &err), REFUSED_NOT_FOUND,
                   "gpu 7: no such device");
    ASSERT_REFUSED(desk, device_find(desk->state, "b/3", &device, &err), REFUSED_NOT_FOUND,
                   "gpu b/3: no such device");
    ASSERT_REFUSED(desk, device_find(desk->state, "", &device, &err), REFUSED_NOT_FOUND,
                   "gpu : no such device");
}

static void a_machine_is_taken_away_or_stays(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    const struct interruption soon = { .notice = 30 * USEC_PER_SEC };
    const struct interruption stays = { .is_cancelled = true };

    ASSERT_REFUSED(desk, interrupt(&desk->control, "a", &stays, &err), REFUSED_CONFLICT,
                   "node a: no interruption is announced");
    ASSERT_DONE(interrupt(&desk->control, "a", &soon, &err));
    assert_int_equal(node_a(desk)->going_at, desk->now + 30 * USEC_PER_SEC);
    ASSERT_DONE(interrupt(&desk->control, "a", &stays, &err));
    assert_int_equal(node_a(desk)->going_at, 0);
    ASSERT_REFUSED(desk, interrupt(&desk->control, "c", &soon, &err), REFUSED_NOT_FOUND,
                   "node c: no such node");
    desk_tell(desk,
              (struct event){ .kind = EVENT_NODE, .node = { .name = "a", .state = NODE_DOWN } });
    ASSERT_REFUSED(desk, interrupt(&desk->control, "a", &soon, &err), REFUSED_CONFLICT,
                   "node a is down; it cannot be interrupted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drained_node_counts_as_no_room),
        cmocka_unit_test(what_is_not_drained_is_refused),
        cmocka_unit_test(a_node_that_is_down_can_be_drained_for_its_return),
        cmocka_unit_test(a_drained_gpu_stays_so_whatever_is_reported_of_it),
        cmocka_unit_test(a_gpu_is_found_by_uuid_by_place_and_by_a_number_that_one_has),
        cmocka_unit_test(a_machine_is_taken_away_or_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
