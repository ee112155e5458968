/* SPDX-License-Identifier: Apache-2.0 */
#include "base/record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/journal/event.h"

struct part {
    int64_t size;
    const char *name;
};
static const struct field part_fields[] = {
    RECORD_INT(struct part, 1, size, ""),
    RECORD_TEXT(struct part, 2, name, ""),
};
static const struct record_type part_record = { "part", sizeof(struct part), part_fields, 2 };

struct thing {
    uint8_t small;
    uint16_t middle;
    uint32_t large;
    uint64_t huge;
    int32_t below;
    int64_t far_below;
    const char *text;
    char chars[8];
    struct part inner;
    const struct part *parts;
    struct part inside[2];
    uint32_t parts_count, inside_count;
};
static const struct field thing_fields[] = {
    RECORD_UINT(struct thing, 1, small, ""),
    RECORD_UINT(struct thing, 2, middle, ""),
    RECORD_UINT(struct thing, 3, large, ""),
    RECORD_UINT(struct thing, 4, huge, ""),
    RECORD_INT(struct thing, 5, below, ""),
    RECORD_INT(struct thing, 6, far_below, ""),
    RECORD_TEXT(struct thing, 7, text, ""),
    RECORD_CHARS(struct thing, 8, chars, ""),
    RECORD_INNER(struct thing, 9, inner, "", &part_record),
    RECORD_LIST(struct thing, 10, parts, "", &part_record),
    RECORD_ARRAY(struct thing, 300, inside, "", &part_record, inside_count),
};
static const struct record_type thing_record = { "thing", sizeof(struct thing), thing_fields,
                                                 COUNT_OF(thing_fields) };

static const struct part parts[] = { { 1, "one" }, { 0, "" }, { INT64_MIN, "least" } };
static const struct thing full = {
    .small = 255,
    .middle = 65535,
    .large = UINT32_MAX,
    .huge = UINT64_MAX,
    .below = INT32_MIN,
    .far_below = INT64_MIN,
    .text = "\xc3\xa4 text",
    .chars = "seven77",
    .inner = { -1, "x" },
    .parts = parts,
    .parts_count = 3,
    .inside = { { 5, "a" }, { INT64_MAX, "b" } },
    .inside_count = 2,
};

static void what_is_written_is_read(void **state)
{
    (void)state;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO_RELEASE(arena) struct arena arena = { 0 };
    struct thing thing;

    record_encode(&thing_record, &full, &bytes);
    assert_int_equal(record_decode(&thing_record, bytes.bytes, bytes.length, &arena, &thing, NULL),
                     0);
    assert_int_equal(thing.small, 255);
    assert_int_equal(thing.middle, 65535);
    assert_int_equal(thing.large, UINT32_MAX);
    assert_true(thing.huge == UINT64_MAX);
    assert_int_equal(thing.below, INT32_MIN);
    assert_true(thing.far_below == INT64_MIN);
    assert_string_equal(thing.text, full.text);
    assert_string_equal(thing.chars, "seven77");
    assert_true(thing.inner.size == -1);
    assert_int_equal(thing.parts_count, 3);
    assert_string_equal(thing.parts[0].name, "one");
    assert_string_equal(thing.parts[1].name, "");
    assert_true(thing.parts[2].size == INT64_MIN);
    assert_int_equal(thing.inside_count, 2);
    assert_true(thing.inside[1].size == INT64_MAX);
}

static void what_is_zero_takes_no_byte_and_reads_as_zero(void **state)
{
    const struct thing empty = { .text = NULL };
    (void)state;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO_RELEASE(arena) struct arena arena = { 0 };
    struct thing thing;

    record_encode(&thing_record, &empty, &bytes);
    assert_int_equal(bytes.length, 0);
    memset(&thing, 0x55, sizeof(thing));
    assert_int_equal(record_decode(&thing_record, "", 0, &arena, &thing, NULL), 0);
    assert_int_equal(thing.huge, 0);
    assert_int_equal(thing.far_below, 0);
    assert_string_equal(thing.text, "");
    assert_string_equal(thing.inner.name, "");
    assert_int_equal(thing.parts_count, 0);
}

/* The bytes of the documents: they must never change. */
static void the_bytes_are_those_of_the_specification(void **state)
{
    static const struct {
        struct thing thing;
        const char *bytes;
        size_t length;
    } cases[] = {
        { { .small = 1 }, "\x04\x01", 2 },
        { { .large = 300 }, "\x0c\xac\x02", 3 },
        { { .below = -2 }, "\x15\x03", 2 },
        { { .text = "ab" },
          "\x1e\x02"
          "ab",
          4 },
        { { .inner = { .size = 1 } }, "\x27\x02\x05\x02", 4 },
        { { .parts = parts + 1, .parts_count = 1 }, "\x2b\x00", 2 },
        { { .inside_count = 1 }, "\xb3\x09\x00", 3 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text bytes = { 0 };
        record_encode(&thing_record, &cases[i].thing, &bytes);
        assert_int_equal(bytes.length, cases[i].length);
        assert_memory_equal(bytes.bytes, cases[i].bytes, bytes.length);
    }
}

/* What a later tarn may write: fields that this one does not know, in each form. */
static void unknown_tags_are_passed_over(void **state)
{
    static const char future[] = "\x04\x07"     /* small = 7 */
                                 "\xc0\x3e\x05" /* tag 1000, unsigned */
                                 "\xc1\x3e\x05" /* signed */
                                 "\xc2\x3e\x03"
                                 "abc" /* bytes */
                                 "\xc3\x3e\x02\x04\x01"
                                 "\x15\x03"; /* below = -2 */
    (void)state;
    AUTO_RELEASE(arena) struct arena arena = { 0 };
    struct thing thing;

    assert_int_equal(record_decode(&thing_record, future, sizeof(future) - 1, &arena, &thing, NULL),
                     0);
    assert_int_equal(thing.small, 7);
    assert_int_equal(thing.below, -2);
}

/* A known tag in another form is not understood, and does no harm. */
static void a_tag_in_another_form_is_passed_over(void **state)
{
    static const char bytes[] = "\x06\x01z" /* small as bytes */
                                "\x1c\x05"  /* text as a number */
                                "\x26\x01z" /* inner as bytes */
                                "\x08\x09"; /* middle = 9 */
    (void)state;
    AUTO_RELEASE(arena) struct arena arena = { 0 };
    struct thing thing;

    assert_int_equal(record_decode(&thing_record, bytes, sizeof(bytes) - 1, &arena, &thing, NULL),
                     0);
    assert_int_equal(thing.small, 0);
    assert_string_equal(thing.text, "");
    assert_int_equal(thing.middle, 9);
}

static void damage_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *text;
    } cases[] = {
        { "\x04", 1, "record thing: cut short" },
        { "\x84", 1, "record thing: cut short" },
        { "\x1e\x05"
          "ab",
          4, "record thing: cut short" },
        { "\x1e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "record thing: cut short" },
        { "\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "record thing: cut short" },
        { "\x27\x01\x04", 3, "record part: cut short" },
        { "\xb3\x09\x00\xb3\x09\x00\xb3\x09\x00", 9, "record part: too many of inside" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(arena) struct arena arena = { 0 };
        struct thing thing;
        struct error err;
        assert_int_equal(
            record_decode(&thing_record, cases[i].bytes, cases[i].length, &arena, &thing, &err),
            -EBADMSG);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void a_record_cut_anywhere_is_refused_or_shorter(void **state)
{
    (void)state;
    AUTO_RELEASE(text) struct text bytes = { 0 };

    record_encode(&thing_record, &full, &bytes);
    for (size_t length = 0; length < bytes.length; length++) {
        AUTO_RELEASE(arena) struct arena arena = { 0 };
        AUTO_RELEASE(text) struct text again = { 0 };
        struct thing thing;
        if (record_decode(&thing_record, bytes.bytes, length, &arena, &thing, NULL) < 0)
            continue;
        record_encode(&thing_record, &thing, &again); /* cut between two fields */
        assert_int_equal(again.length, length);
        assert_memory_equal(again.bytes, bytes.bytes, length);
    }
}

static void varints_are_read_back(void **state)
{
    static const uint64_t values[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(values); i++) {
        AUTO_RELEASE(text) struct text bytes = { 0 };
        uint64_t value = 42;
        record_put_varint(&bytes, values[i]);
        assert_int_equal(record_get_varint(bytes.bytes, bytes.length, &value), bytes.length);
        assert_true(value == values[i]);
        assert_int_equal(record_get_varint(bytes.bytes, bytes.length - 1, &value), 0);
    }
}

struct options {
    int64_t bound, override, usual;
    int32_t narrow;
};
static const struct field options_fields[] = {
    RECORD_OPTION(struct options, 1, bound, "bound", "", 1, -1),
    RECORD_OPTION(struct options, 2, override, "override", "", 2, ABSENT),
    RECORD_OPTION(struct options, 3, usual, "usual", "", 0, 60),
    RECORD_OPTION(struct options, 4, narrow, "narrow", "", 1, -1),
};
static const struct record_type options_record = { "options", sizeof(struct options),
                                                   options_fields, COUNT_OF(options_fields) };

/* What a missing number reads as is not written, and the others are told from it. */
static void numbers_may_be_absent(void **state)
{
    static const struct {
        struct options options;
        const char *bytes;
        size_t length;
    } cases[] = {
        { { -1, ABSENT, 60, -1 }, "", 0 },
        { { 0, -1, 0, 0 }, "\x05\x02\x09\x02\x0d\x00\x11\x02", 8 },
        { { 3, 0, 60, 4 }, "\x05\x08\x09\x04\x11\x0a", 6 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text bytes = { 0 };
        AUTO_RELEASE(arena) struct arena arena = { 0 };
        struct options read;
        struct error err;
        record_encode(&options_record, &cases[i].options, &bytes);
        assert_int_equal(bytes.length, cases[i].length);
        assert_memory_equal(text_string(&bytes), cases[i].bytes, cases[i].length);
        assert_int_equal(
            record_decode(&options_record, text_string(&bytes), bytes.length, &arena, &read, &err),
            0);
        assert_int_equal(read.bound, cases[i].options.bound);
        assert_int_equal(read.override, cases[i].options.override);
        assert_int_equal(read.usual, cases[i].options.usual);
        assert_int_equal(read.narrow, cases[i].options.narrow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_may_be_absent),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_zero_takes_no_byte_and_reads_as_zero),
        cmocka_unit_test(the_bytes_are_those_of_the_specification),
        cmocka_unit_test(unknown_tags_are_passed_over),
        cmocka_unit_test(a_tag_in_another_form_is_passed_over),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(a_record_cut_anywhere_is_refused_or_shorter),
        cmocka_unit_test(varints_are_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
