/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json_plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "wire/json.h"

/* Whether the quick parser took the text; then its value is the one of jansson. */
static bool agrees(const char *text, size_t length)
{
    AUTO(json) json_t *plain = json_plain_parse(text, length);
    AUTO(json)
    json_t *full = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);

    if (!plain)
        return false;
    if (!full)
        fail_msg("the quick parser takes what jansson refuses: %.*s", (int)length, text);
    AUTO_FREE char *a = json_dumps(plain, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    AUTO_FREE char *b = json_dumps(full, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    assert_string_equal(a, b); /* with the order of the keys */
    assert_true(json_equal(plain, full));
    return true;
}

static const char *const plain[] = {
    "{}",
    "[]",
    " [ ] ",
    "null",
    "true",
    " false\n",
    "0",
    "-0",
    "-0.0",
    "123456789012345",
    "-12.5",
    "0.1",
    "6.609",
    "1234567890.12345",
    "0.00000000000001",
    "\"\"",
    "\"a b\"",
    "\"\xc2\xb7 \xe2\x80\xa6 \xf0\x9f\x8c\x8d\"",
    "{\"a\":1,\"b\":[1,2.5,\"x\",null,true],\"c\":{\"d\":{}}}",
    " { \"a\" : [ 1 , 2 ] ,\r\n\t\"b\" : \"\" } ",
    "{\"\":0}",
    "[[[[]],[]],{\"jobs\":[]}]",
};

static void plain_text_is_parsed_as_by_jansson(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        if (!agrees(plain[i], strlen(plain[i])))
            fail_msg("it is left to jansson: %s", plain[i]);
    }
}

static void what_is_not_plain_is_left_to_jansson(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "[",
        "]",
        "[1",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1 \"b\":2}",
        "[1 2]",
        "1 2",
        "[1]]",
        "01",
        "-",
        "- 1",
        "1.",
        ".5",
        "1e3",
        "1.5E2",
        "1234567890123456",
        "0.1234567890123456",
        "+1",
        "\"a",
        "\"\\n\"",
        "\"\x01\"",
        "\"a\nb\"",
        "\"\xff\"",
        "\"\xc2\"",
        "{\"\xc3\xa4\":1}",
        "nul",
        "nulll",
        "True",
        "{\"a\":tru}",
        "'a'",
        "[\"a\\\"]",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (agrees(texts[i], strlen(texts[i])))
            fail_msg("the quick parser took %s", texts[i]);
    }
    char deep[2 * (JSON_DEPTH_MAX + 1)];
    memset(deep, '[', sizeof(deep) / 2);
    memset(deep + sizeof(deep) / 2, ']', sizeof(deep) / 2);
    assert_null(json_plain_parse(deep, sizeof(deep)));
    assert_true(agrees(deep + 1, sizeof(deep) - 2));
    assert_false(agrees("\"a\0b\"", 5));
    assert_false(agrees("12\0", 3));
}

/* A step of a linear congruence: the same texts in each run. */
static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % below);
}

static void changed_text_is_never_parsed_otherwise(void **state)
{
    static const char bytes[] = "{}[]\",:\\ \n-+.0123456789eEtrufalsn\x01\xc2\xb7\xff";
    uint64_t seed = 1;
    size_t taken = 0;

    (void)state;
    for (int round = 0; round < 200000; round++) {
        const char *source = plain[draw(&seed, COUNT_OF(plain))];
        AUTO_RELEASE(text) struct text text = { 0 };

        text_add(&text, source);
        for (uint32_t changes = 1 + draw(&seed, 3); changes > 0; changes--) {
            size_t at = draw(&seed, (uint32_t)text.length + 1);
            char byte = bytes[draw(&seed, sizeof(bytes) - 1)];

            if (at == text.length || draw(&seed, 2) == 0) {
                text_add_char(&text, ' ');
                memmove(text.bytes + at + 1, text.bytes + at, text.length - at - 1);
            }
            text.bytes[at] = byte;
        }
        taken += agrees(text.bytes, text.length);
    }
    assert_true(taken > 10000);
}

static void refusals_say_where(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "{\"a\":1,\n\"a\":2}", "in.json:2:3: duplicate object key near '\"a\"'" },
        { "[1,\n2,,3]", "in.json:2:3: unexpected token near ','" },
        { "{\"a\":1} x", "in.json:1:9: end of file expected near 'x'" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *value = NULL;
        struct error err;

        assert_true(
            json_parse(cases[i].text, strlen(cases[i].text), 1000, "in.json", &value, &err) < 0);
        assert_null(value);
        assert_string_equal(err.text, cases[i].message);
    }
}

static void json_for_a_terminal_shows_every_character(void **state)
{
    AUTO(json)
    json_t *value = json_pack("{s:s, s:[s, s]}", "a\u202e", "x\xc2\x9by\x7f\u200b\ufeff", "b",
                              "\U000e0041", "caf\u00e9 \u3042 ❤\ufe0f \t");
    AUTO_RELEASE(text) struct text text = { 0 }, lines = { 0 };
    (void)state;

    json_add_visible(value, JSON_COMPACT, &text);
    assert_string_equal(
        text.bytes, "{\"a\\u202e\":\"x\\u009by\\u007f\\u200b\\ufeff\",\"b\":[\"\\udb40\\udc41\","
                    "\"caf\u00e9 \u3042 ❤\ufe0f \\t\"]}");
    AUTO(json) json_t *again = json_loadb(text.bytes, text.length, 0, NULL);
    assert_true(json_equal(value, again));
    json_add_visible(value, JSON_INDENT(1), &lines);
    assert_non_null(strchr(lines.bytes, '\n'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_for_a_terminal_shows_every_character),
        cmocka_unit_test(plain_text_is_parsed_as_by_jansson),
        cmocka_unit_test(what_is_not_plain_is_left_to_jansson),
        cmocka_unit_test(changed_text_is_never_parsed_otherwise),
        cmocka_unit_test(refusals_say_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
