/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/state.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/snapshot/snapshot.h"

static void tell(struct state *state, const struct event *event)
{
    struct error err;

    if (state_apply(state, event, &err) < 0)
        fail_msg("%s", err.text);
}

static struct state *small_world(void)
{
    struct state *state = state_create();
    struct event submit = { .kind = EVENT_SUBMIT,
                            .submit = { .id = 1, .name = "j", .user = "ana", .queue = "default" } };

    tell(state, &(struct event){ .kind = EVENT_NODE, .node = { .name = "a", .cpu_milli = 4000 } });
    tell(state, &(struct event){ .kind = EVENT_DEVICE,
                                 .device = { .node = "a", .uuid = "a0", .model = "h100" } });
    tell(state,
         &(struct event){ .kind = EVENT_QUEUE, .queue = { .name = "q", .gpus = QUOTA_OPEN } });
    request_default(&submit.submit.request);
    tell(state, &submit);
    return state;
}

static void a_snapshot_with_too_many_node_settings_is_refused(void **unused)
{
    (void)unused;
    AUTO(state) struct state *state = state_create();
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct state *loaded = NULL;
    struct error err;

    for (int i = 0; i <= NODE_SETTINGS_MAX; i++) {
        struct node_settings settings = { 0 };
        snprintf(settings.name, sizeof(settings.name), "n%d", i);
        list_add(&state->node_settings, settings);
    }
    snapshot_save(state, &bytes);
    assert_int_equal(snapshot_load(bytes.bytes, bytes.length, &loaded, &err), -EBADMSG);
    assert_string_equal(err.text, "snapshot: settings of node n20000: more than 20000 nodes");
}

static void events_that_make_no_sense_are_refused(void **unused)
{
    static const struct lease_member member = { 0 }, elsewhere = { .node = 7 };
    static const struct slice slice = { .device = 7, .milli = 1000 };
    static const struct slice too_much = { .milli = 1001 };
    const struct {
        struct event event;
        const char *text;
    } cases[] = {
        { { .kind = EVENT_DEVICE, .device = { .node = "b", .uuid = "x" } },
          "device x: no node 'b'" },
        { { .kind = EVENT_QUEUE, .queue = { .name = "r", .parent = "p" } },
          "queue r: no parent 'p'" },
        { { .kind = EVENT_QUEUE, .queue = { .name = "q", .parent = "default" } },
          "queue q: moved to another parent" },
        { { .kind = EVENT_QUEUE_REMOVE, .queue_remove = { .name = "default" } },
          "queue default: cannot be removed" },
        { { .kind = EVENT_POOL_REMOVE, .pool_remove = { .name = "default" } },
          "pool default: cannot be removed" },
        { { .kind = EVENT_GROUP, .group = { .id = 1, .last = 2, .name = "", .user = "" } },
          "group 1: its number is taken" },
        { { .kind = EVENT_GROUP, .group = { .id = 5, .last = 4, .name = "", .user = "" } },
          "group 5: its number is taken" },
        { { .kind = EVENT_GROUP,
            .group = { .id = 5, .last = 6, .parent = 4, .name = "", .user = "" } },
          "group 5: no group 4" },
        { { .kind = EVENT_SUBMIT, .submit = { .id = 1, .queue = "default" } },
          "job 1: its number is taken" },
        { { .kind = EVENT_SUBMIT, .submit = { .id = 2, .queue = "none" } },
          "job 2: no queue 'none'" },
        { { .kind = EVENT_SUBMIT, .submit = { .id = 2, .queue = "q", .group = 9 } },
          "job 2: no group 9" },
        { { .kind = EVENT_NEED, .need = { .job = 1, .on = 1 } }, "need: job 1 expects none" },
        { { .kind = EVENT_HOLD, .hold = { .job = 9 } }, "hold: no job 9" },
        { { .kind = EVENT_UPDATE, .update = { .job = 1, .queue = "none" } },
          "job 1: no queue 'none'" },
        { { .kind = EVENT_FORGET, .forget = { .id = 1 } }, "forget: 1 is not over" },
        { { .kind = EVENT_GRANT, .grant = { .job = 1, .attempt = 2 } }, "grant: job 1 is queued" },
        { { .kind = EVENT_GRANT, .grant = { .job = 1, .attempt = 1 } },
          "grant: job 1: a lease that is invalid" },
        { { .kind = EVENT_GRANT,
            .grant = { .job = 1,
                       .attempt = 1,
                       .lease = { .members = &member,
                                  .members_count = 1,
                                  .slices = &too_much,
                                  .slices_count = 1 } } },
          "grant: job 1: a lease that is invalid" },
        { { .kind = EVENT_GRANT,
            .grant = { .job = 1,
                       .attempt = 1,
                       .lease = { .members = &elsewhere, .members_count = 1 } } },
          "grant: job 1: no such node" },
        { { .kind = EVENT_GRANT,
            .grant = { .job = 1,
                       .attempt = 1,
                       .lease = { .members = &member,
                                  .members_count = 1,
                                  .slices = &slice,
                                  .slices_count = 1 } } },
          "grant: job 1: no such device" },
    };
    (void)unused;
    AUTO(state) struct state *state = small_world();

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text before = { 0 };
        AUTO_RELEASE(text) struct text after = { 0 };
        struct error err = { 0 };
        snapshot_save(state, &before);
        assert_int_equal(state_apply(state, &cases[i].event, &err), -EBADMSG);
        assert_string_equal(err.text, cases[i].text);
        snapshot_save(state, &after);
        assert_int_equal(before.length, after.length);
        assert_memory_equal(before.bytes, after.bytes, before.length);
    }
}

static void static_pools_get_the_lowest_devices_in_the_order_of_pools(void **unused)
{
    (void)unused;
    AUTO(state) struct state *state = small_world();

    for (int i = 1; i < 6; i++) {
        AUTO_FREE char *uuid = mem_printf("a%d", i);
        tell(state, &(struct event){ .kind = EVENT_DEVICE,
                                     .device = { .node = "a",
                                                 .uuid = uuid,
                                                 .index = (uint32_t)i,
                                                 .model = i < 3 ? "h100" : "l4" } });
    }
    tell(state,
         &(struct event){ .kind = EVENT_POOL,
                          .pool = { .name = "p", .is_static = 1, .queue = "q", .gpus = 2 } });
    tell(state,
         &(struct event){ .kind = EVENT_POOL,
                          .pool = { .name = "r", .is_static = 1, .queue = "q", .model = "l4" } });
    tell(state,
         &(struct event){
             .kind = EVENT_POOL,
             .pool = { .name = "s", .is_static = 1, .queue = "q", .devices = 1 << 2 | 1 << 4 } });
    static const uint32_t expected[] = { 1, 1, 3, 2, 2, 2 };
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(state->devices.items[i].pool, expected[i]);
    tell(state, &(struct event){ .kind = EVENT_POOL_REMOVE, .pool_remove = { .name = "r" } });
    static const uint32_t after[] = { 1, 1, 3, 0, 3, 0 };
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(state->devices.items[i].pool, after[i]);
}

static void a_snapshot_that_is_damaged_is_refused(void **unused)
{
    (void)unused;
    AUTO(state) struct state *state = small_world();
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct state *loaded = NULL;
    struct error err;

    snapshot_save(state, &bytes);
    for (size_t length = 0; length < bytes.length; length++) {
        if (snapshot_load(bytes.bytes, length, &loaded, &err) == 0) { /* cut between two records */
            AUTO_RELEASE(text) struct text again = { 0 };
            snapshot_save(loaded, &again);
            assert_true(again.length <= bytes.length);
            state_destroy(loaded);
        }
    }
    assert_int_equal(snapshot_load("", 0, &loaded, &err), -EBADMSG);
    assert_string_equal(err.text, "snapshot: incomplete");
    assert_int_equal(snapshot_load("\x1f\x00", 2, &loaded, &err), -EBADMSG);
    assert_string_equal(err.text,
                        "snapshot: kind 31 is not known: a newer version of tarn wrote it");
    assert_int_equal(snapshot_load("\x02\x00", 2, &loaded, &err), -EBADMSG);
    assert_string_equal(err.text, "snapshot: out of order");
    assert_int_equal(snapshot_load("\x01\x05", 2, &loaded, &err), -EBADMSG);
    assert_string_equal(err.text, "snapshot: cut short");
    assert_int_equal(snapshot_load("\x01\x00", 2, &loaded, &err), -EBADMSG);
    assert_string_equal(err.text, "snapshot: its time or half-life is invalid");
}

/* A job that was ended while it still waited for something, and was forgotten. */
static void the_needs_of_a_forgotten_job_go_with_it(void **unused)
{
    (void)unused;
    AUTO(state) struct state *state = small_world();
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct event submit = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = 2, .name = "j", .user = "ana", .queue = "q", .need_count = 1 }
    };
    struct state *loaded = NULL;
    struct error err;

    request_default(&submit.submit.request);
    tell(state, &submit);
    tell(state, &(struct event){ .kind = EVENT_NEED, .need = { .job = 2, .on = 1 } });
    tell(state, &(struct event){ .kind = EVENT_CANCEL, .cancel = { .job = 2, .user = "ana" } });
    tell(state, &(struct event){ .kind = EVENT_FORGET, .forget = { .id = 2 } });
    snapshot_save(state, &bytes);
    if (snapshot_load(bytes.bytes, bytes.length, &loaded, &err) < 0)
        fail_msg("%s", err.text);
    state_destroy(loaded);
}

static void check_cancel(const char *user, const char *reason)
{
    AUTO(state) struct state *state = small_world();
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct state *loaded = NULL;
    struct error err;

    tell(state, &(struct event){ .kind = EVENT_CANCEL,
                                 .cancel = { .job = 1, .user = user, .reason = reason } });
    snapshot_save(state, &bytes);
    if (snapshot_load(bytes.bytes, bytes.length, &loaded, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < 2; i++) {
        const struct job_run *run = state_job(i == 0 ? state : loaded, 1)->run;
        assert_string_equal(run->cancelled_by, "gpu memory");
        assert_string_equal(run->cancel_reason, "29 GiB used");
    }
    state_destroy(loaded);
}

static void a_rule_that_cancels_a_job_gives_a_reason(void **unused)
{
    (void)unused;
    check_cancel("gpu memory", "29 GiB used");
    check_cancel("gpu memory: 29 GiB used", ""); /* as older journals have it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_that_make_no_sense_are_refused),
        cmocka_unit_test(static_pools_get_the_lowest_devices_in_the_order_of_pools),
        cmocka_unit_test(a_snapshot_that_is_damaged_is_refused),
        cmocka_unit_test(a_snapshot_with_too_many_node_settings_is_refused),
        cmocka_unit_test(the_needs_of_a_forgotten_job_go_with_it),
        cmocka_unit_test(a_rule_that_cancels_a_job_gives_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
