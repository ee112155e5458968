/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/html_plot.h"

#include <math.h>
#include <stdlib.h>

#include "base/html.h"

enum { WIDTH = 640, HEIGHT = 260, LEFT = 64, RIGHT = 12, TOP = 12, BOTTOM = 40 };

/* From data to the drawing. */
struct scale {
    double x_max, y_max;
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
    bool is_percent = plot->y_axis == AXIS_PERCENT;
    struct scale scale = { .y_max = is_percent ? 100 : 0, .is_log = plot->y_axis == AXIS_SPAN };

    LIST_EACH (struct plot_line, line, &plot->lines) {
        for (size_t i = 0; i < json_array_size(line->y); i++) {
            scale.x_max = fmax(scale.x_max, x_at(line, i));
            if (!is_percent)
                scale.y_max = fmax(scale.y_max, number_at(line->y, i));
        }
    }
    if (scale.x_max <= 0)
        scale.x_max = 1;
    if (scale.y_max <= (scale.is_log ? 10 : 0))
        scale.y_max = scale.is_log ? 10 : 1;
    return scale;
}

static double draw_x(const struct scale *scale, double x)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * x / scale->x_max;
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

static void add_label(struct text *page, enum plot_axis axis, double value)
{
    if (value == 0 && axis != AXIS_PERCENT)
        text_add(page, "0");
    else if (axis == AXIS_SPAN)
        text_add_span(page, value);
    else if (axis == AXIS_HOURS)
        text_add_span(page, value * 3600);
    else
        text_printf(page, "%g%s", value, axis == AXIS_PERCENT ? " %" : "");
}

static void add_x_tick(const struct plot *plot, const struct scale *scale, double value,
                       struct text *page)
{
    text_printf(page, "<text class=axis x=\"%.1f\" y=\"%d\" text-anchor=middle>",
                draw_x(scale, value), HEIGHT - BOTTOM + 16);
    add_label(page, plot->x_axis, value);
    text_add(page, "</text>");
}

static void add_y_tick(const struct plot *plot, const struct scale *scale, double value,
                       struct text *page)
{
    const double at = draw_y(scale, value);

    text_printf(page,
                "<line class=grid x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text class=axis x=\"%d\" y=\"%.1f\" text-anchor=end>",
                LEFT, WIDTH - RIGHT, at, at, LEFT - 6, at + 4);
    add_label(page, plot->y_axis, value);
    text_add(page, "</text>");
}

static void draw_axes(const struct plot *plot, const struct scale *scale, struct text *page)
{
    static const double spans[] = { 1, 10, 60, 600, 3600, 36000, 86400, 864000, 8640000 };
    bool has_days = plot->x_axis == AXIS_HOURS && scale->x_max > 48;
    double x_step = has_days ? 24 * ceil(step_of(scale->x_max / 24)) : step_of(scale->x_max);
    double y_step = step_of(scale->y_max);

    for (double x = 0; x <= scale->x_max * 1.0001; x += x_step)
        add_x_tick(plot, scale, x, page);
    for (size_t i = 0; scale->is_log && i < COUNT_OF(spans) && spans[i] <= scale->y_max; i++)
        add_y_tick(plot, scale, spans[i], page);
    for (double y = 0; !scale->is_log && y <= scale->y_max * 1.0001; y += y_step)
        add_y_tick(plot, scale, y, page);
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

static void draw_line(const struct plot *plot, const struct scale *scale,
                      const struct plot_line *line, struct text *page)
{
    double y = 0;

    text_printf(page, "<polyline class=\"line%s c%u\" points=\"", line->is_faint ? " faint" : "",
                line->colour);
    for (size_t i = 0; i < json_array_size(line->y); i++) {
        double x = draw_x(scale, x_at(line, i));
        if (plot->is_steps && i > 0)
            text_printf(page, "%.1f,%.1f ", x, y);
        y = draw_y(scale, fmin(number_at(line->y, i), scale->y_max));
        text_printf(page, "%.1f,%.1f ", x, y);
    }
    text_add(page, "\"/>");
}

void plot_draw(const struct plot *plot, struct text *page)
{
    struct scale scale = scale_of(plot);

    text_add(page, "<figure><figcaption>");
    text_add_html(page, plot->title);
    text_printf(page, "</figcaption><svg viewBox=\"0 0 %d %d\" role=img>", WIDTH, HEIGHT);
    draw_axes(plot, &scale, page);
    for (int is_faint = 1; is_faint >= 0; is_faint--) {
        LIST_EACH (struct plot_line, line, &plot->lines) {
            if (line->is_faint == is_faint)
                draw_line(plot, &scale, line, page);
        }
    }
    text_add(page, "</svg><div class=key>");
    LIST_EACH (struct plot_line, line, &plot->lines) {
        if (!line->name)
            continue;
        text_printf(page, "<span><i class=c%u></i>", line->colour);
        text_add_html(page, line->name);
        text_add(page, "</span>");
    }
    text_add(page, "</div></figure>\n");
}

void plot_release(struct plot *plot)
{
    list_release(&plot->lines);
}

void plot_bars(const char *title, plot_bar_list *bars, struct text *page)
{
    double most = 1e-9;

    LIST_EACH (struct plot_bar, bar, bars)
        most = fmax(most, fmax(bar->value, bar->mark));
    text_add(page, "<figure><figcaption>");
    text_add_html(page, title);
    text_printf(page, "</figcaption><svg viewBox=\"0 0 %d %d\" role=img>", WIDTH,
                (int)bars->count * 22 + 8);
    for (size_t i = 0; i < bars->count; i++) {
        const struct plot_bar *bar = &bars->items[i];
        double y = 6 + 22 * (double)i, room = WIDTH - 220 - 70;
        double mark = 220 + room * bar->mark / most;
        text_printf(page, "<text class=axis x=210 y=\"%.0f\" text-anchor=end>", y + 12);
        text_add_html(page, bar->name);
        text_printf(page,
                    "</text><rect class=\"bar c%u\" x=220 y=\"%.0f\" width=\"%.1f\" height=14 />"
                    "<line class=mark x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>"
                    "<text class=axis x=\"%.1f\" y=\"%.0f\">%.1f %%</text>",
                    bar->colour, y, room * bar->value / most, mark, mark, y - 2, y + 16,
                    226 + room * fmax(bar->value, bar->mark) / most, y + 12, bar->value);
        free(bar->name);
    }
    text_add(page, "</svg></figure>\n");
    list_release(bars);
}
