/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/wide.h"

enum { DIGITS_MAX = 36, EXPONENT_MAX = 30 };

/* value * 10^tens * 2^twos */
struct scaled {
    wide_t value;
    int tens, twos;
};

static bool parse_suffix(const char *s, struct scaled *scaled)
{
    static const struct {
        const char *suffix;
        int tens, twos;
    } suffixes[] = {
        { "", 0, 0 },    { "n", -9, 0 },  { "u", -6, 0 },  { "m", -3, 0 },
        { "k", 3, 0 },   { "M", 6, 0 },   { "G", 9, 0 },   { "T", 12, 0 },
        { "P", 15, 0 },  { "E", 18, 0 },  { "Ki", 0, 10 }, { "Mi", 0, 20 },
        { "Gi", 0, 30 }, { "Ti", 0, 40 }, { "Pi", 0, 50 }, { "Ei", 0, 60 },
    };
    char *end;

    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        if (strcmp(s, suffixes[i].suffix) == 0) {
            scaled->tens += suffixes[i].tens;
            scaled->twos = suffixes[i].twos;
            return true;
        }
    }
    if ((*s != 'e' && *s != 'E') || !s[1 + strspn(s + 1, "+-")])
        return false;
    long exponent = strtol(s + 1, &end, 10);
    if (*end || exponent < -EXPONENT_MAX || exponent > EXPONENT_MAX)
        return false;
    scaled->tens += (int)exponent;
    return true;
}

static bool parse(const char *s, struct scaled *ret)
{
    int digits = 0, after = -1; /* digits after the point; -1: there is none yet */

    *ret = (struct scaled){ 0 };
    if (!s)
        return false;
    for (s += *s == '+'; (*s >= '0' && *s <= '9') || (*s == '.' && after < 0); s++) {
        if (*s == '.') {
            after = 0;
            continue;
        }
        if (++digits > DIGITS_MAX)
            return false;
        ret->value = ret->value * 10 + (unsigned)(*s - '0');
        after += after >= 0;
    }
    ret->tens = after > 0 ? -after : 0;
    return digits > 0 && parse_suffix(s, ret);
}

/* value * 10^tens * 2^twos, rounded up. */
static bool resolve(struct scaled scaled, int64_t *ret)
{
    wide_t value = scaled.value;
    bool has_rest = false;

    for (; scaled.twos > 0; scaled.twos--) {
        if (value >> 120)
            return false;
        value *= 2;
    }
    for (; scaled.tens > 0 && value > 0; scaled.tens--) {
        if (value >> 120)
            return false;
        value *= 10;
    }
    for (; scaled.tens < 0; scaled.tens++) {
        has_rest |= value % 10 != 0;
        value /= 10;
    }
    for (; scaled.twos < 0; scaled.twos++) {
        has_rest |= value % 2 != 0;
        value /= 2;
    }
    value += has_rest;
    *ret = (int64_t)value;
    return value <= (wide_t)QUANTITY_MAX;
}

bool quantity_milli(const char *text, int64_t *ret)
{
    struct scaled scaled;

    if (!parse(text, &scaled))
        return false;
    scaled.tens += 3;
    return resolve(scaled, ret);
}

bool quantity_mib(const char *text, int64_t *ret)
{
    struct scaled scaled;

    if (!parse(text, &scaled))
        return false;
    scaled.twos -= 20;
    return resolve(scaled, ret);
}
