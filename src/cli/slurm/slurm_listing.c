/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/slurm_listing.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH_MAX = 9999 };

static void add_column(struct slurm_format *format, const struct slurm_field *field, char *before,
                       int width, bool is_right)
{
    list_add(&format->columns, (struct slurm_column){ field, before, width, is_right });
    format->needs_details |= field->needs_details;
}

static int letter_at(const char **s, const struct slurm_field *fields, struct slurm_format *format,
                     struct text *before, struct error *err)
{
    char *end = NULL;
    const char *from = *s;

    (*s)++;
    bool is_right = **s == '.';
    if (is_right || **s == '-')
        (*s)++;
    long width = isdigit((unsigned char)**s) ? strtol(*s, &end, 10) : 0;
    *s = end ? end : *s;
    for (const struct slurm_field *field = fields; field->add; field++) {
        if (field->letter == **s && **s && width <= WIDTH_MAX) {
            add_column(format, field, text_take(before), (int)width, is_right);
            (*s)++;
            return 0;
        }
    }
    return error_set(err, -EINVAL, "format: '%.12s' is not known", from);
}

int slurm_format_letters(struct slurm_format *format, const char *text,
                         const struct slurm_field *fields, struct error *err)
{
    AUTO_RELEASE(text) struct text before = { 0 };
    int code = 0;

    while (*text && code == 0) {
        if (*text == '%' && text[1] == '%')
            text++;
        else if (*text == '%') {
            code = letter_at(&text, fields, format, &before, err);
            continue;
        }
        text_add_char(&before, *text++);
    }
    format->after = text_take(&before);
    return code;
}

int slurm_format_names(struct slurm_format *format, const char *text,
                       const struct slurm_field *fields, struct error *err)
{
    AUTO_FREE char *copy = mem_string(text);
    char *rest = copy;

    format->has_names = true;
    format->after = mem_string("");
    for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
        char *size = strpbrk(word, "%:"), *end = NULL;
        const struct slurm_field *field = fields;
        if (size)
            *size++ = '\0';
        long width = size && *size ? strtol(size, &end, 10) : 0;
        while (field->add && (!field->name || strcasecmp(field->name, word) != 0))
            field++;
        if (!field->add || (end && *end) || labs(width) > WIDTH_MAX)
            return error_set(err, -EINVAL, "format: '%.40s' is not known", word);
        add_column(format, field, mem_string(format->columns.count > 0 ? " " : ""),
                   width != 0 ? (int)labs(width) : field->width, width >= 0);
    }
    return 0;
}

void slurm_format_release(struct slurm_format *format)
{
    LIST_EACH (struct slurm_column, column, &format->columns)
        free(column->before);
    list_release(&format->columns);
    free(format->after);
}

static void put_cell(const struct slurm_format *format, const struct slurm_column *column,
                     const char *value)
{
    bool is_first = column == format->columns.items;
    AUTO_FREE char *clean = string_copy_clean(value);

    if (format->between)
        printf("%s%s", is_first ? "" : format->between, clean);
    else if (column->width == 0)
        printf("%s%s", column->before, clean);
    else if (column->is_right)
        printf("%s%*.*s", column->before, column->width, column->width, clean);
    else
        printf("%s%-*.*s", column->before, column->width, column->width, clean);
}

static void end_row(const struct slurm_format *format)
{
    printf("%s%s\n", format->between && format->ends_so ? format->between : "",
           format->between ? "" : format->after);
}

void slurm_put_titles(const struct slurm_format *format)
{
    LIST_EACH (struct slurm_column, column, &format->columns)
        put_cell(format, column, format->has_names ? column->field->name : column->field->title);
    end_row(format);
}

void slurm_put_row(const struct slurm_format *format, const json_t *item)
{
    LIST_EACH (struct slurm_column, column, &format->columns) {
        AUTO_RELEASE(text) struct text value = { 0 };
        column->field->add(item, &value);
        put_cell(format, column, text_string(&value));
    }
    end_row(format);
}

void slurm_put_dashes(const struct slurm_format *format)
{
    LIST_EACH (struct slurm_column, column, &format->columns) {
        AUTO_FREE char *dashes = mem_zero((size_t)column->width + 1, 1);
        memset(dashes, '-', (size_t)column->width);
        put_cell(format, column, dashes);
    }
    end_row(format);
}

bool slurm_list_has(const char *list, const char *word)
{
    size_t length = strlen(word);

    if (!list)
        return true;
    for (const char *s = list; *s; s += strcspn(s, ",")) {
        s += *s == ',';
        if (strncasecmp(s, word, length) == 0 && strcspn(s, ",") == length)
            return true;
    }
    return false;
}
