/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_PLOT_H
#define SIM_REPORT_PLOT_H

/* plot - line drawings and bars as inline SVG
 *
 * Colours are CSS classes (c0 to c7, axis, grid), so that the page sets their look.
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

/* One row of bars per name: pairs of values on one scale. */
struct plot_bar {
    const char *name;
    double value, mark; /* position of the target mark */
};
void plot_bars(const char *title, const struct plot_bar *bars, size_t count, struct text *page);

/* Escapes <, >, & and quotes; control characters become '?'. */
void text_add_html(struct text *text, const char *words);

#endif
