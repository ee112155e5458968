/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_BAR_H
#define CLI_TOP_TOP_BAR_H

/* top_bar - parts of a whole as signs: bars, sparklines, single levels
 *
 * A part is 0 to 1; what is beyond is taken for the end that it is beyond. NAN is a part that
 * nobody knows: it is shown as '-' and never as 0. A sign takes one column. Where the terminal is
 * not UTF-8 the signs are ASCII.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* "████░░", "####.."; "------" of what is not known. */
void bar_add(struct text *text, double part, size_t width, bool is_utf8);

/* The last `width` of count parts, the newest at the right: "▁▃█", "_=#". Blank where there are
 * not so many yet. */
void spark_add(struct text *text, const float *parts, size_t count, size_t width, bool is_utf8);

/* One sign for one part: of eight levels, or 0 to 9 where it is not UTF-8. */
const char *level_sign(double part, bool is_utf8);

#endif
