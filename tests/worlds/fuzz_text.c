/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 64 };

/* Little-endian, as all machines we run on (daemon/replay.c reads them the same way). */
static int64_t load_number(const struct field *field, const char *at)
{
    uint64_t value = 0;
    unsigned shift = 64 - 8u * field->size;

    memcpy(&value, at, field->size);
    if (field->kind == FIELD_UINT)
        return (int64_t)value;
    return (int64_t)(value << shift) >> shift;
}

static void put_number(const struct field *field, const char *at, struct text *out)
{
    int64_t value = load_number(field, at);

    if (value == field->missing)
        return;
    if (field->kind == FIELD_UINT)
        text_printf(out, " %s=%" PRIu64, field->name, (uint64_t)value);
    else
        text_printf(out, " %s=%" PRId64, field->name, value);
}

static void put_items(const struct field *field, const char *object, struct text *out)
{
    const char *items = object + field->offset;
    uint32_t count;

    memcpy(&count, object + field->count_offset, sizeof(count));
    if (count == 0)
        return;
    if (!field->is_inside)
        memcpy(&items, object + field->offset, sizeof(items));
    text_printf(out, " %s=[", field->name);
    for (uint32_t i = 0; i < count; i++) {
        text_add(out, "{");
        fuzz_text_put(field->type, items + i * field->type->size, out);
        text_add(out, " }");
    }
    text_add(out, "]");
}

void fuzz_text_put(const struct record_type *type, const void *object, struct text *out)
{
    for (size_t i = 0; i < type->field_count; i++) {
        const struct field *field = &type->fields[i];
        const char *at = (const char *)object + field->offset, *string = at;
        switch ((enum field_kind)field->kind) {
        case FIELD_UINT:
        case FIELD_INT:
            put_number(field, at, out);
            break;
        case FIELD_TEXT:
            memcpy(&string, at, sizeof(string));
            if (string && string[0])
                text_printf(out, " %s='%s'", field->name, string);
            break;
        case FIELD_CHARS:
            if (string[0])
                text_printf(out, " %s='%s'", field->name, string);
            break;
        case FIELD_RECORD:
            text_printf(out, " %s={", field->name);
            fuzz_text_put(field->type, at, out);
            text_add(out, " }");
            break;
        case FIELD_RECORDS:
            put_items(field, object, out);
            break;
        }
    }
}

/* ---- back ---- */

static void skip_blanks(const char **at)
{
    while (**at == ' ' || **at == '\t')
        ++*at;
}

static const struct field *find_field(const struct record_type *type, const char *name,
                                      size_t length)
{
    for (size_t i = 0; i < type->field_count; i++) {
        if (strlen(type->fields[i].name) == length &&
            strncmp(type->fields[i].name, name, length) == 0)
            return &type->fields[i];
    }
    return NULL;
}

static int expect(const char **at, char c, const struct field *field, struct error *err)
{
    skip_blanks(at);
    if (**at != c)
        return error_set(err, -EBADMSG, "%s: '%.20s': expected '%c'", field->name, *at, c);
    ++*at;
    return 0;
}

static int get_number(const struct field *field, const char **at, char *to, struct error *err)
{
    char *end;

    errno = 0;
    uint64_t value =
        **at == '-' ? (uint64_t)strtoll(*at, &end, 10) : (uint64_t)strtoull(*at, &end, 10);
    if (end == *at || errno != 0)
        return error_set(err, -EBADMSG, "%s: '%.20s': expected a number", field->name, *at);
    *at = end;
    memcpy(to, &value, field->size);
    if (load_number(field, to) != (int64_t)value)
        return error_set(err, -EBADMSG, "%s: the number does not fit", field->name);
    return 0;
}

static int get_string(const struct field *field, const char **at, struct arena *arena, char *to,
                      struct error *err)
{
    int code = expect(at, '\'', field, err);
    if (code < 0)
        return code;
    size_t length = strcspn(*at, "'\n");
    if ((*at)[length] != '\'')
        return error_set(err, -EBADMSG, "%s: a text without its second '", field->name);
    if (field->kind == FIELD_CHARS && length >= field->size)
        return error_set(err, -EBADMSG, "%s: longer than %u bytes", field->name, field->size - 1u);
    const char *string = arena_string(arena, *at, length);
    if (field->kind == FIELD_CHARS)
        memcpy(to, string, length);
    else
        memcpy(to, &string, sizeof(string));
    *at += length + 1;
    return 0;
}

static int get_record(const struct field *field, const char **at, struct arena *arena, char *to,
                      struct error *err)
{
    int code = expect(at, '{', field, err);

    if (code == 0)
        code = fuzz_text_get(field->type, at, arena, to, err);
    return code < 0 ? code : expect(at, '}', field, err);
}

static int get_items(const struct field *field, const char **at, struct arena *arena, char *object,
                     struct error *err)
{
    uint32_t count = 0, most = ITEMS_MAX;
    char *items = object + field->offset;

    if (field->is_inside)
        most = field->size / (uint32_t)field->type->size;
    else
        items = arena_take(arena, ITEMS_MAX, field->type->size);
    int code = expect(at, '[', field, err);
    while (code == 0 && (skip_blanks(at), **at != ']')) {
        if (count == most)
            return error_set(err, -EBADMSG, "%s: more than %u", field->name, most);
        code = get_record(field, at, arena, items + count++ * field->type->size, err);
    }
    if (code < 0)
        return code;
    if (!field->is_inside)
        memcpy(object + field->offset, &items, sizeof(items));
    memcpy(object + field->count_offset, &count, sizeof(count));
    return expect(at, ']', field, err);
}

static int get_field(const struct field *field, const char **at, struct arena *arena, char *object,
                     struct error *err)
{
    char *to = object + field->offset;

    switch ((enum field_kind)field->kind) {
    case FIELD_UINT:
    case FIELD_INT:
        return get_number(field, at, to, err);
    case FIELD_TEXT:
    case FIELD_CHARS:
        return get_string(field, at, arena, to, err);
    case FIELD_RECORD:
        return get_record(field, at, arena, to, err);
    case FIELD_RECORDS:
        return get_items(field, at, arena, object, err);
    }
    return 0;
}

int fuzz_text_get(const struct record_type *type, const char **at, struct arena *arena,
                  void *object, struct error *err)
{
    record_clear(type, object);
    for (;;) {
        skip_blanks(at);
        if (**at == '\0' || **at == '}')
            return 0;
        size_t length = strcspn(*at, "= {}[]'");
        const struct field *field = find_field(type, *at, length);
        if (!field || (*at)[length] != '=')
            return error_set(err, -EBADMSG, "%s: '%.*s': no such field", type->name,
                             (int)(length < 40 ? length : 40), *at);
        *at += length + 1;
        int code = get_field(field, at, arena, object, err);
        if (code < 0)
            return error_prefix(err, code, "%s", type->name);
    }
}
