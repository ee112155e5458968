/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json_plain.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "wire/json.h"

enum { DIGITS_MAX = 15 }; /* so that a number and its power of ten are exact as doubles */

struct scan {
    const char *at, *end;
    int depth;
};

static json_t *scan_value(struct scan *scan);

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t' || *scan->at == '\r'))
        scan->at++;
}

static bool take(struct scan *scan, char c)
{
    skip_blanks(scan);
    bool is_there = scan->at < scan->end && *scan->at == c;
    scan->at += is_there;
    return is_there;
}

/* The bytes of a string, whose first quote was taken. NULL: it has an escape or no end. */
static const char *scan_string(struct scan *scan, size_t *ret_length, bool *ret_is_ascii)
{
    const char *from = scan->at;
    unsigned char all = 0;

    for (const char *at = from; at < scan->end; at++) {
        unsigned char c = (unsigned char)*at;

        if (c == '"') {
            scan->at = at + 1;
            *ret_length = (size_t)(at - from);
            *ret_is_ascii = all < 0x80;
            return from;
        }
        if (c == '\\' || c < 0x20)
            return NULL;
        all |= c;
    }
    return NULL;
}

static json_t *scan_text(struct scan *scan)
{
    size_t length;
    bool is_ascii;
    const char *bytes = scan_string(scan, &length, &is_ascii);

    if (!bytes)
        return NULL;
    return is_ascii ? json_stringn_nocheck(bytes, length) : json_stringn(bytes, length);
}

/* Add the digits to *number; false: there are none, or too many with those before. */
static bool scan_digits(struct scan *scan, int64_t *number, int *digits)
{
    int before = *digits;

    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++) {
        if (++*digits > DIGITS_MAX)
            return false;
        *number = *number * 10 + (*scan->at - '0');
    }
    return *digits > before;
}

static json_t *scan_number(struct scan *scan)
{
    bool is_negative = take(scan, '-');
    const char *from = scan->at;
    int64_t number = 0;
    int digits = 0;

    if (!scan_digits(scan, &number, &digits) || (*from == '0' && digits > 1))
        return NULL;
    if (scan->at < scan->end && (*scan->at == 'e' || *scan->at == 'E'))
        return NULL;
    if (scan->at == scan->end || *scan->at != '.')
        return json_integer(is_negative ? -number : number);
    int whole = digits;
    scan->at++;
    if (!scan_digits(scan, &number, &digits))
        return NULL;
    if (scan->at < scan->end && (*scan->at == 'e' || *scan->at == 'E'))
        return NULL;
    double power = 1; /* a double divided by another one, both exact: rounded once, as strtod() */
    for (; whole < digits; whole++)
        power *= 10;
    return json_real((is_negative ? -(double)number : (double)number) / power);
}

static bool scan_member(struct scan *scan, json_t *object)
{
    size_t length, count = json_object_size(object);
    bool is_ascii;
    const char *key = take(scan, '"') ? scan_string(scan, &length, &is_ascii) : NULL;

    if (!key || !is_ascii || !take(scan, ':'))
        return false;
    return json_object_setn_new_nocheck(object, key, length, scan_value(scan)) == 0 &&
           json_object_size(object) > count; /* else the key is there twice */
}

static bool scan_item(struct scan *scan, json_t *array)
{
    return json_array_append_new(array, scan_value(scan)) == 0; /* which refuses NULL */
}

/* Parts with commas between them, up to close. */
static json_t *scan_container(struct scan *scan, json_t *container,
                              bool (*scan_part)(struct scan *, json_t *), char close)
{
    bool is_good = ++scan->depth <= JSON_DEPTH_MAX, is_over = take(scan, close);

    while (is_good && !is_over) {
        is_good = scan_part(scan, container);
        is_over = is_good && take(scan, close);
        is_good = is_over || (is_good && take(scan, ','));
    }
    scan->depth--;
    if (is_good)
        return container;
    json_decref(container);
    return NULL;
}

static json_t *scan_word(struct scan *scan)
{
    static const struct {
        const char *word;
        json_t *(*make)(void);
    } words[] = { { "true", json_true }, { "false", json_false }, { "null", json_null } };

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t length = strlen(words[i].word);

        if ((size_t)(scan->end - scan->at) >= length &&
            memcmp(scan->at, words[i].word, length) == 0) {
            scan->at += length;
            return words[i].make();
        }
    }
    return NULL;
}

static json_t *scan_value(struct scan *scan)
{
    if (take(scan, '"'))
        return scan_text(scan);
    if (take(scan, '{'))
        return scan_container(scan, json_object(), scan_member, '}');
    if (take(scan, '['))
        return scan_container(scan, json_array(), scan_item, ']');
    if (scan->at < scan->end && *scan->at >= 'a')
        return scan_word(scan);
    return scan_number(scan);
}

json_t *json_plain_parse(const char *text, size_t length)
{
    struct scan scan = { .at = text, .end = text + length };
    json_t *value = scan_value(&scan);

    skip_blanks(&scan);
    if (scan.at == scan.end)
        return value;
    json_decref(value);
    return NULL;
}
