/* SPDX-License-Identifier: Apache-2.0 */
/* audit: who changed what, and how */
#include <inttypes.h>
#include <string.h>

#include "cli/command.h"
#include "cli/list_view.h"
#include "io/net/client.h"

enum { LAST, USER, COUNT };

const struct option_entry options_audit[] = {
    [LAST] = { "last", 0, "TIME", "the time before now, default 7d" },
    [USER] = { "user", 'u', "NAME", "only changes of this user" },
    [COUNT] = { "count", 'n', "N", "at most N changes, default 200" },
    { 0 },
};

static void cell_by(struct table *table, const json_t *change, const char *key)
{
    if (field_is_null(change, "token"))
        table_add_text(table, field_text(change, key));
    else
        table_add_format(table, "token %" PRId64, field_number(change, "token"));
}

int run_audit(const struct options *options)
{
    static const struct list_column columns[] = {
        { "WHEN", TABLE_LEFT, 0, cell_clock, "at" },
        { "USER", TABLE_LEFT, 0, cell_text, "user" },
        { "BY", TABLE_LEFT, 0, cell_by, "by" },
        { "OPERATION", TABLE_LEFT, 0, cell_text, "operation" },
        { "REQUEST", TABLE_LEFT, 20, cell_text, "path" },
    };
    static const char *const keys[] = { [LAST] = "last", [USER] = "user", [COUNT] = "limit" };
    AUTO_RELEASE(text) struct text path = { 0 };

    text_add(&path, "/v1/audit");
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (options->values[i])
            client_query_add(&path, keys[i], options->values[i]);
    }
    const struct list_view view = { text_string(&path),    "changes", "path",
                                    "nothing was changed", columns,   COUNT_OF(columns) };
    return list_ask(&view, options);
}
