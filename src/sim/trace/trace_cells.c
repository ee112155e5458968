/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/trace_cells.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/trace/workload.h"
#include "time/civil.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Take a quoted field out of its quotes, in place; where it goes on after them, or NULL. */
static char *unquote(char *from, char **ret_text)
{
    char *end = from + 1, *to = from;

    while (*end && (*end != '"' || end[1] == '"'))
        end += *end == '"' ? 2 : 1;
    if (!*end)
        return NULL;
    for (const char *at = from + 1; at < end; at++) {
        at += *at == '"';
        *to++ = *at;
    }
    *to = '\0';
    *ret_text = from;
    return end + 1;
}

int cells_split(struct cells *cells, char *line, char separator, struct error *err)
{
    bool is_by_blanks = separator == CELLS_BLANKS, has_quotes = separator != CELLS_BARS;
    char *at = line;

    cells->count = 0;
    for (;;) {
        while (is_blank(*at) && *at != (is_by_blanks ? '\0' : separator))
            at++;
        if (is_by_blanks && !*at)
            return 0;
        if (cells->count == CELLS_MAX)
            return cells_fail(cells, CELLS_MAX, err, "at most 256 fields");
        struct cell *cell = &cells->items[cells->count++];
        *cell = (struct cell){ .text = at, .column = (uint32_t)(at - line) + 1 };
        char *end;
        if (*at == '"' && has_quotes) {
            end = unquote(at, &cell->text);
            if (!end)
                return cells_fail(cells, cells->count - 1, err, "a quote at the end of the field");
            while (is_blank(*end) && !is_by_blanks && *end != separator)
                end++;
        } else {
            end = is_by_blanks ? at + strcspn(at, " \t")
                               : at + strcspn(at, (char[]){ separator, '\0' });
        }
        bool is_last = !*end;
        if (!is_last && *end != separator && !is_by_blanks)
            return cells_fail(cells, cells->count - 1, err, "a separator after the quote");
        char *next = end + 1;
        while (cell->text == at && end > at && is_blank(end[-1]))
            end--;
        *end = '\0';
        if (is_last)
            return 0;
        at = next;
    }
}

int cells_fail(const struct cells *cells, uint32_t index, struct error *err, const char *expected)
{
    char shown[41];

    if (index >= cells->count)
        return error_set(err, -EBADMSG, "%s:%" PRIu32 ": %" PRIu32 " fields, expected %s",
                         cells->path, cells->line, cells->count, expected);
    snprintf(shown, sizeof(shown), "%s", cells->items[index].text);
    for (char *c = shown; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
    return error_set(err, -EBADMSG, "%s:%" PRIu32 ":%" PRIu32 ": '%s', expected %s", cells->path,
                     cells->line, cells->items[index].column, shown, expected);
}

bool number_parse(const char *text, double *ret)
{
    bool is_negative = *text == '-', has_digits = false;
    double value = 0, scale = 1;
    int exponent = 0, sign = 1;

    if (*text == '-' || *text == '+')
        text++;
    for (; isdigit((unsigned char)*text); text++, has_digits = true)
        value = value * 10 + (*text - '0');
    if (*text == '.') {
        for (text++; isdigit((unsigned char)*text); text++, has_digits = true) {
            if (scale < 1e15) {
                value = value * 10 + (*text - '0');
                scale *= 10;
            }
        }
    }
    if (has_digits && (*text == 'e' || *text == 'E')) {
        text++;
        sign = *text == '-' ? -1 : 1;
        text += *text == '-' || *text == '+';
        has_digits = isdigit((unsigned char)*text);
        for (; isdigit((unsigned char)*text); text++)
            exponent = exponent < 1000 ? exponent * 10 + (*text - '0') : exponent;
    }
    if (!has_digits || *text)
        return false;
    value = value / scale * pow(10, sign * exponent);
    *ret = is_negative ? -value : value;
    return isfinite(value);
}

int cells_number(const struct cells *cells, uint32_t index, double min, double max, double *ret,
                 struct error *err)
{
    char expected[80];
    double value;

    if (index < cells->count && number_parse(cells->items[index].text, &value) && value >= min &&
        value <= max) {
        *ret = value;
        return 0;
    }
    snprintf(expected, sizeof(expected), "a number, %.15g to %.15g", min, max);
    return cells_fail(cells, index, err, expected);
}

/* A fixed number of digits, and the text that must follow; NULL: no match. */
static const char *take_digits(const char *at, int count, int *ret)
{
    *ret = 0;
    for (; count > 0; count--, at++) {
        if (!isdigit((unsigned char)*at))
            return NULL;
        *ret = *ret * 10 + (*at - '0');
    }
    return at;
}

static bool parse_stamp(const char *at, usec_t *ret)
{
    int parts[6] = { 0 };
    static const int digits[] = { 4, 2, 2, 2, 2, 2 };
    static const char *const after[] = { "-/", "-/", " T", ":", ":", "" };
    double fraction = 0;

    for (int i = 0; i < 6; i++) {
        at = take_digits(at, digits[i], &parts[i]);
        if (!at)
            return false;
        if (i == 4 && *at != ':') /* seconds may be left out */
            break;
        if (i < 5 && (!*at || !strchr(after[i], *at)))
            return false;
        at += i < 5;
    }
    if (*at == '.') {
        double scale = 0.1;
        for (at++; isdigit((unsigned char)*at); at++, scale /= 10)
            fraction += (*at - '0') * scale;
    }
    if (*at == 'Z')
        at++;
    else if ((*at == '+' || *at == '-') && strspn(at + 1, "0123456789:") == strlen(at + 1))
        at += strlen(at); /* all of one file have the same zone */
    if (*at || parts[1] < 1 || parts[1] > 12 || parts[2] < 1 || parts[2] > 31 || parts[3] > 24 ||
        parts[4] > 59 || parts[5] > 60)
        return false;
    *ret = civil_day(parts[0], parts[1], parts[2]) * USEC_PER_DAY + parts[3] * USEC_PER_HOUR +
           parts[4] * USEC_PER_MIN + parts[5] * USEC_PER_SEC + (usec_t)(fraction * 1e6 + 0.5);
    return true;
}

static bool is_time(double value)
{
    return value > -(double)WORKLOAD_TIME_MAX && value < (double)WORKLOAD_TIME_MAX;
}

int cells_time(const struct cells *cells, uint32_t index, double unit, usec_t *ret,
               struct error *err)
{
    double value;

    if (index < cells->count) {
        const char *text = cells->items[index].text;
        if (number_parse(text, &value) && is_time(value * unit)) {
            *ret = (usec_t)llrint(value * unit);
            return 0;
        }
        if (parse_stamp(text, ret) && is_time((double)*ret))
            return 0;
    }
    return cells_fail(cells, index, err, "a time: a number, or like 2023-11-16 18:17:03");
}

/* "[D-]HH:MM:SS", "MM:SS" */
static bool parse_clock(const char *text, double *ret_seconds)
{
    double sum = 0, value = 0;
    int colons = 0;
    bool has_digit = false;

    for (const char *at = text; *at; at++) {
        if (isdigit((unsigned char)*at)) {
            value = value * 10 + (*at - '0');
            has_digit = true;
        } else if (*at == '-' && has_digit && colons == 0 && sum == 0) {
            sum = value * 24;
            value = 0;
        } else if (*at == ':' && has_digit && colons < 2) {
            sum = (sum + value) * 60;
            value = 0;
            colons++;
        } else if (*at == '.' && colons > 0) {
            double fraction;
            if (!number_parse(at, &fraction))
                return false;
            value += fraction;
            break;
        } else {
            return false;
        }
    }
    sum += value;
    *ret_seconds = colons == 0 ? sum * 3600 : sum; /* "2-00": days and hours */
    return has_digit;
}

int cells_duration(const struct cells *cells, uint32_t index, double unit, usec_t *ret,
                   struct error *err)
{
    double value;

    if (index < cells->count) {
        const char *text = cells->items[index].text;
        bool is_number = number_parse(text, &value);
        if (is_number)
            value *= unit;
        else if (parse_clock(text, &value)) {
            value *= 1e6;
            is_number = true;
        }
        if (is_number && value >= 0 && is_time(value)) {
            *ret = (usec_t)llrint(value);
            return 0;
        }
    }
    return cells_fail(cells, index, err, "a duration: a number from 0, or like 1-02:03:04");
}
