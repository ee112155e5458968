/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/plot.h"

#include <math.h>

enum { WIDTH = 640, HEIGHT = 260, LEFT = 64, RIGHT = 12, TOP = 12, BOTTOM = 40 };

void text_add_html(struct text *text, const char *words)
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

void plot_draw(const struct plot *plot, struct text *page)
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

void plot_bars(const char *title, const struct plot_bar *bars, size_t count, struct text *page)
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
