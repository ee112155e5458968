/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/demand.h"

#include <assert.h>

/* 2^(-1/24) in parts of 2^16: an hour of a half-life of 24. */
enum { HOURLY = 63671 };

static void decay(struct demand *demand, usec_t now)
{
    usec_t hours = (now - demand->decayed) / USEC_PER_HOUR;

    if (hours <= 0)
        return;
    demand->decayed += hours * USEC_PER_HOUR;
    for (size_t i = 0; i < demand->shapes.count; i++) {
        uint64_t weight = demand->shapes.items[i].weight;
        for (usec_t hour = 0; hour < hours && weight > 1; hour++)
            weight = weight * HOURLY >> 16;
        demand->shapes.items[i].weight = weight > 0 ? weight : 1;
    }
}

void demand_note(struct demand *demand, struct class_table *classes, uint32_t class,
                 uint32_t members, usec_t now)
{
    assert(class < classes->classes.count && classes->classes.items[class]);

    struct demand_shape *lightest = NULL;

    decay(demand, now);
    demand->noted += members;
    LIST_EACH (struct demand_shape, shape, &demand->shapes) {
        if (shape->class == class) {
            shape->weight += (uint64_t)members * DEMAND_ONE;
            return;
        }
        if (!lightest || shape->weight < lightest->weight)
            lightest = shape;
    }
    classes->classes.items[class]->references++;
    if (demand->shapes.count < DEMAND_SHAPES_MAX) {
        list_add(&demand->shapes, (struct demand_shape){ class, (uint64_t)members * DEMAND_ONE });
        return;
    }
    assert(lightest);
    class_release(classes, lightest->class);
    lightest->class = class;
    lightest->weight += (uint64_t)members * DEMAND_ONE;
}

void demand_release(struct demand *demand)
{
    list_release(&demand->shapes);
}
