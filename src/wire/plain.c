/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/plain.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "wire/json.h"

/* Digits of a decimal number at s in JSON's spelling, or false when it is no number. */
static bool spell_number(const char *s, struct text *json)
{
    static const char digits[] = "0123456789";

    if (*s == '-')
        text_add_char(json, '-');
    if (*s == '-' || *s == '+')
        s++;
    size_t whole = strspn(s, digits);
    if (whole > 1 && s[0] == '0')
        return false;
    text_add_bytes(json, whole > 0 ? s : "0", whole > 0 ? whole : 1);
    s += whole;
    size_t fraction = 0;
    if (*s == '.') {
        fraction = strspn(++s, digits);
        text_add_char(json, '.');
        text_add_bytes(json, fraction > 0 ? s : "0", fraction > 0 ? fraction : 1);
        s += fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*s == 'e' || *s == 'E') {
        size_t sign = s[1] == '+' || s[1] == '-';
        size_t power = strspn(s + 1 + sign, digits);
        if (power == 0)
            return false;
        text_add_bytes(json, s, 1 + sign + power);
        s += 1 + sign + power;
    }
    return *s == '\0';
}

/* 0x1f and 0o17, which JSON does not have. */
static json_t *based_number(const char *s)
{
    bool is_hexadecimal = string_starts(s, "0x");
    const char *digits = is_hexadecimal ? "0123456789abcdefABCDEF" : "01234567";
    size_t length = strlen(s);

    if (!is_hexadecimal && !string_starts(s, "0o"))
        return NULL;
    if (length < 3 || length > 2 + 15 || strspn(s + 2, digits) != length - 2)
        return NULL;
    return json_integer((json_int_t)strtoll(s + 2, NULL, is_hexadecimal ? 16 : 8));
}

static json_t *plain_value(const char *s)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
    static const char *const trues[] = { "true", "True", "TRUE", NULL };
    static const char *const falses[] = { "false", "False", "FALSE", NULL };

    if (string_is_in(s, nulls))
        return json_null();
    if (string_is_in(s, trues))
        return json_true();
    if (string_is_in(s, falses))
        return json_false();
    if (strlen(s) >= NUMBER_SPELL_SIZE || !strchr("+-.0123456789", s[0]))
        return NULL;
    json_t *based = based_number(s);
    if (based)
        return based;
    AUTO_RELEASE(text) struct text json = { 0 };
    if (!spell_number(s, &json))
        return NULL;
    return json_loadb(json.bytes, json.length, JSON_DECODE_ANY, NULL);
}

const char *number_spell(const json_t *number, char *buffer)
{
    if (json_is_integer(number)) {
        snprintf(buffer, NUMBER_SPELL_SIZE, "%" JSON_INTEGER_FORMAT, json_integer_value(number));
        return buffer;
    }
    /* jansson writes numbers the same way in every locale; 17 digits always read back the same. */
    for (size_t digits = 15; digits <= 17; digits++) {
        char *spelt = json_dumps(number, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
        json_t *again = json_loads(spelt, JSON_DECODE_ANY, NULL);
        bool is_same = json_equal(again, number);

        snprintf(buffer, NUMBER_SPELL_SIZE, "%s", spelt);
        json_decref(again);
        free(spelt);
        if (is_same)
            break;
    }
    return buffer;
}

/* How JSON and tarn write a value that is no string. */
static const char *spelling(const json_t *value, char *buffer)
{
    return json_is_number(value) ? number_spell(value, buffer)
           : json_is_true(value) ? "true"
                                 : "false";
}

/* ret_is_plain: whether nothing is lost when the value stands for the text. */
static json_t *value_of_text(const char *text, bool *ret_is_plain)
{
    char buffer[NUMBER_SPELL_SIZE];
    json_t *value = plain_value(text);

    *ret_is_plain = value && (json_is_null(value) || string_equal(spelling(value, buffer), text));
    return value;
}

json_t *plain_parse(const char *text)
{
    bool is_plain;
    AUTO(json) json_t *value = value_of_text(text, &is_plain);

    return is_plain ? json_incref(value) : NULL;
}

json_t *plain_read(const json_t *given)
{
    bool is_plain = true;
    AUTO(json)
    json_t *value =
        json_is_string(given) ? value_of_text(json_string_value(given), &is_plain) : NULL;

    return json_incref(value && !is_plain ? value : (json_t *)(uintptr_t)given);
}
