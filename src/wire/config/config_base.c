/* SPDX-License-Identifier: Apache-2.0 */
/* What a configuration is made of: found and extended for all other files of this folder. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "wire/config/config_keys.h"
#include "wire/job/submission.h"

void config_destroy(struct config *config)
{
    if (config)
        arena_release(&config->arena);
    free(config);
}

void *config_new(struct config *config, void *list, uint32_t *count, size_t size)
{
    char *items, *more;

    memcpy(&items, list, sizeof(items));
    if ((*count & (*count - 1)) == 0) { /* grown at 0, 1, 2, 4 ...; the arena keeps the old one */
        more = arena_take(&config->arena, *count > 0 ? (size_t)*count * 2 : 1, size);
        if (*count > 0)
            memcpy(more, items, *count * size);
        memcpy(list, &more, sizeof(more));
        items = more;
    }
    return items + (*count)++ * size;
}

const char *config_text(struct config *config, const char *text)
{
    return text[0] ? arena_string(&config->arena, text, strlen(text)) : "";
}

void config_add_window(struct config *config, const char *name, const char *words)
{
    struct config_window *window = CONFIG_NEW(config, config->windows, config->window_count);

    *window = (struct config_window){ config_text(config, name), config_text(config, words) };
}

/* ---- maps from names to things ---- */

#define SECTION(kind, table, owner, items, count, most)                                            \
    {                                                                                              \
        kind, table, offsetof(owner, items), offsetof(owner, count),                               \
            sizeof(((owner *)0)->items[0]), most                                                   \
    }

const struct config_section *section_of(enum setting_kind kind)
{
    static const struct config_section sections[] = {
        SECTION("pool", KEYS_POOL, struct config, pools, pool_count, CONFIG_POOLS_MAX),
        SECTION("queue", KEYS_QUEUE, struct config, queues, queue_count, UINT32_MAX),
        SECTION("node type", KEYS_NODE_TYPE, struct config, node_types, node_type_count,
                NODE_TYPES_MAX),
        SECTION("device", KEYS_DEVICE_TYPE, struct config, device_types, device_type_count,
                DEVICE_TYPES_MAX),
        SECTION("tariff", KEYS_TARIFF, struct config, tariffs, tariff_count, AGENDA_TARIFFS_MAX),
        SECTION("reservation", KEYS_RESERVATION, struct config, reservations, reservation_count,
                AGENDA_RESERVATIONS_MAX),
        SECTION("window", KEYS_TOP, struct config, windows, window_count, CONFIG_WINDOWS_MAX),
        SECTION("window", KEYS_WINDOWED, struct event_pool, during, during_count, UINT32_MAX),
        SECTION(NULL, KEYS_CELL, struct event_queue, cells, cells_count, QUEUE_CELLS_MAX),
        SECTION("node", KEYS_NODE, struct config, nodes, node_count, NODE_SETTINGS_MAX),
    };

    return &sections[kind - SETTING_POOLS];
}

void *section_item(const struct config_section *section, const void *base, uint32_t i)
{
    char *items;
    uint32_t count;

    memcpy(&items, (const char *)base + section->items, sizeof(items));
    memcpy(&count, (const char *)base + section->count, sizeof(count));
    return i < count ? items + i * section->size : NULL;
}

const char *section_name(const struct config_section *section, const void *item)
{
    const char *name = item;

    if (section->table != KEYS_NODE_TYPE && section->table != KEYS_DEVICE_TYPE &&
        section->table != KEYS_NODE)
        memcpy(&name, item, sizeof(name));
    return name;
}

void *section_find(enum setting_kind kind, const struct config *config, const char *name)
{
    const struct config_section *section = section_of(kind);
    uint32_t i = 0;
    void *item = section_item(section, config, i);

    while (item && strcmp(section_name(section, item), name) != 0)
        item = section_item(section, config, ++i);
    return item;
}

int section_fail(enum setting_kind kind, const struct config *config, const struct reader *reader,
                 const json_t *object, const char *key, const char *name)
{
    const struct config_section *section = section_of(kind);
    const char *names[CONFIG_QUEUES_MAX + 1] = { 0 };
    char hint[READER_SCALAR_SIZE * 2];
    const void *item;

    for (uint32_t i = 0; i < CONFIG_QUEUES_MAX && (item = section_item(section, config, i)); i++)
        names[i] = section_name(section, item);
    error_set(reader->err, -EINVAL, "no %s '%.80s'%s", section->kind, name,
              reader_suggest(name, names, hint, sizeof(hint)));
    return kind == SETTING_WINDOWS ? reader_place_line(reader, -EINVAL, object, key)
                                   : reader_place(reader, -EINVAL, object, key);
}

int32_t config_find_queue(const struct config *config, const char *name)
{
    const struct event_queue *found = section_find(SETTING_QUEUES, config, name);

    return found ? (int32_t)(found - config->queues) : -1;
}

int32_t config_find_pool(const struct config *config, const char *name)
{
    const struct event_pool *found = section_find(SETTING_POOLS, config, name);

    return found ? (int32_t)(found - config->pools) : -1;
}

const struct config_window *config_find_window(const struct config *config, const char *name)
{
    return section_find(SETTING_WINDOWS, config, name);
}

int map_check(const struct reader *reader, const json_t *document, const char *key,
              enum setting_kind kind)
{
    const struct config_section *section = section_of(kind);
    const json_t *map = reader_get(document, key);
    bool is_queue = kind == SETTING_QUEUES;
    const char *name;
    json_t *value;

    if (!json_is_object(map))
        return reader_fail(reader, -EINVAL, document, key, "expected a map from name to %s, not %s",
                           section->kind, reader_kind(map));
    if (json_object_size(map) > section->most)
        return reader_fail(reader, -E2BIG, document, key,
                           "%zu %ss, at most %" PRIu32 " are accepted", json_object_size(map),
                           section->kind, section->most);
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        const struct reader inner = reader_at(reader, "%s %.63s", section->kind, name);
        if (name_is_valid(name) && !(is_queue && strcmp(name, "root") == 0))
            continue;
        error_set(reader->err, -EINVAL, "no name; expected 1 to %d letters, digits and '._-+@'%s",
                  SUBMISSION_NAME_MAX, is_queue ? ", not root" : "");
        return reader_place_line(&inner, -EINVAL, map, name);
    }
    return 0;
}
