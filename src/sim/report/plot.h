/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_PLOT_H
#define SIM_REPORT_PLOT_H

/* plot - line drawings and bars as inline SVG
 *
 * Colours are CSS classes (c0 to c7, axis, grid), so that a page decides how they look.
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"

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

void plot_draw(const struct plot *plot, struct text *page);

/* A row of bars for each name: pairs of values, drawn to one scale. */
struct plot_bar {
    const char *name;
    double value, mark; /* the mark is where it should be */
};
void plot_bars(const char *title, const struct plot_bar *bars, size_t count, struct text *page);

/* With <, >, & and quotes made harmless, and control characters as '?'. */
void text_add_html(struct text *text, const char *words);

#endif
