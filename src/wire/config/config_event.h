/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_EVENT_H
#define WIRE_CONFIG_CONFIG_EVENT_H

/* config_event - what a configuration says, as the events that the state is folded from
 *
 * Events borrow: names are the configuration's, a pool's machines stand in `nodes`, lists and made
 * up names in the arena.
 */

#include "base/arena.h"
#include "core/state/event.h"
#include "wire/config/config.h"

enum { CONFIG_EVENT_DEVICES = 64 }; /* numbers of devices that a pool can name: below it */

/* Lists live in arena. */
void config_queue_event(const struct config *config, const struct config_queue *queue,
                        struct arena *arena, struct event *ret);
/* Fails with -EINVAL when the pool names a device that no event can. */
int config_pool_event(const struct config_pool *pool, struct text *nodes, struct arena *arena,
                      struct event *ret, struct error *err);
void config_tariff_event(const struct config_tariff *tariff, struct arena *arena,
                         struct event *ret);
/* maker: "" for the configuration. */
void config_reservation_event(const struct config_reservation *reservation, const char *maker,
                              struct arena *arena, struct event *ret);

/* All windows that it needs, by name: its own, the periods of budgets, and those of tariffs and
 * reservations with words of their own. For window_event(). */
struct config_named_words {
    const char *name, *words;
};
struct config_window_list {
    struct config_named_words *items;
    size_t count;
};
void config_windows(const struct config *config, struct arena *arena,
                    struct config_window_list *ret);

#endif
