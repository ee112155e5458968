/* SPDX-License-Identifier: Apache-2.0 */
#include "config_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/json.h"

int parse(const char *yaml, struct config **ret, struct error *err)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;

    if (yaml_parse(yaml, strlen(yaml), "t.yaml", &document, &lines, err) < 0)
        fail_msg("%s", err->text);
    return config_parse(document, lines, "t.yaml", ret, err);
}

struct config *parsed(const char *yaml)
{
    struct config *config = NULL;
    struct error err;

    if (parse(yaml, &config, &err) < 0)
        fail_msg("%s", err.text);
    return config;
}
