/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CONFIG_TEXT_H
#define TESTS_CONFIG_TEXT_H

/* config_text - a configuration from YAML text */

#include "wire/config/config.h"

/* The test fails if the text is not YAML. */
int parse(const char *yaml, struct config **ret, struct error *err);
struct config *parsed(const char *yaml); /* the test fails if it is refused */

#endif
