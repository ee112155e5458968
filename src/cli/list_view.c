/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/list_view.h"

#include <assert.h>
#include <stdio.h>

#include "cli/screen.h"
#include "cli/session.h"

void list_table_init(struct list_table *list, const struct list_column *columns, size_t count)
{
    *list = (struct list_table){ .columns = columns, .count = count };
    assert(count <= TABLE_COLUMNS_MAX);
    for (size_t i = 0; i < count; i++)
        list->titles[i] =
            (struct table_column){ columns[i].title, columns[i].align, columns[i].width_min };
    list->table = table_create(list->titles, count);
}

void list_table_add(struct list_table *list, const json_t *item)
{
    table_start_row(list->table);
    for (size_t i = 0; i < list->count; i++)
        list->columns[i].add(list->table, item, list->columns[i].key);
}

void list_table_print(const struct list_table *list)
{
    screen_table(list->table);
}

void list_table_release(struct list_table *list)
{
    table_destroy(list->table);
    list->table = NULL;
}

void list_print(const struct list_column *columns, size_t count, const json_t *items)
{
    AUTO_RELEASE(list_table) struct list_table list;
    const json_t *item;
    size_t i;

    list_table_init(&list, columns, count);
    json_array_foreach(items, i, item) list_table_add(&list, item);
    list_table_print(&list);
}

void list_put_id(const json_t *id)
{
    if (json_is_string(id))
        printf("%s\n", json_string_value(id));
    else
        printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(id));
}

bool list_show(const struct list_view *view, const json_t *reply, const struct options *options)
{
    const json_t *list = json_object_get(reply, view->key), *item;
    size_t i;

    if (options->is_json) {
        reply_print(reply);
    } else if (options->is_quiet) {
        json_array_foreach(list, i, item) list_put_id(json_object_get(item, view->id));
    } else if (json_array_size(list) == 0) {
        talk("%s", view->none);
    } else {
        list_print(view->columns, view->count, list);
        return true;
    }
    return false;
}

int list_ask(const struct list_view *view, const struct options *options)
{
    AUTO(json) json_t *reply = NULL;

    if (session_ask("GET", view->path, NULL, &reply) != 0)
        return 1;
    list_show(view, reply, options);
    return 0;
}

/* ---- cells ---- */

void cell_text(struct table *table, const json_t *item, const char *key)
{
    table_add_text(table, field_text(item, key));
}

void cell_number(struct table *table, const json_t *item, const char *key)
{
    if (field_is_null(item, key))
        table_add_absent(table);
    else
        table_add_number(table, field_number(item, key));
}

void cell_milli(struct table *table, const json_t *item, const char *key)
{
    if (field_is_null(item, key))
        table_add_absent(table);
    else
        table_add_milli(table, field_milli(item, key));
}

void cell_percent(struct table *table, const json_t *item, const char *key)
{
    if (field_is_null(item, key))
        table_add_absent(table);
    else
        table_add_format(table, "%.0f%%", field_real(item, key) * 100);
}

void cell_clock(struct table *table, const json_t *item, const char *key)
{
    char clock[CLOCK_SIZE];

    if (field_is_null(item, key))
        table_add_absent(table);
    else
        table_add_text(table, clock_format(clock, field_time(item, key)));
}

void cell_duration(struct table *table, const json_t *item, const char *key)
{
    usec_t duration = field_seconds(item, key);

    if (duration == FIELD_ABSENT)
        table_add_text(table, NULL);
    else
        table_add_duration(table, duration);
}
