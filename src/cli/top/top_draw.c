/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/job_view.h"

/* ---- a job a line: those that run, those that wait and why ---- */

enum { WIDTH_WIDE = 100 };

/* "4 (0-3)"; another column marks synthetic GPUs. */
static void add_gpus(const json_t *job, struct text *text)
{
    job_gpus_add(job, text);
    char *words = text->length > 0 ? strstr(text->bytes, " synthetic") : NULL;
    if (words) {
        *words = '\0';
        text->length = strlen(text->bytes);
    }
}

/* A narrow screen is for the reasons, not for the queues. */
static const size_t widths_narrow[] = { 6, 12, 8, 0, 9, 6 },
                    widths_wide[] = { 6, 20, 10, 12, 12, 7 };

static void draw_line(struct frame *frame, unsigned style, const char *const *fields)
{
    static const bool is_right[] = { true, false, false, false, false, true };
    const size_t *widths = frame->width < WIDTH_WIDE ? widths_narrow : widths_wide;

    frame_start_line(frame, style);
    frame_add(frame, TABLE_PLAIN, style & FRAME_SELECTED ? ">" : " ");
    for (size_t i = 0; i < COUNT_OF(is_right); i++) {
        if (widths[i] == 0)
            continue;
        if (is_right[i])
            frame_add_right(frame, TABLE_PLAIN, widths[i], fields[i]);
        else
            frame_add_left(frame, TABLE_PLAIN, widths[i], fields[i]);
        frame_pad(frame, frame->column + 1);
    }
    frame_pad(frame, frame->column + 1);
    frame_add(frame, TABLE_PLAIN, fields[COUNT_OF(is_right)]);
    if (style & FRAME_SELECTED)
        frame_pad(frame, frame->width);
}

static void draw_job(struct frame *frame, const struct top_view *view, const json_t *job,
                     enum top_list list, bool is_selected)
{
    AUTO_RELEASE(text) struct text gpus = { 0 }, reason = { 0 }, why = { 0 };
    usec_t passed = field_seconds(job, list == TOP_RUNNING ? "run_seconds" : "wait_seconds");
    const char *state = field_text(job, "state");
    char buffer[UNITS_TEXT_SIZE] = "-";

    add_gpus(job, &gpus);
    if (passed != FIELD_ABSENT) /* it went on since the list was made */
        units_format_duration(buffer, passed + view->jobs_age);
    job_why_add(job, &reason);
    bool is_of_list = strcmp(state, list == TOP_RUNNING ? "running" : "queued") == 0;
    if (!is_of_list && (list == TOP_RUNNING || reason.length == 0)) /* else the reason says it */
        text_printf(&why, reason.length > 0 ? "%s · " : "%s", state);
    text_add(&why, text_string(&reason));
    const char *const fields[] = { field_text(job, "label"), field_text(job, "name"),
                                   field_text(job, "user"),  field_text(job, "queue"),
                                   text_string(&gpus),       buffer,
                                   text_string(&why) };
    draw_line(frame, is_selected ? FRAME_SELECTED : TABLE_PLAIN, fields);
}

static void draw_jobs(struct frame *frame, const struct top_view *view,
                      const struct top_world *world, enum top_list list, struct top_window window)
{
    size_t count = world_count(world, list);
    char title[UNITS_TEXT_SIZE], range[UNITS_TEXT_SIZE * 3] = "";

    snprintf(title, sizeof(title), "%s %zu", list == TOP_RUNNING ? "RUNNING" : "WAITING", count);
    if (window.count < count)
        snprintf(range, sizeof(range), "%zu to %zu of %zu", window.first + 1,
                 window.first + window.count, count);
    const char *const titles[] = { "ID",
                                   title,
                                   "USER",
                                   "QUEUE",
                                   "GPUS",
                                   list == TOP_RUNNING ? "RUN" : "WAIT",
                                   range[0]              ? range
                                   : list == TOP_RUNNING ? ""
                                                         : "WHY" };
    draw_line(frame, FRAME_BOLD, titles);
    for (size_t i = window.first; i < window.first + window.count; i++)
        draw_job(frame, view, world->jobs[list].items[i], list,
                 view->height > 0 && view->list == list && view->place == i);
}

enum { LINES_FOR_DETAILS = 20 }; /* a screen with fewer has none */
enum { LINES_MIN = 6, LONG_FOOT = 77 };

/* ---- the line of sums ---- */

static void add_sums(const struct top_world *world, struct text *text)
{
    const json_t *counts = json_object_get(world->jobs_reply, "counts");
    int64_t waiting = field_number(counts, "waiting") + field_number(counts, "queued") +
                      field_number(counts, "held");
    int64_t milli = 0;
    size_t busy = 0, read = 0, powered = 0, synthetic = 0, count = world->gpus.count;
    double watts = 0;
    char given[UNITS_TEXT_SIZE];

    for (size_t i = 0; i < world->gpus.count; i++) {
        const struct top_gpu *gpu = &world->gpus.items[i];
        milli += field_milli(gpu->view, "given");
        synthetic += field_is_true(gpu->view, "synthetic");
        read += isnan(gpu->values[TOP_USE]) ? 0 : 1;
        busy += gpu->values[TOP_USE] >= 0.05;
        powered += isnan(gpu->values[TOP_POWER]) ? 0 : 1;
        watts += isnan(gpu->values[TOP_POWER]) ? 0 : gpu->values[TOP_POWER];
    }
    text_printf(text, "%zu%s gpu%s", count, synthetic > 0 && synthetic == count ? " synthetic" : "",
                count == 1 ? "" : "s");
    if (synthetic > 0 && synthetic < count)
        text_printf(text, " (%zu synthetic)", synthetic);
    text_printf(text, " · %s allocated", units_format_milli(given, milli));
    if (read > 0)
        text_printf(text, " · %zu busy", busy);
    if (powered > 0)
        text_printf(text, watts < 10000 ? " · %.0f W" : " · %.1f kW",
                    watts < 10000 ? watts : watts / 1000);
    text_printf(text, " · %lld running · %lld waiting", (long long)field_number(counts, "running"),
                (long long)waiting);
}

static void draw_head(struct frame *frame, const struct top_view *view,
                      const struct top_world *world)
{
    AUTO_RELEASE(text) struct text sums = { 0 };
    char state[64];
    unsigned style = TABLE_PLAIN;

    add_sums(world, &sums);
    snprintf(state, sizeof(state), "%s", view->is_paused ? "paused" : view->clock);
    if (view->is_paused)
        style = TABLE_WAITS;
    if (view->away_s > 0) {
        snprintf(state, sizeof(state), "no answer since %ld s", view->away_s);
        style = TABLE_BAD;
    }
    size_t room = string_width(state) + 2;
    frame_start_line(frame, FRAME_BOLD);
    frame_add(frame, TABLE_PLAIN, "tarn ");
    if (frame->width > frame->column + room)
        frame_add_left(frame, TABLE_PLAIN, frame->width - frame->column - room + 1,
                       text_string(&sums));
    frame_pad(frame, frame->column + 1);
    frame_add(frame, style, state);
}

/* ---- the last line ---- */

static void draw_foot(struct frame *frame, const struct top_view *view)
{
    bool is_long = view->width >= LONG_FOOT;

    frame_start_line(frame, TABLE_PLAIN);
    if (view->mode == MODE_FILTER) {
        frame_printf(frame, FRAME_BOLD, "/%s_", view->words);
        frame_add(frame, TABLE_FAINT, "  enter keeps it, esc shows all");
    } else if (view->message[0])
        frame_add(frame, view->mode == MODE_CONFIRM ? TABLE_WAITS | FRAME_BOLD : TABLE_WAITS,
                  view->message);
    else if (view->words[0])
        frame_printf(frame, TABLE_WAITS, "only with '%s'; esc shows all", view->words);
    else
        frame_add(frame, TABLE_FAINT,
                  is_long ? "q quit  ? help  j/k select  tab next  s sort  / filter  K end job  "
                            "space pause"
                          : "q quit  ? help  j/k  s  /  K  space");
}

static void draw_help(struct frame *frame, size_t lines)
{
    static const char *const words[] = {
        "tarn top",
        "",
        "  q             quit",
        "  up down j k   select a GPU or a job; tab: the next list",
        "  left right    on the map: select the next GPU",
        "  enter         show or hide the details of the selected GPU",
        "  g             GPUs as a list or as a map of nodes",
        "  s             sort the selected list by its next column",
        "  /             filter by words; esc clears the filter",
        "  K or x        cancel the selected job (your own); asks first",
        "  space         pause and resume",
        "",
        "  -             not known: not measured, or not reported by the device",
        "",
        "any key returns",
    };

    for (size_t i = 0; i < lines; i++) {
        frame_start_line(frame, i == 0 ? FRAME_BOLD : TABLE_PLAIN);
        frame_add(frame, TABLE_PLAIN, i < COUNT_OF(words) ? words[i] : "");
    }
}

/* ---- lines per list ---- */

/* One line in turn to each list that needs more. */
static void share_lines(const size_t *wanted, size_t lines, size_t *ret)
{
    bool has_given = true;

    for (size_t i = 0; i < TOP_LISTS; i++)
        ret[i] = 0;
    while (lines > 0 && has_given) {
        has_given = false;
        for (size_t i = 0; i < TOP_LISTS && lines > 0; i++) {
            if (ret[i] >= wanted[i])
                continue;
            ret[i]++;
            lines--;
            has_given = true;
        }
    }
}

/* Scrolled no further than the cursor's row asks for. */
static struct top_window scroll(size_t *first, size_t count, size_t lines, bool has_cursor,
                                size_t at)
{
    if (lines > count)
        lines = count;
    if (has_cursor && at < *first)
        *first = at;
    if (has_cursor && lines > 0 && at >= *first + lines)
        *first = at - lines + 1;
    if (*first > count - lines)
        *first = count - lines;
    return (struct top_window){ .first = *first, .count = lines };
}

/* The GPU that the details are of. */
static const struct top_gpu *gpu_meant(const struct top_view *view, const struct top_world *world)
{
    if (!view->has_details || view->height < LINES_FOR_DETAILS || view->list != TOP_GPUS ||
        view->place >= world->gpus.count)
        return NULL;
    return &world->gpus.items[view->place];
}

static void draw_lists(struct frame *frame, struct top_view *view, const struct top_world *world,
                       size_t lines)
{
    bool is_map = view_is_map(view, world);
    size_t columns = is_map ? view_map_columns(view, world) : 1;
    size_t rows = is_map ? (world->nodes.count + columns - 1) / columns : world->gpus.count;
    const size_t wanted[TOP_LISTS] = { rows, world_count(world, TOP_RUNNING),
                                       world_count(world, TOP_WAITING) };
    size_t counts[TOP_LISTS];
    const struct top_gpu *meant = gpu_meant(view, world);

    if (meant)
        lines -= DETAIL_LINES;
    share_lines(wanted, lines > TOP_LISTS ? lines - TOP_LISTS : 0, counts);
    for (enum top_list list = 0; list < TOP_LISTS; list++) {
        size_t at =
            list == TOP_GPUS && is_map ? view_node_of(world, view->place) / columns : view->place;
        struct top_window window =
            scroll(&view->firsts[list], wanted[list], counts[list], view->list == list, at);
        if (list == TOP_GPUS && is_map)
            draw_map(frame, view, world, window);
        else if (list == TOP_GPUS)
            draw_gpus(frame, view, world, window);
        else
            draw_jobs(frame, view, world, list, window);
        if (list == TOP_GPUS && meant)
            draw_details(frame, view, world, meant);
    }
}

void top_draw(struct frame *frame, struct top_view *view, const struct top_world *world)
{
    bool is_all = view->height == 0;
    size_t lines = is_all ? TOP_LISTS : view->height - 2;

    if (!is_all && view->height < LINES_MIN) {
        frame_start_line(frame, TABLE_PLAIN);
        frame_add(frame, TABLE_PLAIN, "too small");
        return;
    }
    if (!is_all && view->mode == MODE_HELP) {
        draw_help(frame, view->height);
        return;
    }
    draw_head(frame, view, world);
    for (enum top_list list = 0; is_all && list < TOP_LISTS; list++)
        lines += world_count(world, list);
    draw_lists(frame, view, world, lines);
    if (is_all)
        return;
    while (frame->line_count + 1 < view->height)
        frame_start_line(frame, TABLE_PLAIN);
    draw_foot(frame, view);
}
