/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/character.h"
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

bool string_is_utf8(const char *bytes, size_t length)
{
    size_t at = 0;

    while (at < length) {
        size_t step = character_length(bytes + at, length - at);
        if (step == 0)
            return false;
        at += step;
    }
    return true;
}

/* Bytes that are no UTF-8 are none. The position counts characters, from 1. */
static uint32_t find_control(const char *text, size_t *ret_position)
{
    size_t left = strlen(text), step;
    uint32_t before = 0;

    for (*ret_position = 1; left > 0; text += step, left -= step, (*ret_position)++) {
        uint32_t c = character_decode(text, left, &step);
        if (c != 0 && character_is_control(before, c))
            return c;
        before = c;
    }
    return 0;
}

bool string_has_control(const char *text)
{
    size_t position;

    return find_control(text, &position) != 0;
}

const char *string_tell_control(const char *text, char ret[CONTROL_WORDS_SIZE])
{
    size_t position;
    uint32_t c = find_control(text, &position);

    if (c == 0)
        return NULL;
    snprintf(ret, CONTROL_WORDS_SIZE, "the character U+%04" PRIX32 " at position %zu", c, position);
    return ret;
}

bool string_is_blank(const char *text)
{
    size_t left = strlen(text), step;

    for (; left > 0; text += step, left -= step) {
        if (!character_is_blank(character_decode(text, left, &step)))
            return false;
    }
    return true;
}

void string_clean(char *ret, size_t size, const char *bytes, size_t length)
{
    size_t at = 0, used = 0, step;
    uint32_t before = 0;

    assert(size > 0);
    while (at < length) {
        uint32_t c = character_decode(bytes + at, length - at, &step);
        bool is_good = !character_is_control(before, c);
        size_t room = is_good ? step : 1;
        if (used + room >= size)
            break;
        if (is_good)
            memmove(ret + used, bytes + at, step);
        else
            ret[used] = '?';
        used += room;
        at += step;
        before = c;
    }
    ret[used] = '\0';
}

char *string_copy_clean(const char *words)
{
    char *copy = mem_string(words);

    string_clean(copy, strlen(copy) + 1, copy, strlen(copy));
    return copy;
}

void text_add_clean(struct text *text, const char *words)
{
    while (*words) {
        size_t length = strcspn(words, "\n\t");
        AUTO_FREE char *plain = mem_string_of(words, length);
        string_clean(plain, length + 1, plain, length);
        text_add(text, plain);
        words += length;
        for (; *words == '\n' || *words == '\t'; words++)
            text_add_char(text, *words);
    }
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
