/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_NODE_PORT_H
#define CORE_NODE_PORT_H

/* node_port - what the code that looks after a machine (node/) needs from the daemon
 *
 * It reads the state, and what happens on the machine becomes events. A port is a plain value: it
 * is copied, and the objects in it outlive the copies.
 */

#include "base/units.h"
#include "core/change.h"
#include "core/health/reading.h"

struct event;
struct state;

struct node_port {
    void *user;
    /* Good until the next turn of the loop: a commit that fails replaces it. */
    struct state *(*state)(const void *user);
    /* Something happened. It is kept until it is durable; texts are copied. */
    void (*report)(void *user, const struct event *event);
    void (*emit)(void *user, struct event *event); /* inside a change's run only */
    void (*enqueue)(void *user, struct change *change);
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

static inline void node_port_report(const struct node_port *port, const struct event *event)
{
    port->report(port->user, event);
}

#endif
