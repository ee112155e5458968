/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/fields.h"
#include "cli/job_view.h"
#include "cli/screen.h"
#include "cli/select.h"

enum { LABEL_WIDTH = 12 };

/* "  state       running", unless there is nothing to say. */
static void add_line(struct text *text, const char *label, const char *words)
{
    if (words[0])
        text_printf(text, "  %-*s%s\n", LABEL_WIDTH, label, words);
}

/* Other users chose it: what follows a line break in it must not look like a line of its own. */
static void add_chosen(struct text *text, const char *label, const char *words)
{
    AUTO_RELEASE(text) struct text line = { 0 };

    for (; *words; words++) {
        text_add_char(&line, *words);
        if (*words == '\n')
            text_printf(&line, "  %-*s", LABEL_WIDTH, "");
    }
    add_line(text, label, text_string(&line));
}

static void add_number(struct text *text, const char *label, int decimals, double number)
{
    char buffer[UNITS_TEXT_SIZE];

    snprintf(buffer, sizeof(buffer), "%.*f", decimals, number);
    add_line(text, label, buffer);
}

static void add_time(struct text *text, const json_t *job, const char *key)
{
    char buffer[CLOCK_SIZE];
    time_t when = field_time(job, key);

    if (when > 0)
        add_line(text, key, clock_format(buffer, when));
}

static void add_duration(struct text *text, const char *label, const json_t *object,
                         const char *key)
{
    char buffer[UNITS_TEXT_SIZE];

    add_line(text, label, field_duration(object, key, buffer));
}

static void add_state(struct text *text, const json_t *job)
{
    AUTO_RELEASE(text) struct text line = { 0 };

    text_add(&line, job_state_word(job));
    if (field_number(job, "attempt") > 1)
        text_printf(&line, " · attempt %" PRId64, field_number(job, "attempt"));
    add_line(text, "state", line.bytes);
}

/* "0.5 of h100 gpu 3 on box, synthetic" */
static void add_devices(struct text *text, const json_t *job)
{
    const json_t *device;
    size_t i;

    json_array_foreach(json_object_get(job, "devices"), i, device)
    {
        AUTO_RELEASE(text) struct text line = { 0 };
        char share[UNITS_TEXT_SIZE];

        text_printf(&line, "%" PRId64 " · %s", field_number(device, "index"),
                    field_text(device, "model"));
        if (!field_is_null(device, "share") && field_milli(device, "share") != 1000)
            text_printf(&line, " · share %s",
                        units_format_milli(share, field_milli(device, "share")));
        if (field_number(device, "memory") > 0)
            text_printf(&line, " · %s", units_format_mib(share, field_number(device, "memory")));
        text_printf(&line, " · %s%s", field_text(device, "node"),
                    field_is_true(device, "synthetic") ? " · synthetic" : "");
        add_line(text, "gpu", line.bytes);
    }
}

/* "71 % (peak 99 %)" */
static void add_mean(struct text *line, const char *label, const json_t *usage, const char *key)
{
    const json_t *value = json_object_get(usage, key);

    if (json_is_object(value))
        text_printf(line, "%s%s %.0f %% (peak %.0f %%)", line->length > 0 ? " · " : "", label,
                    field_real(value, "mean") * 100, field_real(value, "peak") * 100);
}

static void add_gpu_memory(struct text *line, const json_t *usage)
{
    const json_t *memory = json_object_get(usage, "memory");
    char used[UNITS_TEXT_SIZE], whole[UNITS_TEXT_SIZE];

    if (!json_is_object(memory))
        return;
    text_printf(line, "%smemory %s", line->length > 0 ? " · " : "",
                units_format_mib(used, (int64_t)field_real(memory, "peak")));
    if (field_number(usage, "device_memory") > 0)
        text_printf(line, " of %s", units_format_mib(whole, field_number(usage, "device_memory")));
}

/* Its use of the GPUs, and findings about it. */
static void add_gpu_usage(struct text *text, const json_t *job)
{
    const json_t *usage = json_object_get(job, "gpu_usage"), *diagnosis;
    AUTO_RELEASE(text) struct text line = { 0 };
    size_t i;

    if (!json_is_object(usage))
        return;
    add_mean(&line, "gpu", usage, "gpu");
    add_mean(&line, "sm", usage, "sm");
    add_mean(&line, "tensor", usage, "tensor");
    add_gpu_memory(&line, usage);
    if (field_real(usage, "energy_joules") > 0)
        text_printf(&line, "%senergy %.3g Wh", line.length > 0 ? " · " : "",
                    field_real(usage, "energy_joules") / 3600);
    add_line(text, "used", text_string(&line));
    json_array_foreach(json_object_get(usage, "diagnoses"), i, diagnosis)
    {
        text_clear(&line);
        text_printf(&line, "%s: %s (%s); %s", field_text(diagnosis, "name"),
                    field_text(diagnosis, "seen"), field_text(diagnosis, "evidence"),
                    field_text(diagnosis, "advice"));
        add_line(text, "noticed", text_string(&line));
    }
}

static void add_isolation(struct text *text, const json_t *job)
{
    json_t *isolation = json_object_get(job, "isolation"), *value;
    AUTO_RELEASE(text) struct text line = { 0 };
    const char *key;

    json_object_foreach(isolation, key, value)
    {
        if (json_is_string(value))
            text_printf(&line, "%s%s %s", line.length > 0 ? " · " : "", key, value_text(value));
    }
    add_line(text, "isolation", text_string(&line));
}

static void add_launch(struct text *text, const json_t *job)
{
    const json_t *launch = json_object_get(job, "launch"), *word;
    AUTO_RELEASE(text) struct text command = { 0 };
    size_t i;

    json_array_foreach(json_object_get(launch, "command"), i, word)
    {
        text_add(&command, i > 0 ? " " : "");
        text_add(&command, value_text(word));
    }
    if (command.length == 0)
        text_add(&command, field_text(launch, "command"));
    AUTO_RELEASE(text) struct text shown = { 0 };
    text_add_cut(&shown, text_string(&command), 500);
    add_chosen(text, "command", text_string(&shown));
    add_chosen(text, "in", field_text(launch, "cwd"));
    add_chosen(text, "output", field_text(launch, "output"));
    add_chosen(text, "error", field_text(launch, "error"));
}

static const char *need_words(const char *when)
{
    static const struct {
        const char *when, *words;
    } needs[] = { { "ok", "has to succeed" },
                  { "ended", "has to end" },
                  { "failed", "has to fail" },
                  { "started", "has to start" } };

    for (size_t i = 0; i < COUNT_OF(needs); i++) {
        if (strcmp(needs[i].when, when) == 0)
            return needs[i].words;
    }
    return when;
}

static void add_needs(struct text *text, const json_t *job)
{
    const json_t *need;
    AUTO_RELEASE(text) struct text line = { 0 };
    size_t i;

    json_array_foreach(json_object_get(job, "needs"), i, need)
        text_printf(&line, "%sjob %" PRId64 " %s", i > 0 ? ", " : "", field_number(need, "on"),
                    need_words(field_text(need, "when")));
    add_line(text, "needs", text_string(&line));
}

static void add_submitter(struct text *text, const json_t *job)
{
    AUTO_FREE char *words = mem_printf("by job %" PRId64, field_number(job, "by_job"));

    if (!field_is_null(job, "by_job"))
        add_line(text, "submitted", words);
}

static void add_usage(struct text *text, const json_t *job)
{
    const json_t *usage = json_object_get(job, "usage");
    char user[UNITS_TEXT_SIZE], memory[UNITS_TEXT_SIZE];

    if (field_is_null(usage, "user_seconds"))
        return;
    AUTO_RELEASE(text) struct text line = { 0 };
    text_printf(&line, "%s of cpu", field_duration(usage, "user_seconds", user));
    if (!field_is_null(usage, "memory_mib_max"))
        text_printf(&line, " · at most %s of memory",
                    units_format_mib(memory, field_number(usage, "memory_mib_max")));
    add_line(text, "used", line.bytes);
}

/* "2 gpus · 4 cpus · 8G", "h100:1 · 4 cpus" */
static void add_member(struct text *line, const json_t *asked)
{
    char buffer[UNITS_TEXT_SIZE];

    const char *gpus = field_text(asked, "gpus")[0] ? field_text(asked, "gpus") : "0";
    text_add(line, gpus);
    if (gpus[strspn(gpus, "0123456789.")] == '\0') /* otherwise the request names what it wants */
        text_add(line, strcmp(gpus, "1") == 0 || strncmp(gpus, "0.", 2) == 0 ? " gpu" : " gpus");
    text_printf(line, " · %s cpu%s", units_format_milli(buffer, field_milli(asked, "cpus")),
                field_milli(asked, "cpus") == 1000 ? "" : "s");
    if (!field_is_null(asked, "memory"))
        text_printf(line, " · %s", units_format_mib(buffer, field_number(asked, "memory")));
}

/* "learner · rank 0 · 2 gpus · 4 cpus · on box" */
static void add_role(struct text *text, const json_t *role)
{
    AUTO_RELEASE(text) struct text line = { 0 };
    int64_t first = field_number(role, "first_rank"), ranks = field_number(role, "ranks");
    const json_t *nodes = json_object_get(role, "nodes");
    const char *last = "";

    text_printf(&line, "%s · rank%s %" PRId64, field_text(role, "name"), ranks > 1 ? "s" : "",
                first);
    if (ranks > 1)
        text_printf(&line, " to %" PRId64, first + ranks - 1);
    text_add(&line, " · ");
    add_member(&line, role);
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const char *node = value_text(json_array_get(nodes, i));
        if (strcmp(node, last) != 0)
            text_printf(&line, "%s%s", i == 0 ? " · on " : ", ", node);
        last = node;
    }
    add_line(text, "role", line.bytes);
}

static void add_asked(struct text *text, const json_t *job)
{
    AUTO_RELEASE(text) struct text line = { 0 };
    const json_t *roles = json_object_get(job, "roles");

    if (json_is_array(roles)) {
        for (size_t i = 0; i < json_array_size(roles); i++)
            add_role(text, json_array_get(roles, i));
        return;
    }
    add_member(&line, job);
    const json_t *elastic = json_object_get(job, "elastic");
    if (json_is_object(elastic))
        text_printf(&line, " · %" PRId64 " to %" PRId64 " members", field_number(elastic, "least"),
                    field_number(elastic, "most"));
    else if (field_number(job, "members") > 1)
        text_printf(&line, " · %" PRId64 " members", field_number(job, "members"));
    add_line(text, "wants", line.bytes);
}

/* "4 of 2 to 8 members, 1 lost · grew from 2 to 4 (idle GPUs)" */
static void add_size(struct text *text, const json_t *job)
{
    const json_t *elastic = json_object_get(job, "elastic");
    AUTO_RELEASE(text) struct text line = { 0 };

    if (json_is_object(elastic) && !field_is_null(elastic, "now"))
        text_printf(&line, "%" PRId64 " of %" PRId64 " to %" PRId64 " members",
                    field_number(elastic, "now"), field_number(elastic, "least"),
                    field_number(elastic, "most"));
    if (line.length > 0 && field_number(elastic, "lost") > 0)
        text_printf(&line, ", %" PRId64 " lost", field_number(elastic, "lost"));
    job_resized_add(job, &line);
    if (line.length > 0)
        add_line(text, "size", line.bytes);
    const json_t *resized = json_object_get(job, "resized");
    char buffer[CLOCK_SIZE];
    if (json_is_object(resized))
        add_line(text, "resized", clock_format(buffer, field_time(resized, "at")));
}

/* What moved it, "moved" or "rescued": the reason, and when. */
static void add_move(struct text *text, const json_t *job, const char *key)
{
    const json_t *move = json_object_get(job, key);
    AUTO_RELEASE(text) struct text line = { 0 };
    char buffer[CLOCK_SIZE];

    if (!json_is_object(move))
        return;
    text_printf(&line, "%s · %s", field_text(move, "text"),
                clock_format(buffer, field_time(move, "at")));
    if (field_number(move, "times") > 1)
        text_printf(&line, " · %" PRId64 " times so far", field_number(move, "times"));
    add_line(text, key, line.bytes);
}

/* "yes · a restart costs 30s · preempted 2 times, 4m12s of run time kept" */
static void add_preemptible(struct text *text, const json_t *job)
{
    AUTO_RELEASE(text) struct text line = { 0 };
    int64_t count = field_number(job, "preemptions");
    char buffer[UNITS_TEXT_SIZE];

    text_add(&line, "yes");
    if (field_seconds(job, "restart_cost") > 0)
        text_printf(&line, " · a restart costs %s", field_duration(job, "restart_cost", buffer));
    if (count > 0)
        text_printf(&line, " · preempted %" PRId64 " time%s, %s of run time kept", count,
                    count == 1 ? "" : "s", field_duration(job, "attained_seconds", buffer));
    add_line(text, "preemptible", line.bytes);
}

/* "every 42m, chosen by tarn · takes 30s · costs about 3.4 % of run time · last 14:20:05" */
static void add_checkpoint(struct text *text, const json_t *job)
{
    const json_t *checkpoint = json_object_get(job, "checkpoint");
    AUTO_RELEASE(text) struct text line = { 0 };
    bool is_auto = field_is_true(checkpoint, "auto");
    char buffer[UNITS_TEXT_SIZE], clock[CLOCK_SIZE];

    if (!json_is_object(checkpoint))
        return;
    if (!field_is_null(checkpoint, "every"))
        text_printf(&line, "every %s%s", field_duration(checkpoint, "every", buffer),
                    is_auto ? ", chosen by tarn" : "");
    else
        text_add(&line, is_auto ? "interval chosen by tarn at the start"
                        : field_is_true(checkpoint, "never") ? "never"
                                                             : "when tarn stops it");
    if (field_seconds(checkpoint, "takes") > 0)
        text_printf(&line, " · takes %s", field_duration(checkpoint, "takes", buffer));
    if (!field_is_null(checkpoint, "expected_waste"))
        text_printf(&line, " · costs about %.1f %% of run time",
                    100 * json_number_value(json_object_get(checkpoint, "expected_waste")));
    if (field_time(checkpoint, "last") > 0)
        text_printf(&line, " · last %s", clock_format(clock, field_time(checkpoint, "last")));
    add_line(text, "checkpoint", line.bytes);
}

static void add_list(struct text *text, const char *label, const json_t *words)
{
    AUTO_RELEASE(text) struct text line = { 0 };

    for (size_t i = 0; i < json_array_size(words); i++)
        text_printf(&line, "%s%s", i > 0 ? ", " : "", value_text(json_array_get(words, i)));
    add_line(text, label, text_string(&line));
}

static void print_job(const json_t *job)
{
    static const char *const times[] = { "submitted", "begin", "started", "ended" };
    const json_t *request = json_object_get(job, "request");
    AUTO_RELEASE(text) struct text text = { 0 }, why = { 0 };

    job_why_add(job, &why);
    text_printf(&text, "job %s · %s · %s · queue %s\n", field_text(job, "label"),
                field_text(job, "name"), field_text(job, "user"), field_text(job, "queue"));
    add_state(&text, job);
    add_line(&text, job_is_ended(job) ? "reason" : "why", text_string(&why));
    const json_t *warning;
    size_t i;
    json_array_foreach(json_object_get(job, "warnings"), i, warning)
        add_line(&text, "warning", field_text(warning, "text"));
    add_asked(&text, job);
    add_line(&text, "model", field_text(json_object_get(job, "model_choice"), "text"));
    add_line(&text, "pool", field_text(job, "pool"));
    add_list(&text, "where", json_object_get(request, "where"));
    add_list(&text, "labels", json_object_get(request, "labels"));
    add_list(&text, "apart from", json_object_get(request, "anti_affinity"));
    if (field_number(job, "priority") != 0)
        add_number(&text, "priority", 0, field_real(job, "priority"));
    add_duration(&text, "limit", request, "max_duration");
    add_duration(&text, "estimate", job, "estimate");
    add_time(&text, job, "deadline");
    add_size(&text, job);
    add_move(&text, job, "moved");
    add_move(&text, job, "rescued");
    if (!field_is_null(job, "restarted"))
        add_line(&text, "restarted", field_text(job, "restarted"));
    if (field_real(job, "cost") > 0)
        add_number(&text, "cost", 2, field_real(job, "cost"));
    if (!field_is_null(job, "stopped_by"))
        add_line(&text, "stopped for", field_text(job, "stopped_by"));
    if (field_is_true(job, "preemptible"))
        add_preemptible(&text, job);
    add_checkpoint(&text, job);
    for (i = 0; i < COUNT_OF(times); i++)
        add_time(&text, job, times[i]);
    add_submitter(&text, job);
    add_duration(&text, "waited", job, "wait_seconds");
    add_duration(&text, "ran", job, "run_seconds");
    add_needs(&text, job);
    add_devices(&text, job);
    add_line(&text, "ran on", field_text(job, "ran_on"));
    add_isolation(&text, job);
    add_gpu_usage(&text, job);
    add_usage(&text, job);
    add_launch(&text, job);
    screen_prose(stdout, text.bytes);
}

static void print_group(const json_t *group)
{
    const json_t *stage;
    size_t i;

    AUTO_RELEASE(text) struct text head = { 0 };
    text_printf(&head, "%s %" PRId64 " · %s · %s · %" PRId64 " of %" PRId64 " ended",
                field_text(group, "kind"), field_number(group, "id"), field_text(group, "name"),
                field_text(group, "user"), field_number(group, "ended_count"),
                field_number(group, "job_count"));
    if (field_number(group, "bad_count") > 0)
        text_printf(&head, ", %" PRId64 " of them not ok", field_number(group, "bad_count"));
    text_printf(&head, "%s%s\n", field_text(group, "result")[0] ? " · " : "",
                field_text(group, "result"));
    screen_prose(stdout, head.bytes);
    AUTO(json) json_t *all = json_array();
    json_array_foreach(json_object_get(group, "stages"), i, stage)
        json_array_extend(all, json_object_get(stage, "jobs"));
    list_print(jobs_columns, JOBS_COLUMNS, all);
}

static void print_any(const json_t *job)
{
    if (json_object_get(job, "stages"))
        print_group(job);
    else
        print_job(job);
}

static int show_one(const struct each *each)
{
    return each_print(each, "", NULL, print_any);
}

int run_show(const struct options *options)
{
    return each_id(options, show_one);
}
