/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal_text.h"
#include "cli/follow/follow_job.h"
#include "cli/follow/news.h"
#include "cli/follow/stages.h"
#include "cli/job_view.h"
#include "cli/screen.h"

enum {
    REDRAW_MS = 200,
    TICK_MS = 1000,
    BAR_CELLS = 20,
    HEAD_WIDTH = 79,
    LINES_ABOVE = 2, /* of a terminal, that are left free */
    FAILURES_SHOWN = 5,
    LINES_OF_FAILURE = 3,
    LAST_LINE_MAX = 200,
};

/* A group on its way. */
struct live {
    const struct follow_plan *plan;
    struct watch watch;
    struct stages stages;
    char id[ID_SIZE];
    size_t drawn; /* lines on the terminal that are ours */
    usec_t drawn_at;
    usec_t peeked_at; /* at a job's last line */
    size_t peek_next; /* stage */
    bool is_live;     /* a terminal that can be drawn on */
};

static bool has_talk(const struct live *live)
{
    return !live->plan->is_quiet && !live->plan->is_json;
}

/* "2.1 gpu-h", "42s of gpu time", "" */
static void add_gpu_time(struct text *text, usec_t gpu_time, const char *before)
{
    char buffer[UNITS_TEXT_SIZE];

    if (gpu_time >= USEC_PER_HOUR / 10)
        text_printf(text, "%s%.1f gpu-h", before, (double)gpu_time / (double)USEC_PER_HOUR);
    else if (gpu_time > 0)
        text_printf(text, "%s%s of gpu time", before, units_format_duration(buffer, gpu_time));
}

/* "6 of 6 · 4 running", "ok", "waits for train" */
static void add_stage_state(struct text *text, const struct stage *stage,
                            const struct stage_sum *sum)
{
    size_t over = sum->ok + sum->bad;
    bool is_all_waiting = sum->waiting == stage->job_count;

    if (is_all_waiting && stage->needs[0]) {
        text_printf(text, "waits for %s", stage->needs);
    } else if (stage->job_count == 1 && (sum->a_running || sum->a_bad)) {
        text_add(text, job_state_word(sum->a_running ? sum->a_running : sum->a_bad));
    } else if (stage->job_count == 1) {
        text_add(text, over > 0 ? "ok" : "waits");
    } else {
        text_printf(text, "%zu of %zu", over, stage->job_count);
        if (sum->running > 0)
            text_printf(text, " · %zu running", sum->running);
        if (sum->bad > 0)
            text_printf(text, " · %zu failed", sum->bad);
    }
}

static enum table_style stage_style(const struct stage *stage, const struct stage_sum *sum)
{
    if (stage->job_count == 1 && sum->a_bad)
        return job_state_style(sum->a_bad);
    if (sum->bad > 0)
        return TABLE_BAD;
    if (sum->running > 0)
        return TABLE_GOOD;
    return sum->ok == stage->job_count ? TABLE_PLAIN : TABLE_WAITS;
}

static void add_bar(struct table *table, const struct stage *stage, const struct stage_sum *sum)
{
    AUTO_RELEASE(text) struct text bar = { 0 };
    size_t full = stage->job_count ? (sum->ok + sum->bad) * BAR_CELLS / stage->job_count : 0;

    for (size_t i = 0; stage->job_count > 1 && i < BAR_CELLS; i++)
        text_add(&bar, i < full ? "█" : "░");
    table_add_text(table, text_string(&bar));
}

static void add_gpus(struct table *table, const struct stage_sum *sum)
{
    AUTO_RELEASE(text) struct text text = { 0 }, indices = { 0 };
    char buffer[UNITS_TEXT_SIZE];

    if (sum->gpu_milli > 0) {
        if (sum->running == 1)
            job_indices_add(sum->a_running, &indices);
        text_printf(&text, "%s gpu%s", units_format_milli(buffer, sum->gpu_milli),
                    sum->gpu_milli == 1000 ? "" : "s");
        if (indices.length > 0)
            text_printf(&text, " (%s)", indices.bytes);
    } else if (sum->running > 0) {
        text_printf(&text, "%g cpu%s", sum->cpus, sum->cpus == 1 ? "" : "s"); /* shown only */
    }
    table_add_text(table, text_string(&text));
}

static void add_stage_row(struct table *table, const struct stage *stage,
                          const struct stage_sum *sum)
{
    AUTO_RELEASE(text) struct text state = { 0 }, last = { 0 };

    add_stage_state(&state, stage, sum);
    table_start_row(table);
    table_add_format(table, "  %s", stage->name);
    table_add_text(table, text_string(&state));
    table_style(table, stage_style(stage, sum));
    add_bar(table, stage, sum);
    add_gpus(table, sum);
    if (sum->began > 0)
        table_add_duration(table, (sum->running > 0 ? clock_read(CLOCK_REALTIME) : sum->ended) -
                                      sum->began);
    else
        table_add_text(table, NULL);
    if (sum->running > 0)
        text_add(&last, stage->last ? stage->last : "");
    else if (sum->a_bad)
        job_why_add(sum->a_bad, &last);
    else if (sum->a_waiting && !(sum->ok == 0 && stage->needs[0]))
        job_why_add(sum->a_waiting, &last);
    table_add_text(table, text_string(&last));
    table_style(table, TABLE_FAINT);
}

/* "digits            3m18s · 2.1 gpu-h · 4 of 6 stages" */
static void add_head(const struct stages *stages, usec_t gpu_time, size_t over, struct text *text)
{
    AUTO_RELEASE(text) struct text right = { 0 };
    char buffer[UNITS_TEXT_SIZE];

    text_add(&right, units_format_duration(buffer, clock_read(CLOCK_REALTIME) - stages->submitted));
    add_gpu_time(&right, gpu_time, " · ");
    if (stages->count > 1)
        text_printf(&right, " · %zu of %zu stages", over, stages->count);
    if (stages->is_synthetic)
        text_add(&right, " · synthetic gpus");
    size_t used = string_width(stages->name) + string_width(right.bytes);
    text_printf(text, "%s%*s%s", stages->name, used + 2 < HEAD_WIDTH ? HEAD_WIDTH - (int)used : 2,
                "", right.bytes);
}

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void erase(struct live *live)
{
    if (live->drawn > 0)
        fprintf(stderr, "\033[%zuA\r\033[J", live->drawn);
    fflush(stderr);
    live->drawn = 0;
}

/* All in one write, so that nothing flickers. */
static void draw(struct live *live)
{
    static const struct table_column columns[] = {
        { "STAGE", TABLE_LEFT, 0 }, { "STATE", TABLE_LEFT, 0 }, { "", TABLE_LEFT, 0 },
        { "GPUS", TABLE_LEFT, 0 },  { "TIME", TABLE_RIGHT, 0 }, { "", TABLE_LEFT, 8 },
    };
    AUTO(table) struct table *table = table_create(columns, COUNT_OF(columns));
    AUTO_RELEASE(text) struct text head = { 0 }, rows = { 0 }, text = { 0 };
    struct screen screen;
    usec_t gpu_time = 0;
    size_t over = 0;

    screen_look(stderr, &screen);
    for (size_t i = 0; i < live->stages.count; i++) {
        const struct stage *stage = &live->stages.items[i];
        struct stage_sum sum;

        stage_sum(&live->stages, stage, &sum);
        gpu_time += sum.gpu_time;
        over += sum.ok + sum.bad == stage->job_count;
        if (i + LINES_ABOVE + 1 < screen.height)
            add_stage_row(table, stage, &sum);
    }
    const struct table_view view = { .width = screen.width, .has_colours = screen.has_colours };
    table_format(table, &view, &rows);
    if (live->drawn > 0)
        text_printf(&text, "\033[%zuA\r\033[J", live->drawn);
    add_head(&live->stages, gpu_time, over, &head);
    text_add_cut(&text, head.bytes, screen.width);
    text_add_char(&text, '\n');
    text_add(&text, text_string(&rows));
    live->drawn = count_lines(text.bytes);
    live->drawn_at = clock_read(CLOCK_REALTIME);
    screen_put(stderr, text.bytes);
    fflush(stderr);
}

/* The last line of one running job, a stage at a time. */
static void peek(struct live *live)
{
    struct stages *stages = &live->stages;

    live->peeked_at = clock_read(CLOCK_REALTIME);
    for (size_t i = 0; i < stages->count; i++) {
        struct stage *stage = &stages->items[(live->peek_next + i) % stages->count];
        struct client_reply reply;
        struct stage_sum sum;

        stage_sum(stages, stage, &sum);
        if (!sum.a_running)
            continue;
        live->peek_next = (live->peek_next + i + 1) % stages->count;
        AUTO_FREE char *path =
            mem_printf("/v1/jobs/%" PRId64 "/output?tail=1", field_number(sum.a_running, "id"));
        const struct client_request request = { .method = "GET", .path = path };
        if (client_call(live->plan->session->client, &request, &reply, NULL) < 0)
            return;
        if (reply.status == 200 && reply.body.length > 0) {
            AUTO_RELEASE(text) struct text shown = { 0 };
            char line[LAST_LINE_MAX + 1];
            terminal_text_add(&shown, reply.body.bytes, reply.body.length);
            string_clean(line, sizeof(line), text_string(&shown),
                         strcspn(text_string(&shown), "\n"));
            free(stage->last);
            stage->last = mem_string(line);
        }
        client_reply_release(&reply);
        return;
    }
}

/* "train · job 9 · running (gpu 3)" */
static void tell_change(const struct live *live, const struct stage *stage, const json_t *job)
{
    AUTO_RELEASE(text) struct text text = { 0 }, gpus = { 0 };
    const char *state = field_text(job, "state");

    if (!has_talk(live) || live->is_live)
        return;
    if (job_is_ended(job)) {
        job_end_add(job, &text);
    } else if (strcmp(state, "running") == 0) {
        job_indices_add(job, &gpus);
        text_printf(&text, "job %s runs", field_text(job, "label"));
        if (gpus.length > 0)
            text_printf(&text, " · gpu %s%s", gpus.bytes,
                        field_is_true(job, "synthetic") ? " · synthetic" : "");
        if (field_number(job, "attempt") > 1)
            text_printf(&text, " · attempt %" PRId64, field_number(job, "attempt"));
    } else {
        return;
    }
    talk("%s · %s", stage->name, text.bytes);
}

static bool hear_all(struct live *live)
{
    bool is_group, has_news = false;

    for (json_t *change = watch_take(&live->watch, &is_group); change;
         change = watch_take(&live->watch, &is_group)) {
        json_t *job = json_incref(change);
        const struct stage *stage = stages_hear(&live->stages, change, is_group);

        if (stage)
            tell_change(live, stage, job);
        has_news = has_news || stage;
        json_decref(job);
    }
    return has_news;
}

static void refresh(struct live *live, bool has_news)
{
    usec_t since = clock_read(CLOCK_REALTIME) - live->drawn_at;

    if (!live->is_live)
        return;
    if (clock_read(CLOCK_REALTIME) - live->peeked_at >= USEC_PER_SEC)
        peek(live);
    if (since >= TICK_MS * USEC_PER_MS || (has_news && since >= REDRAW_MS * USEC_PER_MS) ||
        since < 0)
        draw(live);
}

/* 0: it is over; 1: left; negative: failed. */
static int follow_on(struct live *live, int *ret_status, struct error *err)
{
    AUTO_FREE char *what = mem_printf("%s %s", live->stages.kind, live->id);
    bool has_news = true;

    while (!live->stages.result[0]) {
        int code =
            client_wait(live->plan->session->client, live->is_live ? REDRAW_MS : TICK_MS * 5, err);
        if (code < 0 && code != -EINTR)
            return code;
        if (code == -EINTR) {
            erase(live);
            if (follow_interrupted(live->plan, what, ret_status) != 0)
                return 1;
        }
        has_news = hear_all(live) || has_news;
        if (live->watch.events.is_over && !live->stages.result[0]) {
            code = watch_mend(&live->watch, err);
            if (code < 0)
                return code;
        }
        usec_t drawn_at = live->drawn_at;
        refresh(live, has_news);
        has_news = has_news && drawn_at == live->drawn_at;
    }
    return 0;
}

static void add_result(struct table *table, const struct stage *stage, const struct stage_sum *sum)
{
    if (stage->job_count == 1)
        table_add_text(table, sum->a_bad ? job_state_word(sum->a_bad) : "ok");
    else if (sum->bad > 0)
        table_add_format(table, "%zu ok, %zu failed", sum->ok, sum->bad);
    else
        table_add_text(table, "ok");
    table_style(table, stage_style(stage, sum));
}

/* stage, jobs, GPU-time, wait, run, result: to standard output. */
static usec_t print_table(const struct stages *stages)
{
    static const struct table_column columns[] = {
        { "STAGE", TABLE_LEFT, 0 }, { "JOBS", TABLE_RIGHT, 0 }, { "GPU-TIME", TABLE_RIGHT, 0 },
        { "WAIT", TABLE_RIGHT, 0 }, { "RUN", TABLE_RIGHT, 0 },  { "RESULT", TABLE_LEFT, 8 },
    };
    AUTO(table) struct table *table = table_create(columns, COUNT_OF(columns));
    usec_t gpu_time = 0;

    for (size_t i = 0; i < stages->count; i++) {
        const struct stage *stage = &stages->items[i];
        struct stage_sum sum;

        stage_sum(stages, stage, &sum);
        gpu_time += sum.gpu_time;
        table_start_row(table);
        table_add_text(table, stage->name);
        table_add_number(table, (int64_t)stage->job_count);
        if (sum.gpu_time > 0)
            table_add_duration(table, sum.gpu_time);
        else
            table_add_absent(table);
        if (sum.began > 0) {
            table_add_duration(table, sum.wait_max);
            table_add_duration(table, sum.ended - sum.began);
        } else {
            table_add_absent(table);
            table_add_absent(table);
        }
        add_result(table, stage, &sum);
    }
    screen_table(table);
    return gpu_time;
}

static void tell_failures(struct session *session, const struct stages *stages)
{
    size_t told = 0, bad = 0;

    for (size_t i = 0; i < stages->job_count; i++) {
        const json_t *job = stages->jobs[i];
        AUTO_RELEASE(text) struct text text = { 0 };

        if (!job_is_ended(job) || strcmp(job_state_word(job), "ok") == 0)
            continue;
        bad++;
        if (strcmp(job_state_word(job), "cancelled") == 0 || told == FAILURES_SHOWN)
            continue;
        told++;
        job_end_add(job, &text);
        talk("%s · %s · tarn logs %s", stages->items[stages->stage_of[i]].name, text.bytes,
             field_text(job, "label"));
        last_lines_tell(session, job, LINES_OF_FAILURE, false);
    }
    if (bad > told)
        talk("%zu more did not succeed; tarn show %" PRIu64 " lists them", bad - told, stages->id);
}

static void tell_end(const struct live *live)
{
    const struct stages *stages = &live->stages;
    AUTO_RELEASE(text) struct text text = { 0 };
    char buffer[UNITS_TEXT_SIZE];
    usec_t ended = 0;

    usec_t gpu_time = print_table(stages);
    if (live->plan->is_quiet)
        return;
    for (size_t i = 0; i < stages->job_count; i++) {
        usec_t at = field_wall(stages->jobs[i], "ended");
        ended = at > ended ? at : ended;
    }
    tell_failures(live->plan->session, stages);
    text_printf(
        &text, "%s %s · %s %s · %s", stages->kind, live->id, stages->name,
        strcmp(stages->result, "ok") == 0 ? "ended ok" : stages->result,
        units_format_duration(buffer, ended > stages->submitted ? ended - stages->submitted : 0));
    add_gpu_time(&text, gpu_time, " · ");
    talk("%s%s", text.bytes, stages->is_synthetic ? " · synthetic gpus" : "");
}

/* *ret is new. */
static int load(struct live *live, json_t **ret, struct error *err)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s", live->id);

    int code = session_get(live->plan->session, path, ret, err);
    if (code == 0) {
        bool is_synthetic = live->stages.is_synthetic;
        stages_release(&live->stages);
        stages_read(&live->stages, *ret);
        live->stages.is_synthetic = live->stages.is_synthetic || is_synthetic;
    }
    return code;
}

static int finish(struct live *live, int *ret_status, struct error *err)
{
    AUTO(json) json_t *group = NULL;

    erase(live);
    int code = load(live, &group, err);
    if (code == 0 && live->plan->is_json)
        reply_print(group);
    else if (code == 0)
        tell_end(live);
    *ret_status = strcmp(live->stages.result, "ok") == 0 ? 0 : 1;
    return code;
}

int follow_group(const struct follow_plan *plan, int *ret_status, struct error *err)
{
    struct live live = { .plan = plan };
    struct screen screen;
    AUTO(json) json_t *group = NULL;

    screen_look(stderr, &screen);
    live.is_live = has_talk(&live) && screen.is_terminal && screen.has_cursor;
    snprintf(live.id, sizeof(live.id), "%" PRId64, field_number(plan->submitted, "id"));
    int code = load(&live, &group, err);
    if (code < 0)
        return code;
    if (has_talk(&live))
        talk("%s %s · %s · %zu jobs", live.stages.kind, live.id, live.stages.name,
             live.stages.job_count);
    watch_open(&live.watch, plan->session, live.id);
    code = follow_on(&live, ret_status, err);
    if (code == 0)
        code = finish(&live, ret_status, err);
    watch_close(&live.watch);
    stages_release(&live.stages);
    return code < 0 ? code : 0;
}
