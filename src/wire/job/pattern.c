/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { WIDTH_MAX = 10 };

static void add_number(struct text *text, uint64_t number, int width)
{
    text_printf(text, "%0*" PRIu64, width, number);
}

static void add_word(struct text *text, const char *word)
{
    for (; *word; word++)
        text_add_char(text, *word == '/' ? '_' : *word);
}

/* Returns false for a letter that means nothing. */
static bool expand_letter(char letter, int width, const struct pattern_values *values,
                          struct text *text)
{
    switch (letter) {
    case 'j':
    case 'J':
        add_number(text, values->job, width);
        if (letter == 'J' && values->step)
            text_printf(text, ".%" PRIu64, *values->step);
        return true;
    case 's':
        if (values->step)
            add_number(text, *values->step, width);
        return values->step != NULL;
    case 'A':
        add_number(text, values->array ? values->array : values->job, width);
        return true;
    case 'a':
        add_number(text, values->index, width);
        return true;
    case 't':
        add_number(text, values->rank, width);
        return true;
    case 'x':
        add_word(text, values->name);
        return true;
    case 'u':
        add_word(text, values->user);
        return true;
    case 'N':
        add_word(text, values->node);
        return true;
    case '%':
        text_add_char(text, '%');
        return true;
    default:
        return false;
    }
}

static int expand(const char *pattern, const struct pattern_values *values, struct text *text,
                  struct error *err)
{
    for (const char *s = pattern; *s; s++) {
        int width = 0;

        if (*s != '%') {
            text_add_char(text, *s);
            continue;
        }
        for (s++; isdigit((unsigned char)*s); s++) {
            width = width * 10 + (*s - '0');
            if (width > WIDTH_MAX)
                return error_set(err, -ERANGE, "'%.60s': wider than %d digits", pattern, WIDTH_MAX);
        }
        if (*s == '\0')
            return error_set(err, -EINVAL, "'%.60s': ends with '%%'; a percent sign is '%%%%'",
                             pattern);
        if (!expand_letter(*s, width, values, text))
            return error_set(err, -EINVAL,
                             "'%.60s': unknown '%%%c'; expected %%j %%J %%A %%a %%x %%u %%t %%N "
                             "or %%%%",
                             pattern, isprint((unsigned char)*s) ? *s : '?');
    }
    return 0;
}

int pattern_expand(const char *pattern, const struct pattern_values *values, struct text *text,
                   struct error *err)
{
    AUTO_RELEASE(text) struct text expanded = { 0 };

    int code = expand(pattern, values, &expanded, err);
    if (code == 0)
        text_add(text, text_string(&expanded));
    return code;
}

int pattern_check(const char *pattern, struct error *err)
{
    static const struct pattern_values none = { .name = "", .user = "", .node = "" };
    AUTO_RELEASE(text) struct text expanded = { 0 };

    return expand(pattern, &none, &expanded, err);
}

bool pattern_has_rank(const char *pattern)
{
    for (const char *s = strchr(pattern, '%'); s; s = strchr(s, '%')) {
        s++;
        s += strspn(s, "0123456789");
        if (*s == 't')
            return true;
        s += *s != '\0';
    }
    return false;
}
