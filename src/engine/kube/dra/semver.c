/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/dra/semver.h"

#include <ctype.h>
#include <string.h>

static int sign_of(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static bool is_number(const char *text, int length)
{
    for (int i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
    }
    return length > 0;
}

/* Without leading zeros. */
static bool take_number(const char **s, int64_t *ret)
{
    size_t length = strspn(*s, "0123456789");

    if (length == 0 || length > 18 || (length > 1 && (*s)[0] == '0'))
        return false;
    *ret = 0;
    for (; length > 0; length--)
        *ret = *ret * 10 + (*(*s)++ - '0');
    return true;
}

/* Identifiers between dots, none of them empty. */
static bool take_identifiers(const char **s, bool has_plain_numbers)
{
    do {
        const char *first = *s;
        while (isalnum((unsigned char)**s) || **s == '-')
            (*s)++;
        int length = (int)(*s - first);
        if (length == 0 ||
            (has_plain_numbers && length > 1 && first[0] == '0' && is_number(first, length)))
            return false;
    } while (*(*s)++ == '.');
    (*s)--;
    return true;
}

bool semver_parse(const char *text, struct semver *ret)
{
    const char *s = text;

    *ret = (struct semver){ .pre = "" };
    for (int i = 0; i < 3; i++) {
        if ((i > 0 && *s++ != '.') || !take_number(&s, &ret->parts[i]))
            return false;
    }
    if (*s == '-') {
        ret->pre = ++s;
        if (!take_identifiers(&s, true))
            return false;
        ret->pre_length = (int)(s - ret->pre);
    }
    if (*s == '+' && (s++, !take_identifiers(&s, false)))
        return false;
    return !*s;
}

static int compare_identifiers(const char *a, int a_length, const char *b, int b_length)
{
    bool has_a = is_number(a, a_length), has_b = is_number(b, b_length);

    if (has_a != has_b) /* numbers come first */
        return has_a ? -1 : 1;
    if (has_a && a_length != b_length)
        return sign_of(a_length, b_length);
    int order = memcmp(a, b, (size_t)(a_length < b_length ? a_length : b_length));
    return order != 0 ? sign_of(order, 0) : sign_of(a_length, b_length);
}

/* A version without identifiers comes after one with them, which is not released yet. */
static int compare_pre(const struct semver *a, const struct semver *b)
{
    const char *left = a->pre, *right = b->pre, *left_end = left + a->pre_length,
               *right_end = right + b->pre_length;

    if (a->pre_length == 0 || b->pre_length == 0)
        return sign_of(a->pre_length == 0, b->pre_length == 0);
    while (left < left_end && right < right_end) {
        int left_length = (int)strcspn(left, ".+"), right_length = (int)strcspn(right, ".+");
        int order = compare_identifiers(left, left_length, right, right_length);
        if (order != 0)
            return order;
        left += left_length + 1;
        right += right_length + 1;
    }
    return sign_of(left < left_end, right < right_end);
}

int semver_compare(const struct semver *a, const struct semver *b)
{
    for (int i = 0; i < 3; i++) {
        if (a->parts[i] != b->parts[i])
            return sign_of(a->parts[i], b->parts[i]);
    }
    return compare_pre(a, b);
}
