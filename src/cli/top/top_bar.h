/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_BAR_H
#define CLI_TOP_TOP_BAR_H

/* top_bar - draws fractions as text: bars, sparklines, single levels
 *
 * A fraction is 0 to 1; values outside are clamped. NAN is an unknown value: shown as '-', never as
 * 0. A sign takes one column. On a terminal without UTF-8 the signs are ASCII.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* "████░░", "####.."; "------" for an unknown value. */
void bar_add(struct text *text, double part, size_t width, bool is_utf8);

/* The last `width` of count values, the newest at the right: "▁▃█", "_=#"; blank on the left if
 * there are fewer. */
void spark_add(struct text *text, const float *parts, size_t count, size_t width, bool is_utf8);

/* One sign for one value: one of eight levels, or 0 to 9 without UTF-8. */
const char *level_sign(double part, bool is_utf8);

#endif
