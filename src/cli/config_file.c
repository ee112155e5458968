/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/config_file.h"

#include <string.h>

#include "io/file.h"
#include "wire/config/config.h"

int config_file_read(const char *path, json_t **ret, struct error *err)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(config) struct config *config = NULL;
    json_t *document = NULL;

    int code = file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, YAML_SIZE_MAX, &text, err);
    if (code == 0)
        code = yaml_parse(text_string(&text), text.length, path, &document, &lines, err);
    if (code == 0)
        code = config_parse(document, lines, path, &config, err);
    json_decref(document);
    if (code < 0)
        return code;
    *ret = config_to_json(config);
    return 0;
}
