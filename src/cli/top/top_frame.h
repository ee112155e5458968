/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_FRAME_H
#define CLI_TOP_TOP_FRAME_H

/* top_frame - one frame: styled lines of text, as wide as the screen
 *
 * It does not depend on a terminal: the code that shows it reads the spans of each line. Text
 * beyond the width is cut with an ellipsis, and control characters become '?'. Without UTF-8, ASCII
 * characters of the same width replace every sign.
 *
 * Order of calls:  init, (start_line, (add | pad)*)*, (span | format)*, clear or release
 * Owner:           the code that declares it
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"

/* A style is one of table.h's, and any of these. */
enum { FRAME_BOLD = 16, FRAME_SELECTED = 32, FRAME_STYLES = 15 };

struct frame_span {
    size_t line;          /* from 0 */
    size_t start, length; /* bytes of the frame's text */
    unsigned style;
};

struct frame {
    size_t width; /* columns */
    bool is_utf8;
    struct text bytes;
    LIST(struct frame_span) spans; /* line by line, from left to right */
    size_t line_count;
    size_t column;       /* of the current line */
    unsigned line_style; /* added to the style of each span of the line */
};

void frame_init(struct frame *frame, size_t width, bool is_utf8);
void frame_release(struct frame *frame);

void frame_start_line(struct frame *frame, unsigned style);
void frame_add(struct frame *frame, unsigned style, const char *words);
void frame_printf(struct frame *frame, unsigned style, const char *format, ...) PRINTF(3, 4);
/* Text in a field of a fixed width; longer text is cut. */
void frame_add_left(struct frame *frame, unsigned style, size_t width, const char *words);
void frame_add_right(struct frame *frame, unsigned style, size_t width, const char *words);
/* Blanks up to a column; none if the line is already that long. */
void frame_pad(struct frame *frame, size_t column);

const char *frame_text(const struct frame *frame, const struct frame_span *span);
/* All lines without styles and without blanks at their ends. */
void frame_format(const struct frame *frame, struct text *text);

/* ---- fractions as text ----
 *
 * A fraction is 0 to 1; values outside are clamped. NAN is an unknown value: shown as '-', never as
 * 0. A sign takes one column. On a terminal without UTF-8 the signs are ASCII.
 */

/* "████░░", "####.."; "------" for an unknown value. */
void bar_add(struct text *text, double part, size_t width, bool is_utf8);

/* The last `width` of count values, the newest at the right: "▁▃█", "_=#"; blank on the left if
 * there are fewer. */
void spark_add(struct text *text, const float *parts, size_t count, size_t width, bool is_utf8);

/* One sign for one value: one of eight levels, or 0 to 9 without UTF-8. */
const char *level_sign(double part, bool is_utf8);

#endif
