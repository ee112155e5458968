/* SPDX-License-Identifier: Apache-2.0 */
/* when, why, whatif: estimates and explanations */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/job_view.h"
#include "cli/outlook_view.h"
#include "cli/screen.h"
#include "cli/select.h"
#include "cli/send.h"
#include "wire/whatif_request.h"

static void print_when(const json_t *when)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    const json_t *advice;
    size_t i;

    text_printf(&text, "%s\n", field_text(when, "text"));
    json_array_foreach(json_object_get(when, "sooner"), i, advice)
        text_printf(&text, "  %-8s%s\n", i == 0 ? "sooner" : "", field_text(advice, "text"));
    screen_prose(stdout, text.bytes);
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

static int ask_when(const struct sbatch *sbatch, const json_t *job)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO(json) json_t *when = NULL;
    struct error err;

    int code = session_open(&session, &err);
    if (code == 0)
        code = session_send(&session, "POST", "/v1/when", job, &when, &err);
    if (code < 0)
        return complain(&err);
    show_when(when, sbatch->is_json, sbatch->is_quiet);
    return 0;
}

/* Options that ask for something, and no job: about one that might be submitted. */
static int when_like(struct sbatch *sbatch)
{
    struct error err;

    if (sbatch_finish(sbatch, &err) < 0)
        return complain(&err);
    json_object_set_new(sbatch->job, "command", json_pack("[s]", "job"));
    json_object_set_new(sbatch->job, "sender_cwd", json_string("/"));
    return ask_when(sbatch, sbatch->job);
}

/* A file, a script or a command: about the job that tarn submit would make of it. */
static int when_sent(int argc, char **argv)
{
    AUTO_RELEASE(sending) struct sending sending;
    struct error err;

    if (sending_read(&sending, argc, argv, &err) < 0) {
        complain(&err);
        return sending.is_usage ? 2 : 1;
    }
    return ask_when(&sending.sbatch, sending.document);
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

/* With options instead of a number: those of submit, with what would be submitted or without. */
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
    else if (sbatch.file || sbatch.wrap || rest < arguments->argc)
        status = when_sent(arguments->argc, arguments->argv);
    else {
        if (sbatch.socket)
            use_socket(sbatch.socket);
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
        { "held", "is held" },
        { "needs", "waits for another job" },
        { "begin", "waits for its begin time" },
        { "new", "is new: the scheduler has not considered it yet" },
        { "gpus", "waits for gpus" },
        { "cpus", "waits for cpus" },
        { "memory", "waits for memory" },
        { "quota", "waits for quota" },
        { "pool_max", "waits for room in its pool" },
        { "pool_min", "waits: the free resources are kept for another pool" },
        { "array", "waits for other tasks of its array" },
        { "reserved", "waits: it would delay a job in front of it" },
        { "turn", "waits: the rest of its queue's limit is kept for a job in front of it" },
        { "behind", "waits behind another job" },
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
    if (string_starts(kind, "never") && !string_starts(field_text(why, "text"), "can never run"))
        text_add(text, "waits: the nodes of the cluster are not known yet");
    else if (string_starts(kind, "never"))
        text_printf(text, "can never run: %s", field_text(why, "meaning"));
    else if (strcmp(kind, "none") != 0 && kind[0])
        text_printf(text, "waits: %s", field_text(why, "meaning"));
    else
        text_printf(text, "is %s: it does not wait", state);
}

static void print_why(const json_t *why)
{
    const json_t *lines = json_object_get(why, "lines"), *line;
    bool is_kept = strcmp(field_text(why, "kind"), "none") != 0;
    AUTO_RELEASE(text) struct text text = { 0 };
    size_t i;

    add_headline(why, &text);
    text_add_char(&text, '\n');
    bool has_run = strcmp(field_text(why, "state"), "queued") != 0;
    json_array_foreach(is_kept || has_run ? lines : NULL, i, line)
        text_printf(&text, "  %s\n", value_text(line));
    if (is_kept && json_array_size(lines) == 0 && strcmp(field_text(why, "kind"), "group") != 0)
        text_printf(&text, "  %s\n", field_text(why, "text"));
    screen_prose(stdout, text.bytes);
}

/* Of an ended job the question is why it ended. */
static int tell_end(const struct each *each)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s", each->id);
    AUTO(json) json_t *job = NULL;
    char clock[CLOCK_SIZE];
    struct error err;

    if (session_get(each->session, path, &job, &err) < 0)
        return complain(&err);
    job_end_add(job, &text);
    text_printf(&text, "\n  ended     %s", clock_format(clock, field_time(job, "ended")));
    if (field_number(job, "attempt") > 1)
        text_printf(&text, " in attempt %" PRId64, field_number(job, "attempt"));
    if (!field_is_null(job, "cancelled_by"))
        text_printf(&text, "\n  cancelled by %s", field_text(job, "cancelled_by"));
    if (strcmp(field_text(job, "result"), "ok") != 0)
        text_printf(&text, "\n  output    tarn logs %s --tail 20", each->id);
    text_add_char(&text, '\n');
    screen_prose(stdout, text.bytes);
    return 0;
}

enum { BAD_TOLD = 5 };

/* The jobs of an array or a pipeline that went wrong by themselves; those that needed them were
 * cancelled. */
static int tell_bad(const struct each *each)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO_FREE char *path =
        mem_printf("/v1/jobs?all=1&group=%s&state=failed,timeout,out_of_memory,lost&limit=%d",
                   each->id, BAD_TOLD);
    AUTO(json) json_t *page = NULL;
    const json_t *job;
    struct error err;
    size_t i;

    if (session_get(each->session, path, &page, &err) < 0)
        return complain(&err);
    json_array_foreach(json_object_get(page, "jobs"), i, job)
    {
        text_add(&text, "  ");
        job_end_add(job, &text);
        text_printf(&text, " · tarn logs %s\n", field_text(job, "label"));
    }
    if (!field_is_null(page, "next"))
        text_printf(&text, "  tarn ls -a --group %s lists more\n", each->id);
    screen_prose(stdout, text_string(&text));
    return 0;
}

static int why_one(const struct each *each)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s/why", each->id);
    AUTO(json) json_t *why = NULL;
    struct error err;

    if (session_get(each->session, path, &why, &err) < 0)
        return complain(&err);
    if (reply_is_shown(why, field_text(why, "kind"), each->options))
        return 0;
    if (strcmp(field_text(why, "kind"), "group") != 0 &&
        strcmp(field_text(why, "state"), "ended") == 0)
        return tell_end(each);
    print_why(why);
    return strcmp(field_text(why, "kind"), "group") == 0 ? tell_bad(each) : 0;
}

int run_why(const struct options *options)
{
    return each_id(options, why_one);
}

/* ---- whatif: starts under a hypothetical change; changes nothing ---- */

enum { ADD_NODES, DRAIN, REMOVE, SUBMIT, CANCEL, SET, CONFIG_FILE, COUNT };

const struct option_entry options_whatif[] = {
    [ADD_NODES] = { "add-nodes", 0, "N:MODEL:GPUS[:spot]", "add N nodes: 2:h100:8" },
    [DRAIN] = { "drain", 0, "NODE", "drain a node" },
    [REMOVE] = { "remove", 0, "NODE", "remove a node; its running jobs are lost" },
    [SUBMIT] = { "submit", 0, "FILE", "submit this job file or script" },
    [CANCEL] = { "cancel", 0, "ID", "cancel this job, array or pipeline" },
    [SET] = { "set", 0, "KEY=VALUE", "change a key of the configuration: order=fifo" },
    [CONFIG_FILE] = { "file", 'f', "FILE", "use this configuration" },
    [COUNT] = { "count", 'n', "N", "show at most N jobs" },
    { 0 },
};

static void add(json_t *body, const char *key, json_t *value)
{
    json_t *list = json_object_get(body, key);

    if (!list) {
        list = json_array();
        json_object_set_new(body, key, list);
    }
    json_array_append_new(list, value);
}

/* As tarn submit reads it. */
static int add_job(json_t *body, const char *path, struct error *err)
{
    const char *dot = strrchr(path, '.');
    bool is_file = dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    char *words[] = { "submit", is_file ? "-f" : (char *)(uintptr_t)path,
                      is_file ? (char *)(uintptr_t)path : NULL, NULL };
    struct sending sending;

    int code = sending_read(&sending, is_file ? 3 : 2, words, err);
    if (code == 0)
        add(body, "submit", json_incref(sending.document));
    sending_release(&sending);
    return code;
}

static int make_body(const struct options *options, json_t *body, struct error *err)
{
    static const char *const keys[] = {
        [ADD_NODES] = "add_nodes", [DRAIN] = "drain", [REMOVE] = "remove",
        [CANCEL] = "cancel",       [SET] = "set",     [COUNT] = NULL,
    };
    json_t *config = NULL;
    int code = 0;

    for (size_t i = 0; i < options->given_count && code == 0; i++) {
        const struct option_given *given = &options->given[i];
        if (given->place == SUBMIT)
            code = add_job(body, given->value, err);
        else if (given->place == CONFIG_FILE)
            code = config_file_read(given->value, &config, err);
        else if (keys[given->place])
            add(body, keys[given->place], json_string(given->value));
        if (config)
            json_object_set_new(body, "config", TAKE(config));
    }
    return code;
}

static void print(const json_t *reply, const struct options *options, size_t count)
{
    int64_t jobs = field_number(reply, "job_count");

    if (options->is_json) {
        reply_print(reply);
        return;
    }
    const json_t *added = json_object_get(reply, "added_nodes");
    if (!field_is_null(reply, "note"))
        say("%s", field_text(reply, "note"));
    if (json_is_object(added))
        say("the added nodes cost %.2f per hour, %.2f until the last of the jobs ends",
            field_real(added, "per_hour"), field_real(added, "cost"));
    if (jobs == 0) {
        talk("no job waits, now or under the change");
        return;
    }
    size_t shown = outlook_print_jobs(reply, count > 0 ? count : outlook_rows(reply), false);
    printf("\n");
    outlook_print_queues(reply);
    int64_t sooner = field_number(reply, "sooner");
    talk("%" PRId64 " job%s: %" PRId64 " start%s sooner, %" PRId64 " later%s", jobs,
         jobs == 1 ? "" : "s", sooner, sooner == 1 ? "s" : "", field_number(reply, "later"),
         (int64_t)shown < jobs ? "; -n N shows more of them" : "");
}

static int read_count(const struct options *options, size_t *ret)
{
    const char *text = options->values[COUNT];
    char *end;

    if (!text)
        return 0;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || value < 1 || value > WHATIF_SHOWN_MAX)
        return usage_wrong("whatif", "--count '%s': expected 1 to %d", text, WHATIF_SHOWN_MAX);
    *ret = value;
    return 0;
}

int run_whatif(const struct options *options)
{
    AUTO(json) json_t *body = json_object(), *reply = NULL;
    struct error err;
    size_t count = 0;

    if (options->word_count > 0)
        return usage_wrong("whatif", "'%s': expected options that describe a change",
                           options->words[0]);
    int status = read_count(options, &count);
    if (status != 0)
        return status;
    if (options->given_count == (options->values[COUNT] ? 1U : 0U))
        return usage_wrong("whatif", "expected a change, like --add-nodes 2:h100:8");
    if (make_body(options, body, &err) < 0)
        return complain(&err);
    if (count > 0)
        json_object_set_new(body, "shown", json_integer((json_int_t)count));
    if (session_ask("POST", "/v1/whatif", body, &reply) != 0)
        return 1;
    print(reply, options, count);
    return 0;
}
