/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/html_report.h"

#include <stdio.h>

#include "sim/report/listing.h"
#include "sim/report/plot.h"

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
