/* SPDX-License-Identifier: Apache-2.0 */
/* config: the configuration in force, earlier ones, and the changes */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/fields.h"
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
    char *bytes = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    text_add(text, bytes ? bytes : "null");
    free(bytes);
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

static void add_change(struct table *table, const json_t *change)
{
    char at[CLOCK_SIZE];

    table_start_row(table);
    table_add_number(table, field_number(change, "number"));
    table_add_text(table, clock_format(at, field_time(change, "at")));
    table_add_text(table, field_text(change, "user"));
    if (field_is_null(change, "undone"))
        table_add_text(table, field_text(change, "text"));
    else
        table_add_format(table, "back to before %" PRId64 ": %s", field_number(change, "undone"),
                         field_text(change, "text"));
}

static void print_log(const json_t *reply, const struct options *options)
{
    static const struct table_column columns[] = {
        { "NR", TABLE_RIGHT, 0 },
        { "WHEN", TABLE_LEFT, 0 },
        { "WHO", TABLE_LEFT, 0 },
        { "WHAT", TABLE_LEFT, 20 },
    };
    const json_t *changes = json_object_get(reply, "changes"), *change;
    size_t i;

    if (options->is_json) {
        reply_print(reply);
        return;
    }
    AUTO(table) struct table *table = table_create(columns, COUNT_OF(columns));
    json_array_foreach(changes, i, change)
    {
        if (options->is_quiet)
            printf("%" PRId64 "\n", field_number(change, "number"));
        else
            add_change(table, change);
    }
    if (options->is_quiet)
        return;
    if (table_row_count(table) == 0)
        talk("nothing has been changed yet");
    else
        screen_table(table);
}

static int read_path(const struct options *options, struct text *path)
{
    const char *word = options->word_count == 1 ? options->words[0] : "";
    const char *at = options->values[CONFIG_AT];

    if (strcmp(word, "log") == 0) {
        if (at)
            return usage_wrong("config", "--at is for tarn config show");
        text_add(path, "/v1/config/changes");
        return 0;
    }
    if (strcmp(word, "show") != 0)
        return usage_wrong("config", "expected: tarn config show, or tarn config log");
    text_add(path, "/v1/config");
    if (at)
        client_query_add(path, "at", at);
    return 0;
}

int run_config(int argc, char **argv)
{
    AUTO_RELEASE(text) struct text path = { 0 };
    struct options options;
    AUTO(json) json_t *reply = NULL;
    int status;

    if (!options_read(argc, argv, &options, &status))
        return status;
    status = read_path(&options, &path);
    if (status != 0)
        return status;
    if (session_ask("GET", path.bytes, NULL, &reply) != 0)
        return 1;
    if (strcmp(options.words[0], "log") == 0)
        print_log(reply, &options);
    else
        print_config(reply, options.is_json);
    return 0;
}
