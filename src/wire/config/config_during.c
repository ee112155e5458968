/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a queue or a pool while a window is open. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/config/config_amounts.h"

/* Read the map under `during`, the keys of which are windows. */
static int read_windows(const struct setting_place *place,
                        int (*read)(const struct setting_place *place, const struct reader *reader,
                                    const json_t *object, const char *window))
{
    json_t *during = (json_t *)(uintptr_t)place->value, *value;
    const char *name;
    int code = 0;

    if (!json_is_object(during))
        return place_fail(place, -EINVAL, "expected a map from window to settings, not %s",
                          reader_kind(during));
    json_object_foreach(during, name, value)
    {
        const struct reader inner =
            reader_at(place->reader, "%.70s: %s %.40s", place->reader->where, place->key, name);
        if (code == 0 && !config_find_window(place->config, name))
            code = section_fail(SETTING_WINDOWS, place->config, place->reader, during, name, name);
        if (code == 0)
            code = read(place, &inner, value, name);
    }
    return code;
}

static struct quota *during_quota(struct config *config, struct event_queue *queue,
                                  const char *window, const char *resource)
{
    struct event_during *list = (struct event_during *)(uintptr_t)queue->during;

    for (uint32_t i = 0; i < queue->during_count; i++) {
        if (strcmp(list[i].window, window) == 0 && strcmp(list[i].resource, resource) == 0)
            return &list[i].quota;
    }
    struct event_during *added = CONFIG_NEW(config, queue->during, queue->during_count);
    *added = (struct event_during){ config_text(config, window), config_text(config, resource),
                                    QUOTA_ABSENT };
    return &added->quota;
}

static int read_bounds(const struct setting_place *place, const struct reader *reader,
                       const json_t *object, const char *window)
{
    int code = reader_check_keys(reader, object, bound_keys);

    for (enum quota_bound bound = 0; bound < BOUNDS && code == 0; bound++) {
        struct resource_amounts amounts = { 1, { { "gpus", QUOTA_NONE } } };
        const char *word = json_string_value(reader_get(object, bound_keys[bound]));
        if (bound == BOUND_GUARANTEE || !word || strcmp(word, "none") != 0)
            code = amounts_read(reader, object, bound_keys[bound], NULL, &amounts);
        for (uint32_t i = 0; i < amounts.count && code == 0; i++) {
            struct quota *quota =
                during_quota(place->config, place->base, window, amounts.items[i].resource);
            *quota_part(quota, bound) = amounts.items[i].amount;
        }
    }
    return code;
}

int read_during(const struct setting_place *place)
{
    return read_windows(place, read_bounds);
}

json_t *write_during(const struct setting_view *of)
{
    const struct event_queue *queue = of->base;
    json_t *all = queue->during_count > 0 ? json_object() : NULL;

    for (uint32_t i = 0; i < queue->during_count; i++) {
        const struct event_during *during = &queue->during[i];
        json_t *window = map_below(all, during->window);
        for (enum quota_bound bound = 0; bound < BOUNDS; bound++) {
            int64_t amount = quota_part_of(&during->quota, bound);
            if (amount == QUOTA_NONE) /* of all: as it is read */
                json_object_set_new(window, bound_keys[bound], json_string("none"));
            else if (amount != ABSENT)
                amounts_set(map_below(window, bound_keys[bound]), during->resource, amount);
        }
    }
    return all;
}

static void tell_while_open(const char *bound, const char *window, const char *resource,
                            int64_t amount, struct properties *ret)
{
    char name[REQUEST_NAME_SIZE * 2];

    snprintf(name, sizeof(name), "%s during %s", bound, window);
    if (amount == QUOTA_NONE)
        property_add(ret, name, "unbounded", "");
    else if (amount != ABSENT)
        property_add_amount(ret, name, resource, amount);
}

void tell_during(const struct setting_view *of, struct properties *ret)
{
    const struct event_queue *queue = of->base;

    for (uint32_t i = 0; i < queue->during_count; i++) {
        const struct event_during *during = &queue->during[i];
        for (enum quota_bound bound = 0; bound < BOUNDS; bound++)
            tell_while_open(bound_keys[bound], during->window, during->resource,
                            quota_part_of(&during->quota, bound), ret);
    }
}

static int read_sizes(const struct setting_place *place, const struct reader *reader,
                      const json_t *object, const char *window)
{
    struct event_pool *pool = place->base;
    struct event_pool_during *during = CONFIG_NEW(place->config, pool->during, pool->during_count);

    if (pool->is_static)
        return place_fail(place, -EINVAL, "a static pool has a fixed size; expected no windows");
    during->window = config_text(place->config, window);
    int code = keys_read(place->config, reader, object, KEYS_WINDOWED, during);
    if (code == 0 && during->milli_max != ABSENT && during->milli_min > during->milli_max)
        code = reader_fail(reader, -EINVAL, object, "max", "%" PRId64 " is less than min, %" PRId64,
                           during->milli_max / GPU_MILLI, during->milli_min / GPU_MILLI);
    return code;
}

int read_pool_during(const struct setting_place *place)
{
    return read_windows(place, read_sizes);
}

void tell_pool_during(const struct setting_view *of, struct properties *ret)
{
    const struct event_pool *pool = of->base;

    for (uint32_t i = 0; i < pool->during_count; i++) {
        const struct event_pool_during *during = &pool->during[i];
        tell_while_open("min", during->window, "gpus", during->milli_min, ret);
        tell_while_open("max", during->window, "gpus", during->milli_max, ret);
    }
}
