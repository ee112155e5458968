/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

/* table - rows of typed cells as an aligned listing
 *
 * A cell is text, a number, a duration, a size or absent ("-"). A listing that is wider than asked
 * for never wraps. First the columns that may be cut become narrower: names, the widest first, and
 * then the last such column, which is prose. Then columns are left out from the right, those that
 * can't be cut before the others. Control characters in a text become '?'. Widths are those
 * of a terminal: UTF-8, wide characters count two.
 *
 * Order of calls:  create, (start_row, add_*, style*)*, format*, destroy
 * Owner:           the caller of table_create(); cells are copied; columns must live as long
 * Limits:          TABLE_COLUMNS_MAX columns
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/text.h"
#include "base/units.h"

enum { TABLE_COLUMNS_MAX = 24 };

enum table_align { TABLE_LEFT, TABLE_RIGHT };

/* One colour, one meaning. */
enum table_style { TABLE_PLAIN, TABLE_GOOD, TABLE_BAD, TABLE_WAITS, TABLE_FAINT };

struct table_column {
    const char *title;
    enum table_align align;
    size_t width_min; /* may be cut to this many; 0: never cut */
};

struct table_view {
    size_t width; /* of the terminal; 0: as wide as it gets */
    bool has_colours;
    bool has_title;
};

struct table;

struct table *table_create(const struct table_column *columns, size_t count);
void table_destroy(struct table *table); /* NULL is fine */
DEFINE_AUTO(table)

/* Cells that a row does not get stay empty; more than there are columns is a bug. */
void table_start_row(struct table *table);
void table_add_text(struct table *table, const char *text); /* NULL: empty */
void table_add_format(struct table *table, const char *format, ...) PRINTF(2, 3);
void table_add_number(struct table *table, int64_t number);
void table_add_milli(struct table *table, int64_t milli); /* "0.5", "2" */
void table_add_duration(struct table *table, usec_t duration);
void table_add_absent(struct table *table);                    /* "-" */
void table_style(struct table *table, enum table_style style); /* of the cell added last */

/* Add the listing to text, a line a row. */
void table_format(const struct table *table, const struct table_view *view, struct text *text);

/* Columns that a UTF-8 string takes on a terminal. */
size_t string_width(const char *string);
/* Add string, cut to width columns, control characters replaced; what is cut ends in an ellipsis.
 */
void text_add_cut(struct text *text, const char *string, size_t width);

#endif
