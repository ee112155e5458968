/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ENGINE_MODULE_H
#define DAEMON_ENGINE_MODULE_H

/* engine_module - loads an engine that is not part of this program
 *
 * A module is a shared object named tarn-engine-NAME.so (io/parts.h says where it is looked
 * for) or any path with a slash. It exports tarn_engine_module (core/engine.h). What it links to,
 * say libslurm, is needed where it is used only.
 */

#include "core/engine.h"

/* Fails with -ENOENT (there is none of this name), -ENOEXEC (not a module, or of another version of
 * the port), -ENOTSUP (it chooses devices itself), and what its create fails with. It stays
 * loaded. */
int engine_module_open(const char *name, const struct engine_options *options, struct engine **ret,
                       struct error *err);

#endif
