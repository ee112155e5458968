/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/html_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/html.h"
#include "sim/report/html_plot.h"
#include "sim/report/listing.h"

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
    "table{border-collapse:collapse}th,td{padding:.15rem .9rem .15rem 0;text-align:right;"
    "font-variant-numeric:tabular-nums}th:first-child,td:first-child{text-align:left}"
    "th,td small{color:var(--faint);font-weight:400}tr{border-bottom:1px solid var(--rule)}\n"
    ".answer{font-size:1.1rem}.facts{color:var(--faint)}\n"
    "pre{overflow-x:auto;font:13px/1.5 ui-monospace,monospace}\n"
    ".axis{fill:var(--faint);font:12px system-ui,sans-serif}.grid{stroke:var(--rule)}\n"
    ".line{fill:none;stroke-width:1.8}.faint{stroke-width:.8;opacity:.45}.mark{stroke:var(--ink);"
    "stroke-width:2}\n"
    ".key{display:flex;flex-wrap:wrap;gap:.2rem 1rem;color:var(--faint);font-size:13px}"
    ".key i{display:inline-block;width:.9em;height:.9em;margin-right:.4em;border-radius:2px}\n"
    ".line.c0{stroke:var(--0)}.line.c1{stroke:var(--1)}.line.c2{stroke:var(--2)}"
    ".line.c3{stroke:var(--3)}.line.c4{stroke:var(--4)}.line.c5{stroke:var(--5)}"
    ".line.c6{stroke:var(--6)}.line.c7{stroke:var(--7)}\n"
    ".bar.c0{fill:var(--0)}.bar.c1{fill:var(--1)}.bar.c2{fill:var(--2)}.bar.c3{fill:var(--3)}"
    ".bar.c4{fill:var(--4)}.bar.c5{fill:var(--5)}.bar.c6{fill:var(--6)}.bar.c7{fill:var(--7)}"
    "i.c0{background:var(--0)}i.c1{background:var(--1)}"
    "i.c2{background:var(--2)}i.c3{background:var(--3)}i.c4{background:var(--4)}"
    "i.c5{background:var(--5)}i.c6{background:var(--6)}i.c7{background:var(--7)}\n"
    "</style></head><body>\n<h1>tarn simulate</h1>\n";

/* Reports of one experiment, which differ in their variants. */
struct group {
    const json_t *reports;
    size_t from, to;
};

static const json_t *report_at(const struct group *group, size_t i)
{
    return json_array_get(group->reports, group->from + i);
}

static size_t size_of(const struct group *group)
{
    return group->to - group->from;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static const char *name_of(const json_t *report)
{
    const char *variant = text_of(report, "variant");

    return variant[0] ? variant : text_of(report, "experiment");
}

static const json_t *runs_of(const json_t *report)
{
    return json_object_get(report, "runs");
}

/* ---- the answer ---- */

static const struct figure {
    const char *words, *title;
    const char *path[3]; /* in a run; NULL ends it */
    enum { FIGURE_SPAN, FIGURE_PERCENT, FIGURE_PLAIN } unit;
} figures[] = {
    { "median wait", "wait, median", { "wait", "p50" }, FIGURE_SPAN },
    { "p95 wait", "wait, p95", { "wait", "p95" }, FIGURE_SPAN },
    { "mean time to the end", "from submission to the end, mean", { "jct", "mean" }, FIGURE_SPAN },
    { "makespan", "makespan", { "makespan" }, FIGURE_SPAN },
    { "GPUs allocated", "GPUs allocated", { "utilization" }, FIGURE_PERCENT },
    { "GPU-hours lost",
      "GPU-hours lost to restarts",
      { "series", "lost_gpu_hours" },
      FIGURE_PLAIN },
    { "deadlines met", "deadlines met", { "deadlines", "met_percent" }, FIGURE_PERCENT },
};

struct range {
    double mean, least, most;
    size_t count;
};

/* Over the runs of a report; count 0: it was not measured. */
static struct range range_of(const json_t *report, const struct figure *figure)
{
    struct range range = { 0 };
    const json_t *run;
    size_t i;

    json_array_foreach(runs_of(report), i, run)
    {
        const json_t *value = run;
        for (size_t k = 0; k < COUNT_OF(figure->path) && figure->path[k]; k++)
            value = json_object_get(value, figure->path[k]);
        if (!json_is_number(value))
            return (struct range){ 0 };
        const double number = json_number_value(value);
        range.least = i == 0 ? number : fmin(range.least, number);
        range.most = i == 0 ? number : fmax(range.most, number);
        range.mean += number;
        range.count++;
    }
    if (range.count > 0)
        range.mean /= (double)range.count;
    return range;
}

static void add_figure(struct text *page, const struct figure *figure, double value)
{
    if (figure->unit == FIGURE_SPAN)
        text_add_span(page, value);
    else
        text_printf(page, "%.1f%s", value, figure->unit == FIGURE_PERCENT ? " %" : "");
}

/* "usual: median wait 14 m → 6 m, GPU-hours lost 0.4". Of several variants each but the first is
 * compared with that. */
static void add_answer(const struct group *group, size_t i, struct text *page)
{
    const json_t *report = report_at(group, i), *first = report_at(group, 0);
    bool has_any = false;

    text_add(page, "<p class=answer><b>");
    text_add_html(page, name_of(report));
    text_add(page, "</b>");
    if (i > 0) {
        text_add(page, " against ");
        text_add_html(page, name_of(first));
    }
    for (size_t k = 0; k < COUNT_OF(figures); k++) {
        const struct range now = range_of(report, &figures[k]),
                           before = range_of(first, &figures[k]);
        if (now.count == 0)
            continue;
        AUTO_RELEASE(text) struct text old = { 0 }, new = { 0 };
        add_figure(&old, &figures[k], before.mean);
        add_figure(&new, &figures[k], now.mean);
        text_printf(page, "%s %s ", has_any ? "," : ":", figures[k].words);
        if (i > 0 && strcmp(text_string(&old), text_string(&new)) != 0)
            text_printf(page, "%s → ", old.bytes);
        text_printf(page, "%s", new.bytes);
        has_any = true;
    }
    text_add(page, has_any ? ".</p>\n" : ": none of the usual figures was measured.</p>\n");
}

/* A row a figure, a column a variant: the mean over the runs, and from where to where. */
static void add_figures(const struct group *group, struct text *page)
{
    text_add(page, "<table><tr><th>mean (least to most of the runs)</th>");
    for (size_t i = 0; i < size_of(group); i++) {
        text_add(page, "<th>");
        text_add_html(page, name_of(report_at(group, i)));
        text_add(page, "</th>");
    }
    text_add(page, "</tr>\n");
    for (size_t k = 0; k < COUNT_OF(figures); k++) {
        if (range_of(report_at(group, 0), &figures[k]).count == 0)
            continue;
        text_printf(page, "<tr><td>%s</td>", figures[k].title);
        for (size_t i = 0; i < size_of(group); i++) {
            const struct range range = range_of(report_at(group, i), &figures[k]);
            text_add(page, "<td>");
            if (range.count > 0)
                add_figure(page, &figures[k], range.mean);
            if (range.count > 1) {
                text_add(page, " <small>(");
                add_figure(page, &figures[k], range.least);
                text_add(page, " to ");
                add_figure(page, &figures[k], range.most);
                text_add(page, ")</small>");
            }
            text_add(page, "</td>");
        }
        text_add(page, "</tr>\n");
    }
    text_add(page, "</table>\n");
}

/* Cluster, workload, seeds and version. */
static void add_facts(const struct group *group, struct text *page)
{
    const json_t *first = report_at(group, 0), *runs = runs_of(first), *run;
    const json_t *cluster = json_object_get(first, "cluster");
    const json_t *workload = json_object_get(first, "workload");
    bool is_slice = json_object_get(json_array_get(runs, 0), "slice") != NULL;
    size_t i;

    text_printf(page,
                "<p class=facts>Cluster: %" JSON_INTEGER_FORMAT " nodes, %" JSON_INTEGER_FORMAT
                " GPUs (",
                json_integer_value(json_object_get(cluster, "nodes")),
                json_integer_value(json_object_get(cluster, "gpus")));
    text_add_html(page, text_of(cluster, "models"));
    text_printf(page, "). Workload: %" JSON_INTEGER_FORMAT " jobs, ",
                json_integer_value(json_object_get(workload, "jobs")));
    text_add_html(page, text_of(workload, "source"));
    text_add(page, ", submitted within ");
    text_add_span(page, json_number_value(json_object_get(workload, "span_seconds")));
    text_printf(page, ". %zu run%s, %s%s ", json_array_size(runs),
                json_array_size(runs) == 1 ? "" : "s", is_slice ? "slice" : "seed",
                json_array_size(runs) == 1 ? "" : "s");
    json_array_foreach(runs, i, run)
        text_printf(page, "%s%" JSON_INTEGER_FORMAT, i > 0 ? ", " : "",
                    json_integer_value(json_object_get(run, is_slice ? "slice" : "seed")));
    text_printf(page, ". tarn %s.</p>\n", TARN_VERSION);
}

/* ---- plots ---- */

static const json_t *series_at(const json_t *report, size_t run)
{
    return json_object_get(json_array_get(runs_of(report), run), "series");
}

/* A line for each run of each variant; the first run of each has its name. */
static void add_lines(struct plot *plot, const struct group *group, const char *part,
                      const char *x_key, const char *y_key)
{
    for (size_t i = 0; i < size_of(group); i++) {
        const json_t *report = report_at(group, i);
        for (size_t run = 0; run < json_array_size(runs_of(report)); run++) {
            const json_t *object = json_object_get(series_at(report, run), part);
            const json_t *y = json_object_get(object, y_key);
            if (!y)
                continue;
            list_add(&plot->lines,
                     (struct plot_line){ .name = run == 0 ? name_of(report) : NULL,
                                         .x = x_key ? json_object_get(object, x_key) : NULL,
                                         .y = y,
                                         .colour = (unsigned)(i % PLOT_COLOURS),
                                         .is_faint = run > 0 });
        }
    }
}

static void draw_time(const struct group *group, const char *key, const char *title,
                      const char *y_title, enum plot_axis axis, struct text *page)
{
    struct plot plot = {
        .title = title,
        .x_title = "time since the first submission",
        .y_title = y_title,
        .x_axis = AXIS_HOURS,
        .y_axis = axis,
        .is_steps = true,
    };

    add_lines(&plot, group, "time", "at", key);
    plot_draw(&plot, page);
    plot_release(&plot);
}

/* The time that a percentage of the jobs does not exceed: of all, and of each size. */
static void draw_sizes(const struct group *group, const char *key, const char *title,
                       struct text *page)
{
    const json_t *sizes = json_object_get(series_at(report_at(group, 0), 0), key);
    const char *size;
    json_t *list;

    json_object_foreach((json_t *)(uintptr_t)sizes, size, list)
    {
        bool is_all = strcmp(size, "all") == 0;
        AUTO_FREE char *name = is_all ? mem_printf("%s: all jobs", title)
                                      : mem_printf("%s: jobs with %s GPUs", title, size);
        struct plot plot = {
            .title = name,
            .x_title = "share of the jobs",
            .y_title = "at most (logarithmic)",
            .x_axis = AXIS_PERCENT,
            .y_axis = AXIS_SPAN,
        };
        add_lines(&plot, group, key, NULL, size);
        plot_draw(&plot, page);
        plot_release(&plot);
    }
    (void)list;
}

static void draw_queues(const struct group *group, struct text *page)
{
    const json_t *queues = json_object_get(series_at(report_at(group, 0), 0), "queues");
    plot_bar_list bars = { 0 };

    for (size_t i = 0; i < json_array_size(queues); i++) {
        for (size_t k = 0; k < size_of(group) && bars.count < BARS_MAX; k++) {
            const json_t *report = report_at(group, k);
            const json_t *queue =
                json_array_get(json_object_get(series_at(report, 0), "queues"), i);
            list_add(&bars, (struct plot_bar){
                                .name = mem_printf("%s%s%s", text_of(queue, "name"),
                                                   size_of(group) > 1 ? " · " : "",
                                                   size_of(group) > 1 ? name_of(report) : ""),
                                .value = json_number_value(json_object_get(queue, "got")),
                                .mark = json_number_value(json_object_get(queue, "entitled")),
                                .colour = (unsigned)(k % PLOT_COLOURS),
                            });
        }
    }
    if (bars.count > 0)
        plot_bars("GPU-time by queue, share of the cluster (mark: what the queue is entitled to)",
                  &bars, page);
}

static void draw_group(const struct group *group, struct text *page)
{
    size_t runs = json_array_size(runs_of(report_at(group, 0)));

    text_add(page, "<h2>");
    text_add_html(page, text_of(report_at(group, 0), "experiment"));
    text_add(page, "</h2>\n");
    for (size_t i = size_of(group) > 1 ? 1 : 0; i < size_of(group); i++)
        add_answer(group, i, page);
    add_facts(group, page);
    add_figures(group, page);
    if (runs > 1)
        text_printf(page, "<p>Thick lines: the first run. Thin lines: the other %zu.</p>\n",
                    runs - 1);
    text_add(page, "<div class=plots>\n");
    draw_time(group, "used", "GPUs allocated", "of all GPUs", AXIS_PERCENT, page);
    draw_time(group, "waiting", "Queue", "jobs that wait", AXIS_PLAIN, page);
    draw_sizes(group, "wait", "Wait", page);
    draw_sizes(group, "jct", "From submission to the end", page);
    draw_time(group, "fragment", "Fragmentation", "of all GPUs", AXIS_PERCENT, page);
    draw_queues(group, page);
    text_add(page, "</div>\n");
}

static void add_listing(const json_t *reports, struct text *page)
{
    AUTO_RELEASE(text) struct text listing = { 0 };
    struct table_view view = { .has_title = true };

    listing_format(reports, &view, &listing);
    text_add(page, "<h2>All figures (means over the runs)</h2>\n<pre>");
    for (const char *c = text_string(&listing); *c; c++) { /* keep its lines */
        char one[2] = { *c, '\0' };
        if (*c == '\n')
            text_add_char(page, '\n');
        else
            text_add_html(page, one);
    }
    text_add(page, "</pre>\n");
}

/* Variants of one file stand beside one another. */
static bool is_same_experiment(const json_t *reports, size_t a, size_t b)
{
    const json_t *first = json_array_get(reports, a), *second = json_array_get(reports, b);

    return text_of(first, "variant")[0] && text_of(second, "variant")[0] &&
           strcmp(text_of(first, "experiment"), text_of(second, "experiment")) == 0;
}

void report_format(const json_t *reports, struct text *page)
{
    text_add(page, head);
    for (size_t from = 0, to; from < json_array_size(reports); from = to) {
        for (to = from + 1; to < json_array_size(reports) && is_same_experiment(reports, from, to);)
            to++;
        draw_group(&(struct group){ reports, from, to }, page);
    }
    add_listing(reports, page);
    text_add(page, "</body></html>\n");
}
