/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "wire/json.h"
#include "wire/yaml.h"

int json_assign(json_t *object, const char *assignment, struct error *err)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *value = NULL;
    const char *equals = strchr(assignment, '=');
    const char *at = assignment;

    if (!equals || equals == assignment)
        return error_set(err, -EINVAL, "--set %.200s: expected KEY=VALUE, like order=fifo",
                         assignment);
    int code = yaml_parse(equals + 1, strlen(equals + 1), "--set", &value, &lines, err);
    if (code < 0)
        return code;
    for (int depth = 0;; depth++) {
        size_t length = strcspn(at, ".=");
        AUTO_FREE char *key = mem_string_of(at, length);
        if (length == 0)
            return error_set(err, -EINVAL, "--set %.200s: an empty key", assignment);
        if (depth == JSON_ASSIGN_KEYS_MAX)
            return error_set(err, -EINVAL, "--set %.200s: more than %d keys", assignment,
                             JSON_ASSIGN_KEYS_MAX);
        if (at + length == equals) {
            json_object_set(object, key, value);
            return 0;
        }
        json_t *next = json_object_get(object, key);
        if (!json_is_object(next)) {
            next = json_object();
            json_object_set_new(object, key, next);
        }
        object = next;
        at += length + 1;
    }
}
