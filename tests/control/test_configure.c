/* SPDX-License-Identifier: Apache-2.0 */
#include "control/config/configure.h"

#include "control/config/apply.h"
#include "desk.h"

#define JOB "run: 'true', sender_cwd: /"

static int check(struct desk *desk, const char *yaml, struct error *err)
{
    AUTO(config) struct config *config = desk_config(yaml);

    int code = configure_settle(config, err);
    if (code == 0)
        code = configure_find_programs(desk->state, config, err);
    return code < 0 ? code : configure_check(desk->state, config, err);
}

/* Applies it; number: of the change. */
static int apply(struct desk *desk, const char *yaml, uint64_t *ret_number, struct error *err)
{
    struct apply apply = { .who = &desk->root, .config = desk_config(yaml) };

    int code = apply_run(&desk->control, &apply, err);
    *ret_number = apply.number;
    apply_release(&apply);
    return code;
}

static int undo(struct desk *desk, uint64_t number, struct error *err)
{
    struct apply apply = { .who = &desk->root, .is_undo = true, .undo = number };

    int code = apply_run(&desk->control, &apply, err);
    apply_release(&apply);
    return code;
}

static bool has_queue(const struct desk *desk, const char *name)
{
    return state_find_queue(desk->state, name) >= 0;
}

static void what_is_put_into_force_is_what_is_in_force(void **state)
{
    static const char yaml[] = "pools: {inference: {type: static, queue: prod, gpus: 2}}\n"
                               "queues: {prod: {}, research: {weight: 3, guarantee: 2}}\n"
                               "windows: {night: 'mon-fri 18:00-8:00'}\n"
                               "tariffs: {night: 0.5}\n"
                               "placement: first-fit\n";
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    AUTO(config) struct config *wanted = desk_config(yaml);
    AUTO_RELEASE(text) struct text changes = { 0 };

    desk_configure(desk, yaml);
    AUTO(config) struct config *now = config_of_state(desk->state);
    size_t count = config_diff(now, wanted, &changes);
    assert_string_equal(text_string(&changes), "");
    assert_int_equal(count, 0);
    assert_int_equal(desk->described, 1);
}

static void what_can_not_be_put_into_force_is_refused(void **state)
{
    static const struct {
        const char *yaml;
        int code;
        const char *text;
    } cases[] = {
        { "queues: {other: {}}", REFUSED_CONFLICT,
          "queue research: job 1 is in it; cancel or move its jobs first" },
        { "queues: {research: {queues: {below: {}}}}", REFUSED_CONFLICT,
          "queue below: cannot be put below it: queue research: job 1 is in it; cancel or move its "
          "jobs first" },
        { "queues: {research: {}, a: {queues: {b: {}}}}", REFUSED_BAD,
          "queue b: is below root, and cannot be moved below a" },
        { "queues: {research: {}, b: {}}\npools: {default: {}}", REFUSED_BAD,
          "pool default: it always exists and cannot be changed" },
        { "queues: {research: {}, b: {}}\ntimezone: Nowhere/None", REFUSED_BAD,
          "timezone: zone Nowhere/None: there is none in /usr/share/zoneinfo; expected one like "
          "UTC or "
          "Europe/Berlin" },
        { "queues: {research: {}, b: {}}\nreservations: {r: {for: maintenance, when: 'mon "
          "8:00-9:00', nodes: [c]}}",
          REFUSED_BAD, "reservation r: nodes: no node 'c'" },
        { "queues: {research: {}, b: {}}\nhealth: {before: /no/such/program}", REFUSED_NOT_FOUND,
          "health: before: /no/such/program: No such file or directory" },
        { "queues: {research: {}, b: {}}\nhealth: {after: /etc/passwd}", REFUSED_FORBIDDEN,
          "health: after: /etc/passwd: not a program that the daemon may run" },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, "queues: {research: {}, b: {}}");
    desk_submit(desk, &desk->ana, "{" JOB ", queue: research}");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { "" };
        int code = check(desk, cases[i].yaml, &err);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(code, cases[i].code);
    }
}

static void what_cannot_work_is_refused_where_no_machine_will_come(void **state)
{
    static const struct {
        const char *yaml, *text;
    } cases[] = {
        { "prices: {h100: 2, h200: 3}",
          "prices: no device has the model 'h200'; there are h100, a100" },
        { "speeds: {t4: 1}", "speeds: no device has the model 't4'; there are h100, a100" },
        { "queues: {q: {models: [a100, b200]}}",
          "queue q: no device has the model 'b200'; there are h100, a100" },
        { "queues: {q: {users: {ana: {v100: 1}}}}",
          "queue q: no device has the model 'v100'; there are h100, a100" },
        { "pools: {p: {model: l40}}", "pool p: no device matches it" },
        { "pools: {p: {nodes: [c]}}", "pool p: no device matches it" },
        { "pools: {p: {type: static, queue: q, gpus: 3, model: a100}}\nqueues: {q: {}}",
          "pool p: 3 gpus, but 2 match it" },
        { "queues: {a: {guarantee: 4}, b: {queues: {c: {guarantee: 2}, d: {guarantee: 1}}}}",
          "guarantees: 7 gpus for all queues together, but the cluster has 6" },
        { "queues: {a: {guarantee: {h100: 3}}, b: {guarantee: {h100: 2}}}",
          "guarantees: 5 h100 for all queues together, but the cluster has 4" },
        { "queues: {a: {guarantee: {memory: 200G}}}",
          "guarantees: 200G memory for all queues together, but the cluster has 128G" },
        { "queues: {a: {guarantee: {cpus: 17}}}",
          "guarantees: 17 cpus for all queues together, but the cluster has 16" },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t number;

    desk->control.has_fixed_nodes = true;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        ASSERT_REFUSED(desk, apply(desk, cases[i].yaml, &number, &err), REFUSED_NEVER,
                       cases[i].text);
    ASSERT_DONE(apply(desk,
                      "queues: {a: {guarantee: 4, queues: {b: {guarantee: {h100: 2}}}},\n"
                      "  c: {guarantee: {cpus: 16, a100: 2}}}\n"
                      "pools: {p: {model: v5e}}\n"
                      "devices: {tpu: {model: v5e}}\nprices: {v5e: 1, gpus: 1, cpus: 1}",
                      &number, &err));
}

static void what_cannot_work_yet_is_a_warning_where_machines_may_come(void **state)
{
    static const char yaml[] = "prices: {h200: 3}\nqueues: {a: {guarantee: 7}}";
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    struct apply apply_it = { .who = &desk->root, .config = desk_config(yaml) };
    uint64_t number;

    ASSERT_DONE(apply_run(&desk->control, &apply_it, &err));
    assert_string_equal(text_string(&apply_it.doubts),
                        "prices: no device has the model 'h200'; there are h100, a100\n"
                        "guarantees: 7 gpus for all queues together, but the cluster has 6\n");
    apply_release(&apply_it);
    /* An existing doubt does not prevent another change. */
    desk->control.has_fixed_nodes = true;
    ASSERT_DONE(apply(desk, "prices: {h200: 4}\nqueues: {a: {guarantee: 7}}", &number, &err));
    ASSERT_REFUSED(desk, apply(desk, "prices: {h200: 4, h300: 1}", &number, &err), REFUSED_NEVER,
                   "prices: no device has the model 'h300'; there are h100, a100");
    ASSERT_DONE(apply(desk, "{}", &number, &err));
    ASSERT_DONE(undo(desk, 0, &err));
    ASSERT_DONE(apply(desk,
                      "node_types: {big: {cpus: 8, memory: 64G, gpus: 8, model: b200}}\n"
                      "queues: {a: {guarantee: {b200: 8}}}",
                      &number, &err));
}

static void groups_are_looked_up(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    ASSERT_REFUSED(desk, check(desk, "queues: {q: {groups: {no-such-group: {limit: 2}}}}", &err),
                   REFUSED_BAD, "queue q: groups: no Unix group 'no-such-group'");
    ASSERT_DONE(check(desk, "queues: {q: {groups: {root: {limit: 2}}}}", &err));
}

static void a_change_is_logged_and_undone(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t number;

    ASSERT_DONE(apply(desk, "queues: {one: {}}", &number, &err));
    assert_int_equal(number, 1);
    ASSERT_DONE(apply(desk, "queues: {one: {}, two: {}}", &number, &err));
    assert_int_equal(number, 2);
    ASSERT_DONE(apply(desk, "queues: {one: {}, two: {}}", &number, &err));
    assert_int_equal(number, 0); /* nothing is different */
    const struct config_log *log = &desk->state->config_log;
    assert_int_equal(log->items.count, 2);
    assert_string_equal(log->items.items[1].user, "root");

    ASSERT_DONE(undo(desk, 0, &err));
    assert_true(has_queue(desk, "one"));
    int64_t two = state_find_queue(desk->state, "two");
    assert_true(two < 0 || desk->state->queues.items[two].is_removed);
    assert_int_equal(config_log_last(log), 3);
    assert_int_equal(log->items.items[2].undone, 2);

    ASSERT_DONE(apply(desk, "queues: {one: {}}", &number, &err));
    desk_submit(desk, &desk->ana, "{" JOB ", queue: one}");
    ASSERT_REFUSED(desk, undo(desk, 1, &err), REFUSED_CONFLICT,
                   "undo of change 1: queue one: job 1 is in it; cancel or move its jobs first");
    ASSERT_REFUSED(desk, undo(desk, 77, &err), REFUSED_NOT_FOUND,
                   "change 77: no such change; the last one is 3");
}

static void nothing_to_undo_and_changes_that_are_too_old(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    const struct config_change *change;
    uint64_t number;

    ASSERT_REFUSED(desk, undo(desk, 0, &err), REFUSED_NOT_FOUND,
                   "undo: nothing has been changed yet");
    ASSERT_REFUSED(desk, apply_find(&desk->control, 1, &change, &err), REFUSED_NOT_FOUND,
                   "change 1: nothing has been changed yet");
    for (int i = 0; i <= CONFIG_LOG_KEPT; i++)
        ASSERT_DONE(apply(desk, i % 2 ? "{}" : "queues: {one: {}}", &number, &err));
    ASSERT_REFUSED(desk, apply_find(&desk->control, 1, &change, &err), REFUSED_NOT_FOUND,
                   "change 1: too long ago; the last 100 are kept, from 2");
}

static void consent_covers_what_was_shown(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    struct apply again = { .who = &desk->ana, .has_seen = true };
    uint64_t number;

    ASSERT_DONE(apply(desk, "queues: {one: {}}", &number, &err));
    again.config = desk_config("{}");
    ASSERT_REFUSED(desk, apply_run(&desk->control, &again, &err), REFUSED_CONFLICT,
                   "config: changed in the meantime by root (change 1); review it and apply again");
    again.seen = 1;
    again.is_dry_run = true;
    unsigned before = desk->emitted;
    ASSERT_DONE(apply_run(&desk->control, &again, &err));
    assert_int_equal(desk->emitted, before);
    assert_true(again.changes.length > 0 && again.number == 0);
    apply_release(&again);
}

static void a_queue_moves_in_a_state_of_another_time_only(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    AUTO(json) json_t *document = desk_json("queues: {a: {queues: {b: {}}}}");

    desk_configure(desk, "queues: {a: {}, b: {}}");
    desk_submit(desk, &desk->ana, "{" JOB ", queue: b}");
    ASSERT_DONE(apply_impose(&desk->control, document, &err));
    int64_t b = state_find_queue(desk->state, "b");
    assert_string_equal(desk->state->queues.items[desk->state->queues.items[b].parent].name, "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_into_force_is_what_is_in_force),
        cmocka_unit_test(what_can_not_be_put_into_force_is_refused),
        cmocka_unit_test(what_cannot_work_is_refused_where_no_machine_will_come),
        cmocka_unit_test(what_cannot_work_yet_is_a_warning_where_machines_may_come),
        cmocka_unit_test(groups_are_looked_up),
        cmocka_unit_test(a_change_is_logged_and_undone),
        cmocka_unit_test(nothing_to_undo_and_changes_that_are_too_old),
        cmocka_unit_test(consent_covers_what_was_shown),
        cmocka_unit_test(a_queue_moves_in_a_state_of_another_time_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
