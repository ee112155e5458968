/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_CLIENT_KUBE_PLUGIN_H
#define ENGINE_KUBE_CLIENT_KUBE_PLUGIN_H

/* kube_plugin - runs the credential plugin of a kubeconfig (user.exec)
 *
 * Its environment is that of this program and `env` of the kubeconfig, which may have secrets: it
 * is passed as an environment, never on a command line.
 */

#include <jansson.h>

#include "base/error.h"
#include "base/text.h"

/* Run the command and append its standard output to ret; waits for its end. Fails with -EACCES and
 * the reason. */
int kube_plugin_run(const json_t *exec, struct text *ret, struct error *err);

#endif
