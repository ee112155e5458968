/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CONFIG_FILE_H
#define CLI_CONFIG_FILE_H

/* config_file - reads and checks a configuration in YAML, so that errors have line numbers */

#include <jansson.h>

#include "base/error.h"

/* "-" is standard input; *ret is new. */
int config_file_read(const char *path, json_t **ret, struct error *err);

#endif
