/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/whatif_request.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "wire/json.h"

static json_t *document(const char *text)
{
    json_t *value = NULL;
    struct error err;

    if (json_parse(text, strlen(text), JSON_SIZE_MAX, NULL, &value, &err) < 0)
        fail_msg("%s", err.text);
    return value;
}

static void machines_are_a_count_a_model_and_gpus(void **unused)
{
    struct whatif_nodes nodes;
    struct error err;
    (void)unused;

    assert_int_equal(whatif_nodes_parse("2:H100:8", &nodes, &err), 0);
    assert_int_equal(nodes.count, 2);
    assert_int_equal(nodes.gpus, 8);
    assert_string_equal(nodes.model, "h100");
    assert_false(nodes.is_spot);
    assert_int_equal(whatif_nodes_parse("1000:rtx-6000_ada.x:64:spot", &nodes, &err), 0);
    assert_true(nodes.is_spot);
}

static void machines_that_make_no_sense_are_refused(void **unused)
{
    static const char *const cases[] = {
        "",
        "1",
        "1:",
        "1:h100",
        "1:h100:",
        "1:h100:0",
        "0:h100:1",
        "-1:h100:1",
        "1001:h100:1",
        "1:h100:65",
        "1::8",
        "1:h 100:8",
        "x:h100:8",
        "1:h100:8:",
        "1:h100:8:x",
        "1:h100:8 ",
        "1:h100:8:spot:",
        " 1:h100:8",
        "1h:100:8",
        "1:h100:8spot",
        "99999999999999999999:h100:1",
    };
    (void)unused;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct whatif_nodes nodes;
        struct error err = { "" };
        if (whatif_nodes_parse(cases[i], &nodes, &err) != -EINVAL)
            fail_msg("'%s' was taken", cases[i]);
        assert_non_null(strstr(err.text, "expected NODES:MODEL:GPUS, like 2:h100:8"));
    }
}

static void one_string_is_a_list_of_one(void **unused)
{
    AUTO(json)
    json_t *body = document("{\"drain\": \"a\", \"set\": [\"x=1\", \"y=2\"], "
                            "\"submit\": {\"run\": \"true\"}, \"shown\": 7}");
    AUTO(whatif) struct whatif *whatif = NULL;
    struct error err;
    (void)unused;

    assert_int_equal(whatif_parse(body, &whatif, &err), 0);
    assert_int_equal(json_array_size(whatif->drain), 1);
    assert_string_equal(json_string_value(json_array_get(whatif->drain, 0)), "a");
    assert_int_equal(json_array_size(whatif->set), 2);
    assert_int_equal(json_array_size(whatif->submit), 1);
    assert_int_equal(whatif->shown, 7);
    assert_null(whatif->config);
    assert_int_equal(whatif->node_count, 0);
}

static void a_value_is_put_where_its_keys_lead(void **unused)
{
    AUTO(json)
    json_t *object = document("{\"order\": \"fifo\", \"queues\": {\"a\": {\"limit\": 1}}}");
    AUTO(json)
    json_t *wanted = document("{\"order\": \"shortest\", \"queues\": {\"a\": {\"limit\": 2, "
                              "\"weight\": 3}}, \"backfill\": {\"depth\": 4}, \"x\": [1, 2]}");
    struct error err;
    (void)unused;

    assert_int_equal(json_assign(object, "order=shortest", &err), 0);
    assert_int_equal(json_assign(object, "queues.a.limit=2", &err), 0);
    assert_int_equal(json_assign(object, "queues.a.weight=3", &err), 0);
    assert_int_equal(json_assign(object, "backfill=none", &err), 0);
    assert_int_equal(json_assign(object, "backfill.depth=4", &err), 0);
    assert_int_equal(json_assign(object, "x=[1, 2]", &err), 0);
    assert_true(json_equal(object, wanted));
    assert_int_equal(json_assign(object, "order", &err), -EINVAL);
    assert_string_equal(err.text, "--set order: expected KEY=VALUE, like order=fifo");
    assert_int_equal(json_assign(object, "a..b=1", &err), -EINVAL);
    assert_string_equal(err.text, "--set a..b=1: an empty key");
    assert_true(json_assign(object, "a={", &err) < 0);
}

static void a_wall_time_is_said_in_utc(void **unused)
{
    AUTO(json) json_t *time = json_time(INT64_C(1795775850403685));
    (void)unused;

    assert_string_equal(json_string_value(time), "2026-11-27T10:37:30.403Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_are_a_count_a_model_and_gpus),
        cmocka_unit_test(machines_that_make_no_sense_are_refused),
        cmocka_unit_test(one_string_is_a_list_of_one),
        cmocka_unit_test(a_value_is_put_where_its_keys_lead),
        cmocka_unit_test(a_wall_time_is_said_in_utc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
