/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static void text_grows_as_it_is_added_to(void **state)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    (void)state;
    assert_string_equal(text_string(&text), "");
    text_add(&text, "a");
    text_add_char(&text, 'b');
    text_add_bytes(&text, "c\0d", 3);
    text_printf(&text, "%d%s", 12, "e");
    assert_int_equal(text.length, 8);
    assert_memory_equal(text.bytes, "abc\0d12e", 9);
    for (int i = 0; i < 1000; i++)
        text_printf(&text, "%03d", i);
    assert_int_equal(text.length, 3008);
    assert_string_equal(text.bytes + 3005, "999");
    text_clear(&text);
    assert_string_equal(text_string(&text), "");
    assert_int_equal(text.length, 0);
    text_add_bytes(&text, NULL, 0);
    assert_string_equal(text.bytes, "");
}

static void text_can_be_taken(void **state)
{
    struct text text = { 0 };

    (void)state;
    AUTO_FREE char *empty = text_take(&text);
    assert_string_equal(empty, "");
    text_add(&text, "abc");
    AUTO_FREE char *taken = text_take(&text);
    assert_string_equal(taken, "abc");
    assert_null(text.bytes);
    text_release(&text);
}

static void strings_are_compared_also_when_absent(void **state)
{
    (void)state;
    assert_true(string_equal("a", "a"));
    assert_false(string_equal("a", "b"));
    assert_true(string_equal(NULL, NULL));
    assert_false(string_equal(NULL, "a"));
    assert_false(string_equal("a", NULL));
    assert_true(string_starts("abc", "ab"));
    assert_true(string_starts("abc", ""));
    assert_false(string_starts("ab", "abc"));
}

static void utf8_is_told_from_what_is_not(void **state)
{
    static const struct {
        const char *bytes;
        bool is_utf8;
    } cases[] = {
        { "", true },
        { "plain", true },
        { "\xc3\xa4", true },          /* U+00E4 */
        { "\xe2\x82\xac", true },      /* U+20AC */
        { "\xf0\x9f\x8f\x94", true },  /* U+1F3D4 */
        { "\xf4\x8f\xbf\xbf", true },  /* U+10FFFF, the last */
        { "\xed\x9f\xbf", true },      /* U+D7FF, before the surrogates */
        { "\xee\x80\x80", true },      /* U+E000, after them */
        { "\xc2\x80", true },          /* U+0080 */
        { "\xe0\xa0\x80", true },      /* U+0800 */
        { "\xf0\x90\x80\x80", true },  /* U+10000 */
        { "\x80", false },             /* continuation without a start */
        { "\xc3", false },             /* cut off */
        { "a\xe2\x82", false },        /* cut off */
        { "\xf0\x9f\x8f", false },     /* cut off */
        { "\xc3\x41", false },         /* no continuation */
        { "\xe2\x82\x41", false },     /* no continuation */
        { "\xc0\xaf", false },         /* overlong */
        { "\xc1\xbf", false },         /* overlong */
        { "\xe0\x9f\xbf", false },     /* overlong */
        { "\xf0\x8f\xbf\xbf", false }, /* overlong */
        { "\xed\xa0\x80", false },     /* surrogate */
        { "\xed\xbf\xbf", false },     /* surrogate */
        { "\xf4\x90\x80\x80", false }, /* above U+10FFFF */
        { "\xf5\x80\x80\x80", false },
        { "\xff", false },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        /* In a block of its own, so that a sanitizer sees a read behind it. */
        size_t length = strlen(cases[i].bytes);
        AUTO_FREE char *copy = mem_zero(length, 1);

        memcpy(copy, cases[i].bytes, length);
        assert_int_equal(string_is_utf8(copy, length), cases[i].is_utf8);
    }
    assert_true(string_is_utf8("a\0b", 3));
}

/* Every code point, written by the definition. */
static void every_character_is_utf8(void **state)
{
    (void)state;
    for (unsigned c = 0; c <= 0x10ffff; c++) {
        char s[4];
        size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

        for (size_t i = 0; i < length; i++) {
            unsigned bits = c >> (6 * (length - 1 - i));
            s[i] = (char)(i == 0 ? first[length] | bits : 0x80 | (bits & 0x3f));
        }
        bool is_surrogate = c >= 0xd800 && c <= 0xdfff;
        if (string_is_utf8(s, length) == is_surrogate)
            fail_msg("U+%04X", c);
    }
}

static void words_of_others_are_made_fit_for_people(void **state)
{
    static const struct {
        const char *words;
        size_t size; /* of the room for them */
        const char *clean;
    } cases[] = {
        { "", 1, "" },
        { "plain", 6, "plain" },
        { "plain", 5, "plai" },
        { "a\x1b[2J\r\n\tb\x7f", 80, "a?[2J???b?" },
        { "caf\xe9 \xff\xfe", 80, "caf? ??" }, /* Latin-1 */
        { "\xc3\xa4\xc3\xa4", 5, "\xc3\xa4\xc3\xa4" },
        { "\xc3\xa4\xc3\xa4", 4, "\xc3\xa4" }, /* cut before a character, not in it */
        { "\xf0\x9f\x9a\x80", 4, "" },
        { "\xe2\x82", 80, "??" }, /* the last one lacks an end */
        { "\xc2\x9b"
          "31m",
          80, "?31m" }, /* a terminal takes U+009B for an escape */
        { "\xc2\xa0", 80, "\xc2\xa0" },
        { "a\xe2\x80\xaegpj", 80, "a?gpj" }, /* U+202E turns the rest around */
        { "\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f\xe2\x80\xa8", 80,
          "????" }, /* U+2066, 61C, 200F, 2028 */
        { "\xe2\x80\x93\xe2\x80\x8d", 80, "\xe2\x80\x93\xe2\x80\x8d" }, /* a dash, a joiner */
        { "a\xe2\x80\x8d", 80, "a?" },
        { "a\u200bb\ufeff\u00ad\u3164", 80, "a?b???" },
        { "\U000e0041", 80, "?" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char ret[80], same[80];

        memset(ret, 'x', sizeof(ret));
        string_clean(ret, cases[i].size, cases[i].words, strlen(cases[i].words));
        assert_string_equal(ret, cases[i].clean);
        snprintf(same, sizeof(same), "%s", cases[i].words);
        string_clean(same, cases[i].size, same, strlen(same));
        assert_string_equal(same, cases[i].clean);
    }
}

static void any_bytes_become_words(void **state)
{
    uint32_t random = 1;
    (void)state;

    for (int round = 0; round < 20000; round++) {
        char bytes[12], ret[12];
        size_t size = 1 + (size_t)round % sizeof(ret);

        for (size_t i = 0; i < sizeof(bytes); i++) {
            random = random * 1664525 + 1013904223;
            bytes[i] = (char)(random >> 24);
        }
        string_clean(ret, size, bytes, sizeof(bytes));
        assert_true(strlen(ret) < size);
        assert_true(string_is_utf8(ret, strlen(ret)));
        for (size_t i = 0; ret[i]; i++)
            assert_false((unsigned char)ret[i] < ' ');
    }
}

static void names_are_short_and_plain(void **state)
{
    (void)state;
    assert_true(string_is_name("a", 8));
    assert_true(string_is_name("A-b_c.9", 8));
    assert_true(string_is_name("ana@x+y", 8));
    assert_true(string_is_name("12345678", 8));
    assert_true(string_is_name(".hidden", 8));
    assert_false(string_is_name("", 8));
    assert_false(string_is_name("123456789", 8));
    assert_false(string_is_name("-a", 8));
    assert_false(string_is_name("a b", 8));
    assert_false(string_is_name("a/b", 8));
    assert_false(string_is_name("a\n", 8));
    assert_false(string_is_name("\xc3\xa4", 8));
}

static void the_nearest_word_is_suggested_when_it_is_near(void **state)
{
    static const char *const words[] = {
        "submit", "cancel", "hold", "release", "ls", "logs", NULL
    };
    static const char *const none[] = { NULL };
    static const struct {
        const char *word;
        const char *nearest;
    } cases[] = {
        { "submti", "submit" },  { "sumbit", "submit" }, { "cancle", "cancel" }, { "hodl", "hold" },
        { "relase", "release" }, { "log", "logs" },      { "l", "ls" },          { "hold", "hold" },
        { "xyzzy", NULL },       { "", NULL },           { "ab", NULL },
    };
    char huge[1000];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *nearest = string_nearest(cases[i].word, words);

        if (!string_equal(nearest, cases[i].nearest))
            fail_msg("%s: %s", cases[i].word, nearest ? nearest : "none");
    }
    assert_null(string_nearest("submit", none));
    memset(huge, 's', sizeof(huge));
    huge[sizeof(huge) - 1] = '\0';
    assert_null(string_nearest(huge, words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows_as_it_is_added_to),
        cmocka_unit_test(text_can_be_taken),
        cmocka_unit_test(strings_are_compared_also_when_absent),
        cmocka_unit_test(utf8_is_told_from_what_is_not),
        cmocka_unit_test(every_character_is_utf8),
        cmocka_unit_test(words_of_others_are_made_fit_for_people),
        cmocka_unit_test(any_bytes_become_words),
        cmocka_unit_test(names_are_short_and_plain),
        cmocka_unit_test(the_nearest_word_is_suggested_when_it_is_near),
    };

    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
