/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/character.h"
#include "base/mem.h"

enum { GAP = 2 };

struct cell {
    const char *text; /* NULL: empty */
    size_t width;
    bool is_plain; /* as text_add_cut() would write it, if it fits */
    enum table_style style;
};

struct table {
    const struct table_column *columns;
    size_t column_count;
    LIST(struct cell) cells; /* row after row, column_count each */
    struct arena texts;
    size_t row_count;
    size_t at; /* column of the next cell */
};

/* A control character is replaced by a question mark. */
static size_t character_width(uint32_t before, uint32_t c)
{
    static const struct {
        uint32_t first, last;
        size_t width;
    } ranges[] = {
        { 0x0300, 0x036f, 0 },   { 0x1100, 0x115f, 2 }, { 0x2e80, 0xa4cf, 2 },
        { 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 }, { 0xfe30, 0xfe6f, 2 },
        { 0xff00, 0xff60, 2 },   { 0xffe0, 0xffe6, 2 }, { 0x1f300, 0x1faff, 2 },
        { 0x20000, 0x3fffd, 2 },
    };

    if (character_is_control(before, c))
        return 1;
    if (character_is_joiner(c))
        return 0;
    for (size_t i = 0; i < COUNT_OF(ranges); i++) {
        if (c >= ranges[i].first && c <= ranges[i].last)
            return ranges[i].width;
    }
    return 1;
}

/* Of its beginning: characters of one column each. */
static size_t count_plain(const char *s)
{
    size_t count = 0;

    while (s[count] >= ' ' && s[count] <= '~')
        count++;
    return count;
}

size_t string_width(const char *string)
{
    size_t width = count_plain(string), left = strlen(string + width), step;
    uint32_t before = width > 0 ? ' ' : 0;

    for (const char *s = string + width; left > 0; s += step, left -= step) {
        uint32_t c = character_decode(s, left, &step);
        width += character_width(before, c);
        before = c;
    }
    return width;
}

void text_add_cut(struct text *text, const char *string, size_t width)
{
    bool is_cut = string_width(string) > width;
    size_t room = is_cut && width > 0 ? width - 1 : width;
    size_t plain = count_plain(string), step;

    plain = plain < room ? plain : room;
    text_add_bytes(text, string, plain);
    room -= plain;
    uint32_t before = plain > 0 ? ' ' : 0;
    size_t left = strlen(string + plain);
    for (const char *s = string + plain; left > 0; s += step, left -= step) {
        uint32_t c = character_decode(s, left, &step);
        size_t columns = character_width(before, c);

        if (columns > room)
            break;
        room -= columns;
        if (character_is_control(before, c))
            text_add_char(text, '?');
        else
            text_add_bytes(text, s, step);
        before = c;
    }
    if (is_cut && width > 0)
        text_add(text, "…");
}

struct table *table_create(const struct table_column *columns, size_t count)
{
    struct table *table = mem_zero(1, sizeof(*table));

    assert(count >= 1 && count <= TABLE_COLUMNS_MAX);
    table->columns = columns;
    table->column_count = count;
    return table;
}

void table_destroy(struct table *table)
{
    if (!table)
        return;
    arena_release(&table->texts);
    list_release(&table->cells);
    free(table);
}

void table_start_row(struct table *table)
{
    for (size_t i = 0; i < table->column_count; i++)
        list_add(&table->cells, (struct cell){ 0 });
    table->row_count++;
    table->at = 0;
}

void table_add_text(struct table *table, const char *text)
{
    assert(table->row_count > 0 && table->at < table->column_count);
    size_t index = (table->row_count - 1) * table->column_count + table->at++;
    struct cell *cell = &table->cells.items[index];

    if (!text)
        return;
    cell->text = arena_string(&table->texts, text, strlen(text));
    cell->width = string_width(text);
    cell->is_plain = count_plain(text) == strlen(text);
}

void table_add_format(struct table *table, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    AUTO_FREE char *text = mem_vprintf(format, args);
    va_end(args);
    table_add_text(table, text);
}

void table_add_number(struct table *table, int64_t number)
{
    table_add_format(table, "%" PRId64, number);
}

void table_add_milli(struct table *table, int64_t milli)
{
    char buffer[UNITS_TEXT_SIZE];

    table_add_text(table, units_format_milli(buffer, milli));
}

void table_add_duration(struct table *table, usec_t duration)
{
    char buffer[UNITS_TEXT_SIZE];

    table_add_text(table, units_format_duration(buffer, duration));
}

void table_add_absent(struct table *table)
{
    table_add_text(table, "-");
}

void table_style(struct table *table, enum table_style style)
{
    assert(table->at > 0);
    table->cells.items[(table->row_count - 1) * table->column_count + table->at - 1].style = style;
}

static const char *style_begin(enum table_style style)
{
    switch (style) {
    case TABLE_PLAIN:
        return "";
    case TABLE_GOOD:
        return "\033[32m";
    case TABLE_BAD:
        return "\033[31m";
    case TABLE_WAITS:
        return "\033[33m";
    case TABLE_FAINT:
        return "\033[2m";
    }
    return "";
}

static void measure(const struct table *table, bool has_title, size_t *widths)
{
    for (size_t i = 0; i < table->column_count; i++)
        widths[i] = has_title ? string_width(table->columns[i].title) : 0;
    for (size_t i = 0; i < table->cells.count; i++) {
        size_t width = table->cells.items[i].width;

        if (width > widths[i % table->column_count])
            widths[i % table->column_count] = width;
    }
}

struct line {
    const struct table *table;
    const struct table_view *view;
    size_t widths[TABLE_COLUMNS_MAX];
    bool is_hidden[TABLE_COLUMNS_MAX];
};

static size_t total_width(const struct line *line)
{
    size_t total = 0;

    for (size_t i = 0; i < line->table->column_count; i++) {
        if (!line->is_hidden[i])
            total += line->widths[i] + (i > 0 ? GAP : 0);
    }
    return total;
}

/* By how many it may become narrower. */
static size_t spare(const struct line *line, size_t column)
{
    size_t least = line->table->columns[column].width_min;

    return !line->is_hidden[column] && least > 0 && line->widths[column] > least
               ? line->widths[column] - least
               : 0;
}

/* The last column that may be cut, which is prose. */
static size_t find_prose(const struct line *line)
{
    size_t at = line->table->column_count;

    while (at > 0 && (line->is_hidden[at - 1] || line->table->columns[at - 1].width_min == 0))
        at--;
    return at > 0 ? at - 1 : line->table->column_count;
}

/* Cut the widest name until the row fits, then the prose; false: it does not fit. */
static bool squeeze(struct line *line, size_t room)
{
    size_t prose = find_prose(line), count = line->table->column_count;

    for (size_t total = total_width(line); total > room; total--) {
        size_t widest = count;

        for (size_t i = 0; i < count; i++) {
            if (i != prose && spare(line, i) > 0 &&
                (widest == count || line->widths[i] > line->widths[widest]))
                widest = i;
        }
        if (widest == count && (prose == count || spare(line, prose) == 0))
            return false;
        line->widths[widest == count ? prose : widest]--;
    }
    return true;
}

/* The column that a narrow terminal does without: from the right, those that can't be cut first.
 * 0: none is left. */
static size_t least_wanted(const struct line *line)
{
    size_t column = 0;

    for (size_t i = line->table->column_count; i-- > 1;) {
        if (!line->is_hidden[i] && line->table->columns[i].width_min == 0)
            return i;
        if (!line->is_hidden[i] && column == 0)
            column = i;
    }
    return column;
}

static void fit(struct line *line, size_t room, const size_t *widths)
{
    memcpy(line->widths, widths, sizeof(line->widths));
    while (room > 0 && !squeeze(line, room)) {
        size_t column = least_wanted(line);

        memcpy(line->widths, widths, sizeof(line->widths));
        if (column == 0) {
            line->widths[0] = room;
            return;
        }
        line->is_hidden[column] = true;
    }
}

/* Spaces are written before a cell, so that no line ends in them. */
static void add_cell(const struct line *line, size_t column, const struct cell *cell,
                     size_t *blanks, struct text *text)
{
    size_t width = line->widths[column];
    size_t used = cell->width;
    bool has_style = line->view->has_colours && cell->style != TABLE_PLAIN;

    if (used > width)
        used = width;
    if (column > 0)
        *blanks += GAP;
    if (used == 0) {
        *blanks += width;
        return;
    }
    if (line->table->columns[column].align == TABLE_RIGHT)
        *blanks += width - used;
    for (; *blanks > 0; --*blanks)
        text_add_char(text, ' ');
    if (has_style)
        text_add(text, style_begin(cell->style));
    if (cell->width <= width && cell->is_plain)
        text_add(text, cell->text);
    else
        text_add_cut(text, cell->text, width);
    if (has_style)
        text_add(text, "\033[0m");
    *blanks = line->table->columns[column].align == TABLE_RIGHT ? 0 : width - used;
}

void table_format(const struct table *table, const struct table_view *view, struct text *text)
{
    struct line line = { .table = table, .view = view };
    size_t widths[TABLE_COLUMNS_MAX] = { 0 };

    measure(table, view->has_title, widths);
    fit(&line, view->width, widths);
    for (size_t row = view->has_title ? 0 : 1; row <= table->row_count; row++) {
        size_t blanks = 0;

        for (size_t i = 0; i < table->column_count; i++) {
            if (line.is_hidden[i])
                continue;
            struct cell head = { .text = table->columns[i].title,
                                 .width = string_width(table->columns[i].title) };
            add_cell(&line, i,
                     row == 0 ? &head : &table->cells.items[(row - 1) * table->column_count + i],
                     &blanks, text);
        }
        text_add_char(text, '\n');
    }
}
