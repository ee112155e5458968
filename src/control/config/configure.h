/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_CONFIGURE_H
#define CONTROL_CONFIGURE_H

/* configure - checks a configuration and puts it into force
 *
 * Order of calls:  settle, [find_programs], check, then emit inside the run of the same change
 */

#include "control/control.h"
#include "wire/config/config.h"

/* The configuration in force. */
struct config *config_of_state(const struct state *state);

/* Replace names of Unix groups by numbers. Call it before the check. */
int configure_settle(struct config *config, struct error *err);

/* Check that the programs of new health commands exist. Fails with -ENOENT, -EACCES ...; the
 * message names them. */
int configure_find_programs(const struct state *state, const struct config *config,
                            struct error *err);

/* Whether it can be put into force. Fails with -EINVAL, and with -EALREADY if jobs are in queues
 * that would no longer accept them. */
int configure_check(const struct state *state, const struct config *config, struct error *err);

/* The parts that cannot work on the present cluster, one per line: models that no device has, pools
 * that match no device, guarantees above the capacity. Returns their number. */
size_t configure_doubts(const struct state *state, const struct config *config, struct text *ret);

/* Emit the events that apply it. It must have been checked. */
void configure_emit(const struct control *control, const struct config *config);

#endif
