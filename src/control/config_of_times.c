/* SPDX-License-Identifier: Apache-2.0 */
/* What hangs on the time in the configuration that holds, from the state. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "control/times.h"

static const char *window_name(const struct state *state, uint32_t window)
{
    return state->agenda.windows.items[window]->name;
}

/* One whose name has a blank belongs to one thing alone: then its words are said. */
static struct config_when when_of(const struct state *state, uint32_t window)
{
    const struct window *at = state->agenda.windows.items[window];

    if (!strchr(at->name, ' '))
        return (struct config_when){ .window = mem_string(at->name) };
    return (struct config_when){ .words = mem_string(at->words ? at->words : "") };
}

static char **split_names(const char *names)
{
    LIST(char *) list = { 0 };

    for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',')
        list_add(&list, mem_string_of(at, strcspn(at, ",")));
    if (list.count > 0)
        list_add(&list, NULL);
    return list.items;
}

void times_reservation_of(struct config_reservation *added, const struct state *state,
                          const struct reservation *reservation)
{
    *added = (struct config_reservation){
        .name = mem_string(reservation->name),
        .owner = mem_string(reservation->owner),
        .model = mem_string(reservation->model),
        .nodes = split_names(reservation->nodes),
        .when = when_of(state, reservation->window),
        .gpus = reservation->gpus,
        .kind = reservation->kind,
    };
}

static void add_windows(struct config *config, const struct agenda *agenda)
{
    config->windows = mem_zero(agenda->windows.count + 1, sizeof(config->windows[0]));
    for (size_t i = 0; i < agenda->windows.count; i++) {
        const struct window *window = agenda->windows.items[i];
        if (window->words && window->words[0] && !strchr(window->name, ' '))
            config->windows[config->window_count++] =
                (struct config_window){ mem_string(window->name), mem_string(window->words) };
    }
}

void times_config_of(struct config *config, const struct state *state)
{
    const struct agenda *agenda = &state->agenda;

    if (agenda->timezone[0])
        config->timezone = mem_string(agenda->timezone);
    add_windows(config, agenda);
    config->tariffs = mem_zero(agenda->tariffs.count + 1, sizeof(config->tariffs[0]));
    for (size_t i = 0; i < agenda->tariffs.count; i++) {
        const struct tariff *tariff = &agenda->tariffs.items[i];
        config->tariffs[config->tariff_count++] =
            (struct config_tariff){ mem_string(tariff->name), when_of(state, tariff->window),
                                    tariff->factor_milli };
    }
    config->reservations =
        mem_zero(agenda->reservations.count + 1, sizeof(config->reservations[0]));
    for (size_t i = 0; i < agenda->reservations.count; i++) {
        if (!agenda->reservations.items[i].maker[0])
            times_reservation_of(&config->reservations[config->reservation_count++], state,
                                 &agenda->reservations.items[i]);
    }
}

static void add_budget(struct config_budget *added, const struct state *state,
                       const struct account *account)
{
    added->most = account->most;
    added->firmness = account->firmness;
    if (account->window > 0)
        window_is_period(window_name(state, account->window - 1), &added->period);
}

void times_queue_of(struct config_queue *added, const struct state *state,
                    const struct queue *queue)
{
    added->during = mem_zero(queue->during.count + 1, sizeof(added->during[0]));
    for (size_t i = 0; i < queue->during.count; i++) {
        const struct queue_during *during = &queue->during.items[i];
        struct config_during *to = &added->during[added->during_count++];
        *to = (struct config_during){ .window = mem_string(window_name(state, during->window)),
                                      .given = during->given,
                                      .quota = during->quota };
        snprintf(to->resource, sizeof(to->resource), "%s",
                 state->resources.items[during->resource].name);
    }
    for (size_t i = 0; i < ACCOUNTS; i++)
        add_budget(&added->budgets[i], state, &queue->accounts[i]);
}

void times_pool_of(struct config_pool *added, const struct state *state, const struct pool *pool)
{
    added->during = mem_zero(pool->during.count + 1, sizeof(added->during[0]));
    for (size_t i = 0; i < pool->during.count; i++) {
        const struct pool_during *during = &pool->during.items[i];
        added->during[added->during_count++] = (struct config_pool_during){
            .window = mem_string(window_name(state, during->window)),
            .min = during->milli_min < 0 ? CONFIG_NONE : during->milli_min / GPU_MILLI,
            .max = during->milli_max < 0 ? CONFIG_NONE : during->milli_max / GPU_MILLI,
        };
    }
}
