/* SPDX-License-Identifier: Apache-2.0 */
/* config: the configuration in force, earlier ones, and the changes */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/list_view.h"
#include "cli/screen.h"
#include "cli/session.h"

enum { CONFIG_AT };

const struct option_entry options_config[] = {
    [CONFIG_AT] = { "at", 0, "N", "show: the configuration after change N" },
    { 0 },
};

/* A string that YAML would take for something else, or that has more than a name has. */
static void add_scalar(struct text *text, const json_t *value)
{
    static const char *const words[] = { "true", "false", "null", "yes", "no", "on", "off", "~" };
    const char *string = json_string_value(value);
    bool is_plain = string && string_is_name(string, 255) && strspn(string, "0123456789.") == 0 &&
                    string[0] != '@' && string[0] != '+' && string[0] != '-';

    for (size_t i = 0; is_plain && i < COUNT_OF(words); i++)
        is_plain = strcmp(string, words[i]) != 0;
    if (is_plain) {
        text_add(text, string);
        return;
    }
    AUTO_FREE char *bytes =
        json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    text_add(text, bytes ? bytes : "null");
}

/* Maps by lines, lists of what is no map in one; the depth is that of a configuration. */
static void add_yaml(struct text *text, json_t *value, int depth)
{
    const char *key;
    json_t *item;

    json_object_foreach(value, key, item)
    {
        text_printf(text, "%*s%s:", depth * 2, "", key);
        if (json_is_object(item) && json_object_size(item) > 0 && depth < 32) {
            text_add_char(text, '\n');
            add_yaml(text, item, depth + 1);
            continue;
        }
        text_add_char(text, ' ');
        add_scalar(text, item);
        text_add_char(text, '\n');
    }
}

static void print_config(json_t *config, bool is_json)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    if (is_json) {
        reply_print(config);
        return;
    }
    add_yaml(&text, config, 0);
    screen_put(stdout, text.length > 0 ? text.bytes : "{}\n");
}

static void cell_what(struct table *table, const json_t *change, const char *key)
{
    if (field_is_null(change, "undone"))
        table_add_text(table, field_text(change, key));
    else
        table_add_format(table, "back to before %" PRId64 ": %s", field_number(change, "undone"),
                         field_text(change, key));
}

static const struct list_column log_columns[] = {
    { "NR", TABLE_RIGHT, 0, cell_number, "number" },
    { "WHEN", TABLE_LEFT, 0, cell_clock, "at" },
    { "WHO", TABLE_LEFT, 0, cell_text, "user" },
    { "WHAT", TABLE_LEFT, 20, cell_what, "text" },
};
static const struct list_view log_view = {
    "/v1/config/changes",           "changes",   "number",
    "nothing has been changed yet", log_columns, COUNT_OF(log_columns),
};

int run_config(const struct options *options)
{
    const char *word = options->word_count == 1 ? options->words[0] : "";
    const char *at = options->values[CONFIG_AT];
    AUTO_RELEASE(text) struct text path = { 0 };
    AUTO(json) json_t *reply = NULL;

    if (strcmp(word, "log") == 0)
        return at ? usage_wrong("config", "--at is for tarn config show")
                  : list_ask(&log_view, options);
    if (strcmp(word, "show") != 0)
        return usage_wrong("config", "expected: tarn config show, or tarn config log");
    text_add(&path, "/v1/config");
    if (at)
        client_query_add(&path, "at", at);
    if (session_ask("GET", path.bytes, NULL, &reply) != 0)
        return 1;
    print_config(reply, options->is_json);
    return 0;
}
