/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_LIST_VIEW_H
#define CLI_LIST_VIEW_H

/* list_view - lists of the API as tables: a column has a title and a function that adds its cells
 *
 * A value that is absent or null is shown as "-".
 */

#include "base/table.h"
#include "cli/fields.h"
#include "cli/options.h"

struct list_column {
    const char *title;
    enum table_align align;
    size_t width_min; /* table.h */
    void (*add)(struct table *table, const json_t *item, const char *key);
    const char *key; /* of the value in the item; NULL: the function needs none */
};

struct list_view {
    const char *path; /* of the API */
    const char *key;  /* of the list in its reply */
    const char *id;   /* key of what -q prints for each: a number or a string */
    const char *none; /* the message about an empty list */
    const struct list_column *columns;
    size_t count;
};

/* A table whose rows come one after another. It must not move. */
struct list_table {
    const struct list_column *columns;
    size_t count;
    struct table_column titles[TABLE_COLUMNS_MAX];
    struct table *table;
};

void list_table_init(struct list_table *list, const struct list_column *columns, size_t count);
void list_table_add(struct list_table *list, const json_t *item);
void list_table_print(const struct list_table *list);
void list_table_release(struct list_table *list);

/* Print a table of items on standard output. */
void list_print(const struct list_column *columns, size_t count, const json_t *items);
/* Print a reply as the options require: as JSON, ids only, or a table. True: it was a table. */
bool list_show(const struct list_view *view, const json_t *reply, const struct options *options);
/* Request the list and print it. Returns the exit status. */
int list_ask(const struct list_view *view, const struct options *options);
/* Print a number or a string on a line of standard output. */
void list_put_id(const json_t *id);

/* ---- cells ---- */

void cell_text(struct table *table, const json_t *item, const char *key); /* absent: empty */
void cell_number(struct table *table, const json_t *item, const char *key);
void cell_milli(struct table *table, const json_t *item, const char *key);
void cell_percent(struct table *table, const json_t *item, const char *key); /* "67%" for 0.67 */
void cell_clock(struct table *table, const json_t *item, const char *key);
void cell_duration(struct table *table, const json_t *item, const char *key); /* absent: empty */

#endif
