/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_INSTANCE_H
#define ENGINE_INSTANCE_H

/* instance - names this daemon in what an engine creates elsewhere; kept with its state */

#include "base/error.h"

enum { ENGINE_INSTANCE_SIZE = 17 };

/* The name in the file ENGINE-instance of the state directory: 16 hexadecimal digits; it is made if
 * it does not exist. Fails with -EBADMSG (it is damaged: with another name, the engine would take
 * its own jobs for those of others) or as file_read() and file_replace() do. */
int engine_instance_open(const char *state_dir, const char *engine, char ret[ENGINE_INSTANCE_SIZE],
                         struct error *err);

#endif
