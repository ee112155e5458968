/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sbatch/sbatch_export.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/job/sbatch/sbatch_given.h"

/* Up to the next comma that is not in quotes; NULL: a quote is open. */
static char *next_export(char **rest)
{
    char *word = *rest, quote = '\0';
    char *s = word;

    for (; *s && (quote || *s != ','); s++) {
        if (*s == quote)
            quote = '\0';
        else if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
    }
    *rest = *s ? s + 1 : NULL;
    *s = '\0';
    return quote ? NULL : word;
}

/* 'NAME=VALUE' or NAME='VALUE': the quotes protect commas, and are no part of it. */
static char *without_quotes(char *word)
{
    size_t length = strlen(word);

    if (length < 2 || (*word != '\'' && *word != '"') || word[length - 1] != *word)
        return word;
    word[length - 1] = '\0';
    return word + 1;
}

/* "NAME=VALUE", or "NAME" with the value that it has here. */
static void add_export(json_t *env, char *word, bool has_all)
{
    char *equals = strchr(word, '=');
    const char *value = equals ? without_quotes(equals + 1) : has_all ? NULL : getenv(word);

    if (equals)
        *equals = '\0';
    if (value && !json_object_get(env, word))
        json_object_set_new(env, word, json_string(value));
}

/* "ALL", "NONE", "NAME=VALUE", "NAME", with commas. */
int sbatch_read_export(struct sbatch *sbatch, struct error *err)
{
    static const char *const words[] = { "ALL", "NONE", "NIL", NULL };
    const struct sbatch_given *option = given_find(sbatch, SBATCH_EXPORT);
    bool has_all = false;

    if (!option)
        return 0;
    json_t *env = json_object_get(sbatch->job, "env");
    if (!env) {
        env = json_object();
        json_object_set_new(sbatch->job, "env", env);
    }
    AUTO_FREE char *copy = mem_string(option->value);
    char *rest = copy;
    while (rest) {
        char *word = next_export(&rest);
        if (!word)
            return given_fail(option, err, "'%.60s': a quote is not closed", option->value);
        word = without_quotes(word);
        has_all |= strcmp(word, "ALL") == 0;
        if (*word == '=')
            return given_fail(option, err, "'%.60s': expected ALL, NONE, NAME or NAME=VALUE", word);
        if (!string_is_in(word, words))
            add_export(env, word, has_all);
    }
    if (!has_all)
        sbatch_set_string(sbatch, "export", "none");
    return 0;
}
