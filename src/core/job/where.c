/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/where.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EXPECTED "expected conditions like zone=a, zone!=b, 'zone in (a,b)', fast or !fast"

struct parser {
    const char *text, *at;
    where_list *list;
    struct error *err;
};

static int fail(const struct parser *parser)
{
    return error_set(parser->err, -EINVAL, "'%.80s': " EXPECTED, parser->text);
}

static void skip_blanks(struct parser *parser)
{
    parser->at += strspn(parser->at, " \t");
}

static bool skip(struct parser *parser, const char *word)
{
    skip_blanks(parser);
    bool is_there = string_starts(parser->at, word);
    parser->at += is_there ? strlen(word) : 0;
    return is_there;
}

/* "in (": a key may begin with "in", too. */
static bool skip_word(struct parser *parser, const char *word)
{
    const char *before = parser->at;

    if (skip(parser, word) && skip(parser, "("))
        return true;
    parser->at = before;
    return false;
}

static int read_name(struct parser *parser, char ret[WHERE_NAME_SIZE])
{
    size_t length = 0;

    skip_blanks(parser);
    while (isalnum((unsigned char)parser->at[length]) ||
           (parser->at[length] && strchr("._-+@", parser->at[length])))
        length++;
    if (length == 0 || length >= WHERE_NAME_SIZE)
        return fail(parser);
    memset(ret, 0, WHERE_NAME_SIZE);
    memcpy(ret, parser->at, length);
    parser->at += length;
    return 0;
}

static int add(struct parser *parser, const struct where_term *term)
{
    if (parser->list->count == WHERE_TERMS_MAX)
        return error_set(parser->err, -E2BIG, "more than %d conditions", WHERE_TERMS_MAX);
    list_add(parser->list, *term);
    return 0;
}

static struct where_term *last(const struct parser *parser)
{
    return &parser->list->items[parser->list->count - 1];
}

/* "a,b)" */
static int read_set(struct parser *parser, struct where_term term)
{
    bool is_in = !term.is_not;
    int code;

    term.has_value = true;
    do {
        term.is_or = is_in;
        code = read_name(parser, term.value);
        if (code == 0)
            code = add(parser, &term);
    } while (code == 0 && skip(parser, ","));
    if (code == 0 && !skip(parser, ")"))
        return fail(parser);
    if (code == 0)
        last(parser)->is_or = false;
    return code;
}

/* ret_is_several: it is more than one condition, which '|' can't join. */
static int read_term(struct parser *parser, bool *ret_is_several)
{
    struct where_term term;

    memset(&term, 0, sizeof(term));
    *ret_is_several = false;
    term.is_not = skip(parser, "!");
    int code = read_name(parser, term.key);
    if (code < 0)
        return code;
    if (!term.is_not && skip_word(parser, "in"))
        return read_set(parser, term);
    if (!term.is_not && skip_word(parser, "notin")) {
        term.is_not = *ret_is_several = true;
        return read_set(parser, term);
    }
    if (!term.is_not && skip(parser, "!="))
        term.is_not = term.has_value = true;
    else if (!term.is_not && (skip(parser, "==") || skip(parser, "=")))
        term.has_value = true;
    code = term.has_value ? read_name(parser, term.value) : 0;
    return code < 0 ? code : add(parser, &term);
}

static int read_condition(struct parser *parser)
{
    bool is_several, is_more = false;
    int code;

    do {
        if (is_more)
            last(parser)->is_or = true;
        code = read_term(parser, &is_several);
        if (code == 0 && is_several && (is_more || skip(parser, "|")))
            return error_set(parser->err, -EINVAL, "'%.80s': notin cannot be combined with |",
                             parser->text);
        is_more = true;
    } while (code == 0 && skip(parser, "|"));
    return code;
}

int where_parse(where_list *list, const char *text, struct error *err)
{
    struct parser parser = { text, text, list, err };
    int code;

    do
        code = read_condition(&parser);
    while (code == 0 && skip(&parser, ","));
    skip_blanks(&parser);
    return code == 0 && *parser.at ? fail(&parser) : code;
}

uint32_t where_end(const struct where_term *terms, uint32_t count, uint32_t first)
{
    uint32_t end = first + 1;

    while (end < count && terms[end - 1].is_or)
        end++;
    return end;
}

static bool is_set(const struct where_term *terms, uint32_t count)
{
    bool is = count > 1;

    for (uint32_t i = 0; i < count; i++)
        is =
            is && terms[i].has_value && !terms[i].is_not && strcmp(terms[i].key, terms[0].key) == 0;
    return is;
}

void where_format(const struct where_term *terms, uint32_t count, struct text *text)
{
    bool is_in = is_set(terms, count);

    if (is_in)
        text_printf(text, "%s in (", terms[0].key);
    for (uint32_t i = 0; i < count; i++) {
        const struct where_term *term = &terms[i];
        text_add(text, i == 0 ? "" : is_in ? "," : "|");
        if (is_in)
            text_add(text, term->value);
        else if (term->has_value)
            text_printf(text, "%s%s%s", term->key, term->is_not ? "!=" : "=", term->value);
        else
            text_printf(text, "%s%s", term->is_not ? "!" : "", term->key);
    }
    text_add(text, is_in ? ")" : "");
}

bool where_is_valid(const struct where_term *terms, uint32_t count)
{
    bool is_valid = true;

    for (uint32_t i = 0; i < count && is_valid; i++)
        is_valid = terms[i].key[0] && memchr(terms[i].key, '\0', WHERE_NAME_SIZE) &&
                   memchr(terms[i].value, '\0', WHERE_NAME_SIZE) && terms[i].has_value <= 1 &&
                   terms[i].is_not <= 1 && terms[i].is_or <= 1 &&
                   (i + 1 < count || !terms[i].is_or);
    return is_valid;
}

static void add_names(where_list *where, const char *names, const char *key)
{
    for (const char *at = names ? names : ""; *at; at += strcspn(at, ","), at += *at == ',') {
        struct where_term term;
        size_t length = strcspn(at, ",");
        memset(&term, 0, sizeof(term));
        snprintf(term.key, sizeof(term.key), "%.*s", key ? (int)strlen(key) : (int)length,
                 key ? key : at);
        snprintf(term.value, sizeof(term.value), "%.*s", key ? (int)length : 0, at);
        term.has_value = key != NULL;
        term.is_or = key && at[length] == ',';
        list_add(where, term);
    }
}

bool where_assign(where_list *list, const char *nodes, const char *labels,
                  const struct where_term *terms, uint32_t count)
{
    list->count = 0;
    add_names(list, nodes, "node");
    add_names(list, labels, NULL);
    for (uint32_t i = 0; i < count; i++)
        list_add(list, terms[i]);
    return where_is_valid(list->items, (uint32_t)list->count);
}
