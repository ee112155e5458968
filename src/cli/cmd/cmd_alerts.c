/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/list_view.h"
#include "cli/screen.h"
#include "cli/session.h"

enum { ALL, OF, FOR, COMMENT };

const struct option_entry options_alerts[] = {
    [ALL] = { "all", 'a', NULL, "every alert" },
    [OF] = { "of", 0, "SUBJECT",
             "only for a GPU (UUID or number), job:7, node:NAME, file:NAME, queue:NAME:money or "
             "queue:NAME:USER:money" },
    [FOR] = { "for", 0, "TIME", "duration of the silence" },
    [COMMENT] = { "comment", 0, "WORDS", "the reason" },
    { 0 },
};

/* ---- what is wrong ---- */

/* Why the alert is not sent; "" if it is. */
static void add_fate(const json_t *alert, struct text *text)
{
    const json_t *silence = json_object_get(alert, "silence");
    char until[CLOCK_SIZE];

    if (json_is_object(silence))
        text_printf(text, "silenced until %s · ",
                    clock_format(until, field_time(silence, "until")));
    else if (field_is_true(alert, "silenced"))
        text_add(text, "silenced by the configuration · ");
    else if (field_is_true(alert, "over"))
        text_add(text, "ending · ");
}

static void cell_severity(struct table *table, const json_t *alert, const char *key)
{
    const char *severity = field_text(alert, key);

    table_add_text(table, severity);
    table_style(table, strcmp(severity, "critical") == 0 ? TABLE_BAD : TABLE_WAITS);
}

static void cell_place(struct table *table, const json_t *alert, const char *key)
{
    if (!field_is_null(alert, "job"))
        table_add_format(table, "job %" PRId64 " of %s", field_number(alert, "job"),
                         field_text(alert, "user"));
    else if (!field_is_null(alert, "gpu"))
        table_add_format(table, "gpu %" PRId64 " of %s", field_number(alert, "gpu"),
                         field_text(alert, "node"));
    else
        table_add_text(table, field_text(alert, key));
}

static void cell_words(struct table *table, const json_t *alert, const char *key)
{
    AUTO_RELEASE(text) struct text words = { 0 };

    add_fate(alert, &words);
    text_add(&words, field_text(alert, key));
    table_add_text(table, text_string(&words));
}

static void print_silences(const json_t *silences)
{
    const json_t *silence;
    size_t i;

    json_array_foreach(silences, i, silence)
    {
        AUTO_RELEASE(text) struct text line = { 0 };
        const char *subject = field_text(silence, "subject"), *name = field_text(silence, "name");
        char until[CLOCK_SIZE];
        text_printf(&line, "silenced until %s: %s%s%s",
                    clock_format(until, field_time(silence, "until")),
                    strcmp(name, "*") == 0 ? "all" : name, strcmp(subject, "*") == 0 ? "" : " of ",
                    strcmp(subject, "*") == 0 ? "" : subject);
        text_printf(&line, " (%s%s%s)", field_text(silence, "by"),
                    field_is_null(silence, "comment") ? "" : ": ", field_text(silence, "comment"));
        talk("%s", text_string(&line));
    }
}

static int list(const struct options *options)
{
    static const struct list_column columns[] = {
        { "ALERT", TABLE_LEFT, 0, cell_text, "name" },
        { "SEVERITY", TABLE_LEFT, 0, cell_severity, "severity" },
        { "SINCE", TABLE_LEFT, 0, cell_clock, "since" },
        { "OF", TABLE_LEFT, 0, cell_place, "subject" },
        { "WHAT", TABLE_LEFT, 10, cell_words, "words" },
    };
    static const struct list_view view = {
        .key = "alerts", .none = "no problems", .columns = columns, .count = COUNT_OF(columns)
    };
    AUTO(json) json_t *reply = NULL;
    const json_t *alert;
    size_t i;

    if (session_ask("GET", "/v1/alerts", NULL, &reply) != 0)
        return 1;
    if (options->is_quiet && !options->is_json) {
        json_array_foreach(json_object_get(reply, "alerts"), i, alert)
            printf("%s %s\n", field_text(alert, "name"), field_text(alert, "subject"));
        return 0;
    }
    list_show(&view, reply, options);
    if (!options->is_json)
        print_silences(json_object_get(reply, "silences"));
    return 0;
}

/* ---- silence ---- */

static int silence(const struct options *options, const char *name)
{
    const char *of = options->values[OF], *comment = options->values[COMMENT];
    AUTO(json) json_t *reply = NULL;

    AUTO(json)
    json_t *body = json_pack("{s:s, s:s, s:s, s:s*}", "name", name, "subject", of ? of : "*", "for",
                             options->values[FOR], "comment", comment);
    if (!body) {
        say("alerts: expected words that are UTF-8");
        return 1;
    }
    if (session_ask("POST", "/v1/alerts/silences", body, &reply) != 0)
        return 1;
    char until[CLOCK_SIZE];
    if (options->is_json)
        reply_print(reply);
    else
        talk("silenced until %s · tarn alerts unsilence %s ends it",
             clock_format(until, field_time(json_object_get(reply, "silence"), "until")),
             strcmp(name, "*") == 0 ? "--all" : name);
    return 0;
}

/* "*" is a name, too: the silence of --all. */
static int unsilence(const struct options *options, const char *name)
{
    AUTO_RELEASE(text) struct text path = { 0 };
    AUTO(json) json_t *reply = NULL;

    text_add(&path, "/v1/alerts/silences");
    if (name)
        client_query_add(&path, "name", name);
    if (options->values[OF])
        client_query_add(&path, "subject", options->values[OF]);
    if (session_ask("DELETE", text_string(&path), NULL, &reply) != 0)
        return 1;
    long long count = field_number(reply, "removed");
    if (options->is_json)
        reply_print(reply);
    else
        talk("%lld silence%s ended", count, count == 1 ? "" : "s");
    return 0;
}

static int change(const struct options *options)
{
    const char *verb = options->words[0];
    const char *name = options->word_count > 1 ? options->words[1] : NULL;
    bool is_all = options->values[ALL] != NULL;

    if (strcmp(verb, "silence") != 0 && strcmp(verb, "unsilence") != 0)
        return usage_wrong("alerts", "'%s': expected silence or unsilence", verb);
    if (options->word_count > 2 || (name != NULL) == is_all)
        return usage_wrong("alerts", "%s: expected the name of one alert, or --all", verb);
    if (strcmp(verb, "unsilence") == 0)
        return unsilence(options, name);
    if (!options->values[FOR])
        return usage_wrong("alerts", "silence: expected a duration, like --for 2h");
    return silence(options, is_all ? "*" : name);
}

int run_alerts(const struct options *options)
{
    return options->word_count > 0 ? change(options) : list(options);
}
