/* SPDX-License-Identifier: Apache-2.0 */
#include "base/record.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { FORM_UINT, FORM_INT, FORM_BYTES, FORM_RECORD };

enum { LIST_MAX = 1 << 20, NESTING_MAX = 4 };

void record_put_varint(struct text *out, uint64_t value)
{
    char bytes[10];
    size_t length = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (char)(value | 0x80);
    bytes[length++] = (char)value;
    text_add_bytes(out, bytes, length);
}

size_t record_get_varint(const void *bytes, size_t length, uint64_t *ret)
{
    const unsigned char *s = bytes;
    uint64_t value = 0;

    for (size_t i = 0; i < length && i < 10; i++) {
        value |= (uint64_t)(s[i] & 0x7f) << (7 * i);
        if (!(s[i] & 0x80)) {
            *ret = value;
            return i + 1;
        }
    }
    return 0;
}

/* Members of structs are aligned. */
uint64_t record_load(const void *at, size_t size)
{
    switch (size) {
    case 1:
        return *(const uint8_t *)at;
    case 2:
        return *(const uint16_t *)at;
    case 4:
        return *(const uint32_t *)at;
    default:
        assert(size == 8);
        return *(const uint64_t *)at;
    }
}

void record_store(void *at, size_t size, uint64_t value)
{
    assert(size == 1 || size == 2 || size == 4 || size == 8);
    if (size == 1)
        *(uint8_t *)at = (uint8_t)value;
    else if (size == 2)
        *(uint16_t *)at = (uint16_t)value;
    else if (size == 4)
        *(uint32_t *)at = (uint32_t)value;
    else
        *(uint64_t *)at = value;
}

/* The bits of a signed member of any size, sign-extended to 64. */
static int64_t load_signed(const void *at, size_t size)
{
    unsigned shift = (unsigned)(64 - 8 * size);
    uint64_t bits = record_load(at, size) << shift;
    int64_t value;

    memcpy(&value, &bits, sizeof(value));
    return value / ((int64_t)1 << shift);
}

static uint64_t zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t value)
{
    uint64_t bits = (value >> 1) ^ ((value & 1) ? UINT64_MAX : 0);
    int64_t result;

    memcpy(&result, &bits, sizeof(result));
    return result;
}

/* A stored 0 reads as missing; the writer never stores one. */
static int64_t unbiased(const struct field *field, int64_t value)
{
    return field->plus > 0 && value == 0 ? field->missing : value - field->plus;
}

static void put_key(struct text *out, const struct field *field, unsigned form)
{
    record_put_varint(out, (uint64_t)field->tag << 2 | form);
}

static void put_bytes(struct text *out, const struct field *field, const char *string,
                      size_t length)
{
    if (length == 0)
        return;
    put_key(out, field, FORM_BYTES);
    record_put_varint(out, length);
    text_add_bytes(out, string, length);
}

static void put_record(struct text *out, const struct field *field, const void *object,
                       bool even_empty)
{
    struct text inner = { 0 };

    record_encode(field->type, object, &inner);
    if (inner.length > 0 || even_empty) {
        put_key(out, field, FORM_RECORD);
        record_put_varint(out, inner.length);
        text_add_bytes(out, inner.bytes, inner.length);
    }
    text_release(&inner);
}

static void put_field(struct text *out, const struct field *field, const char *object)
{
    const char *at = object + field->offset;
    const char *items = at;
    uint32_t count;

    switch ((enum field_kind)field->kind) {
    case FIELD_UINT: {
        uint64_t value = record_load(at, field->size);
        if (value != 0) {
            put_key(out, field, FORM_UINT);
            record_put_varint(out, value);
        }
        return;
    }
    case FIELD_INT: {
        int64_t value = load_signed(at, field->size);
        if (value != field->missing) {
            put_key(out, field, FORM_INT);
            record_put_varint(out, zigzag(value + field->plus));
        }
        return;
    }
    case FIELD_TEXT: {
        const char *string;
        memcpy(&string, at, sizeof(string));
        put_bytes(out, field, string, string ? strlen(string) : 0);
        return;
    }
    case FIELD_CHARS:
        put_bytes(out, field, at, strnlen(at, field->size));
        return;
    case FIELD_RECORD:
        put_record(out, field, at, false);
        return;
    case FIELD_RECORDS:
        memcpy(&count, object + field->count_offset, sizeof(count));
        if (!field->is_inside)
            memcpy(&items, at, sizeof(items));
        for (uint32_t i = 0; i < count; i++)
            put_record(out, field, items + i * field->type->size, true);
        return;
    }
}

void record_encode(const struct record_type *type, const void *object, struct text *out)
{
    for (size_t i = 0; i < type->field_count; i++)
        put_field(out, &type->fields[i], object);
}

static const struct field *find_field(const struct record_type *type, uint64_t tag, size_t *guess)
{
    /* Fields come in the order of the table, so the next one is nearly always it. */
    for (size_t i = 0; i < type->field_count; i++) {
        const struct field *field = &type->fields[(*guess + i) % type->field_count];
        if (field->tag == tag) {
            *guess = (size_t)(field - type->fields);
            return field;
        }
    }
    return NULL;
}

/* What is not zero when it is missing; also of the records inside, which may be missing whole. */
static void set_missing(const struct record_type *type, char *object)
{
    static const char *const empty = "";

    for (size_t i = 0; i < type->field_count; i++) {
        const struct field *field = &type->fields[i];
        if (field->kind == FIELD_TEXT)
            memcpy(object + field->offset, &empty, sizeof(empty));
        else if (field->kind == FIELD_RECORD)
            set_missing(field->type, object + field->offset);
        else if (field->missing != 0)
            record_store(object + field->offset, field->size, (uint64_t)field->missing);
    }
}

void record_clear(const struct record_type *type, void *object)
{
    memset(object, 0, type->size);
    set_missing(type, object);
}

static int decode(const struct record_type *type, const char *s, size_t length, struct arena *arena,
                  void *object, int depth, struct error *err);

static int take_list_item(const struct field *field, const char *s, size_t length,
                          struct arena *arena, char *object, int depth, struct error *err)
{
    uint32_t count;
    size_t size = field->type->size;
    char *items = object + field->offset;

    memcpy(&count, object + field->count_offset, sizeof(count));
    if (field->is_inside ? (count + 1) * size > field->size : count >= LIST_MAX)
        return error_set(err, -EBADMSG, "record %s: too many of %s", field->type->name,
                         field->name);
    if (!field->is_inside) {
        memcpy(&items, object + field->offset, sizeof(items));
        /* Grown at 1, 2, 4, 8 ...; what is left behind goes with the arena. */
        if ((count & (count - 1)) == 0) {
            char *more = arena_take(arena, count ? (size_t)count * 2 : 1, size);
            if (count > 0)
                memcpy(more, items, count * size);
            items = more;
            memcpy(object + field->offset, &items, sizeof(items));
        }
    }
    int code = decode(field->type, s, length, arena, items + count * size, depth + 1, err);
    count++;
    memcpy(object + field->count_offset, &count, sizeof(count));
    return code;
}

static int take_bytes(const struct field *field, const char *s, size_t length, unsigned form,
                      struct arena *arena, char *object, int depth, struct error *err)
{
    char *at = object + field->offset;

    switch ((enum field_kind)field->kind) {
    case FIELD_TEXT:
        if (form == FORM_BYTES) {
            const char *string = arena_string(arena, s, length);
            memcpy(at, &string, sizeof(string));
        }
        return 0;
    case FIELD_CHARS:
        if (form == FORM_BYTES && length < field->size)
            memcpy(at, s, length);
        return 0;
    case FIELD_RECORD:
        return form == FORM_RECORD ? decode(field->type, s, length, arena, at, depth + 1, err) : 0;
    case FIELD_RECORDS:
        return form == FORM_RECORD ? take_list_item(field, s, length, arena, object, depth, err)
                                   : 0;
    case FIELD_UINT:
    case FIELD_INT:
        return 0;
    }
    return 0;
}

static int decode(const struct record_type *type, const char *s, size_t length, struct arena *arena,
                  void *object, int depth, struct error *err)
{
    const char *end = s + length;
    size_t guess = 0;

    if (depth > NESTING_MAX)
        return error_set(err, -EBADMSG, "record %s: nested too deep", type->name);
    set_missing(type, object);
    while (s < end) {
        uint64_t key, value;

        size_t used = record_get_varint(s, (size_t)(end - s), &key);
        size_t used2 = used ? record_get_varint(s + used, (size_t)(end - s) - used, &value) : 0;
        if (used2 == 0)
            return error_set(err, -EBADMSG, "record %s: cut short", type->name);
        s += used + used2;

        unsigned form = key & 3;
        const struct field *field = find_field(type, key >> 2, &guess);
        if (form == FORM_UINT || form == FORM_INT) {
            if (field && field->kind == FIELD_UINT && form == FORM_UINT)
                record_store((char *)object + field->offset, field->size,
                             field->is_bool ? value != 0 : value);
            else if (field && field->kind == FIELD_INT && form == FORM_INT)
                record_store((char *)object + field->offset, field->size,
                             (uint64_t)unbiased(field, unzigzag(value)));
            continue;
        }
        if (value > (size_t)(end - s))
            return error_set(err, -EBADMSG, "record %s: cut short", type->name);
        if (field) {
            int code = take_bytes(field, s, (size_t)value, form, arena, object, depth, err);
            if (code < 0)
                return code;
        }
        s += value;
    }
    return 0;
}

int record_decode(const struct record_type *type, const void *bytes, size_t length,
                  struct arena *arena, void *ret_object, struct error *err)
{
    memset(ret_object, 0, type->size);
    return decode(type, bytes, length, arena, ret_object, 0, err);
}

void record_own(const struct record_type *type, void *object)
{
    for (size_t i = 0; i < type->field_count; i++) {
        char **text = (char **)(void *)((char *)object + type->fields[i].offset);
        if (type->fields[i].kind == FIELD_TEXT)
            *text = mem_string(*text ? *text : "");
    }
}

void record_release(const struct record_type *type, void *object)
{
    for (size_t i = 0; i < type->field_count; i++) {
        if (type->fields[i].kind == FIELD_TEXT)
            free(*(char **)(void *)((char *)object + type->fields[i].offset));
    }
}
