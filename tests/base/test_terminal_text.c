/* SPDX-License-Identifier: Apache-2.0 */
#include "base/terminal_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"

#define ESC "\033"

static char *shown(const char *bytes, size_t length)
{
    struct text out = { 0 };

    terminal_text_add(&out, bytes, length);
    return text_take(&out);
}

static void lines_are_as_a_terminal_shows_them_last(void **state)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        { "", "" },
        { "a\nb", "a\nb\n" },
        { "a\r\nb\r\n", "a\nb\n" },
        { " 0%\r 50%\r100%\n", "100%\n" },
        { "long line\rab\n", "abng line\n" },
        { "long line\r" ESC "[Kab\n", "ab\n" },
        { ESC "[1;31mred" ESC "[0m \xc3\xa9\n", "red \xc3\xa9\n" },
        { ESC "]0;title\aafter\n", "after\n" },
        { ESC "]8;;http://x" ESC "\\link" ESC "]8;;" ESC "\\\n", "link\n" },
        { ESC "P1$r" ESC "\\" ESC "_x" ESC "\\" ESC "^y" ESC "\\ok\n", "ok\n" },
        { "gone\n" ESC "[2J" ESC "[Hnew\n", "new\n" },
        { "gone\n" ESC "c"
          "new\n",
          "new\n" },
        { "one\ntwo\n" ESC "[2A" ESC "[2KONE\n" ESC "[BEND\n", "ONE\ntwo\nEND\n" },
        { "abc" ESC "[2DX\n", "aXc\n" },
        { "a" ESC "[5Gb\n", "a   b\n" },
        { "a\tb\n", "a       b\n" },
        { "ab\bc\n", "ac\n" },
        { ESC "[?25l" ESC "[?1049h" ESC "(B" ESC "=x\n", "x\n" },
        { "a\xff\xc3\n", "a??\n" },
        { "a\xc2\x9b"
          "31mb\n",
          "a31mb\n" },
        { "a\xe2\x80\xae"
          "b\n",
          "a?b\n" },
        { "a\u200b\U000e0041\ufeff \u28ff\u2800|❤\ufe0f\n", "a??? \u28ff\u2800|❤\ufe0f\n" },
        { "cut " ESC "]0;never ended\nnext\n", "cut\nnext\n" },
        { "end " ESC "[", "end\n" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *text = shown(cases[i].bytes, strlen(cases[i].bytes));
        assert_string_equal(text, cases[i].text);
    }
}

static void a_long_progress_bar_is_one_line(void **state)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    (void)state;

    for (int i = 0; i <= 10000; i++)
        text_printf(&bytes, "\r%5.1f%%|%-50.*s| %d/10000", i / 100.0, i / 200,
                    "##################################################", i);
    AUTO_FREE char *text = shown(bytes.bytes, bytes.length);
    assert_string_equal(text,
                        "100.0%|##################################################| 10000/10000\n");
}

/* Output of a few MiB that is made to cost memory or time. */
static void hostile_output_costs_little(void **state)
{
    static const char *const parts[] = { "\033[1000Cx\n", "\033[1K", "x\033[999D", "\033[2J\n\n" };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        AUTO_RELEASE(text) struct text bytes = { 0 }, out = { 0 };
        for (int k = 0; k < 100000; k++)
            text_add(&bytes, "xxxxxxxxxx");
        while (bytes.length < 2 << 20)
            text_add(&bytes, parts[i]);
        terminal_text_add(&out, bytes.bytes, bytes.length);
        assert_true(out.length < 4 << 20);
    }
}

static void no_bytes_act_on_a_terminal(void **state)
{
    static const char parts[] = "\033\033[]?;0129;mKJHhlAcP\\\a\n\r\b\t \xc2\x9b\xe2\x80\xae"
                                "xyz\x7f";
    uint32_t random = 1;
    (void)state;

    for (int round = 0; round < 20000; round++) {
        char bytes[40];
        struct terminal_filter filter = { 0 };
        AUTO_RELEASE(text) struct text passed = { 0 };
        for (size_t i = 0; i < sizeof(bytes); i++) {
            random = random * 1664525 + 1013904223;
            bytes[i] = parts[(random >> 8) % (sizeof(parts) - 1)];
        }
        AUTO_FREE char *text = shown(bytes, sizeof(bytes));
        for (char *line = text; *line; line++)
            *line = *line == '\n' ? ' ' : *line;
        assert_false(string_has_control(text));
        assert_true(string_is_utf8(text, strlen(text)));
        /* In two parts, as it comes. */
        terminal_filter_add(&filter, &passed, bytes, 17);
        terminal_filter_add(&filter, &passed, bytes + 17, sizeof(bytes) - 17);
        for (const char *at = text_string(&passed); (at = strchr(at, '\033')) != NULL; at++) {
            size_t end = strspn(at + 2, "0123456789;:");
            assert_true(at[1] == '[' && strchr("mKABCDG", at[2 + end]) && at[2 + end]);
        }
        assert_true(string_is_utf8(text_string(&passed), passed.length));
        assert_null(strstr(text_string(&passed), "\xc2\x9b"));
        assert_null(strchr(text_string(&passed), '\a'));
    }
}

static void colors_of_a_stream_pass(void **state)
{
    static const char bytes[] =
        ESC "[1;31mred" ESC "[0m \xc2\xb5\r" ESC "[K" ESC "]0;t\a" ESC "[2J" ESC "[?1049h.\n"
            "a\u202eb\u200b\u28ff❤\ufe0f\xff\xc2\x9b"
            "1mcaf\xe9\n";
    struct terminal_filter filter = { 0 };
    AUTO_RELEASE(text) struct text out = { 0 };
    (void)state;

    for (size_t i = 0; i < sizeof(bytes) - 1; i++)
        terminal_filter_add(&filter, &out, bytes + i, 1);
    assert_string_equal(text_string(&out), ESC "[1;31mred" ESC "[0m \xc2\xb5\r" ESC "[K.\n"
                                               "a?b?\u28ff❤\ufe0f?"
                                               "1mcaf?\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_as_a_terminal_shows_them_last),
        cmocka_unit_test(a_long_progress_bar_is_one_line),
        cmocka_unit_test(hostile_output_costs_little),
        cmocka_unit_test(no_bytes_act_on_a_terminal),
        cmocka_unit_test(colors_of_a_stream_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
