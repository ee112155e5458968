/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_CONFIG_H
#define FUZZ_CONFIG_H

/* fuzz_config - for the fuzzers of importers */

#include <errno.h>
#include <stdlib.h>

#include "wire/config/config.h"
#include "wire/json.h"

/* What is taken must be a configuration, but for the bounds on its size. */
static inline void fuzz_check_config(const struct text *text)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;
    AUTO(config) struct config *config = NULL;
    struct error err;

    if (text->length > YAML_SIZE_MAX / 16)
        return;
    int code = yaml_parse(text->bytes, text->length, "made", &document, &lines, &err);
    if (code == 0)
        code = config_parse(document, lines, "made", &config, &err);
    if (code < 0 && code != -E2BIG)
        abort();
}

#endif
