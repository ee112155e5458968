/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ENGINE_MODULE_H
#define DAEMON_ENGINE_MODULE_H

/* engine_module - loads an engine that is not part of this program
 *
 * A module is a shared object: tarn-engine-NAME.so in a directory of io/parts.h, or any path with a
 * slash. It exports tarn_engine_module (core/engine.h). The libraries that it links to, such as
 * libslurm, are needed only where the module is used.
 */

#include "core/engine.h"

/* Fails with -ENOENT (no module has this name), -ENOEXEC (not a module, or for another version of
 * the port), -ENOTSUP (it chooses devices itself), or the code of its create function. The module
 * stays loaded. */
int engine_module_open(const char *name, const struct engine_options *options, struct engine **ret,
                       struct error *err);

#endif
