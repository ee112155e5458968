/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/slurm/slurm_files.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

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
    for (size_t i = line->pairs.count; i > 0; i--) {
        const struct slurm_pair *pair = &line->pairs.items[i - 1];
        if (strcasecmp(pair->key, key) == 0)
            return pair->value[0] ? pair->value : NULL;
    }
    return NULL;
}

static void add_pair(struct slurm_line *line, const char *key, size_t key_length, const char *value,
                     size_t length)
{
    struct slurm_pair pair = { mem_string_of(key, key_length), mem_string_of(value, length) };

    list_add(&line->pairs, pair);
}

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

static void cut_comment(char *line)
{
    for (char *at = line; *at; at++) {
        if (*at == '#' && (at == line || at[-1] != '\\')) {
            *at = '\0';
            return;
        }
    }
}

static bool is_continued(char *line)
{
    size_t length = strlen(line);

    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t'))
        length--;
    if (length == 0 || line[length - 1] != '\\')
        return false;
    line[length - 1] = '\0';
    return true;
}

static void read_pairs(const char *at, struct slurm_line *line)
{
    while (*(at += strspn(at, " \t"))) {
        size_t key = strcspn(at, "= \t");
        const char *value = at + key + (at[key] == '=');
        bool is_quoted = *value == '"';
        size_t length = is_quoted ? strcspn(++value, "\"") : strcspn(value, " \t");
        if (at[key] != '=') /* "Include FILE" */
            length = 0, value = at + key;
        if (key > 0)
            add_pair(line, at, key, value, length);
        at = value + length;
        at += is_quoted && *at == '"';
        at += key == 0 && *at == '=';
    }
}

void slurm_lines_of_conf(const char *text, struct slurm_lines *ret)
{
    unsigned number = 0;

    *ret = (struct slurm_lines){ 0 };
    for (const char *at = text; *at;) {
        AUTO_RELEASE(text) struct text whole = { 0 };
        struct slurm_line line = { .number = number + 1 };
        bool is_open = true;
        while (is_open) {
            AUTO_FREE char *part = next_line(&at, &number);
            if (!part)
                break;
            cut_comment(part);
            is_open = is_continued(part);
            text_add(&whole, part);
        }
        read_pairs(text_string(&whole), &line);
        add_line(ret, line);
    }
}

/* ---- tables ---- */

static size_t count_fields(const char *line)
{
    size_t count = 1;

    for (; *line; line++)
        count += *line == '|';
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

void slurm_lines_of_table(const char *text, struct slurm_lines *ret)
{
    enum { FIELDS_MAX = 200 };
    unsigned number = 0;
    const char *at = text;
    AUTO_FREE char *header = next_line(&at, &number);

    *ret = (struct slurm_lines){ 0 };
    for (char *row = next_line(&at, &number); row; row = next_line(&at, &number)) {
        struct slurm_line line = { .number = number };
        size_t count = count_fields(header), key_length, length;
        for (size_t i = 0; i < count && i < FIELDS_MAX; i++) {
            const char *key = field_at(header, i, &key_length);
            const char *value = field_at(row, i, &length);
            if (key_length > 0)
                add_pair(&line, key, key_length, value, length);
        }
        add_line(ret, line);
        free(row);
    }
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

static void read_parts(const char *at, struct slurm_line *line)
{
    while (*at) {
        size_t length = part_length(at), key = strcspn(at, "=");
        if (key < length) {
            const char *value = at + key + 1;
            size_t value_length = strip_quotes(&value, length - key - 1);
            add_pair(line, at, key, value, value_length);
        }
        at += length + (at[length] == ':');
    }
}

void slurm_lines_of_dump(const char *text, struct slurm_lines *ret)
{
    unsigned number = 0;
    const char *at = text;

    *ret = (struct slurm_lines){ 0 };
    for (char *row = next_line(&at, &number); row; row = next_line(&at, &number)) {
        struct slurm_line line = { .number = number };
        char *dash = row[0] == '#' ? NULL : strstr(row, " - ");
        if (dash) {
            const char *name = dash + 3;
            size_t length = part_length(name);
            const char *rest = name + length + (name[length] == ':');
            length = strip_quotes(&name, length);
            add_pair(&line, row, (size_t)(dash - row), name, length);
            read_parts(rest, &line);
        }
        add_line(ret, line);
        free(row);
    }
}
