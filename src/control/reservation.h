/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_RESERVATION_H
#define CONTROL_RESERVATION_H

/* reservation - reservations that people ask for, beside those of the configuration
 *
 * All of it inside a change.
 */

#include "control/control.h"

struct config_reservation;

/* maker: who asks. */
int reserve(const struct control *control, const char *maker,
            const struct config_reservation *asked, struct error *err);
/* One of the configuration is not removed. */
int reserve_remove(const struct control *control, const char *name, struct error *err);
/* It is there. Its window goes, too, when it has that for itself. */
void reserve_end(const struct control *control, const char *name);

#endif
