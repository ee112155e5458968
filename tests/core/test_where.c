/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions: what is read, written and refused, and what holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/cluster/label.h"
#include "core/cluster/pool.h"
#include "core/job/class.h"
#include "core/state/state.h"

static char *text(const char *string)
{
    return (char *)(uintptr_t)string;
}

/* All conditions of a list. */
static void format_all(const struct where_term *terms, uint32_t count, struct text *text)
{
    for (uint32_t i = 0, end; i < count; i = end) {
        end = where_end(terms, count, i);
        text_add(text, i > 0 ? ", " : "");
        where_format(&terms[i], end - i, text);
    }
}

static void conditions_read_back_as_written(void **state)
{
    static const char *const cases[][2] = {
        { "fast", "fast" },
        { "!fast", "!fast" },
        { "zone=a", "zone=a" },
        { "zone == a", "zone=a" },
        { "zone!=a", "zone!=a" },
        { " zone in ( a , b ) ", "zone in (a,b)" },
        { "zone in (a)", "zone=a" },
        { "zone=a|zone=b", "zone in (a,b)" },
        { "zone notin (a,b)", "zone!=a, zone!=b" },
        { "zone in (a,b)|fast,!slow", "zone=a|zone=b|fast, !slow" },
        { "a|b|c", "a|b|c" },
        { "inner", "inner" },
        { "notinx=in", "notinx=in" },
        { "a,b,c=d", "a, b, c=d" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        where_list list = { 0 }, again = { 0 };
        AUTO_RELEASE(text) struct text words = { 0 };
        struct error err = { 0 };
        if (where_parse(&list, cases[i][0], &err) < 0)
            fail_msg("%s: %s", cases[i][0], err.text);
        format_all(list.items, (uint32_t)list.count, &words);
        assert_string_equal(words.bytes, cases[i][1]);
        assert_int_equal(where_parse(&again, words.bytes, &err), 0);
        assert_int_equal(again.count, list.count);
        assert_memory_equal(again.items, list.items, list.count * sizeof(list.items[0]));
        assert_true(where_is_valid(list.items, (uint32_t)list.count));
        list_release(&list);
        list_release(&again);
    }
}

static void names_of_a_record_end(void **state)
{
    struct where_term terms[2] = { { .key = "zone", .value = "a", .has_value = 1 },
                                   { .key = "fast" } };
    (void)state;

    assert_true(where_is_valid(terms, 2));
    memset(terms[0].value, 'x', sizeof(terms[0].value));
    assert_false(where_is_valid(terms, 2));
    terms[0].value[1] = '\0';
    memset(terms[1].key, 'x', sizeof(terms[1].key));
    assert_false(where_is_valid(terms, 2));
    assert_true(where_is_valid(terms, 1));
}

static void what_is_no_condition_is_refused(void **state)
{
    static const char *const cases[] = {
        "",
        " ",
        "a,",
        ",a",
        "a||b",
        "=a",
        "a=",
        "a!=",
        "!",
        "!a=b",
        "a in b",
        "a in ()",
        "a in (",
        "a in (b",
        "a b",
        "a=b=c",
        "a&b",
        "a notin (b)|c",
        "a|b notin (c)",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        where_list list = { 0 };
        struct error err = { 0 };
        if (where_parse(&list, cases[i], &err) == 0)
            fail_msg("'%s' is taken", cases[i]);
        list_release(&list);
    }
    assert_false(where_is_valid(&(struct where_term){ .key = "a", .is_or = true }, 1));
    assert_false(where_is_valid(&(struct where_term){ .value = "a" }, 1));
}

static void a_condition_holds_by_labels_of_node_and_device(void **state)
{
    static const struct {
        const char *where;
        bool for_device, for_node;
    } cases[] = {
        { "fast", true, true },
        { "edge", true, false },
        { "!edge", false, true },
        { "zone=a", true, true },
        { "zone=aa", false, false },
        { "zon=a", false, false },
        { "zone", true, true },
        { "zone=", false, false },
        { "zone!=b", true, true },
        { "zone!=a", false, false },
        { "speed!=9", true, true },
        { "zone in (b,a)", true, true },
        { "zone notin (b,c)", true, true },
        { "zone notin (b,a)", false, false },
        { "node=n1", true, true },
        { "rack=r1", true, true },
        { "block", false, false },
        { "type=big", true, true },
        { "spot", true, true },
        { "!spot", false, false },
        { "model=h100", true, false },
        { "h100", true, false },
        { "h100|fast", true, true },
        { "kind=gpu", true, false },
        { "kind!=tpu", true, true },
        { "fast,zone=b", false, false },
        { "slow|zone=b|rack=r1", true, true },
        { "as", false, false },
        { "fas", false, false },
        { "zone=a,tier=1", true, true },
    };
    const struct node node = { .name = text("n1"),
                               .rack = text("r1"),
                               .block = text(""),
                               .type = text("big"),
                               .labels = text("fast,zone=a,tier=1"),
                               .is_spot = true };
    const struct device device = { .model = text("h100"), .labels = text("edge") };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        where_list list = { 0 };
        struct error err = { 0 };
        bool is_read = where_parse(&list, cases[i].where, &err) == 0;
        uint32_t count = (uint32_t)list.count;
        if (is_read && (where_holds(list.items, count, &node, &device) != cases[i].for_device ||
                        where_holds(list.items, count, &node, NULL) != cases[i].for_node))
            fail_msg("%s", cases[i].where);
        assert_true(is_read || strcmp(cases[i].where, "zone=") == 0);
        list_release(&list);
    }
}

static void names_of_older_pools_are_conditions(void **state)
{
    where_list list = { 0 };
    AUTO_RELEASE(text) struct text words = { 0 };
    (void)state;

    assert_true(where_assign(&list, "n1,n2", "edge,low-power", NULL, 0));
    format_all(list.items, (uint32_t)list.count, &words);
    assert_string_equal(words.bytes, "node in (n1,n2), edge, low-power");
    assert_true(where_assign(&list, "", NULL, NULL, 0));
    assert_int_equal(list.count, 0);
    list_release(&list);
}

static void conditions_are_part_of_a_class(void **state)
{
    struct class_table table = { 0 };
    where_list one = { 0 }, same = { 0 }, other = { 0 };
    struct request request;
    struct error err;
    (void)state;

    assert_int_equal(where_parse(&one, "zone=a,fast", &err), 0);
    assert_int_equal(where_parse(&same, "zone=a,fast", &err), 0);
    assert_int_equal(where_parse(&other, "zone=a|fast", &err), 0);
    request_default(&request);
    uint32_t plain = class_claim(&table, &request);
    request.where = one.items;
    request.where_count = (uint32_t)one.count;
    uint32_t a = class_claim(&table, &request);
    list_release(&one); /* the class has its own */
    request.where = same.items;
    assert_int_equal(class_claim(&table, &request), a);
    request.where = other.items;
    uint32_t b = class_claim(&table, &request);
    assert_true(plain != a && a != b && plain != b);
    assert_string_equal(class_request(&table, a)->where[1].key, "fast");
    list_release(&same);
    list_release(&other);
    class_release(&table, a);
    class_release(&table, a);
    class_release(&table, b);
    class_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_read_back_as_written),
        cmocka_unit_test(names_of_a_record_end),
        cmocka_unit_test(what_is_no_condition_is_refused),
        cmocka_unit_test(a_condition_holds_by_labels_of_node_and_device),
        cmocka_unit_test(names_of_older_pools_are_conditions),
        cmocka_unit_test(conditions_are_part_of_a_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
