/* SPDX-License-Identifier: Apache-2.0 */
/* token: access tokens for the API over the network */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/list_view.h"
#include "cli/screen.h"
#include "cli/session.h"

enum { NAME, SCOPE, QUEUES, EXPIRES, USER, ALL };

const struct option_entry options_token[] = {
    [NAME] = { "name", 0, "NAME", "what it is for" },
    [SCOPE] = { "scope", 0, "SCOPE", "read, submit (default), queues or admin" },
    [QUEUES] = { "queues", 0, "NAMES", "only for jobs of these queues, separated by commas" },
    [EXPIRES] = { "expires", 0, "DURATION", "until it is invalid (default 90d, at most 366d)" },
    [USER] = { "user", 0, "USER", "for another user (only administrators)" },
    [ALL] = { "all", 'a', NULL, "list those of all users (only administrators)" },
    { 0 },
};

static void cell_used(struct table *table, const json_t *item, const char *key)
{
    if (field_is_null(item, key))
        table_add_text(table, "never");
    else
        cell_clock(table, item, key);
}

static void cell_expires(struct table *table, const json_t *item, const char *key)
{
    if (field_is_true(item, "expired"))
        table_add_text(table, "expired");
    else
        cell_clock(table, item, key);
}

static void cell_queues(struct table *table, const json_t *item, const char *key)
{
    const json_t *queues = json_object_get(item, key), *queue;
    AUTO_RELEASE(text) struct text names = { 0 };
    size_t i;

    json_array_foreach(queues, i, queue)
        text_printf(&names, "%s%s", i > 0 ? "," : "", value_text(queue));
    table_add_text(table, names.length > 0 ? text_string(&names) : "all");
}

static int list(const struct options *options)
{
    static const struct list_column columns[] = {
        { "ID", TABLE_RIGHT, 0, cell_number, "id" },
        { "NAME", TABLE_LEFT, 8, cell_text, "name" },
        { "USER", TABLE_LEFT, 0, cell_text, "user" },
        { "SCOPE", TABLE_LEFT, 0, cell_text, "scope" },
        { "QUEUES", TABLE_LEFT, 0, cell_queues, "queues" },
        { "USED", TABLE_LEFT, 0, cell_used, "used" },
        { "EXPIRES", TABLE_LEFT, 0, cell_expires, "expires" },
    };
    const struct list_view view = { options->values[ALL] ? "/v1/tokens?all=1" : "/v1/tokens",
                                    "tokens",
                                    "id",
                                    "no tokens",
                                    columns,
                                    COUNT_OF(columns) };

    return list_ask(&view, options);
}

static int create(const struct options *options)
{
    static const char *const keys[] = {
        [NAME] = "name", [SCOPE] = "scope", [EXPIRES] = "expires_in", [USER] = "user"
    };
    AUTO(json) json_t *body = json_object(), *reply = NULL;

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (keys[i] && options->values[i])
            json_object_set_new(body, keys[i], json_string(options->values[i]));
    }
    if (options->values[QUEUES])
        json_object_set_new(body, "queues", json_names(options->values[QUEUES]));
    if (session_ask("POST", "/v1/tokens", body, &reply) != 0)
        return 1;
    if (reply_is_shown(reply, field_text(reply, "token"), options))
        return 0;
    say("token %" PRId64 " (%s); it is not shown again:", field_number(reply, "id"),
        field_text(reply, "scope"));
    printf("%s\n", field_text(reply, "token"));
    return 0;
}

static int revoke_one(const struct options *options, const char *id)
{
    AUTO_FREE char *path = mem_printf("/v1/tokens/%s", id);
    AUTO(json) json_t *reply = NULL;

    if (id[0] == '\0' || id[strspn(id, "0123456789")] != '\0')
        return usage_wrong("token", "revoke '%s': expected the number of a token", id);
    if (session_ask("DELETE", path, NULL, &reply) != 0)
        return 1;
    if (!reply_is_shown(reply, id, options))
        printf("revoked token %s\n", id);
    return 0;
}

static int revoke_token(const struct options *options)
{
    int status = 0;

    if (options->word_count < 2)
        return usage_wrong("token", "revoke: expected the numbers of tokens");
    for (size_t i = 1; i < options->word_count; i++) {
        int code = revoke_one(options, options->words[i]);
        status = code > status ? code : status;
    }
    return status;
}

int run_token(const struct options *options)
{
    const char *verb = options->word_count > 0 ? options->words[0] : "list";

    if (strcmp(verb, "revoke") == 0)
        return revoke_token(options);
    if (options->word_count > 1)
        return usage_wrong("token", "%s: unexpected '%s'", verb, options->words[1]);
    if (strcmp(verb, "create") == 0)
        return create(options);
    if (strcmp(verb, "list") == 0)
        return list(options);
    return usage_wrong("token", "'%s': expected create, list or revoke", verb);
}
