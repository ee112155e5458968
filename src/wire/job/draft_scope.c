/* SPDX-License-Identifier: Apache-2.0 */
/* Where a key of a draft is looked for, how it is read, and the values of the matrix in its text.
 */
#include <errno.h>

#include "base/text.h"
#include "wire/job/draft.h"

const struct scope_layer *scope_find(const struct scope *scope, const char *key)
{
    for (size_t i = 0; i < scope->count; i++) {
        if (reader_get(scope->layers[i].object, key))
            return &scope->layers[i];
    }
    return &scope->layers[0];
}

/* A variable that the job will have, so that ${NAME} is no misspelt key of the matrix. */
static bool is_known_variable(void *user, const char *name)
{
    const struct draft_source *source = user;

    for (size_t i = 0; i < source->scope->count; i++) {
        if (json_object_get(reader_get(source->scope->layers[i].object, "env"), name))
            return true;
    }
    return json_object_get(source->sender->env, name) != NULL;
}

char *draft_substitute(const struct draft_source *source, const struct scope_layer *layer,
                       const char *key, const char *text, size_t length_max)
{
    struct text result = { 0 };

    int code = matrix_substitute(source->matrix, source->combination, text, is_known_variable,
                                 (void *)(uintptr_t)source, &result, layer->reader.err);
    if (code < 0)
        reader_place(&layer->reader, code, layer->object, key);
    else if (result.length > length_max)
        code = reader_fail(&layer->reader, -E2BIG, layer->object, key,
                           "%zu bytes, at most %zu are accepted", result.length, length_max);
    if (code == 0)
        return text_take(&result);
    text_release(&result);
    return NULL;
}

struct draft_key draft_key_of(const struct draft_source *source, const char *name)
{
    const struct scope_layer *layer = scope_find(source->scope, name);

    return (struct draft_key){ .source = source,
                               .layer = layer,
                               .reader = &layer->reader,
                               .object = layer->object,
                               .name = name,
                               .value = reader_get(layer->object, name) };
}

int draft_read_keys(const struct draft_source *source, const struct draft_row *rows, size_t count,
                    struct job_draft *draft)
{
    int code = 0;

    for (size_t i = 0; i < count && code == 0; i++) {
        struct draft_key key = draft_key_of(source, rows[i].name);
        char buffer[READER_SCALAR_SIZE];
        key.row = &rows[i];
        if (rows[i].expected && !(rows[i].may_be_map && json_is_object(key.value)))
            code = reader_scalar(key.reader, key.object, key.name, rows[i].expected, buffer,
                                 &key.text);
        if (code == 0 && (key.value || rows[i].is_always))
            code = rows[i].read(&key, draft);
    }
    return code;
}

struct scope_layer layer_inside(const struct scope_layer *layer, const char *name)
{
    return (struct scope_layer){ reader_inside(&layer->reader, name),
                                 reader_get(layer->object, name) };
}

int draft_read_map(const struct draft_key *key, const struct draft_row *rows, size_t count,
                   struct job_draft *draft)
{
    struct scope scope = { .layers = { layer_inside(key->layer, key->name) }, .count = 1 };
    struct draft_source source = *key->source;
    const char *names[8] = { 0 };

    source.scope = &scope;
    for (size_t i = 0; i < count; i++)
        names[i] = rows[i].name;
    int code = reader_check_keys(&scope.layers[0].reader, key->value, names);
    return code < 0 ? code : draft_read_keys(&source, rows, count, draft);
}

int key_check(const struct draft_key *key, int code)
{
    return code < 0 ? reader_place(key->reader, code, key->object, key->name) : 0;
}

/* ---- values that become one member ---- */

static void *member_of(const struct draft_key *key, struct job_draft *draft)
{
    return (char *)draft + key->row->offset;
}

int read_flag(const struct draft_key *key, struct job_draft *draft)
{
    return reader_bool(key->reader, key->object, key->name, member_of(key, draft));
}

int read_count(const struct draft_key *key, struct job_draft *draft)
{
    uint32_t *member = member_of(key, draft);
    int64_t count = *member;

    int code = reader_integer(key->reader, key->object, key->name, key->row->least, key->row->most,
                              &count);
    *member = (uint32_t)count;
    return code;
}

int read_duration(const struct draft_key *key, struct job_draft *draft)
{
    usec_t *member = member_of(key, draft);

    int code = reader_duration(key->reader, key->object, key->name, member);
    if (code == 0 && *member < key->row->least)
        return key_fail(key, -EINVAL, "%s", key->row->range);
    if (code == 0 && *member > key->row->most)
        return key_fail(key, -ERANGE, "%s", key->row->range);
    return code;
}

int read_text(const struct draft_key *key, struct job_draft *draft)
{
    char **member = member_of(key, draft);
    const char *text = NULL;

    int code = reader_string(key->reader, key->object, key->name, (size_t)key->row->most, &text);
    if (code < 0)
        return code;
    *member = draft_substitute(key->source, key->layer, key->name, text, (size_t)key->row->most);
    return *member ? 0 : -EINVAL;
}
