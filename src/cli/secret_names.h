/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SECRET_NAMES_H
#define CLI_SECRET_NAMES_H

/* secret_names - variables of the sender's environment that by their names hold secrets */

#include "wire/json.h"

/* Say on standard error which of env (an object, or NULL) the daemon keeps, and how to leave them
 * out. */
void secret_names_say(const json_t *env);

#endif
