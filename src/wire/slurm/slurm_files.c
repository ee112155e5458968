/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/slurm/slurm_files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 60 /* bytes of bad input in a message */, HOST_LENGTH_MAX = 63 };

void slurm_lines_release(struct slurm_lines *lines)
{
    LIST_EACH (struct slurm_line, line, &lines->all) {
        LIST_EACH (struct slurm_pair, pair, &line->pairs) {
            free(pair->key);
            free(pair->value);
        }
        list_release(&line->pairs);
    }
    list_release(&lines->all);
}

const char *slurm_line_get(const struct slurm_line *line, const char *key)
{
    static const char *const nothing[] = { "", "(null)", "N/A", NULL };

    for (size_t i = line->pairs.count; i > 0; i--) {
        const struct slurm_pair *pair = &line->pairs.items[i - 1];
        if (strcasecmp(pair->key, key) == 0)
            return string_is_in(pair->value, nothing) ? NULL : pair->value;
    }
    return NULL;
}

void slurm_line_place(const struct slurm_line *line, struct text *text)
{
    const char *partition = slurm_line_get(line, "PartitionName");
    const char *name = partition ? partition : slurm_line_get(line, "NodeName");
    char clean[SHOWN + 4];

    text_add(text, line->source);
    if (line->number > 0) {
        text_printf(text, ":%u", line->number);
    } else if (name) {
        string_clean(clean, sizeof(clean), name, strlen(name));
        text_printf(text, ": %s %s", partition ? "partition" : "node", clean);
    }
}

int slurm_line_fail(const struct slurm_line *line, struct error *err, const char *format, ...)
{
    char words[ERROR_TEXT_SIZE], clean[ERROR_TEXT_SIZE];
    AUTO_RELEASE(text) struct text place = { 0 };
    va_list list;

    va_start(list, format);
    vsnprintf(words, sizeof(words), format, list);
    va_end(list);
    string_clean(clean, sizeof(clean), words, strlen(words));
    slurm_line_place(line, &place);
    return error_set(err, -EBADMSG, "%s: %s", text_string(&place), clean);
}

static void add_pair(struct slurm_line *line, const char *key, size_t key_length, const char *value,
                     size_t length)
{
    struct slurm_pair pair = { mem_string_of(key, key_length), mem_string_of(value, length) };

    list_add(&line->pairs, pair);
}

/* Also after a failure, so that the pairs have an owner. */
static void add_line(struct slurm_lines *lines, struct slurm_line line)
{
    if (line.pairs.count > 0)
        list_add(&lines->all, line);
}

/* The next line without its end; NULL: there is none. */
static char *next_line(const char **at, unsigned *number)
{
    size_t length = strcspn(*at, "\n");

    if (!**at)
        return NULL;
    char *line = mem_string_of(*at, length);
    *at += length + ((*at)[length] == '\n');
    (*number)++;
    if (length > 0 && line[length - 1] == '\r')
        line[length - 1] = '\0';
    return line;
}

/* ---- slurm.conf ---- */

static const char blanks[] = " \t";

/* "\#" is no comment. */
static void cut_comment(char *line)
{
    char *to = line;

    for (const char *at = line; *at && *at != '#'; at++) {
        at += at[0] == '\\' && at[1] == '#';
        *to++ = *at;
    }
    *to = '\0';
}

static bool is_continued(char *line)
{
    size_t length = strlen(line);

    while (length > 0 && strchr(blanks, line[length - 1]))
        length--;
    if (length == 0 || line[length - 1] != '\\')
        return false;
    line[length - 1] = '\0';
    return true;
}

/* "Include FILE", which has no '='. */
static bool read_include(const char *at, struct slurm_line *line)
{
    size_t key = strlen("Include");

    if (strncasecmp(at, "Include", key) != 0 || !at[key] || !strchr(blanks, at[key]))
        return false;
    const char *value = at + key + strspn(at + key, blanks);
    size_t length = strcspn(value, blanks);
    if (*value == '=' || length == 0)
        return false;
    add_pair(line, at, key, value, length);
    return true;
}

/* One pair, or a word alone: returns where it ends. *ret_bad: what is wrong with it, NULL: nothing.
 */
static const char *read_pair(const char *at, struct slurm_line *line, const char **ret_bad)
{
    size_t key = strcspn(at, "= \t");
    const char *equals = at + key + strspn(at + key, blanks);

    *ret_bad = NULL;
    if (*equals != '=' || key == 0) {
        *ret_bad = "expected KEY=VALUE";
        return key == 0 ? at + 1 : at + key;
    }
    const char *value = equals + 1 + strspn(equals + 1, blanks);
    bool is_quoted = *value == '"';
    size_t length = is_quoted ? strcspn(++value, "\"") : strcspn(value, blanks);
    add_pair(line, at, key - (strchr("+-", at[key - 1]) ? 1 : 0), value, length);
    if (is_quoted && !value[length])
        *ret_bad = "a quote begins and does not end";
    return value + length + (is_quoted && value[length] == '"');
}

static int read_pairs(const char *at, bool is_strict, struct slurm_line *line, struct error *err)
{
    const char *bad;

    at += strspn(at, blanks);
    if (is_strict && read_include(at, line))
        return 0;
    while (*at) {
        const char *begin = at;
        at = read_pair(at, line, &bad);
        if (bad && is_strict)
            return slurm_line_fail(line, err, "'%.*s': %s",
                                   at - begin < SHOWN ? (int)(at - begin) : SHOWN, begin, bad);
        at += strspn(at, blanks);
    }
    return 0;
}

int slurm_lines_of_conf(const struct slurm_source *source, struct slurm_lines *ret,
                        struct error *err)
{
    unsigned number = 0;
    int code = 0;

    *ret = (struct slurm_lines){ 0 };
    for (const char *at = source->text; *at && code == 0;) {
        AUTO_RELEASE(text) struct text whole = { 0 };
        struct slurm_line line = { .source = source->name, .number = number + 1 };
        bool is_open = true;
        while (is_open) {
            AUTO_FREE char *part = next_line(&at, &number);
            if (!part)
                break;
            cut_comment(part);
            is_open = is_continued(part);
            text_add(&whole, part);
        }
        code = read_pairs(text_string(&whole), true, &line, err);
        add_line(ret, line);
    }
    return code;
}

void slurm_lines_of_listing(const struct slurm_source *source, struct slurm_lines *ret)
{
    const char *at = source->text;
    unsigned number = 0;

    *ret = (struct slurm_lines){ 0 };
    for (char *row = next_line(&at, &number); row; row = next_line(&at, &number)) {
        struct slurm_line line = { .source = source->name };
        read_pairs(row, false, &line, NULL);
        add_line(ret, line);
        free(row);
    }
}

/* ---- tables ---- */

/* A '|' at the end ends the last field. */
static size_t count_fields(const char *line)
{
    size_t count = line[0] != '\0';

    for (; *line; line++)
        count += line[0] == '|' && line[1];
    return count;
}

/* Field i of a line. */
static const char *field_at(const char *line, size_t i, size_t *ret_length)
{
    for (; i > 0 && *line; i--) {
        line += strcspn(line, "|");
        line += *line == '|';
    }
    *ret_length = strcspn(line, "|");
    return line;
}

static int read_row(const char *header, const char *row, struct slurm_line *line, struct error *err)
{
    size_t count = count_fields(header), given = count_fields(row), key_length, length;

    /* without the separator at the end, as of -P, an empty last field does not show */
    if (given != count && given + 1 != count)
        return slurm_line_fail(line, err, "%zu fields, expected %zu as in the header", given,
                               count);
    for (size_t i = 0; i < count; i++) {
        const char *key = field_at(header, i, &key_length);
        const char *value = field_at(row, i, &length);
        add_pair(line, key, key_length, value, length);
    }
    return 0;
}

static bool has_column(const char *header, const char *column)
{
    size_t length;

    for (size_t i = 0; i < count_fields(header); i++) {
        const char *key = field_at(header, i, &length);
        if (length == strlen(column) && strncasecmp(key, column, length) == 0)
            return true;
    }
    return false;
}

int slurm_lines_of_table(const struct slurm_source *source, const char *column,
                         struct slurm_lines *ret, struct error *err)
{
    unsigned number = 0;
    const char *at = source->text;
    AUTO_FREE char *header = next_line(&at, &number);
    struct slurm_line first = { .source = source->name, .number = 1 };

    *ret = (struct slurm_lines){ 0 };
    if (!header || count_fields(header) > SLURM_FIELDS_MAX || !has_column(header, column))
        return slurm_line_fail(
            &first, err, "no column '%s', expected a header line as sacctmgr -P prints it", column);
    int code = 0;
    for (char *row = next_line(&at, &number); row; row = next_line(&at, &number)) {
        struct slurm_line line = { .source = source->name, .number = number };
        if (code == 0 && row[0])
            code = read_row(header, row, &line, err);
        add_line(ret, line);
        free(row);
    }
    return code;
}

/* ---- dumps ---- */

static size_t strip_quotes(const char **value, size_t length)
{
    if (length < 2 || **value != '\'' || (*value)[length - 1] != '\'')
        return length;
    (*value)++;
    return length - 2;
}

/* The length up to a colon outside of quotes; that of "gres/gpu:h100" is part of the value. */
static size_t part_length(const char *part)
{
    bool is_quoted = false;
    size_t i = 0;

    for (; part[i]; i++) {
        is_quoted ^= part[i] == '\'';
        if (part[i] == ':' && !is_quoted && (i < 8 || strncmp(part + i - 8, "gres/gpu", 8) != 0))
            break;
    }
    return i;
}

static int read_parts(const char *at, struct slurm_line *line, struct error *err)
{
    while (*at) {
        size_t length = part_length(at), key = strcspn(at, "=");
        if (key >= length)
            return slurm_line_fail(line, err, "'%.*s': expected KEY=VALUE",
                                   length < SHOWN ? (int)length : SHOWN, at);
        const char *value = at + key + 1;
        size_t value_length = strip_quotes(&value, length - key - 1);
        add_pair(line, at, key, value, value_length);
        at += length + (at[length] == ':');
    }
    return 0;
}

static int read_entry(const char *row, struct slurm_line *line, struct error *err)
{
    const char *dash = strstr(row, " - ");

    if (row[strspn(row, blanks)] == '\0' || row[0] == '#')
        return 0;
    if (!dash || dash == row)
        return slurm_line_fail(
            line, err, "'%.*s': expected a line of sacctmgr dump, as Account - 'NAME':KEY=VALUE",
            SHOWN, row);
    const char *name = dash + 3;
    size_t length = part_length(name);
    const char *rest = name + length + (name[length] == ':');
    length = strip_quotes(&name, length);
    add_pair(line, row, (size_t)(dash - row), name, length);
    return read_parts(rest, line, err);
}

int slurm_lines_of_dump(const struct slurm_source *source, struct slurm_lines *ret,
                        struct error *err)
{
    unsigned number = 0;
    const char *at = source->text;
    int code = 0;

    *ret = (struct slurm_lines){ 0 };
    for (char *row = next_line(&at, &number); row; row = next_line(&at, &number)) {
        struct slurm_line line = { .source = source->name, .number = number };
        if (code == 0)
            code = read_entry(row, &line, err);
        add_line(ret, line);
        free(row);
    }
    return code;
}

/* ---- lists of hosts ---- */

static int bad_hosts(struct error *err, const char *words)
{
    return error_set(err, -EBADMSG, "'%.*s': expected names of nodes, as n[01-16,20],login", SHOWN,
                     words);
}

/* The names of an item without commas outside of brackets. Each pass expands one pair of brackets
 * of all names so far. */
static int expand_ranges(const char *ranges, size_t length, const char *before,
                         struct slurm_hosts *hosts, struct error *err, const char *words)
{
    const char *end = ranges + length;

    for (const char *at = ranges; at < end;) {
        size_t digits = strspn(at, "0123456789"), last_digits = digits;
        const char *last = at;
        if (at[digits] == '-') {
            last = at + digits + 1;
            last_digits = strspn(last, "0123456789");
        }
        const char *next = last + last_digits;
        if (digits == 0 || digits > 9 || last_digits == 0 || last_digits > 9 || next > end ||
            (next < end && *next != ',') || (next + 1 == end && *next == ','))
            return bad_hosts(err, words);
        long from = strtol(at, NULL, 10), until = strtol(last, NULL, 10);
        if (until < from)
            return bad_hosts(err, words);
        for (long i = from; i <= until; i++) {
            if (hosts->all.count >= SLURM_HOSTS_MAX)
                return error_set(err, -EBADMSG, "'%.*s': expected at most %d nodes", SHOWN, words,
                                 SLURM_HOSTS_MAX);
            list_add(&hosts->all, mem_printf("%s%0*ld", before, (int)digits, i));
        }
        at = next + (next < end);
    }
    return length > 0 ? 0 : bad_hosts(err, words);
}

static void move_hosts(struct slurm_hosts *from, struct slurm_hosts *to)
{
    LIST_EACH (char *, name, &from->all)
        list_add(&to->all, *name);
    from->all.count = 0;
}

/* Put the names of `at`, up to `end`, behind each name of begun; these are replaced. */
static int extend(struct slurm_hosts *begun, const char *at, const char *end, struct error *err,
                  const char *words)
{
    int code = 0;

    while (at < end && code == 0) {
        AUTO_RELEASE(slurm_hosts) struct slurm_hosts longer = { 0 };
        const char *open = at + strcspn(at, "[]"), *close = open + strcspn(open, "]");
        open = open < end ? open : end;
        if (open < end && (*open == ']' || close >= end))
            return bad_hosts(err, words);
        LIST_EACH (char *, name, &begun->all) {
            AUTO_FREE char *before = mem_printf("%s%.*s", *name, (int)(open - at), at);
            if (open == end)
                list_add(&longer.all, mem_string(before));
            else if (code == 0)
                code = expand_ranges(open + 1, (size_t)(close - open - 1), before, &longer, err,
                                     words);
        }
        slurm_hosts_release(begun);
        move_hosts(&longer, begun);
        at = open == end ? end : close + 1;
    }
    return code;
}

int slurm_hosts_add(struct slurm_hosts *hosts, const char *words, struct error *err)
{
    for (const char *at = words; *at;) {
        AUTO_RELEASE(slurm_hosts) struct slurm_hosts begun = { 0 };
        size_t length = 0;
        for (bool is_inside = false; at[length] && (is_inside || at[length] != ','); length++)
            is_inside = at[length] == '[' || (is_inside && at[length] != ']');
        if (length == 0)
            return bad_hosts(err, words);
        list_add(&begun.all, mem_string(""));
        int code = extend(&begun, at, at + length, err, words);
        LIST_EACH (char *, name, &begun.all) {
            if (code == 0 && (!string_is_name(*name, HOST_LENGTH_MAX) || (*name)[0] == '.'))
                code = bad_hosts(err, words);
        }
        if (code == 0 && hosts->all.count + begun.all.count > SLURM_HOSTS_MAX)
            return error_set(err, -EBADMSG, "'%.*s': expected at most %d nodes", SHOWN, words,
                             SLURM_HOSTS_MAX);
        if (code < 0)
            return code;
        move_hosts(&begun, hosts);
        at += length + (at[length] == ',');
    }
    return 0;
}

void slurm_hosts_release(struct slurm_hosts *hosts)
{
    LIST_EACH (char *, name, &hosts->all)
        free(*name);
    list_release(&hosts->all);
}
