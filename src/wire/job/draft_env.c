/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a job: what its sender has, and what the layers of its document set. */
#include <errno.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/job/draft.h"

enum { ENV_NAME_MAX = 255 };

/* Put the layer's variables over those that are in merged. */
static int merge_env(const struct draft_source *source, const struct scope_layer *layer,
                     json_t *merged)
{
    const json_t *env = reader_get(layer->object, "env");
    const char *name;
    json_t *value;
    char buffer[READER_SCALAR_SIZE];

    if (!env)
        return 0;
    if (!json_is_object(env))
        return reader_fail(&layer->reader, -EINVAL, layer->object, "env",
                           "expected a map from name to value, not %s", reader_kind(env));
    const struct scope_layer inner = layer_inside(layer, "env");
    json_object_foreach((json_t *)(uintptr_t)env, name, value)
    {
        const char *given = variable_text(value, buffer);
        if (!variable_is_valid(name, ENV_NAME_MAX))
            return reader_fail(
                &inner.reader, -EINVAL, env, name,
                "not a valid name of a variable; expected 1 to %d letters, digits and '_'",
                ENV_NAME_MAX);
        if (!given)
            return reader_fail(&inner.reader, -EINVAL, env, name, "expected a string, not %s",
                               reader_kind(value));
        AUTO_FREE char *text = draft_substitute(source, &inner, name, given, SUBMISSION_STRING_MAX);
        if (!text)
            return -EINVAL;
        json_object_set_new(merged, name, json_string(text));
    }
    return 0;
}

static char **env_strings(const json_t *merged)
{
    char **strings = mem_zero(json_object_size(merged) + 1, sizeof(strings[0]));
    size_t count = 0;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)merged, name, value) strings[count++] =
        mem_printf("%s=%s", name, json_string_value(value));
    return strings;
}

int draft_read_own_env(const struct draft_source *source, char ***ret)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    json_t *own = json_object();

    int code = merge_env(source, layer, own);
    if (code == 0 && json_object_size(own) > 0)
        *ret = env_strings(own);
    json_decref(own);
    return code;
}

static char **names_of(const json_t *object)
{
    char **names = mem_zero(json_object_size(object) + 1, sizeof(names[0]));
    size_t count = 0;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, name, value) names[count++] = mem_string(name);
    return names;
}

int draft_read_env(const struct draft_key *key, struct job_draft *draft)
{
    static const char *const words[] = { "all", "none", NULL };
    const struct draft_source *source = key->source;
    size_t word = 0;

    int code = reader_word(key->reader, key->object, key->name, words, &word);
    if (code < 0)
        return code;
    json_t *own = json_object();
    json_t *merged = word == 0 && source->sender->env
                         ? json_copy((json_t *)(uintptr_t)source->sender->env)
                         : json_object();
    for (size_t i = source->scope->count; i > 0 && code == 0; i--)
        code = merge_env(source, &source->scope->layers[i - 1], own);
    json_object_update(merged, own);
    if (code == 0) {
        draft->env = env_strings(merged);
        draft->own = names_of(own);
    }
    json_decref(merged);
    json_decref(own);
    return code;
}

int draft_read_slurm(const struct draft_key *key, struct job_draft *draft)
{
    const char *name;
    json_t *value;

    if (!json_is_object(key->value))
        return key_fail(key, -EINVAL, "expected a map from name to text, not %s",
                        reader_kind(key->value));
    json_object_foreach((json_t *)(uintptr_t)key->value, name, value)
    {
        if (!string_starts(name, "SLURM_") || !variable_is_valid(name, ENV_NAME_MAX) ||
            !json_is_string(value))
            return key_fail(key, -EINVAL, "'%.60s': expected names like SLURM_NTASKS and texts",
                            name);
    }
    draft->slurm = env_strings(key->value);
    return 0;
}
