/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_NODE_PORT_H
#define CORE_NODE_PORT_H

/* node_port - services of the daemon for the code that manages a node (node/)
 *
 * This code reads the state, and reports what happens on the node as events. A port is a plain
 * value: it is copied, and the objects to which it points outlive the copies.
 */

#include "base/units.h"
#include "core/change.h"
#include "core/health/reading.h"

struct event;
struct state;

struct node_port {
    void *user;
    /* Valid until the next turn of the loop: a failed commit replaces it. */
    struct state *(*state)(const void *user);
    /* Report an event that has happened. It is kept until it is durable; texts are copied. */
    void (*report)(void *user, const struct event *event);
    void (*emit)(void *user, struct event *event); /* only inside a change */
    void (*enqueue)(void *user, struct change *change);
    /* Why nothing can be recorded now; NULL: it can. May be NULL: it always can. */
    const char *(*trouble)(const void *user);
    const void *clock;
    usec_t (*now)(const void *clock);        /* journal time */
    usec_t (*wall_ahead)(const void *clock); /* wall time minus journal time */
    void *readings;                          /* NULL: readings are not saved */
    void (*readings_add)(void *readings, const char *uuid, usec_t wall,
                         const struct reading *reading);
};

static inline const struct state *node_port_state(const struct node_port *port)
{
    return port->state(port->user);
}

static inline usec_t node_port_now(const struct node_port *port)
{
    return port->now(port->clock);
}

/* The state does not change then: a decision that follows from it would be made again and again. */
static inline bool node_port_is_stuck(const struct node_port *port)
{
    return port->trouble && port->trouble(port->user);
}

static inline void node_port_report(const struct node_port *port, const struct event *event)
{
    port->report(port->user, event);
}

#endif
