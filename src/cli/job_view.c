/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job_view.h"

#include <inttypes.h>
#include <string.h>

enum { STATUS_TIMEOUT = 124, STATUS_NOT_RUN = 126, STATUS_NOT_FOUND = 127, STATUS_SIGNAL = 128 };

bool job_is_ended(const json_t *job)
{
    return strcmp(field_text(job, "state"), "ended") == 0;
}

bool job_has_failed(const json_t *job)
{
    const char *result = field_text(job, "result");

    return result[0] && strcmp(result, "ok") != 0 && strcmp(result, "cancelled") != 0;
}

bool job_is_placed(const json_t *job)
{
    const char *state = field_text(job, "state");

    return strcmp(state, "granted") == 0 || strcmp(state, "running") == 0 ||
           strcmp(state, "stopping") == 0;
}

const char *job_state_word(const json_t *job)
{
    const char *result = field_text(job, "result");

    return job_is_ended(job) && result[0] ? result : field_text(job, "state");
}

enum table_style job_state_style(const json_t *job)
{
    static const struct {
        const char *word;
        enum table_style style;
    } styles[] = {
        { "running", TABLE_GOOD },      { "granted", TABLE_GOOD },  { "ok", TABLE_PLAIN },
        { "held", TABLE_WAITS },        { "waiting", TABLE_WAITS }, { "queued", TABLE_WAITS },
        { "stopping", TABLE_WAITS },    { "failed", TABLE_BAD },    { "timeout", TABLE_BAD },
        { "out_of_memory", TABLE_BAD }, { "lost", TABLE_BAD },      { "cancelled", TABLE_FAINT },
    };
    const char *word = job_state_word(job);

    for (size_t i = 0; i < COUNT_OF(styles); i++) {
        if (strcmp(styles[i].word, word) == 0)
            return styles[i].style;
    }
    return TABLE_PLAIN;
}

bool job_indices_add(const json_t *job, struct text *text)
{
    const json_t *nodes = json_object_get(job, "gpu_nodes"), *node;
    size_t i;

    json_array_foreach(nodes, i, node)
    {
        AUTO_RELEASE(text) struct text indices = { 0 };
        numbers_format(json_object_get(node, "indices"), &indices);
        text_printf(text, "%s%s %s", i > 0 ? ", " : "", field_text(node, "node"),
                    text_string(&indices));
    }
    if (json_array_size(nodes) > 0)
        return true;
    numbers_format(json_object_get(job, "gpu_indices"), text);
    return false;
}

/* What it asked for, or of a gang the number of all its members. */
void job_gpus_add(const json_t *job, struct text *text)
{
    const char *asked = field_text(job, "gpus");
    AUTO_RELEASE(text) struct text indices = { 0 };

    if (strcmp(asked, "") == 0 || strcmp(asked, "0") == 0)
        return;
    job_indices_add(job, &indices);
    if (field_number(job, "members") > 1 || json_array_size(json_object_get(job, "gpu_nodes")) > 1)
        text_printf(text, "%g", json_number_value(json_object_get(job, "gpu_count"))); /* shown */
    else
        text_add(text, asked);
    if (indices.length > 0)
        text_printf(text, " (%s)", indices.bytes);
    if (field_is_true(job, "synthetic"))
        text_add(text, " synthetic");
}

void job_expected_add(const json_t *why, struct text *text)
{
    time_t expected = field_time(why, "expected_start");
    char buffer[CLOCK_SIZE];

    if (expected <= 0)
        return;
    text_printf(text, "about %s", clock_format(buffer, expected));
    if (field_time(why, "low") > 0 && field_time(why, "high") > field_time(why, "low") + 60) {
        text_printf(text, " (%s", clock_format(buffer, field_time(why, "low")));
        text_printf(text, " to %s)", clock_format(buffer, field_time(why, "high")));
    }
}

/* "exit status 3", "Killed"; nothing where the result says it all. */
static void add_reason(const json_t *job, struct text *text)
{
    const char *reason = field_text(job, "reason");

    if (!field_is_null(job, "failed_rank"))
        text_printf(text, "rank %" PRId64 " failed first: ", field_number(job, "failed_rank"));
    if (reason[0])
        text_add(text, reason);
    else if (strcmp(field_text(job, "result"), "cancelled") == 0 &&
             field_text(job, "cancel_reason")[0])
        text_printf(text, "%s: %s", field_text(job, "cancelled_by"),
                    field_text(job, "cancel_reason"));
    else if (strcmp(field_text(job, "result"), "failed") != 0 && field_is_null(job, "failed_rank"))
        return;
    else if (!field_is_null(job, "signal"))
        text_add(text, strsignal((int)field_number(job, "signal")));
    else
        text_printf(text, "exit status %d", (int)field_number(job, "exit_code"));
}

/* " for job 7 of queue research, which is within its guarantee" */
static void add_taker(const json_t *taker, struct text *text)
{
    if (!json_is_object(taker))
        return;
    if (field_is_null(taker, "job")) {
        text_printf(text, ": %s", field_text(taker, "text"));
        return;
    }
    text_printf(text, " for job %" PRId64, field_number(taker, "job"));
    if (field_text(taker, "queue")[0] && strcmp(field_text(taker, "rule"), "in_queue") != 0)
        text_printf(text, " of queue %s, which %s", field_text(taker, "queue"),
                    field_text(taker, "text"));
}

void job_preempted_add(const json_t *job, struct text *text)
{
    int64_t count = field_number(job, "preemptions");
    char buffer[UNITS_TEXT_SIZE];

    if (count == 0 || job_is_ended(job))
        return;
    const json_t *taker = json_object_get(job, "preempted_for");
    bool is_for_nobody = json_is_object(taker) && field_is_null(taker, "job");
    text_add(text, is_for_nobody ? "stopped" : "preempted");
    if (count == 1)
        text_add(text, " once");
    else
        text_printf(text, " %" PRId64 " times", count);
    if (field_seconds(job, "attained_seconds") > 0)
        text_printf(text, " after %s", field_duration(job, "attained_seconds", buffer));
    if (count > 1)
        text_add(text, ", last");
    add_taker(taker, text);
}

/* Something more, behind a separator. */
static void add_part(struct text *text, const char *part)
{
    text_printf(text, "%s%s", text->length > 0 ? " · " : "", part);
}

void job_resized_add(const json_t *job, struct text *text)
{
    const json_t *resized = json_object_get(job, "resized");
    int64_t heals = field_number(job, "heals");

    if (job_is_ended(job))
        return;
    if (json_is_object(resized))
        add_part(text, field_text(resized, "text"));
    if (heals > 0)
        text_printf(text, "%shealed %" PRId64 " time%s after a member was lost",
                    text->length > 0 ? " · " : "", heals, heals == 1 ? "" : "s");
}

void job_why_add(const json_t *job, struct text *text)
{
    static const char *const moves[] = { "moved", "rescued" };
    const json_t *why = json_object_get(job, "why");

    if (job_is_ended(job)) {
        add_reason(job, text);
        return;
    }
    job_preempted_add(job, text);
    job_resized_add(job, text);
    for (size_t i = 0; i < COUNT_OF(moves); i++) {
        const json_t *move = json_object_get(job, moves[i]);
        if (json_is_object(move))
            add_part(text, field_text(move, "text")); /* "moved for job 7 (from a:0,1 to b:2,3)" */
    }
    if (text->length > 0 && field_text(why, "text")[0])
        text_add(text, " · ");
    text_add(text, field_text(why, "text"));
    if (field_time(why, "expected_start") > 0) {
        text_add(text, text->length > 0 ? " · " : "");
        job_expected_add(why, text);
    }
}

void job_end_add(const json_t *job, struct text *text)
{
    static const struct {
        const char *result, *words;
    } ends[] = {
        { "ok", "ended ok" },
        { "out_of_memory", "ran out of memory" },
        { "timeout", "timed out" },
        { "lost", "was lost" },
    };
    const char *words = field_text(job, "result");
    AUTO_RELEASE(text) struct text reason = { 0 };
    char buffer[UNITS_TEXT_SIZE];

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        if (strcmp(ends[i].result, words) == 0)
            words = ends[i].words;
    }
    add_reason(job, &reason);
    text_printf(text, "job %s %s%s%s", field_text(job, "label"), words,
                reason.length > 0 ? ": " : "", text_string(&reason));
    if (field_seconds(job, "run_seconds") != FIELD_ABSENT)
        text_printf(text, " · ran %s", field_duration(job, "run_seconds", buffer));
}

/* Of a job that could not be started: as a shell has it. */
static int status_of_reason(const char *reason)
{
    static const char *const missing[] = { "command not found: ", "no such file: " };
    static const char *const unusable[] = { "not executable: ", "not a program: ",
                                            "is a directory: ", "bad interpreter: " };

    for (size_t i = 0; i < COUNT_OF(missing); i++) {
        if (strstr(reason, missing[i]))
            return STATUS_NOT_FOUND;
    }
    for (size_t i = 0; i < COUNT_OF(unusable); i++) {
        if (strstr(reason, unusable[i]))
            return STATUS_NOT_RUN;
    }
    return 1;
}

int job_exit_status(const json_t *job)
{
    const char *result = field_text(job, "result");
    int64_t exit_code = field_number(job, "exit_code"), signal = field_number(job, "signal");

    if (strcmp(result, "ok") == 0)
        return 0;
    if (strcmp(result, "timeout") == 0)
        return STATUS_TIMEOUT;
    if (strcmp(result, "failed") != 0 && strcmp(result, "out_of_memory") != 0)
        return 1;
    if (signal > 0 && signal < STATUS_SIGNAL)
        return STATUS_SIGNAL + (int)signal;
    return exit_code > 0 && exit_code < 256 ? (int)exit_code
                                            : status_of_reason(field_text(job, "reason"));
}

static void cell_state(struct table *table, const json_t *job, const char *key)
{
    (void)key;
    table_add_text(table, job_state_word(job));
    table_style(table, job_state_style(job));
}

static void cell_gpus(struct table *table, const json_t *job, const char *key)
{
    AUTO_RELEASE(text) struct text gpus = { 0 };

    (void)key;
    job_gpus_add(job, &gpus);
    table_add_text(table, text_string(&gpus));
}

static void cell_why(struct table *table, const json_t *job, const char *key)
{
    AUTO_RELEASE(text) struct text text = { 0 }, why = { 0 };
    const json_t *warnings = json_object_get(job, key), *warning;
    size_t i;

    if (!field_is_null(job, "tasks"))
        text_printf(&text, "%" PRId64 " tasks", field_number(job, "tasks"));
    json_array_foreach(warnings, i, warning) add_part(&text, field_text(warning, "text"));
    job_why_add(job, &why);
    if (why.length > 0)
        add_part(&text, text_string(&why));
    table_add_text(table, text_string(&text));
    if (json_array_size(warnings) > 0)
        table_style(table, TABLE_WAITS);
}

const struct list_column jobs_columns[JOBS_COLUMNS] = {
    { "ID", TABLE_RIGHT, 0, cell_text, "label" },
    { "NAME", TABLE_LEFT, 8, cell_text, "name" },
    { "USER", TABLE_LEFT, 6, cell_text, "user" },
    { "QUEUE", TABLE_LEFT, 6, cell_text, "queue" },
    { "STATE", TABLE_LEFT, 0, cell_state, NULL },
    { "GPUS", TABLE_LEFT, 8, cell_gpus, NULL },
    { "WAIT", TABLE_LEFT, 0, cell_duration, "wait_seconds" },
    { "RUN", TABLE_LEFT, 0, cell_duration, "run_seconds" },
    { "WHY", TABLE_LEFT, 10, cell_why, "warnings" },
};
