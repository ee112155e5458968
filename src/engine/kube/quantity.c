/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/quantity.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/wide.h"

enum { DIGITS_MAX = 18, EXPONENT_MAX = 18 };

/* A number: digits * 2^binary * 10^decimal. */
struct parsed {
    uint64_t digits;
    int binary, decimal;
};

static bool read_digits(const char **at, struct parsed *ret)
{
    bool is_fraction = false;
    int count = 0;

    for (; isdigit((unsigned char)**at) || (**at == '.' && !is_fraction); (*at)++) {
        if (**at == '.') {
            is_fraction = true;
            continue;
        }
        if (++count > DIGITS_MAX)
            return false;
        ret->digits = ret->digits * 10 + (uint64_t)(**at - '0');
        ret->decimal -= is_fraction;
    }
    return count > 0;
}

static bool read_exponent(const char *text, struct parsed *ret)
{
    char *end;

    long exponent = strtol(text, &end, 10);
    if (end == text || *end || exponent < -EXPONENT_MAX || exponent > EXPONENT_MAX)
        return false;
    ret->decimal += (int)exponent;
    return true;
}

static bool read_suffix(const char *text, struct parsed *ret)
{
    static const char decimal[] = "kMGTPE", binary[] = "KMGTPE", *at;

    if (!text[0])
        return true;
    if (text[1] == 'i' && !text[2] && (at = strchr(binary, text[0])) != NULL) {
        ret->binary = 10 * ((int)(at - binary) + 1);
        return true;
    }
    if (!text[1]) {
        at = strchr(decimal, text[0]);
        ret->decimal += at               ? 3 * ((int)(at - decimal) + 1)
                        : text[0] == 'm' ? -3
                        : text[0] == 'u' ? -6
                                         : -9;
        return at || strchr("mun", text[0]);
    }
    return (text[0] == 'e' || text[0] == 'E') && read_exponent(text + 1, ret);
}

/* The number times scale / divisor, rounded up. */
static bool parse(const char *text, uint32_t scale, uint32_t divisor, int64_t *ret)
{
    struct parsed parsed = { 0 };
    const char *at = text ? text : "";

    at += *at == '+';
    if (!read_digits(&at, &parsed) || !read_suffix(at, &parsed))
        return false;
    wide_t amount = (wide_t)parsed.digits * scale;
    for (; parsed.decimal > 0; parsed.decimal--) {
        amount *= 10;
        if (amount > (wide_t)INT64_MAX * 1000000)
            return false;
    }
    for (; parsed.binary > 0; parsed.binary -= 10) {
        amount *= 1024;
        if (amount > (wide_t)INT64_MAX * 1000000)
            return false;
    }
    wide_t by = divisor;
    for (; parsed.decimal < 0; parsed.decimal++) {
        if (by > (wide_t)INT64_MAX * 1000000) /* less than the smallest unit of anything */
            break;
        by *= 10;
    }
    amount = (amount + by - 1) / by;
    if (amount > INT64_MAX / 1024)
        return false;
    *ret = (int64_t)amount;
    return true;
}

bool quantity_milli(const char *text, int64_t *ret)
{
    return parse(text, 1000, 1, ret);
}

bool quantity_mib(const char *text, int64_t *ret)
{
    return parse(text, 1, 1 << 20, ret);
}
