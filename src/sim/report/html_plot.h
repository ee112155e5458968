/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_HTML_PLOT_H
#define SIM_REPORT_HTML_PLOT_H

/* html_plot - line drawings and bars as inline SVG
 *
 * Lines of several variants share one pair of axes. Colours are CSS classes (c0 to c7, axis, grid),
 * so that the page sets their look.
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/text.h"

enum { PLOT_COLOURS = 8 };

struct plot_line {
    const char *name;    /* NULL: no entry in the legend */
    const json_t *x, *y; /* lists of numbers; x NULL: evenly spaced percentages */
    unsigned colour;     /* below PLOT_COLOURS */
    bool is_faint;       /* another seed of the named line */
};

enum plot_axis {
    AXIS_PLAIN,   /* from 0 */
    AXIS_PERCENT, /* 0 to 100 */
    AXIS_SPAN,    /* seconds, logarithmic from 1 s, with durations */
    AXIS_HOURS,   /* hours, labelled as hours or days */
};

struct plot {
    const char *title, *x_title, *y_title;
    enum plot_axis x_axis, y_axis;
    LIST(struct plot_line) lines;
    bool is_steps; /* a value holds until the next */
};

void plot_draw(const struct plot *plot, struct text *page);
void plot_release(struct plot *plot);

/* One bar: a value in percent, and a mark for the target. */
struct plot_bar {
    char *name; /* owned */
    double value, mark;
    unsigned colour;
};
typedef LIST(struct plot_bar) plot_bar_list;
void plot_bars(const char *title, plot_bar_list *bars, struct text *page); /* releases them */

#endif
