/* SPDX-License-Identifier: Apache-2.0 */
/* apply, diff: a configuration put into force, or taken back, after a look at the difference */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/outlook_view.h"
#include "cli/screen.h"
#include "cli/send.h"

enum { APPLY_FILE, APPLY_DRY_RUN, APPLY_REPLAY, APPLY_YES, APPLY_UNDO };
enum { JOBS_SHOWN = 5 };

const struct option_entry options_apply[] = {
    [APPLY_FILE] = { "file", 'f', "FILE", "the configuration, in YAML; - is standard input" },
    [APPLY_DRY_RUN] = { "dry-run", 0, NULL, "only show what would change" },
    [APPLY_REPLAY] = { "replay", 0, "DAYS", "first compare the last days (7d) under both" },
    [APPLY_YES] = { "yes", 'y', NULL, "do not ask" },
    [APPLY_UNDO] = { "undo", 0, NULL, "restore the state before the last change, or change N" },
    { 0 },
};

struct applying {
    const char *path; /* of the file; NULL: undo */
    char *last;       /* of the past to be replayed first, "7d"; NULL: none */
    const char *undo; /* the number of a change; "": the last one */
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
    json_array_foreach(changes, i, line)
        text_printf(&text, "  %s\n", json_string_value(line) ? json_string_value(line) : "");
    screen_put(stdout, text.bytes);
    fflush(stdout);
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
        say("applied as change %" PRId64 "; tarn apply --undo takes it back",
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
    if (code == 0 && has_changes && applying->last)
        code = replay(applying, err);
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
    free(applying->last);
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
    if (status != 0)
        return status;
    int code = apply(&applying, &err);
    return code < 0 ? complain(&err) : code;
}

int run_diff(const struct options *options)
{
    struct error err;

    if (options->word_count != 1)
        return usage_wrong("diff", "expected one file");
    struct applying applying = { .path = options->words[0],
                                 .is_dry = true,
                                 .is_json = options->is_json };
    return apply(&applying, &err) < 0 ? complain(&err) : 0;
}
