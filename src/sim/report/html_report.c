/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/html_report.h"

#include <math.h>
#include <stdio.h>

#include "sim/report/listing.h"

/* ---- line drawings and bars as inline SVG ----
 *
 * Colours are CSS classes (c0 to c7, axis, grid), so that the page sets their look.
 */

enum { PLOT_LINES_MAX = 8 };

struct plot_line {
    const char *name;
    const json_t *x, *y; /* lists of numbers; x NULL: parts of 1, evenly */
};

struct plot {
    const char *title, *x_title, *y_title;
    struct plot_line lines[PLOT_LINES_MAX];
    size_t line_count;
    bool is_log;   /* y, from 1 on */
    bool is_steps; /* a value holds until the next */
    double y_max;  /* 0: from the lines */
};

/* One row of bars per name: pairs of values on one scale. */
struct plot_bar {
    const char *name;
    double value, mark; /* position of the target mark */
};

enum { WIDTH = 640, HEIGHT = 260, LEFT = 64, RIGHT = 12, TOP = 12, BOTTOM = 40 };

/* Escapes <, >, & and quotes; control characters become '?'. */
static void text_add_html(struct text *text, const char *words)
{
    for (const char *c = words; *c; c++) {
        switch (*c) {
        case '<':
            text_add(text, "&lt;");
            break;
        case '>':
            text_add(text, "&gt;");
            break;
        case '&':
            text_add(text, "&amp;");
            break;
        case '"':
            text_add(text, "&quot;");
            break;
        case '\'':
            text_add(text, "&#39;");
            break;
        default:
            text_add_char(text, (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
        }
    }
}

/* From data to the drawing. */
struct scale {
    double x_min, x_max, y_max;
    bool is_log;
};

static double number_at(const json_t *list, size_t i)
{
    return json_number_value(json_array_get(list, i));
}

static double x_at(const struct plot_line *line, size_t i)
{
    return line->x ? number_at(line->x, i)
                   : 100.0 * (double)(i + 1) / (double)json_array_size(line->y);
}

static struct scale scale_of(const struct plot *plot)
{
    struct scale scale = { .x_min = 0, .x_max = 0, .y_max = plot->y_max, .is_log = plot->is_log };

    for (size_t k = 0; k < plot->line_count; k++) {
        const struct plot_line *line = &plot->lines[k];
        for (size_t i = 0; i < json_array_size(line->y); i++) {
            scale.x_max = fmax(scale.x_max, x_at(line, i));
            if (plot->y_max <= 0)
                scale.y_max = fmax(scale.y_max, number_at(line->y, i));
        }
    }
    if (scale.x_max <= 0)
        scale.x_max = 1;
    if (scale.y_max <= (plot->is_log ? 10 : 0))
        scale.y_max = plot->is_log ? 10 : 1;
    return scale;
}

static double draw_x(const struct scale *scale, double x)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (x - scale->x_min) / (scale->x_max - scale->x_min);
}

static double draw_y(const struct scale *scale, double y)
{
    double part = scale->is_log ? log10(fmax(y, 1)) / log10(scale->y_max) : y / scale->y_max;

    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part;
}

/* 1, 2 or 5 times a power of ten: about five steps. */
static double step_of(double range)
{
    double step = pow(10, floor(log10(range / 5)));

    if (range / step > 25)
        return step * 5;
    return range / step > 10 ? step * 2 : step;
}

static void add_tick(struct text *page, bool is_x, double at, double value)
{
    if (is_x)
        text_printf(page, "<text class=axis x=\"%.1f\" y=\"%d\" text-anchor=middle>%g</text>", at,
                    HEIGHT - BOTTOM + 16, value);
    else
        text_printf(page,
                    "<line class=grid x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                    "<text class=axis x=\"%d\" y=\"%.1f\" text-anchor=end>%g</text>",
                    LEFT, WIDTH - RIGHT, at, at, LEFT - 6, at + 4, value);
}

static void draw_axes(const struct plot *plot, const struct scale *scale, struct text *page)
{
    double x_step = step_of(scale->x_max), y_step = step_of(scale->y_max);

    for (double x = 0; x <= scale->x_max * 1.0001; x += x_step)
        add_tick(page, true, draw_x(scale, x), x);
    if (scale->is_log) {
        for (double y = 1; y <= scale->y_max * 1.0001; y *= 10)
            add_tick(page, false, draw_y(scale, y), y);
    } else {
        for (double y = 0; y <= scale->y_max * 1.0001; y += y_step)
            add_tick(page, false, draw_y(scale, y), y);
    }
    text_printf(page, "<text class=axis x=\"%d\" y=\"%d\" text-anchor=middle>", (LEFT + WIDTH) / 2,
                HEIGHT - 6);
    text_add_html(page, plot->x_title);
    text_printf(page,
                "</text><text class=axis transform=\"translate(14 %d) rotate(-90)\" "
                "text-anchor=middle>",
                (HEIGHT - BOTTOM + TOP) / 2);
    text_add_html(page, plot->y_title);
    text_add(page, "</text>");
}

static void plot_draw(const struct plot *plot, struct text *page)
{
    struct scale scale = scale_of(plot);

    text_add(page, "<figure><figcaption>");
    text_add_html(page, plot->title);
    text_printf(page, "</figcaption><svg viewBox=\"0 0 %d %d\" role=img>", WIDTH, HEIGHT);
    draw_axes(plot, &scale, page);
    for (size_t k = 0; k < plot->line_count; k++) {
        const struct plot_line *line = &plot->lines[k];
        double y = 0;
        text_printf(page, "<polyline class=\"line c%zu\" points=\"", k);
        for (size_t i = 0; i < json_array_size(line->y); i++) {
            double x = draw_x(&scale, x_at(line, i));
            if (plot->is_steps && i > 0)
                text_printf(page, "%.1f,%.1f ", x, y);
            y = draw_y(&scale, fmin(number_at(line->y, i), scale.y_max));
            text_printf(page, "%.1f,%.1f ", x, y);
        }
        text_add(page, "\"/>");
    }
    text_add(page, "</svg><div class=key>");
    for (size_t k = 0; k < plot->line_count; k++) {
        text_printf(page, "<span><i class=c%zu></i>", k);
        text_add_html(page, plot->lines[k].name);
        text_add(page, "</span>");
    }
    text_add(page, "</div></figure>\n");
}

static void plot_bars(const char *title, const struct plot_bar *bars, size_t count,
                      struct text *page)
{
    int height = (int)count * 22 + 8;
    double most = 1e-9;

    for (size_t i = 0; i < count; i++)
        most = fmax(most, fmax(bars[i].value, bars[i].mark));
    text_add(page, "<figure><figcaption>");
    text_add_html(page, title);
    text_printf(page, "</figcaption><svg viewBox=\"0 0 %d %d\" role=img>", WIDTH, height);
    for (size_t i = 0; i < count; i++) {
        double y = 6 + 22 * (double)i, room = WIDTH - 160 - 70;
        double mark = 160 + room * bars[i].mark / most;
        text_printf(page, "<text class=axis x=150 y=\"%.0f\" text-anchor=end>", y + 12);
        text_add_html(page, bars[i].name);
        text_printf(page,
                    "</text><rect class=\"bar c0\" x=160 y=\"%.0f\" width=\"%.1f\" height=14 />"
                    "<line class=mark x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>"
                    "<text class=axis x=\"%.1f\" y=\"%.0f\">%.1f %%</text>",
                    y, room * bars[i].value / most, mark, mark, y - 2, y + 16,
                    166 + room * fmax(bars[i].value, bars[i].mark) / most, y + 12, bars[i].value);
    }
    text_add(page, "</svg></figure>\n");
}

/* ---- the page ---- */

enum { BARS_MAX = 40 };

static const char head[] =
    "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
    "<meta name=viewport content=\"width=device-width, initial-scale=1\">"
    "<title>tarn simulate</title>\n<style>\n"
    ":root{color-scheme:light dark;--back:#fcfcfb;--ink:#1d2327;--faint:#667;--rule:#d8dbdf;"
    "--0:#0b63c5;--1:#c4501b;--2:#1f7a4d;--3:#8a3fb0;--4:#8a6d00;--5:#b3245c;--6:#0f7f8c;"
    "--7:#555}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#15181b;--ink:#e6e8ea;--faint:#9aa3ab;"
    "--rule:#333a41;--0:#6db1ff;--1:#ff9d6b;--2:#66cf9b;--3:#cf9bf0;--4:#e2c04a;--5:#ff86b0;"
    "--6:#5fd3e0;--7:#bbb}}\n"
    "body{margin:2rem auto;max-width:84rem;padding:0 1rem;background:var(--back);"
    "color:var(--ink);font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.4rem}h2{font-size:1.15rem;margin-top:2.5rem;border-bottom:1px solid "
    "var(--rule)}\n"
    ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));"
    "gap:1rem 2rem}\n"
    "figure{margin:0}figcaption{font-weight:600}svg{width:100%;height:auto}\n"
    "pre{overflow-x:auto;font:13px/1.5 ui-monospace,monospace}\n"
    ".axis{fill:var(--faint);font:12px system-ui,sans-serif}.grid{stroke:var(--rule)}\n"
    ".line{fill:none;stroke-width:1.8}.mark{stroke:var(--ink);stroke-width:2}\n"
    ".key{display:flex;flex-wrap:wrap;gap:.2rem 1rem;color:var(--faint);font-size:13px}"
    ".key i{display:inline-block;width:.9em;height:.9em;margin-right:.4em;border-radius:2px}\n"
    ".line.c0{stroke:var(--0)}.line.c1{stroke:var(--1)}.line.c2{stroke:var(--2)}"
    ".line.c3{stroke:var(--3)}.line.c4{stroke:var(--4)}.line.c5{stroke:var(--5)}"
    ".line.c6{stroke:var(--6)}.line.c7{stroke:var(--7)}\n"
    ".bar.c0{fill:var(--0)}i.c0{background:var(--0)}i.c1{background:var(--1)}"
    "i.c2{background:var(--2)}i.c3{background:var(--3)}i.c4{background:var(--4)}"
    "i.c5{background:var(--5)}i.c6{background:var(--6)}i.c7{background:var(--7)}\n"
    "</style></head><body>\n<h1>tarn simulate</h1>\n";

static void draw_time(const json_t *series, const char *key, const char *title, const char *y_title,
                      double y_max, struct text *page)
{
    const json_t *time = json_object_get(series, "time");
    struct plot plot = {
        .title = title,
        .x_title = "hours",
        .y_title = y_title,
        .lines = { { title, json_object_get(time, "at"), json_object_get(time, key) } },
        .line_count = 1,
        .is_steps = true,
        .y_max = y_max,
    };

    plot_draw(&plot, page);
}

/* One line per job size: the completion time that a percentage of its jobs does not exceed. */
static void draw_sizes(const json_t *series, const char *key, const char *title, struct text *page)
{
    struct plot plot = {
        .title = title,
        .x_title = "percent of jobs, by their GPUs",
        .y_title = "seconds, at most",
        .is_log = true,
    };
    const char *name;
    json_t *list;

    json_object_foreach(json_object_get(series, key), name, list)
    {
        if (plot.line_count < PLOT_LINES_MAX)
            plot.lines[plot.line_count++] = (struct plot_line){ name, NULL, list };
    }
    plot_draw(&plot, page);
}

static void draw_queues(const json_t *series, struct text *page)
{
    const json_t *queues = json_object_get(series, "queues");
    struct plot_bar bars[BARS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(queues) && count < BARS_MAX; i++) {
        const json_t *queue = json_array_get(queues, i);
        bars[count++] = (struct plot_bar){
            .name = json_string_value(json_object_get(queue, "name")),
            .value = json_number_value(json_object_get(queue, "got")),
            .mark = json_number_value(json_object_get(queue, "entitled")),
        };
    }
    plot_bars("GPU-time by queue, percent of the cluster (mark: what it is entitled to)", bars,
              count, page);
}

static void draw_report(const json_t *report, struct text *page)
{
    const json_t *run = json_array_get(json_object_get(report, "runs"), 0);
    const json_t *series = json_object_get(run, "series");
    const char *variant = json_string_value(json_object_get(report, "variant"));
    char which[64];

    text_add(page, "<h2>");
    text_add_html(page, json_string_value(json_object_get(report, "experiment")));
    if (variant) {
        text_add(page, ": ");
        text_add_html(page, variant);
    }
    const char *kind = json_object_get(run, "slice") ? "slice" : "seed";
    snprintf(which, sizeof(which), "%s %lld", kind,
             (long long)json_integer_value(json_object_get(run, kind)));
    text_printf(page, "</h2>\n<p>Drawn: %s, the first of %zu.</p>\n<div class=plots>\n", which,
                json_array_size(json_object_get(report, "runs")));
    draw_time(series, "used", "Utilisation", "percent of the GPUs", 100, page);
    draw_time(series, "waiting", "Queue", "jobs that wait", 0, page);
    draw_sizes(series, "wait", "Waiting", page);
    draw_sizes(series, "jct", "From submission to the end", page);
    draw_time(series, "fragment", "Fragmentation", "percent of the GPUs", 0, page);
    draw_queues(series, page);
    text_add(page, "</div>\n");
}

void report_format(const json_t *reports, struct text *page)
{
    AUTO_RELEASE(text) struct text listing = { 0 };
    struct table_view view = { .has_title = true };

    text_add(page, head);
    listing_format(reports, &view, &listing);
    text_add(page, "<pre>");
    for (const char *c = text_string(&listing); *c; c++) { /* keep its lines */
        char one[2] = { *c, '\0' };
        if (*c == '\n')
            text_add_char(page, '\n');
        else
            text_add_html(page, one);
    }
    text_add(page, "</pre>\n");
    for (size_t i = 0; i < json_array_size(reports); i++)
        draw_report(json_array_get(reports, i), page);
    text_add(page, "</body></html>\n");
}
