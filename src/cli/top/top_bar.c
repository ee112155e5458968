/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_bar.h"

#include <math.h>

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
