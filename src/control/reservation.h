/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_RESERVATION_H
#define CONTROL_RESERVATION_H

/* reservation - reservations that users make by command, in addition to those of the configuration
 *
 * Call all functions inside a change.
 */

#include "control/control.h"

struct config;

/* maker: the requesting user. config: contains the windows that `asked` names. */
int reserve(const struct control *control, const char *maker, const struct config *config,
            const struct event_reservation *asked, struct error *err);
/* Refuses to remove a reservation of the configuration. */
int reserve_remove(const struct control *control, const char *name, struct error *err);
/* The reservation must exist. Removes its window if no other object uses it. */
void reserve_end(const struct control *control, const char *name);

#endif
