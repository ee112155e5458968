/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "engine/kube/dra/cel_match.h"
#include "fuzz.h"

/* A selector, for a device that has something of each type. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_string_of((const char *)data, size);
    json_t *device = json_loads("{\"attributes\":{\"s\":{\"string\":\"text\"},\"i\":{\"int\":3},"
                                "\"b\":{\"bool\":true},\"v\":{\"version\":\"1.2.3-rc.1\"}},"
                                "\"capacity\":{\"m\":{\"value\":\"80Gi\"}}}",
                                0, NULL);
    const struct cel_device about = { "d", json_object_get(device, "attributes"),
                                      json_object_get(device, "capacity") };
    struct error err;
    struct cel *cel;

    if (cel_parse(text, &cel, &err) == 0) {
        cel_match(cel, &about);
        cel_destroy(cel);
    }
    json_decref(device);
    return 0;
}
