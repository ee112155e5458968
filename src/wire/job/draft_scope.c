/* SPDX-License-Identifier: Apache-2.0 */
/* Where a key of a draft is looked for, and the values of the matrix in its text. */
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
    return json_object_get(source->sender_env, name) != NULL;
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
                           "%zu bytes, at most %zu are taken", result.length, length_max);
    if (code == 0)
        return text_take(&result);
    text_release(&result);
    return NULL;
}
