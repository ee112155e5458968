/* SPDX-License-Identifier: Apache-2.0 */
#include "time/calendar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "time/calendar_inside.h"

static const char except_word[] = "except";

struct calendar *calendar_create(void)
{
    return mem_zero(1, sizeof(struct calendar));
}

void calendar_destroy(struct calendar *calendar)
{
    if (!calendar)
        return;
    list_release(&calendar->during);
    list_release(&calendar->except);
    free(calendar);
}

/* The next "except" that is a word of its own, or the end. */
static const char *find_except(const char *words)
{
    const size_t length = strlen(except_word);

    for (const char *s = words; *s; s++) {
        bool is_start = s == words || strchr(" \t;", s[-1]);
        if (is_start && strncasecmp(s, except_word, length) == 0 &&
            (s[length] == '\0' || strchr(" \t", s[length])))
            return s;
    }
    return words + strlen(words);
}

static int add_item(struct calendar_rules *rules, const char *words, size_t length,
                    struct error *err)
{
    struct calendar_rule rule;

    while (length > 0 && strchr(" \t", *words)) {
        words++;
        length--;
    }
    while (length > 0 && strchr(" \t", words[length - 1]))
        length--;
    if (rules->count == CALENDAR_RULES_MAX)
        return error_set(err, -E2BIG, "more than %d items", CALENDAR_RULES_MAX);
    AUTO_FREE char *item = mem_string_of(words, length);
    int code = calendar_rule_parse(item, &rule, err);
    if (code < 0)
        return code;
    list_add(rules, rule);
    return 0;
}

/* Items with ';' between. */
static int add_items(struct calendar_rules *rules, const char *words, const char *end,
                     struct error *err)
{
    for (const char *s = words;;) {
        const char *semicolon = memchr(s, ';', (size_t)(end - s));
        const char *item_end = semicolon ? semicolon : end;

        int code = add_item(rules, s, (size_t)(item_end - s), err);
        if (code < 0 || !semicolon)
            return code;
        s = semicolon + 1;
    }
}

int calendar_add(struct calendar *calendar, struct calendar_rules *into, const char *words,
                 struct error *err)
{
    size_t length = strlen(words);
    int code = 0;

    if (length > CALENDAR_WORDS_MAX)
        return error_set(err, -E2BIG, "%zu bytes, at most %d are accepted", length,
                         CALENDAR_WORDS_MAX);
    if (string_has_control(words) || !string_is_utf8(words, length))
        return error_set(err, -EINVAL, "a control character or no UTF-8 in it");
    const char *except = find_except(words);
    if (*except == '\0' || strspn(words, " \t") < (size_t)(except - words))
        code = add_items(into, words, except, err);
    if (code < 0 || *except == '\0')
        return code;
    except += strlen(except_word);
    if (*find_except(except))
        return error_set(err, -EINVAL, "'%.80s': 'except' twice", words);
    return add_items(&calendar->except, except, except + strlen(except), err);
}

int calendar_check(const struct calendar *calendar, struct error *err)
{
    if (calendar->during.count == 0)
        return error_set(err, -EINVAL, "no times; expected some like 22:00-06:00 or mon-fri");
    return 0;
}

int calendar_parse(const char *words, struct calendar **ret, struct error *err)
{
    AUTO(calendar) struct calendar *calendar = calendar_create();

    int code = calendar_add(calendar, &calendar->during, words, err);
    if (code == 0)
        code = calendar_check(calendar, err);
    if (code < 0)
        return code;
    *ret = TAKE(calendar);
    return 0;
}

static void format_rules(const struct calendar_rules *rules, struct text *text)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (i > 0)
            text_add(text, "; ");
        calendar_rule_format(&rules->items[i], text);
    }
}

void calendar_format(const struct calendar *calendar, struct text *text)
{
    format_rules(&calendar->during, text);
    if (calendar->except.count > 0)
        text_printf(text, " %s ", except_word);
    format_rules(&calendar->except, text);
}
