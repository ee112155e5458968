/* SPDX-License-Identifier: Apache-2.0 */
#include "core/journal/event.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

/* Every field of every kind filled with something of its own. */
static void fill(const struct record_type *type, char *object, unsigned *number)
{
    for (size_t i = 0; i < type->field_count; i++) {
        const struct field *field = &type->fields[i];
        char *at = object + field->offset;
        const char *text = "text";
        uint64_t value = ++*number % 100 + 1;

        if (field->kind == FIELD_UINT || field->kind == FIELD_INT)
            memcpy(at, &value, field->size); /* little-endian machines only, as all of Debian's */
        else if (field->kind == FIELD_TEXT)
            memcpy(at, &text, sizeof(text));
        else if (field->kind == FIELD_CHARS)
            memcpy(at, "chars", 6);
        else if (field->kind == FIELD_RECORD)
            fill(field->type, at, number);
    }
}

static void every_kind_survives_its_bytes(void **state)
{
    unsigned number = 0;
    (void)state;

    for (int kind = EVENT_NONE + 1; kind < EVENT_KIND_MAX; kind++) {
        if (!event_type((enum event_kind)kind)) /* a number that is not taken */
            continue;
        AUTO_RELEASE(text) struct text bytes = { 0 };
        AUTO_RELEASE(text) struct text again = { 0 };
        AUTO_RELEASE(arena) struct arena arena = { 0 };
        struct event event = { .kind = (enum event_kind)kind, .at = 1000 + kind }, read;
        struct error err;

        fill(event_type(event.kind), (char *)&event.boot, &number);
        event_encode(&event, &bytes);
        if (event_decode(bytes.bytes, bytes.length, &arena, &read, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(read.kind, kind);
        assert_int_equal(read.at, 1000 + kind);
        event_encode(&read, &again);
        assert_int_equal(again.length, bytes.length);
        assert_memory_equal(again.bytes, bytes.bytes, bytes.length);
        /* A later tarn added a field at the end. */
        text_add_bytes(&bytes, "\xc2\x3e\x03new", 6);
        assert_int_equal(event_decode(bytes.bytes, bytes.length, &arena, &read, &err), 0);
    }
}

static void every_tag_is_used_once(void **state)
{
    (void)state;
    for (int kind = EVENT_NONE + 1; kind < EVENT_KIND_MAX; kind++) {
        const struct record_type *type = event_type((enum event_kind)kind);
        for (size_t i = 0; type && i < type->field_count; i++) {
            for (size_t k = 0; k < i; k++)
                assert_int_not_equal(type->fields[i].tag, type->fields[k].tag);
        }
    }
}

static void missing_fields_read_as_nothing(void **state)
{
    (void)state;
    AUTO_RELEASE(arena) struct arena arena = { 0 };
    struct event event;

    assert_int_equal(event_decode("\x0a\x05", 2, &arena, &event, NULL), 0);
    assert_int_equal(event.kind, EVENT_SUBMIT);
    assert_int_equal(event.at, 5);
    assert_int_equal(event.submit.id, 0);
    assert_string_equal(event.submit.queue, "");
    assert_int_equal(event.submit.request.gpu_alternatives, 0);
}

#define NEWER ": a newer version of tarn wrote it; install that one again"

static void what_makes_no_sense_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *text;
    } cases[] = {
        { "", 0, "event: cut short" },
        { "\x0a", 1, "event: cut short" },
        { "\x00\x01", 2, "event: kind 0 is not known" NEWER },
        { "\x7f\x01", 2, "event: kind 127 is not known" NEWER },
        { "\x0a\x01\x04", 3, "event submit: record submit: cut short" },
        { "\x0a\x01\x1b\x02\x07\x05", 6, "event submit: record request: cut short" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(arena) struct arena arena = { 0 };
        struct event event;
        struct error err;
        assert_int_equal(event_decode(cases[i].bytes, cases[i].length, &arena, &event, &err),
                         -EBADMSG);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void every_job_event_names_its_job_first(void **state)
{
    (void)state;
    for (int kind = EVENT_SUBMIT; kind < EVENT_KIND_MAX; kind++) {
        struct event event = { .kind = (enum event_kind)kind };
        const struct record_type *type = event_type(event.kind);
        if (!type || kind == EVENT_PLAN || kind == EVENT_FORGET || kind == EVENT_CHANGE ||
            kind == EVENT_RECEIPT || kind == EVENT_TOKEN || kind == EVENT_TOKEN_REMOVE ||
            kind == EVENT_AUDIT || kind == EVENT_SLACK || event_is_of_world(event.kind))
            continue;
        assert_int_equal(type->fields[0].offset, 0);
        assert_int_equal(type->fields[0].size, sizeof(uint64_t));
        event.hold.job = 77;
        assert_int_equal(event_job(&event), 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_survives_its_bytes),
        cmocka_unit_test(every_tag_is_used_once),
        cmocka_unit_test(missing_fields_read_as_nothing),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(every_job_event_names_its_job_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
