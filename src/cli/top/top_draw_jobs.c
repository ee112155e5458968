/* SPDX-License-Identifier: Apache-2.0 */
/* A job a line: those that run, those that wait and why. */
#include <stdio.h>
#include <string.h>

#include "cli/job_view.h"
#include "cli/top/top_draw.h"

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
    AUTO_RELEASE(text) struct text gpus = { 0 }, why = { 0 };
    usec_t passed = field_seconds(job, list == TOP_RUNNING ? "run_seconds" : "wait_seconds");
    const char *state = field_text(job, "state");
    char buffer[UNITS_TEXT_SIZE] = "-";

    add_gpus(job, &gpus);
    if (passed != FIELD_ABSENT) /* it went on since the list was made */
        units_format_duration(buffer, passed + view->jobs_age);
    if (strcmp(state, "running") != 0 && strcmp(state, "queued") != 0) /* not that of the list */
        text_printf(&why, "%s ", state);
    job_why_add(job, &why);
    const char *const fields[] = { field_text(job, "label"), field_text(job, "name"),
                                   field_text(job, "user"),  field_text(job, "queue"),
                                   text_string(&gpus),       buffer,
                                   text_string(&why) };
    draw_line(frame, is_selected ? FRAME_SELECTED : TABLE_PLAIN, fields);
}

void draw_jobs(struct frame *frame, const struct top_view *view, const struct top_world *world,
               enum top_list list, struct top_window window)
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
