/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/dra/dra_class.h"

#include <string.h>

#include "base/mem.h"
#include "engine/kube/dra/cel_match.h"

/* What cannot be evaluated selects nothing. */
static bool selects(const json_t *selector, const struct dra_device *device)
{
    const struct cel_device about = { device->driver, device->attributes, device->capacity };
    const char *words = json_string_value(selector);
    struct cel *cel;
    struct error err;

    if (!words || cel_parse(words, &cel, &err) < 0)
        return false;
    bool is_match = cel_match(cel, &about);
    cel_destroy(cel);
    return is_match;
}

static bool selects_all(const struct dra_class *class, struct dra_device *const *devices,
                        uint32_t count)
{
    json_t *selector;
    size_t i;

    json_array_foreach(class->selectors, i, selector)
    {
        for (uint32_t k = 0; k < count; k++) {
            if (!selects(selector, devices[k]))
                return false;
        }
    }
    return true;
}

const char *dra_class_of(const struct dra_claims *claims, struct dra_device *const *devices,
                         uint32_t count)
{
    const struct dra_class *own = dra_claims_class(claims, devices[0]->driver), *class;
    const char *first = NULL;

    if (own && selects_all(own, devices, count))
        return own->name;
    for (size_t i = 0; (class = dra_claims_class_at(claims, i)) != NULL; i++) {
        bool is_before = !first || strcmp(class->name, first) < 0;
        if (is_before && selects_all(class, devices, count))
            first = class->name;
    }
    return first;
}
