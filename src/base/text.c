/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PRINTF_LENGTH = 40 }; /* most are shorter, and formatted once */

static void reserve(struct text *text, size_t more)
{
    text->bytes = mem_reserve(text->bytes, text->length + more + 1, &text->capacity, 1);
}

void text_add_bytes(struct text *text, const void *bytes, size_t length)
{
    reserve(text, length);
    mem_copy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_char(struct text *text, char c)
{
    text_add_bytes(text, &c, 1);
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    va_list again;
    va_copy(again, args);
    reserve(text, PRINTF_LENGTH);
    size_t room = text->capacity - text->length;
    int length = vsnprintf(text->bytes + text->length, room, format, args);
    va_end(args);
    assert(length >= 0);
    if ((size_t)length >= room) { /* it was cut: once more, where it fits */
        reserve(text, (size_t)length);
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
    }
    va_end(again);
    text->length += (size_t)length;
}

void text_clear(struct text *text)
{
    text->length = 0;
    if (text->bytes)
        text->bytes[0] = '\0';
}

void text_release(struct text *text)
{
    free(text->bytes);
    *text = (struct text){ 0 };
}

char *text_take(struct text *text)
{
    char *bytes = text->bytes ? text->bytes : mem_string("");

    *text = (struct text){ 0 };
    return bytes;
}

const char *text_string(const struct text *text)
{
    return text->bytes ? text->bytes : "";
}

bool string_equal(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0;
}

bool string_is_in(const char *string, const char *const *words)
{
    while (*words && strcmp(*words, string) != 0)
        words++;
    return *words != NULL;
}

bool string_starts(const char *string, const char *prefix)
{
    return strncmp(string, prefix, strlen(prefix)) == 0;
}

bool string_ends(const char *string, const char *end)
{
    size_t length = strlen(string), end_length = strlen(end);

    return length >= end_length && strcmp(string + length - end_length, end) == 0;
}

/* How many bytes the character at s takes, or 0 when it is none. Limits are those of RFC 3629. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
    static const struct {
        unsigned char low, high;   /* of the first byte */
        unsigned char low2, high2; /* of the second */
        size_t length;
    } forms[] = {
        { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
        { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
        { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };

    if (s[0] < 0x80)
        return 1;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        if (s[0] < forms[i].low || s[0] > forms[i].high)
            continue;
        if (left < forms[i].length || s[1] < forms[i].low2 || s[1] > forms[i].high2)
            return 0;
        for (size_t k = 2; k < forms[i].length; k++) {
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        }
        return forms[i].length;
    }
    return 0;
}

bool string_is_utf8(const char *bytes, size_t length)
{
    const unsigned char *s = (const unsigned char *)bytes;
    size_t at = 0;

    while (at < length) {
        size_t step = utf8_length(s + at, length - at);
        if (step == 0)
            return false;
        at += step;
    }
    return true;
}

bool character_is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* All control characters have at most three bytes. */
static bool is_control(const unsigned char *s)
{
    if (s[0] < 0x80)
        return character_is_control(s[0]);
    uint32_t second = s[1] & 0x3f;
    if ((s[0] & 0xe0) == 0xc0)
        return character_is_control((uint32_t)(s[0] & 0x1f) << 6 | second);
    return (s[0] & 0xf0) == 0xe0 && s[1] != '\0' &&
           character_is_control((uint32_t)(s[0] & 0xf) << 12 | second << 6 | (s[2] & 0x3f));
}

bool string_has_control(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    while (*s && !is_control(s))
        s++;
    return *s != '\0';
}

void string_clean(char *ret, size_t size, const char *bytes, size_t length)
{
    const unsigned char *s = (const unsigned char *)bytes;
    size_t at = 0, used = 0;

    assert(size > 0);
    while (at < length) {
        size_t step = utf8_length(s + at, length - at);
        bool is_good = step > 0 && !is_control(s + at);
        size_t room = is_good ? step : 1;
        if (used + room >= size)
            break;
        if (is_good)
            memmove(ret + used, bytes + at, step);
        else
            ret[used] = '?';
        used += room;
        at += step > 0 ? step : 1;
    }
    ret[used] = '\0';
}

char *string_copy_clean(const char *words)
{
    char *copy = mem_string(words);

    string_clean(copy, strlen(copy) + 1, copy, strlen(copy));
    return copy;
}

bool string_is_name(const char *string, size_t max)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@";

    size_t length = strlen(string);
    return length >= 1 && length <= max && string[0] != '-' && strspn(string, letters) == length;
}

static size_t edit_distance(const char *a, const char *b)
{
    enum { LENGTH_MAX = 48 };
    size_t row[LENGTH_MAX + 1];
    size_t a_length = strlen(a), b_length = strlen(b);

    if (a_length > LENGTH_MAX || b_length > LENGTH_MAX)
        return SIZE_MAX;
    for (size_t k = 0; k <= b_length; k++)
        row[k] = k;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= b_length; k++) {
            size_t change = diagonal + (a[i - 1] != b[k - 1]);
            diagonal = row[k];
            size_t step = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;
            row[k] = change < step ? change : step;
        }
    }
    return row[b_length];
}

const char *string_nearest(const char *word, const char *const *candidates)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2;

    for (size_t i = 0; candidates[i]; i++) {
        size_t distance = edit_distance(word, candidates[i]);
        if (distance < best_distance && distance < strlen(candidates[i])) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}
