/* SPDX-License-Identifier: Apache-2.0 */
#include "api/contract/operation.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"

#define ALL             CALLERS_ALL, NULL
#define OWNER           CALLERS_OWNER, NULL
#define PROPOSERS       CALLERS_PROPOSERS, NULL
#define ADMINS(refusal) CALLERS_ADMINS, refusal
#define NO_QUERY
#define FLAG(key, meaning)             { key, QUERY_FLAG, 0, 1, "", meaning },
#define NUMBER(key, least, most, what) { key, QUERY_NUMBER, least, most, "", what },
#define WORDS(key, words, meaning)     { key, QUERY_WORDS, 0, 0, words, meaning },
#define TEXT(key, meaning)             { key, QUERY_TEXT, 0, 0, "", meaning },
#define NEEDED(key, meaning)           { key, QUERY_NEEDED, 0, 0, "", meaning },
#define HEADER(key, meaning)           { key, QUERY_HEADER, 0, 0, "", meaning },

const struct operation operations[] = {
#define ROUTE(METHOD, path, operation, handler, status, CONTENT, reply, body, callers, summary,    \
              query)                                                                               \
    { #METHOD, path, #operation, status,  CONTENT_##CONTENT,                                       \
      reply,   body, callers,    summary, (const struct query_key[]){ query{ .key = NULL } } },
#include "api/contract/routes.def"
};
const size_t operation_count = COUNT_OF(operations);

#undef NUMBER
#undef TEXT

const struct path_part path_parts[] = {
#define PATH(name, kind, meaning) { name, PATH_##kind, meaning },
#include "api/contract/routes.def"
    { .name = NULL },
};

const struct refusal_meaning refusal_meanings[] = {
#define REFUSAL(code, status, name, when) { status, name, when },
#define OTHER(status, name, when)         { status, name, when },
#include "api/contract/refusals.def"
    { .name = NULL },
};

const struct path_part *path_part_at(const char *path, const char **ret_end)
{
    const char *name = path + 1;
    size_t length = strcspn(name, "}");
    const struct path_part *part = path_parts;

    *ret_end = name + length + 1;
    while (strncmp(part->name, name, length) != 0 || part->name[length] != '\0') {
        part++;
        assert(part->name); /* routes.def has a row for each */
    }
    return part;
}

const struct query_key *operation_key(const struct operation *operation, const char *key)
{
    for (const struct query_key *at = operation->query; at->key; at++) {
        if (strcmp(at->key, key) == 0)
            return at;
    }
    return NULL;
}

const char *content_type(enum content content)
{
    static const char *const types[] = {
        [CONTENT_JSON] = "application/json",
        [CONTENT_TAGGED] = "application/json",
        [CONTENT_TEXT] = "text/plain; charset=utf-8",
        [CONTENT_EVENTS] = "text/event-stream",
        [CONTENT_METRICS] = "text/plain; version=0.0.4; charset=utf-8",
        [CONTENT_DESCRIPTOR] = NULL,
    };

    return types[content];
}

const char *callers_meaning(enum callers callers)
{
    static const char *const meanings[] = {
        [CALLERS_ALL] = "every user",
        [CALLERS_OWNER] = "the owner and administrators",
        [CALLERS_PROPOSERS] = "administrators; with `dry_run`, every user",
        [CALLERS_ADMINS] = "administrators",
    };

    return meanings[callers];
}
