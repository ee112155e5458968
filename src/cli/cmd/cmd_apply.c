/* SPDX-License-Identifier: Apache-2.0 */
/* apply, diff: a configuration put into force, or taken back, after a look at the difference;
 * config: the one in force, earlier ones, and the changes */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/list_view.h"
#include "cli/outlook_view.h"
#include "cli/replay_page.h"
#include "cli/screen.h"
#include "cli/send.h"

enum { APPLY_FILE, APPLY_DRY_RUN, APPLY_REPLAY, APPLY_REPORT, APPLY_YES, APPLY_UNDO };
enum { JOBS_SHOWN = 5 };

const struct option_entry options_apply[] = {
    [APPLY_FILE] = { "file", 'f', "FILE", "the configuration, in YAML; - is standard input" },
    [APPLY_DRY_RUN] = { "dry-run", 0, NULL, "only show what would change" },
    [APPLY_REPLAY] = { "replay", 0, "DAYS",
                       "first compare the last days (7d) under the old and the new configuration" },
    [APPLY_REPORT] = { "report", 0, "FILE", "also write that comparison as an HTML page" },
    [APPLY_YES] = { "yes", 'y', NULL, "do not ask for confirmation" },
    [APPLY_UNDO] = { "undo", 0, NULL, "undo the last change, or return to before change N" },
    { 0 },
};

struct applying {
    const char *path;   /* of the file; NULL: undo */
    char *last;         /* of the past to be replayed first, "7d"; NULL: none */
    const char *report; /* file for the comparison; NULL: none */
    const char *undo;   /* the number of a change; "": the last one */
    bool is_dry, is_agreed, is_json;
    json_t *document;
    json_t *outlook; /* the result of the replay */
    struct session session;
};

/* seen: of the reply that was shown; NULL: this one is only to look. */
static int ask_daemon(struct applying *applying, const json_t *seen, json_t **ret,
                      struct error *err)
{
    AUTO_RELEASE(text) struct text path = { 0 };

    text_add(&path, applying->path ? "/v1/config" : "/v1/config/undo");
    if (!applying->path && applying->undo[0])
        client_query_add(&path, "change", applying->undo);
    if (seen) {
        AUTO_FREE char *last = mem_printf("%" PRId64, field_number(seen, "last"));
        client_query_add(&path, "seen", last);
    } else
        client_query_add(&path, "dry_run", "1");
    return session_send(&applying->session, applying->path ? "PUT" : "POST", path.bytes,
                        applying->document, ret, err);
}

/* "teams.yaml: 3 changes", and each. */
static void print_changes(const struct applying *applying, const json_t *reply)
{
    const json_t *changes = json_object_get(reply, "changes"), *line;
    AUTO_RELEASE(text) struct text text = { 0 };
    size_t count = json_array_size(changes), i;

    if (applying->path)
        text_add(&text, applying->path);
    else
        text_printf(&text, "undo of change %" PRId64, field_number(reply, "undone"));
    if (count == 0)
        text_add(&text, ": nothing changes\n");
    else
        text_printf(&text, ": %zu change%s\n", count, count == 1 ? "" : "s");
    json_array_foreach(changes, i, line) text_printf(&text, "  %s\n", value_text(line));
    screen_put(stdout, text.bytes);
    fflush(stdout);
    json_array_foreach(json_object_get(reply, "warnings"), i, line)
        say("warning: %s", value_text(line));
}

/* Before the replay, whether the report can be written; after it, the page. */
static int write_report(const struct applying *applying, const json_t *changes, struct error *err)
{
    AUTO_RELEASE(text) struct text page = { 0 };

    if (applying->outlook)
        replay_page_format(applying->outlook, changes, applying->path, applying->last, &page);
    FILE *file = fopen(applying->report, applying->outlook ? "we" : "ae");
    if (!file)
        return error_set(err, -errno, "--report %s: %s", applying->report, strerror(errno));
    bool is_written = fwrite(text_string(&page), 1, page.length, file) == page.length;
    if (fclose(file) != 0 || !is_written)
        return error_set(err, -EIO, "--report %s: cannot be written", applying->report);
    return 0;
}

static int replay(struct applying *applying, struct error *err)
{
    usec_t before = clock_read(CLOCK_MONOTONIC);
    char buffer[UNITS_TEXT_SIZE];
    AUTO(json)
    json_t *body = json_pack("{s:O, s:s, s:i}", "config", applying->document, "last",
                             applying->last, "shown", applying->is_json ? 100 : JOBS_SHOWN);

    int code =
        session_send(&applying->session, "POST", "/v1/rehearsal", body, &applying->outlook, err);
    double seconds = (double)(clock_read(CLOCK_MONOTONIC) - before) / 1e6;
    if (code < 0 || applying->is_json)
        return code;
    const json_t *outlook = applying->outlook;
    usec_t grain = field_seconds(outlook, "grain_seconds");
    printf("last %s under it (%" PRId64 " jobs replayed in %.1f s%s%s):\n", applying->last,
           field_number(outlook, "job_count"), seconds, grain > 0 ? ", waits to within " : "",
           grain > 0 ? units_format_duration(buffer, grain) : "");
    if (field_number(outlook, "job_count") == 0)
        return 0;
    outlook_print_queues(outlook);
    printf("\n");
    outlook_print_jobs(outlook, JOBS_SHOWN, true);
    printf("%" PRId64 " jobs would have started sooner, %" PRId64 " later\n",
           field_number(outlook, "sooner"), field_number(outlook, "later"));
    if (field_number(outlook, "moved") > 0)
        printf("%" PRId64 " jobs of queues that it does not have went to default\n",
               field_number(outlook, "moved"));
    fflush(stdout);
    return 0;
}

/* Without a terminal there is no question. */
static bool is_agreed(void)
{
    char line[16];

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return true;
    fputs("apply? [y/N] ", stderr);
    fflush(stderr);
    return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

/* Returns 1 if the user declined. */
static int put(struct applying *applying, const json_t *seen, json_t **ret, struct error *err)
{
    if (!applying->is_agreed && !is_agreed()) {
        say("nothing was changed");
        return 1;
    }
    int code = ask_daemon(applying, seen, ret, err);
    if (code == 0)
        say("applied as change %" PRId64 "; tarn apply --undo reverts it",
            field_number(*ret, "number"));
    return code;
}

/* Returns 1 if the user declined. */
static int apply(struct applying *applying, struct error *err)
{
    AUTO(json) json_t *reply = NULL, *done = NULL;

    int code = applying->path ? config_file_read(applying->path, &applying->document, err) : 0;
    if (code == 0)
        code = session_open(&applying->session, err);
    if (code == 0)
        code = ask_daemon(applying, NULL, &reply, err);
    if (code == 0 && !applying->is_json)
        print_changes(applying, reply);
    bool has_changes = json_array_size(json_object_get(reply, "changes")) > 0;
    if (code == 0 && has_changes && applying->report)
        code = write_report(applying, NULL, err);
    if (code == 0 && has_changes && applying->last)
        code = replay(applying, err);
    if (code == 0 && applying->outlook && applying->report)
        code = write_report(applying, json_object_get(reply, "changes"), err);
    if (code == 0 && has_changes && !applying->is_dry)
        code = put(applying, reply, &done, err);
    if (code >= 0 && applying->is_json) {
        json_t *said = done ? done : reply;
        if (applying->outlook)
            json_object_set(said, "replay", applying->outlook);
        reply_print(said);
    }
    json_decref(applying->document);
    json_decref(applying->outlook);
    session_release(&applying->session);
    return code;
}

/* A number of days, or a duration like 36h. */
static bool read_last(struct applying *applying, const char *word)
{
    struct error err;
    usec_t last;

    if (!word)
        return true;
    applying->last =
        mem_printf("%s%s", word, strspn(word, "0123456789") == strlen(word) ? "d" : "");
    return units_parse_duration(applying->last, &last, &err) == 0 && last > 0;
}

/* The word that names the file, or with --undo the change. */
static int read_word(const struct options *options, struct applying *applying)
{
    const char *word = options->words[0];
    bool is_undo = options->values[APPLY_UNDO] != NULL;

    applying->path = options->values[APPLY_FILE];
    if (!read_last(applying, options->values[APPLY_REPLAY]))
        return usage_wrong("apply", "--replay %s: expected days, like 7d",
                           options->values[APPLY_REPLAY]);
    applying->report = options->values[APPLY_REPORT];
    if (applying->report && !applying->last)
        return usage_wrong("apply", "--report: expected --replay DAYS beside it");
    if (is_undo && applying->last)
        return usage_wrong("apply", "--undo and --replay: expected one of them");
    if (is_undo && applying->path)
        return usage_wrong("apply", "--undo and a file: expected one of them");
    if (options->word_count > (applying->path ? 0U : 1U))
        return usage_wrong("apply", "'%s': expected one %s", options->words[applying->path ? 0 : 1],
                           is_undo ? "change" : "file");
    if (is_undo) {
        applying->undo = word ? word : "";
        return 0;
    }
    if (!applying->path)
        applying->path = word;
    return applying->path ? 0 : usage_wrong("apply", "expected -f FILE, or --undo");
}

int run_apply(const struct options *options)
{
    struct applying applying = {
        .is_dry = options->values[APPLY_DRY_RUN] != NULL,
        .is_agreed = options->values[APPLY_YES] != NULL,
        .is_json = options->is_json,
    };
    struct error err;

    int status = read_word(options, &applying);
    int code = status == 0 ? apply(&applying, &err) : status;
    free(applying.last);
    return code < 0 ? complain(&err) : code;
}

enum { DIFF_FILE };

const struct option_entry options_diff[] = {
    [DIFF_FILE] = { "file", 'f', "FILE", "the file, as with apply" },
    { 0 },
};

int run_diff(const struct options *options)
{
    const char *path = options->values[DIFF_FILE];
    struct error err;

    if (options->word_count + (path != NULL) != 1)
        return usage_wrong("diff", "expected one file");
    struct applying applying = { .path = path ? path : options->words[0],
                                 .is_dry = true,
                                 .is_json = options->is_json };
    return apply(&applying, &err) < 0 ? complain(&err) : 0;
}

/* ---- config ---- */

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
    json_add_visible(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15), text);
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
    { "USER", TABLE_LEFT, 0, cell_text, "user" },
    { "CHANGE", TABLE_LEFT, 20, cell_what, "text" },
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
