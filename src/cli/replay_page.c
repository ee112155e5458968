/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay_page.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/html.h"
#include "cli/fields.h"

enum { BAR_ROOM = 380, BAR_LEFT = 160, BAR_HEIGHT = 14 };

static const char head[] =
    "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
    "<meta name=viewport content=\"width=device-width, initial-scale=1\">"
    "<title>tarn apply --replay</title>\n<style>\n"
    ":root{color-scheme:light dark}body{margin:2rem auto;max-width:60rem;padding:0 1rem;"
    "font:15px/1.5 system-ui,sans-serif}.answer{font-size:1.1rem}table{border-collapse:collapse}"
    "th,td{padding:.15rem .9rem .15rem 0;text-align:right}th:first-child,td:first-child"
    "{text-align:left}svg{width:100%;max-width:44rem}text{fill:currentColor;font:12px system-ui}"
    ".now{fill:#8a93a0}.change{fill:#0b63c5}\n</style></head><body>\n<h1>";

static const struct measure {
    const char *key, *words;
    bool is_span;
} measures[] = {
    { "wait_p50", "median wait", true },
    { "wait_p95", "p95 wait", true },
    { "wait_mean", "mean wait", true },
    { "lost_gpu_hours", "GPU-hours lost", false },
};

static const char *name_of(const json_t *row)
{
    return field_is_null(row, "queue") ? "all queues" : field_text(row, "queue");
}

static void add_value(const json_t *row, const struct measure *measure, const char *side,
                      struct text *text)
{
    const json_t *both = json_object_get(row, measure->key);

    if (field_is_null(both, side))
        text_add(text, "open"); /* no start is in sight */
    else if (measure->is_span)
        text_add_span(text, field_real(both, side));
    else
        text_printf(text, "%.1f", field_real(both, side));
}

/* "research: median wait 14 m → 6 m, GPU-hours lost 0.4" */
static void add_answer(const json_t *row, struct text *page)
{
    bool has_any = false;

    text_add(page, "<p class=answer><b>");
    text_add_html(page, name_of(row));
    text_add(page, "</b>:");
    for (size_t i = 0; i < COUNT_OF(measures); i++) {
        AUTO_RELEASE(text) struct text now = { 0 }, change = { 0 };
        if (!json_object_get(row, measures[i].key))
            continue;
        add_value(row, &measures[i], "now", &now);
        add_value(row, &measures[i], "change", &change);
        text_printf(page, "%s %s %s", has_any ? "," : "", measures[i].words, now.bytes);
        if (strcmp(now.bytes, change.bytes) != 0)
            text_printf(page, " → %s", change.bytes);
        has_any = true;
    }
    text_add(page, ".</p>\n");
}

static double mean_wait(const json_t *row, const char *side)
{
    return field_real(json_object_get(row, "wait_mean"), side);
}

static void add_bar(const char *name, const char *side, double seconds, double most, double y,
                    struct text *page)
{
    const double width = most > 0 ? BAR_ROOM * seconds / most : 0;

    text_printf(page, "<text x=%d y=\"%.0f\" text-anchor=end>", BAR_LEFT - 8, y + 11);
    text_add_html(page, name);
    text_printf(page,
                "</text><rect class=%s x=%d y=\"%.0f\" width=\"%.1f\" height=%d />"
                "<text x=\"%.1f\" y=\"%.0f\">",
                side, BAR_LEFT, y, width, BAR_HEIGHT, BAR_LEFT + width + 6, y + 11);
    text_add_span(page, seconds);
    text_add(page, "</text>");
}

/* libm is not loaded for this. */
static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Both sides of each queue on one scale. */
static void add_bars(const json_t *queues, struct text *page)
{
    const json_t *row;
    double most = 0;
    size_t i;

    json_array_foreach(queues, i, row)
    {
        most = larger(most, mean_wait(row, "now"));
        most = larger(most, mean_wait(row, "change"));
    }
    text_printf(page,
                "<h2>Mean wait of each queue (grey: as it was, blue: under the change)</h2>\n"
                "<svg viewBox=\"0 0 640 %zu\" role=img>",
                json_array_size(queues) * 40 + 8);
    json_array_foreach(queues, i, row)
    {
        const double y = 4 + 40 * (double)i;
        add_bar(name_of(row), "now", mean_wait(row, "now"), most, y, page);
        add_bar("", "change", mean_wait(row, "change"), most, y + 16, page);
    }
    text_add(page, "</svg>\n");
}

void replay_page_format(const json_t *outlook, const json_t *changes, const char *file,
                        const char *last, struct text *page)
{
    const json_t *queues = json_object_get(outlook, "queues"), *row;
    size_t i;

    text_add(page, head);
    text_add_html(page, file);
    text_printf(page, ", the last %s under it</h1>\n", last);
    if (field_number(outlook, "job_count") == 0)
        text_add(page, "<p class=answer>No job was submitted in that time.</p>\n");
    else
        add_answer(json_object_get(outlook, "total"), page);
    json_array_foreach(queues, i, row) if (json_array_size(queues) > 1) add_answer(row, page);
    text_printf(page,
                "<p>%" PRId64 " jobs replayed: %" PRId64 " would have started sooner, %" PRId64
                " later. tarn %s.</p>\n<ul>\n",
                field_number(outlook, "job_count"), field_number(outlook, "sooner"),
                field_number(outlook, "later"), TARN_VERSION);
    json_array_foreach(changes, i, row)
    {
        text_add(page, "<li>");
        text_add_html(page, json_string_value(row) ? json_string_value(row) : "");
        text_add(page, "</li>\n");
    }
    text_add(page, "</ul>\n");
    if (json_array_size(queues) > 0)
        add_bars(queues, page);
    text_add(page, "</body></html>\n");
}
