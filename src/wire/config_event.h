/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_EVENT_H
#define WIRE_CONFIG_EVENT_H

/* config_event - what a configuration says, as the events that the state is folded from
 *
 * Events borrow: names are the configuration's, a pool's machines stand in `nodes`.
 */

#include "base/arena.h"
#include "core/event.h"
#include "wire/config.h"

enum { CONFIG_EVENT_DEVICES = 64 }; /* numbers of devices that a pool can name: below it */

/* Lists live in arena. */
void config_queue_event(const struct config *config, const struct config_queue *queue,
                        struct arena *arena, struct event *ret);
/* Fails with -EINVAL when the pool names a device that no event can. */
int config_pool_event(const struct config_pool *pool, struct text *nodes, struct event *ret,
                      struct error *err);

#endif
