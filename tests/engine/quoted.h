/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_QUOTED_H
#define TESTS_ENGINE_QUOTED_H

/* quoted - JSON in the sources of tests, in which ' stands for " */

#include <jansson.h>

#include "base/mem.h"

static inline json_t *json(const char *text)
{
    AUTO_FREE char *copy = mem_string(text);
    json_error_t why;

    for (char *at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    json_t *value = json_loads(copy, 0, &why);
    if (!value)
        fail_msg("%s: %s", why.text, copy);
    return value;
}

#endif
