/* SPDX-License-Identifier: Apache-2.0 */
#include "base/character.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "base/table.h"
#include "base/text.h"

static void what_is_not_seen_is_a_control_character(void **state)
{
    static const uint32_t unseen[] = {
        0x0,    0x9,     0x1b,    0x7f,    0x9b,    0xad,    0x34f,   0x600,   0x61c,
        0x6dd,  0x70f,   0x891,   0x115f,  0x1160,  0x17b4,  0x180e,  0x200b,  0x200e,
        0x2028, 0x202e,  0x2060,  0x2064,  0x2066,  0x206f,  0x3164,  0xfeff,  0xffa0,
        0xfff9, 0x110bd, 0x13430, 0x1bca0, 0x1d173, 0xe0001, 0xe0041, 0xe007f, 0xe0fff,
    };
    static const uint32_t seen[] = {
        ' ',    'a',    '~',    0xa0,    0xac,    0xae,    0xe9,     0x301,  0x5d0,
        0x606,  0x1100, 0x1161, 0x2003,  0x2010,  0x2070,  0x2800,   0x28ff, 0x3000,
        0x3163, 0xfe10, 0xfffc, 0x1f680, 0x1f3fd, 0x2f800, 0x10ffff,
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(unseen); i++) {
        assert_true(character_is_control('a', unseen[i]));
        assert_true(character_is_control(0x1f680, unseen[i]));
    }
    for (size_t i = 0; i < COUNT_OF(seen); i++)
        assert_false(character_is_control(0, seen[i]));
}

static void joiners_are_accepted_where_scripts_need_them(void **state)
{
    static const struct {
        const char *text;
        bool has_control;
    } cases[] = {
        { "می‌خواهم", false }, /* Persian with a non-joiner */
        { "क्‍ष", false },      /* Devanagari with a joiner */
        { "👩‍💻 ❤️ 👩‍❤️‍👨", false },
        { "葛\U000e0100", false },
        { "a\u200db", true },
        { "caf\u00e9\u200c", true },
        { "\u200d", true },
        { "\ufe0f", true },
        { "1\ufe0f\u20e3", true },
        { "م\u200c\u200c", true },
        { "م\u200b\u200c", true },
        { "❤\ufe0f\ufe0f", true },
        { "م\u200d\u200d", true },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (string_has_control(cases[i].text) != cases[i].has_control)
            fail_msg("%s", cases[i].text);
    }
}

static void a_control_character_is_named_with_its_position(void **state)
{
    char words[CONTROL_WORDS_SIZE];
    (void)state;

    assert_null(string_tell_control("", words));
    assert_null(string_tell_control("plain \u00e9", words));
    assert_null(string_tell_control("caf\xe9", words)); /* Latin-1 is no UTF-8 */
    assert_string_equal(string_tell_control("na\u00efve\u200b\u200c", words),
                        "the character U+200B at position 6");
    assert_string_equal(string_tell_control("\U000e0041", words),
                        "the character U+E0041 at position 1");
    assert_string_equal(string_tell_control("a\nb", words), "the character U+000A at position 2");
}

static void blanks_are_told_from_names(void **state)
{
    (void)state;
    assert_true(string_is_blank(""));
    assert_true(string_is_blank(" \u00a0\u1680\u2003\u202f\u205f\u2800\u3000"));
    assert_false(string_is_blank(" a"));
    assert_false(string_is_blank("\xa0"));
}

static void a_cell_is_as_wide_as_what_is_shown(void **state)
{
    static const struct {
        const char *words, *cell;
        size_t width;
    } cases[] = {
        { "a\u200bb", "a?b", 3 }, { "\ufeff\u3164x", "??x", 3 }, { "❤\ufe0f", "❤\ufe0f", 1 },
        { "a\ufe0f", "a?", 2 },   { "\U000e0041", "?", 1 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text text = { 0 };

        text_add_cut(&text, cases[i].words, 80);
        assert_string_equal(text_string(&text), cases[i].cell);
        assert_int_equal(string_width(cases[i].words), cases[i].width);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_seen_is_a_control_character),
        cmocka_unit_test(joiners_are_accepted_where_scripts_need_them),
        cmocka_unit_test(a_control_character_is_named_with_its_position),
        cmocka_unit_test(blanks_are_told_from_names),
        cmocka_unit_test(a_cell_is_as_wide_as_what_is_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
