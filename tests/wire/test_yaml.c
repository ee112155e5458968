/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/json.h"
#include "wire/plain.h"

/* The document as compact JSON, or the words of the failure. New. */
static char *result_of(const char *yaml, size_t length)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;
    struct error err;

    if (yaml_parse(yaml, length, "in.yaml", &document, &lines, &err) < 0) {
        assert_null(document);
        return mem_string(err.text);
    }
    return json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
}

static void assert_result(const char *yaml, const char *expected)
{
    AUTO_FREE char *result = result_of(yaml, strlen(yaml));

    assert_string_equal(result, expected);
}

static void scalars_are_those_of_the_core_schema(void **state)
{
    (void)state;
    assert_result("", "null");
    assert_result("# nothing\n", "null");
    assert_result("[~, null, Null, NULL, ]", "[null,null,null,null]");
    assert_result("[true, false]", "[true,false]");
    assert_result("[0, -1, 9223372036854775807]", "[0,-1,9223372036854775807]");
    assert_result("[1.5, -0.5, 5.0, 1000.0, 0.01]", "[1.5,-0.5,5.0,1000.0,0.01]");
    assert_result(
        "[yes, no, on, 1:30, 0777, 1_000, 1.2.3, .inf, -, +, 0x, 1e, '']",
        "[\"yes\",\"no\",\"on\",\"1:30\",\"0777\",\"1_000\",\"1.2.3\",\".inf\",\"-\",\"+\","
        "\"0x\",\"1e\",\"\"]");
    assert_result("[99999999999999999999, 1e999]", "[\"99999999999999999999\",\"1e999\"]");
}

/* 3.10 may be a version, 7e10 a commit. */
static void a_number_in_another_spelling_keeps_its_text(void **state)
{
    static const struct {
        const char *text;
        double number;
    } cases[] = {
        { "3.10", 3.1 },
        { "0x1F", 31 },
        { "0o17", 15 },
        { "+2", 2 },
        { "-.5", -0.5 },
        { "5.", 5 },
        { "1e3", 1000 },
        { "1E-2", 0.01 },
        { "7e10", 7e10 },
        { "-0", 0 },
        { "0.1000000000000000055511151231257827", 0.1 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *expected = mem_printf("\"%s\"", cases[i].text);
        AUTO(json) json_t *text = json_string(cases[i].text);
        AUTO(json) json_t *value = plain_read(text);

        assert_result(cases[i].text, expected);
        assert_true(json_is_number(value));
        assert_true(json_number_value(value) == cases[i].number);
    }
    assert_result("[True, TRUE, False, FALSE]", "[\"True\",\"TRUE\",\"False\",\"FALSE\"]");
}

/* A string that YAML would have read as a value is no value: its quotes were meant. */
static void only_other_spellings_are_read_as_values(void **state)
{
    static const char *const texts[] = {
        "3", "1.5", "true", "yes", "1:30", "0777", "1_000", "null"
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        AUTO(json) json_t *text = json_string(texts[i]);
        AUTO(json) json_t *value = plain_read(text);

        assert_ptr_equal(value, text);
    }
    assert_null(plain_read(NULL));
}

static void a_byte_order_mark_and_directives_say_how_to_read(void **state)
{
    static const char wide[] = "\xff\xfe"
                               "a\0:\0 \0\xe9\0";
    (void)state;

    assert_result("\xef\xbb\xbf"
                  "a: 1\n",
                  "{\"a\":1}");
    assert_result("\xef\xbb\xbf# c\na: 1\n", "{\"a\":1}");
    assert_result("\xef\xbb\xbf%YAML 1.2\n---\na: 1\n...\n", "{\"a\":1}");
    assert_result("%YAML 1.1\n%TAG !e! tag:example.org,2000:\n---\na: yes\n", "{\"a\":\"yes\"}");
    assert_result("%YAML 2.0\n---\na: 1\n", "in.yaml:1:1: found incompatible YAML document");
    assert_result("%X y\n---\na: 1\n",
                  "in.yaml:1:3: found unknown directive name (while scanning a directive, line 1)");
    AUTO_FREE char *from_wide = result_of(wide, sizeof(wide) - 1);
    assert_string_equal(from_wide, "{\"a\":\"\xc3\xa9\"}");
}

static void what_is_quoted_is_a_string(void **state)
{
    (void)state;
    assert_result("['1', \"true\", 'null', !!str 5]", "[\"1\",\"true\",\"null\",\"5\"]");
    assert_result("a: |\n  1\n  2\n", "{\"a\":\"1\\n2\\n\"}");
    assert_result("a: >-\n  7\n", "{\"a\":\"7\"}");
}

static void maps_keep_their_order_and_lists_their_items(void **state)
{
    (void)state;
    assert_result("b: {y: 1, x: [1, {z: 2}]}\na:\n",
                  "{\"b\":{\"y\":1,\"x\":[1,{\"z\":2}]},\"a\":null}");
    assert_result("a: &x {n: 1}\nb: *x\nc: &y 5\nd: *y\n",
                  "{\"a\":{\"n\":1},\"b\":{\"n\":1},\"c\":5,\"d\":5}");
}

static void every_key_and_item_knows_its_line(void **state)
{
    static const char yaml[] = "a: 1\n"
                               "b:\n"
                               "  c: true\n"
                               "  d:\n"
                               "    - x\n"
                               "    - y\n";
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;
    struct error err;
    (void)state;

    assert_int_equal(yaml_parse(yaml, strlen(yaml), "in", &document, &lines, &err), 0);
    const json_t *b = json_object_get(document, "b");
    assert_int_equal(yaml_key_line(lines, document, "a"), 1);
    assert_int_equal(yaml_key_line(lines, document, "b"), 2);
    assert_int_equal(yaml_key_line(lines, b, "c"), 3);
    assert_int_equal(yaml_index_line(lines, json_object_get(b, "d"), 1), 6);
    assert_int_equal(yaml_key_line(lines, document, "zz"), 0);
    assert_int_equal(yaml_key_line(NULL, document, "a"), 0);
}

static void what_is_wrong_is_told_with_line_and_column(void **state)
{
    static const struct {
        const char *yaml;
        const char *text;
    } cases[] = {
        { "a: 1\nb: 2\na: 3\n", "in.yaml:3:1: key 'a' is given twice, first on line 1" },
        { "a: 1\n\tb: 2\n", "in.yaml:2:1: found a tab character that violates indentation (while "
                            "scanning a plain scalar, line 1)" },
        { "a: [1, 2\n", "in.yaml:2:1: did not find expected ',' or ']' (while parsing a flow "
                        "sequence, line 1)" },
        { "a: 'x\n", "in.yaml:2:1: found unexpected end of stream (while scanning a quoted scalar, "
                     "line 1)" },
        { "a: *x\n", "in.yaml:1:4: alias 'x' has no anchor before it" },
        { "a: &x [*x]\n", "in.yaml:1:8: alias 'x' contains itself" },
        { "--- 1\n--- 2\n", "in.yaml:2:1: a second document; expected one" },
        { "? [a]\n: 1\n", "in.yaml:1:3: a list or map as a key; expected a word" },
        { "a: &k b\n*k : 1\n", "in.yaml:2:1: an alias as a key; expected a word" },
        { "&k a: 1\n", "in.yaml:1:1: an anchor on a key; expected it on the value" },
        { "a: !x 1\n", "in.yaml:1:4: a tag; expected a plain value" },
        { "a: !!set {b}\n", "in.yaml:1:4: a tag; expected a plain value" },
        { "a: \"b\\0\"\n", "in.yaml:1:4: a NUL character in a string" },
        { "\"b\\0\": 1\n", "in.yaml:1:1: a NUL character in a key" },
        { "a: \xff\n", "in.yaml:1:4: invalid leading UTF-8 octet" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_result(cases[i].yaml, cases[i].text);
}

static void depth_has_a_limit(void **state)
{
    char yaml[2 * YAML_DEPTH_MAX + 4] = { 0 };
    (void)state;

    memset(yaml, '[', YAML_DEPTH_MAX);
    memset(yaml + YAML_DEPTH_MAX, ']', YAML_DEPTH_MAX);
    AUTO_FREE char *fits = result_of(yaml, strlen(yaml));
    assert_int_equal(fits[0], '[');
    memset(yaml, '[', YAML_DEPTH_MAX + 1);
    assert_result(yaml, "in.yaml:1:65: more than 64 levels deep");
}

static void size_has_a_limit(void **state)
{
    AUTO_FREE char *yaml = mem_zero(YAML_SIZE_MAX + 2, 1);
    (void)state;

    memset(yaml, ' ', YAML_SIZE_MAX + 1);
    assert_result(yaml, "in.yaml: larger than 4 MiB");
}

/* Nine levels of ten aliases each would be a thousand million values. */
static void aliases_count_each_time(void **state)
{
    AUTO_RELEASE(text) struct text yaml = { 0 };
    (void)state;

    text_add(&yaml, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 9; i++) {
        text_printf(&yaml, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            text_printf(&yaml, "*a%d, ", i - 1);
        text_add(&yaml, "]\n");
    }
    assert_result(yaml.bytes, "in.yaml:6:10: more than 200000 values");

    text_clear(&yaml);
    text_add(&yaml, "a: &a ");
    for (int i = 0; i < 100000; i++)
        text_add(&yaml, "0123456789");
    text_add(&yaml, "\nb: [");
    for (int i = 0; i < 20; i++)
        text_add(&yaml, "*a, ");
    text_add(&yaml, "]\n");
    assert_result(yaml.bytes, "in.yaml:2:65: more than 16 MiB with all aliases");
}

static void anchors_have_a_limit(void **state)
{
    AUTO_RELEASE(text) struct text yaml = { 0 };
    (void)state;

    for (int i = 0; i < 1001; i++)
        text_printf(&yaml, "- &a%d 1\n", i);
    assert_result(yaml.bytes, "in.yaml:1001:3: more than 1000 anchors");
}

static void json_is_read_within_limits(void **state)
{
    static const struct {
        const char *json;
        const char *source;
        const char *text;
    } cases[] = {
        { "{\"a\": 1,\n \"a\": 2}", NULL, "line 2, column 4: duplicate object key near '\"a\"'" },
        { "[1", "x.json", "x.json:1:2: ']' expected near end of file" },
        { "", NULL, "line 1, column 0: unexpected token near end of file" },
        { "[1] 2", NULL, "line 1, column 5: end of file expected near '2'" },
        { "\"\\u0000\"", NULL,
          "line 1, column 8: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"\\u0000\"'" },
        { "\"\xff\"", NULL, "line 1, column 1: unable to decode byte 0xff near '\"'" },
    };
    AUTO(json) json_t *value = NULL;
    char deep[JSON_DEPTH_MAX + 2] = { 0 };
    struct error err;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(
            json_parse(cases[i].json, strlen(cases[i].json), 100, cases[i].source, &value, &err),
            -EINVAL);
        assert_string_equal(err.text, cases[i].text);
    }
    assert_int_equal(json_parse("[1, 2]", 6, 5, NULL, &value, &err), -E2BIG);
    assert_string_equal(err.text, "json: 6 bytes, at most 5 are accepted");
    memset(deep, '[', JSON_DEPTH_MAX + 1);
    assert_int_equal(json_parse(deep, strlen(deep), 100, "b", &value, &err), -E2BIG);
    assert_string_equal(err.text, "b: more than 64 levels deep");
    assert_null(value);
    assert_int_equal(json_parse("{\"[[\\\"[\": 1}", 12, 100, NULL, &value, &err), 0);
    assert_true(json_is_object(value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_those_of_the_core_schema),
        cmocka_unit_test(a_number_in_another_spelling_keeps_its_text),
        cmocka_unit_test(only_other_spellings_are_read_as_values),
        cmocka_unit_test(a_byte_order_mark_and_directives_say_how_to_read),
        cmocka_unit_test(what_is_quoted_is_a_string),
        cmocka_unit_test(maps_keep_their_order_and_lists_their_items),
        cmocka_unit_test(every_key_and_item_knows_its_line),
        cmocka_unit_test(what_is_wrong_is_told_with_line_and_column),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(size_has_a_limit),
        cmocka_unit_test(aliases_count_each_time),
        cmocka_unit_test(anchors_have_a_limit),
        cmocka_unit_test(json_is_read_within_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
