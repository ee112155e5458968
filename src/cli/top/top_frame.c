/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_frame.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void frame_init(struct frame *frame, size_t width, bool is_utf8)
{
    *frame = (struct frame){ .width = width, .is_utf8 = is_utf8 };
}

void frame_release(struct frame *frame)
{
    text_release(&frame->bytes);
    list_release(&frame->spans);
}

void frame_start_line(struct frame *frame, unsigned style)
{
    frame->line_count++;
    frame->column = 0;
    frame->line_style = style;
}

/* One sign of several bytes as ASCII, as wide as it was. */
static void add_ascii(struct text *text, const char *sign)
{
    static const struct {
        const char *sign, *ascii;
    } known[] = {
        { "·", "-" }, { "…", "~" }, { "°", " " }, { "→", ">" }, { "–", "-" },
    };

    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (strcmp(known[i].sign, sign) == 0) {
            text_add(text, known[i].ascii);
            return;
        }
    }
    for (size_t width = string_width(sign); width > 0; width--)
        text_add_char(text, '?');
}

static void add_as_ascii(struct text *text, const char *words)
{
    while (*words) {
        char sign[8] = { *words++ };
        size_t length = 1;

        if ((sign[0] & 0x80) == 0) {
            text_add_char(text, sign[0]);
            continue;
        }
        while ((*words & 0xc0) == 0x80 && length < sizeof(sign) - 1)
            sign[length++] = *words++;
        add_ascii(text, sign);
    }
}

void frame_add(struct frame *frame, unsigned style, const char *words)
{
    AUTO_RELEASE(text) struct text cut = { 0 };

    assert(frame->line_count > 0);
    if (frame->column >= frame->width || words[0] == '\0')
        return;
    text_add_cut(&cut, words, frame->width - frame->column);
    struct frame_span span = {
        .line = frame->line_count - 1,
        .start = frame->bytes.length,
        .style = style | frame->line_style,
    };
    if (frame->is_utf8)
        text_add(&frame->bytes, text_string(&cut));
    else
        add_as_ascii(&frame->bytes, text_string(&cut));
    span.length = frame->bytes.length - span.start;
    frame->column += string_width(text_string(&cut));
    list_add(&frame->spans, span);
}

void frame_printf(struct frame *frame, unsigned style, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    AUTO_FREE char *words = mem_vprintf(format, args);
    va_end(args);
    frame_add(frame, style, words);
}

void frame_pad(struct frame *frame, size_t column)
{
    if (column > frame->width)
        column = frame->width;
    if (column > frame->column)
        frame_printf(frame, TABLE_PLAIN, "%*s", (int)(column - frame->column), "");
}

void frame_add_left(struct frame *frame, unsigned style, size_t width, const char *words)
{
    AUTO_RELEASE(text) struct text cut = { 0 };
    size_t end = frame->column + width;

    text_add_cut(&cut, words, width);
    frame_add(frame, style, text_string(&cut));
    frame_pad(frame, end);
}

void frame_add_right(struct frame *frame, unsigned style, size_t width, const char *words)
{
    AUTO_RELEASE(text) struct text cut = { 0 };

    text_add_cut(&cut, words, width);
    size_t used = string_width(text_string(&cut));
    frame_pad(frame, frame->column + (used < width ? width - used : 0));
    frame_add(frame, style, text_string(&cut));
}

const char *frame_text(const struct frame *frame, const struct frame_span *span)
{
    return text_string(&frame->bytes) + span->start;
}

void frame_format(const struct frame *frame, struct text *text)
{
    size_t at = 0;

    for (size_t line = 0; line < frame->line_count; line++) {
        size_t start = text->length;

        for (; at < frame->spans.count && frame->spans.items[at].line == line; at++) {
            const struct frame_span *span = &frame->spans.items[at];
            text_add_bytes(text, frame_text(frame, span), span->length);
        }
        while (text->length > start && text->bytes[text->length - 1] == ' ')
            text->bytes[--text->length] = '\0';
        text_add_char(text, '\n');
    }
}

/* ---- fractions ---- */

enum { LEVELS = 8, DIGITS = 10 };

static const char *const levels[LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const levels_ascii[LEVELS] = { "_", ".", ":", "-", "=", "+", "*", "#" };

/* The index of one of `count` equal steps. */
static size_t step_of(double part, size_t steps)
{
    if (part <= 0)
        return 0;
    size_t step = part >= 1 ? steps : (size_t)(part * (double)steps);
    return step < steps ? step : steps - 1;
}

void bar_add(struct text *text, double part, size_t width, bool is_utf8)
{
    size_t full = 0;

    if (!isnan(part) && part > 0)
        full = part >= 1 ? width : (size_t)(part * (double)width + 0.5);
    for (size_t i = 0; i < width; i++) {
        if (isnan(part))
            text_add(text, "-");
        else if (i < full)
            text_add(text, is_utf8 ? "█" : "#");
        else
            text_add(text, is_utf8 ? "░" : ".");
    }
}

void spark_add(struct text *text, const float *parts, size_t count, size_t width, bool is_utf8)
{
    for (size_t i = count < width ? count : width; i < width; i++)
        text_add_char(text, ' ');
    for (size_t i = count < width ? 0 : count - width; i < count; i++) {
        if (isnan(parts[i]))
            text_add_char(text, ' ');
        else
            text_add(text, (is_utf8 ? levels : levels_ascii)[step_of((double)parts[i], LEVELS)]);
    }
}

const char *level_sign(double part, bool is_utf8)
{
    static const char *const digits[DIGITS] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };

    if (isnan(part))
        return "-";
    return is_utf8 ? levels[step_of(part, LEVELS)] : digits[step_of(part, DIGITS)];
}
