/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_SETTINGS_H
#define CORE_STATE_SETTINGS_H

/* settings - the scalar settings of a configuration, as the state has them
 *
 * The members, their ranges and defaults come from config.def.
 */

#include <stdint.h>

#include "base/units.h"
#include "core/cluster/queue.h"
#include "core/health/watch_rules.h"

enum placement {
    PLACEMENT_BEST_FIT,
    PLACEMENT_FIRST_FIT,
    PLACEMENT_SFG,
    PLACEMENT_FGD,
    PLACEMENT_DOT_PRODUCT,
    PLACEMENT_SPREAD,
    PLACEMENT_RANDOM,
    PLACEMENT_COUNT,
};
/* How to choose between GPU models that have prices (sched/placement/model_score.h). */
enum model_policy { CHOICE_PRICE, CHOICE_FASTEST, CHOICE_PLACE, CHOICE_COUNT };
enum ordering {
    ORDER_DEFAULT,
    ORDER_FIFO,
    ORDER_SHORTEST,
    ORDER_LEAST_ATTAINED,
    ORDER_DEADLINE,
    ORDER_COUNT
};

struct settings {
#define SETTING(event_tag, world_tag, form, type, member, ...) type member;
#include "core/config.def"
    struct watch_rules watch;
};

struct event_settings;

void settings_default(struct settings *ret);

/* Take the scalars of an event; a value outside its range is ignored. */
void settings_take(struct settings *settings, const struct event_settings *event);

/* Set the scalars and the pointer to the watch rules; the rest of the event stays as it is. */
void settings_to_event(const struct settings *settings, struct event_settings *ret);

/* Values outside their ranges, as a damaged snapshot may have, become defaults. */
void settings_repair(struct settings *settings);

#endif
