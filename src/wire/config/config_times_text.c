/* SPDX-License-Identifier: Apache-2.0 */
/* What config_times.c reads, written again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "wire/config/config.h"
#include "wire/config/config_times.h"

static json_t *decimal(int64_t amount, int64_t unit)
{
    return amount % unit == 0 ? json_integer(amount / unit)
                              : json_real((double)amount / (double)unit);
}

static json_t *tariff_to_json(const struct config_tariff *tariff)
{
    json_t *factor = decimal(tariff->factor_milli, TARIFF_ONE);

    if (tariff->when.window && strcmp(tariff->when.window, tariff->name) == 0)
        return factor;
    return json_pack("{s:s, s:o}", "during", config_when_words(&tariff->when), "factor", factor);
}

json_t *config_reservation_to_json(const struct config_reservation *reservation)
{
    json_t *object = json_object();

    if (reservation->kind == RESERVATION_MAINTENANCE)
        json_object_set_new(object, "for", json_string("maintenance"));
    else
        json_object_set_new(object, "for",
                            json_pack("{s:s}",
                                      reservation->kind == RESERVATION_QUEUE ? "queue" : "user",
                                      reservation->owner));
    json_object_set_new(object, "when", json_string(config_when_words(&reservation->when)));
    if (reservation->gpus > 0)
        json_object_set_new(object, "gpus", json_integer(reservation->gpus));
    if (reservation->model[0])
        json_object_set_new(object, "model", json_string(reservation->model));
    if (reservation->nodes) {
        json_t *nodes = json_array();
        for (char **node = reservation->nodes; *node; node++)
            json_array_append_new(nodes, json_string(*node));
        json_object_set_new(object, "nodes", nodes);
    }
    return object;
}

void config_times_to_json(const struct config *config, json_t *document)
{
    json_t *windows = json_object(), *tariffs = json_object(), *reservations = json_object();

    for (size_t i = 0; i < config->window_count; i++)
        json_object_set_new(windows, config->windows[i].name,
                            json_string(config->windows[i].words));
    for (size_t i = 0; i < config->tariff_count; i++)
        json_object_set_new(tariffs, config->tariffs[i].name, tariff_to_json(&config->tariffs[i]));
    for (size_t i = 0; i < config->reservation_count; i++)
        json_object_set_new(reservations, config->reservations[i].name,
                            config_reservation_to_json(&config->reservations[i]));
    if (config->timezone)
        json_object_set_new(document, "timezone", json_string(config->timezone));
    if (config->window_count > 0)
        json_object_set(document, "windows", windows);
    if (config->tariff_count > 0)
        json_object_set(document, "tariffs", tariffs);
    if (config->reservation_count > 0)
        json_object_set(document, "reservations", reservations);
    json_decref(windows);
    json_decref(tariffs);
    json_decref(reservations);
}

static int64_t bound_of(const struct config_during *during, size_t which)
{
    const int64_t bounds[] = { during->quota.guarantee, during->quota.limit, during->quota.borrow,
                               during->quota.lend };

    return bounds[which];
}

static json_t *amount_to_json(const struct config_during *during, size_t which)
{
    int64_t amount = bound_of(during, which);
    char buffer[UNITS_TEXT_SIZE];

    if (amount == QUOTA_NONE)
        return json_string("none");
    if (strcmp(during->resource, "memory") == 0)
        return json_string(config_amount_spell(buffer, during->resource, amount));
    return decimal(amount, GPU_MILLI);
}

static json_t *inner_map(json_t *map, const char *key)
{
    if (!json_object_get(map, key))
        json_object_set_new(map, key, json_object());
    return json_object_get(map, key);
}

static void during_to_json(const struct config_queue *queue, json_t *object)
{
    static const char *const keys[] = { "guarantee", "limit", "borrow", "lend" };
    json_t *all = json_object();

    for (size_t i = 0; i < queue->during_count; i++) {
        const struct config_during *during = &queue->during[i];
        json_t *window = inner_map(all, during->window);
        for (size_t k = 0; k < COUNT_OF(keys); k++) {
            if (quota_part_of(&during->quota, (enum quota_bound)k) == ABSENT)
                continue;
            if (bound_of(during, k) == QUOTA_NONE) /* of all: as it is read */
                json_object_set_new(window, keys[k], json_string("none"));
            else
                json_object_set_new(inner_map(window, keys[k]), during->resource,
                                    amount_to_json(during, k));
        }
    }
    if (queue->during_count > 0)
        json_object_set(object, "during", all);
    json_decref(all);
}

static void budget_to_json(const struct config_budget *budget, const char *key, int64_t unit,
                           json_t *object)
{
    if (budget->most == ACCOUNT_NO_BUDGET)
        return;
    json_t *map = json_pack("{s:o, s:s}", "amount", decimal(budget->most, unit), "per",
                            period_name(budget->period));
    if (budget->firmness == BUDGET_KILL)
        json_object_set_new(map, "hard", json_string("kill"));
    else if (budget->firmness == BUDGET_HARD)
        json_object_set_new(map, "hard", json_true());
    json_object_set_new(object, key, map);
}

void config_times_queue_to_json(const struct config_queue *queue, json_t *object)
{
    during_to_json(queue, object);
    budget_to_json(&queue->budgets[ACCOUNT_MONEY], "budget", 1000000, object);
    budget_to_json(&queue->budgets[ACCOUNT_GPU_TIME], "gpu_hours", USEC_PER_HOUR, object);
}

void config_times_pool_to_json(const struct config_pool *pool, json_t *object)
{
    for (size_t i = 0; i < pool->during_count; i++) {
        const struct config_pool_during *during = &pool->during[i];
        json_t *window = inner_map(inner_map(object, "during"), during->window);
        if (during->min != CONFIG_NONE)
            json_object_set_new(window, "min", json_integer(during->min));
        if (during->max != CONFIG_NONE)
            json_object_set_new(window, "max", json_integer(during->max));
    }
}

void config_reservation_say(const struct config_reservation *reservation, struct text *text)
{
    if (reservation->kind == RESERVATION_MAINTENANCE)
        text_add(text, "maintenance");
    else
        text_printf(text, "for %s %s", reservation->kind == RESERVATION_QUEUE ? "queue" : "user",
                    reservation->owner);
    if (reservation->gpus > 0)
        text_printf(text, ", %" PRIu32 " %s", reservation->gpus,
                    reservation->model[0]    ? reservation->model
                    : reservation->gpus == 1 ? "gpu"
                                             : "gpus");
    for (size_t i = 0; reservation->nodes && reservation->nodes[i]; i++)
        text_printf(text, "%s%s", i == 0 ? reservation->gpus > 0 ? " of " : ", " : " ",
                    reservation->nodes[i]);
    text_printf(text, ", %s", config_when_words(&reservation->when));
}
