/* SPDX-License-Identifier: Apache-2.0 */
/* when, why: estimates and explanations */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/screen.h"
#include "cli/select.h"
#include "wire/job/sbatch.h"

static void print_when(const json_t *when)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    const json_t *advice;
    size_t i;

    text_printf(&text, "%s\n", field_text(when, "text"));
    json_array_foreach(json_object_get(when, "sooner"), i, advice)
        text_printf(&text, "  %-8s%s\n", i == 0 ? "sooner" : "", field_text(advice, "text"));
    screen_put(stdout, text.bytes);
}

static void show_when(const json_t *when, bool is_json, bool is_quiet)
{
    if (is_json)
        reply_print(when);
    else if (is_quiet)
        printf("%s\n", field_text(json_object_get(when, "start"), "expected"));
    else
        print_when(when);
}

static int when_one(const struct each *each)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s/when", each->id);
    AUTO(json) json_t *when = NULL;
    struct error err;

    if (session_get(each->session, path, &when, &err) < 0)
        return complain(&err);
    show_when(when, each->options->is_json, each->options->is_quiet);
    return 0;
}

/* Options that ask for something, and no job: about one that might be submitted. */
static int when_like(struct sbatch *sbatch)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO(json) json_t *when = NULL;
    struct error err;

    int code = sbatch_finish(sbatch, &err);
    if (code == 0) {
        json_object_set_new(sbatch->job, "command", json_pack("[s]", "job"));
        json_object_set_new(sbatch->job, "sender_cwd", json_string("/"));
        code = session_open(&session, &err);
    }
    if (code == 0)
        code = session_send(&session, "POST", "/v1/when", sbatch->job, &when, &err);
    if (code < 0)
        return complain(&err);
    show_when(when, sbatch->is_json, sbatch->is_quiet);
    return 0;
}

/* Options of a job come before anything that is no option, and there is no number. */
static bool is_about_no_job(int argc, char **argv)
{
    static const char *const plain[] = { "--json", "-q", "--help", "-h" };
    bool has_more = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--socket") == 0) {
            i++;
            continue;
        }
        bool is_plain = string_starts(argv[i], "--socket=");
        for (size_t k = 0; k < COUNT_OF(plain); k++)
            is_plain |= strcmp(argv[i], plain[k]) == 0;
        if (!is_plain && argv[i][0] != '-')
            return has_more;
        has_more |= !is_plain;
    }
    return has_more;
}

/* With options instead of a number: those of submit, read by wire/job/sbatch.h. */
int run_when(const struct options *arguments)
{
    struct options options;
    struct sbatch sbatch;
    struct error err;
    int rest = arguments->argc, status;

    if (!is_about_no_job(arguments->argc, arguments->argv))
        return options_read(arguments->argc, arguments->argv, &options, &status)
                   ? each_id(&options, when_one)
                   : status;
    sbatch_init(&sbatch);
    status = 2;
    if (sbatch_parse_args(&sbatch, arguments->argc, arguments->argv, 1, &rest, &err) < 0)
        complain(&err);
    else if (rest < arguments->argc)
        usage_wrong("when", "'%s': expected the number of a job, or options of one",
                    arguments->argv[rest]);
    else {
        if (sbatch.socket)
            setenv("TARN_SOCKET", sbatch.socket, 1);
        status = when_like(&sbatch);
    }
    sbatch_release(&sbatch);
    return status;
}

/* ---- why ---- */

/* "job 7 waits for gpus", by the kind of src/core/job/why.def. */
static void add_headline(const json_t *why, struct text *text)
{
    static const struct {
        const char *kind, *words;
    } headlines[] = {
        { "held", "is held back" },
        { "needs", "waits for another job" },
        { "begin", "waits for its begin time" },
        { "new", "has just come and has not been looked at yet" },
        { "gpus", "waits for gpus" },
        { "cpus", "waits for cpus" },
        { "memory", "waits for memory" },
        { "quota", "waits for quota" },
        { "pool_max", "waits for room in its pool" },
        { "pool_min", "waits: what is free is kept for another pool" },
        { "array", "waits for other tasks of its array" },
        { "reserved", "waits behind a reservation" },
        { "turn", "waits for its turn in its queue" },
        { "behind", "waits for its turn" },
    };
    const char *kind = field_text(why, "kind"), *state = field_text(why, "state");

    if (strcmp(kind, "group") == 0) {
        text_add(text, field_text(why, "text"));
        return;
    }
    text_printf(text, "job %s ", field_text(why, "label"));
    for (size_t i = 0; i < COUNT_OF(headlines); i++) {
        if (strcmp(headlines[i].kind, kind) == 0) {
            text_add(text, headlines[i].words);
            return;
        }
    }
    if (string_starts(kind, "never"))
        text_printf(text, "can never run: %s", field_text(why, "meaning"));
    else if (strcmp(kind, "none") != 0 && kind[0])
        text_printf(text, "waits: %s", field_text(why, "meaning"));
    else if (strcmp(state, "ended") == 0)
        text_printf(text, "has ended; tarn show %s says how", field_text(why, "label"));
    else
        text_printf(text, "is %s: nothing keeps it", state);
}

static void print_why(const json_t *why)
{
    const json_t *lines = json_object_get(why, "lines"), *line;
    bool is_kept = strcmp(field_text(why, "kind"), "none") != 0;
    AUTO_RELEASE(text) struct text text = { 0 };
    size_t i;

    add_headline(why, &text);
    text_add_char(&text, '\n');
    json_array_foreach(is_kept ? lines : NULL, i, line)
        text_printf(&text, "  %s\n", json_string_value(line) ? json_string_value(line) : "");
    if (is_kept && json_array_size(lines) == 0 && strcmp(field_text(why, "kind"), "group") != 0)
        text_printf(&text, "  %s\n", field_text(why, "text"));
    screen_put(stdout, text.bytes);
}

static int why_one(const struct each *each)
{
    return each_print(each, "/why", "kind", print_why);
}

int run_why(const struct options *options)
{
    return each_id(options, why_one);
}
