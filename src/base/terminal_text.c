/* SPDX-License-Identifier: Apache-2.0 */
#include "base/terminal_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/character.h"
#include "base/mem.h"

enum {
    ESCAPE = 0x1b,
    BELL = 7,
    DELETE = 0x7f,
    C1_LEAD = 0xc2,
    C1_END = 0xa0,
    TAB = 8,
    RIGHT_MOST = 1000,
    GAPS_MOST = 1 << 20
};

/* ---- sequences ---- */

/* "ESC [ parameters intermediates final", ESC and a letter, or the begin of a string (a title). */
static bool is_complete(const char *sequence, size_t length)
{
    const unsigned char last = (unsigned char)sequence[length - 1];

    if (length < 2)
        return false;
    if (sequence[1] == '[')
        return length > 2 && last >= '@' && last <= '~';
    return last >= '0' && last <= '~';
}

static bool begins_string(char second)
{
    return second && strchr("]PX^_", second);
}

/* The number behind "ESC [", at most RIGHT_MOST. */
static size_t number_in(const char *sequence, size_t otherwise)
{
    unsigned long number = strtoul(sequence + 2, NULL, 10);

    return number == 0 ? otherwise : number < RIGHT_MOST ? number : RIGHT_MOST;
}

/* ---- a screen ---- */

struct row {
    LIST(uint32_t) cells; /* characters */
};

struct display {
    LIST(struct row) rows;
    size_t row, column;
    size_t gaps;     /* cells that only movements have made */
    uint32_t before; /* the last character */
};

static struct row *row_now(struct display *display)
{
    while (display->rows.count <= display->row)
        list_add(&display->rows, (struct row){ 0 });
    return &display->rows.items[display->row];
}

static void drop_rows(struct display *display, size_t first)
{
    for (size_t i = first; i < display->rows.count; i++)
        list_release(&display->rows.items[i].cells);
    if (first < display->rows.count)
        display->rows.count = first;
}

static void put(struct display *display, uint32_t character)
{
    struct row *row = row_now(display);

    if (display->column > row->cells.count) {
        display->gaps += display->column - row->cells.count;
        if (display->gaps > GAPS_MOST)
            display->column = row->cells.count;
    }
    while (row->cells.count <= display->column)
        list_add(&row->cells, ' ');
    row->cells.items[display->column++] = character;
}

static void erase_line(struct display *display, const char *sequence)
{
    struct row *row = row_now(display);
    const char how = sequence[2];

    const size_t end = display->column < RIGHT_MOST ? display->column + 1 : RIGHT_MOST;
    for (size_t i = 0; how == '1' && i < row->cells.count && i < end; i++)
        row->cells.items[i] = ' ';
    if (how == '2')
        row->cells.count = 0;
    else if (how != '1' && row->cells.count > display->column)
        row->cells.count = display->column;
}

static void erase_screen(struct display *display, const char *sequence)
{
    if (sequence[2] == '2' || sequence[2] == '3') {
        drop_rows(display, 0);
        display->row = display->column = 0;
    } else if (sequence[2] != '1') {
        erase_line(display, "\033[K");
        drop_rows(display, display->row + 1);
    }
}

static void move(struct display *display, const char *sequence, char final)
{
    const size_t by = number_in(sequence, 1),
                 last = display->rows.count > 0 ? display->rows.count - 1 : 0;

    if (final == 'A' || final == 'F')
        display->row -= by < display->row ? by : display->row;
    else if (final == 'B' || final == 'E')
        display->row = display->row + by < last ? display->row + by : last;
    else if (final == 'C' && display->column < RIGHT_MOST)
        display->column = display->column + by < RIGHT_MOST ? display->column + by : RIGHT_MOST;
    else if (final == 'D')
        display->column -= by < display->column ? by : display->column;
    else if (final == 'G')
        display->column = by - 1;
    else if (final == 'H' || final == 'f') {
        const char *second = strchr(sequence, ';');
        display->row = by - 1 < last ? by - 1 : last;
        display->column = second ? number_in(second - 1, 1) - 1 : 0;
    }
    if (final == 'E' || final == 'F')
        display->column = 0;
}

static void obey(struct display *display, const char *sequence, size_t length)
{
    const char final = sequence[length - 1];

    if (sequence[1] == 'c') {
        erase_screen(display, "\033[2J");
    } else if (sequence[1] == '[') {
        if (final == 'K')
            erase_line(display, sequence);
        else if (final == 'J')
            erase_screen(display, sequence);
        else
            move(display, sequence, final);
    }
}

/* ---- bytes ---- */

/* One step of a sequence that began before; true: it is complete and no string. */
static bool continue_sequence(struct terminal_filter *filter, unsigned char c)
{
    if (filter->is_string) { /* up to BEL or ESC \ */
        filter->is_string = c != BELL && !(filter->sequence[0] == ESCAPE && c == '\\');
        filter->sequence[0] = (char)c;
        filter->length = filter->is_string;
        return false;
    }
    if (filter->length + 1 < sizeof(filter->sequence))
        filter->sequence[filter->length++] = (char)c;
    else
        filter->sequence[filter->length - 1] = (char)c; /* too long: it is left out */
    filter->sequence[filter->length] = '\0';
    if (filter->length == 2 && begins_string((char)c)) {
        filter->is_string = true;
        filter->sequence[0] = '\0';
        return false;
    }
    return is_complete(filter->sequence, filter->length);
}

/* A line ends also what a program has begun and not completed. */
static void end_at_line(struct terminal_filter *filter, unsigned char c)
{
    if (c == '\n')
        *filter = (struct terminal_filter){ 0 };
}

static void begin_sequence(struct terminal_filter *filter)
{
    filter->sequence[0] = ESCAPE;
    filter->length = 1;
}

static void take(struct display *display, uint32_t character)
{
    if (character == '\n') {
        row_now(display);
        display->row++;
        display->column = 0;
        row_now(display);
    } else if (character == '\r') {
        display->column = 0;
    } else if (character == '\b') {
        display->column -= display->column > 0;
    } else if (character == '\t') {
        do
            put(display, ' ');
        while (display->column % TAB != 0);
    } else if (character == 0 ||
               (character > C1_END && character_is_control(display->before, character))) {
        put(display, '?');
    } else if (!character_is_control(display->before, character)) {
        put(display, character);
    }
    display->before = character;
}

static void encode(struct text *out, uint32_t c)
{
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t leads[] = { 0, 0xc0, 0xe0, 0xf0 };

    text_add_char(out, (char)(leads[more] | c >> (6 * more)));
    for (int i = more - 1; i >= 0; i--)
        text_add_char(out, (char)(0x80 | (c >> (6 * i) & 0x3f)));
}

static void print(const struct display *display, struct text *out)
{
    size_t rows = display->rows.count;

    rows -=
        rows > 0 && display->rows.items[rows - 1].cells.count == 0; /* behind the last newline */
    for (size_t i = 0; i < rows; i++) {
        const struct row *row = &display->rows.items[i];
        size_t count = row->cells.count;

        while (count > 0 && row->cells.items[count - 1] == ' ')
            count--;
        for (size_t k = 0; k < count; k++)
            encode(out, row->cells.items[k]);
        text_add_char(out, '\n');
    }
}

void terminal_text_add(struct text *out, const char *bytes, size_t length)
{
    struct display display = { 0 };
    struct terminal_filter filter = { 0 };
    size_t step;

    for (size_t at = 0; at < length; at += step) {
        uint32_t character = character_decode(bytes + at, length - at, &step);
        end_at_line(&filter, (unsigned char)bytes[at]);
        if (filter.length > 0) {
            if (continue_sequence(&filter, (unsigned char)bytes[at])) {
                obey(&display, filter.sequence, filter.length);
                filter.length = 0;
            }
            step = 1;
        } else if (character == ESCAPE) {
            begin_sequence(&filter);
        } else {
            take(&display, character);
        }
    }
    print(&display, out);
    drop_rows(&display, 0);
    list_release(&display.rows);
}

/* ---- a stream ---- */

static bool may_pass(const char *sequence, size_t length)
{
    return sequence[1] == '[' && strchr("mKABCDG", sequence[length - 1]) &&
           strspn(sequence + 2, "0123456789;:") == length - 3;
}

/* U+0080 to U+009F are left out like other sequences. */
static void end_character(struct terminal_filter *filter, struct text *out)
{
    size_t length;
    uint32_t c = character_decode(filter->character, filter->held, &length);

    if (c != 0 && !character_is_control(filter->before, c))
        text_add_bytes(out, filter->character, filter->held);
    else if (c == 0 || c >= C1_END)
        text_add_char(out, '?');
    filter->before = c;
    filter->held = 0;
}

/* Whether c is a part of a character of several bytes. */
static bool hold_byte(struct terminal_filter *filter, struct text *out, unsigned char c)
{
    if (filter->held > 0 && (c & 0xc0) != 0x80)
        end_character(filter, out);
    if (filter->length > 0 || c < 0x80)
        return false;
    filter->character[filter->held++] = (char)c;
    const unsigned char lead = (unsigned char)filter->character[0];
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= C1_LEAD ? 2 : 1;
    if (filter->held == length)
        end_character(filter, out);
    return true;
}

void terminal_filter_add(struct terminal_filter *filter, struct text *out, const char *bytes,
                         size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)bytes[i];

        if (hold_byte(filter, out, c))
            continue;
        end_at_line(filter, c);
        if (filter->length > 0) {
            if (!continue_sequence(filter, c))
                continue;
            if (may_pass(filter->sequence, filter->length))
                text_add_bytes(out, filter->sequence, filter->length);
            filter->length = 0;
        } else if (c == ESCAPE) {
            begin_sequence(filter);
        } else if ((c >= ' ' && c != DELETE) || memchr("\n\r\t\b", c, 4)) {
            text_add_char(out, (char)c);
            filter->before = c;
        }
    }
}
