/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_START_CONFIG_H
#define DAEMON_START_CONFIG_H

/* start_config - the configuration file that is applied at each start
 *
 * As with `tarn apply`, a change is an entry in the log of the configuration; without a difference
 * nothing happens.
 */

#include <uv.h>

#include "control/control.h"

struct config;
struct hub;

/* Fails with the file's name and line. */
int start_config_read(struct hub *hub, const char *path, struct config **ret, struct error *err);
/* Takes over what was read. Runs the loop until the change is durable. */
int start_config_apply(struct hub *hub, uv_loop_t *loop, const struct control *control,
                       const char *path, struct config *config, struct error *err);

#endif
