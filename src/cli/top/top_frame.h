/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_FRAME_H
#define CLI_TOP_TOP_FRAME_H

/* top_frame - one picture: lines of text in styles, as wide as a screen
 *
 * It knows no terminal: whoever shows it asks for the spans of each line. What does not fit in the
 * width is cut with an ellipsis, control characters become '?', and where the terminal is not
 * UTF-8 every sign is replaced by as many ASCII ones as it is wide.
 *
 * Order of calls:  init, (start_line, (add | pad)*)*, (span | format)*, clear or release
 * Owner:           whoever declared it
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
    size_t column;       /* of the line that is being made */
    unsigned line_style; /* is added to that of each span of the line */
};

void frame_init(struct frame *frame, size_t width, bool is_utf8);
void frame_release(struct frame *frame);

void frame_start_line(struct frame *frame, unsigned style);
void frame_add(struct frame *frame, unsigned style, const char *words);
void frame_printf(struct frame *frame, unsigned style, const char *format, ...) PRINTF(3, 4);
/* Words in a field of so many columns; what is longer is cut. */
void frame_add_left(struct frame *frame, unsigned style, size_t width, const char *words);
void frame_add_right(struct frame *frame, unsigned style, size_t width, const char *words);
/* Blanks up to a column; nothing where the line is there already. */
void frame_pad(struct frame *frame, size_t column);

const char *frame_text(const struct frame *frame, const struct frame_span *span);
/* All lines without styles and without blanks at their ends. */
void frame_format(const struct frame *frame, struct text *text);

#endif
