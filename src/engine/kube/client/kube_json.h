/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_CLIENT_KUBE_JSON_H
#define ENGINE_KUBE_CLIENT_KUBE_JSON_H

/* kube_json - access to the fields of API objects */

#include <jansson.h>
#include <stdarg.h>

#include "base/text.h"

/* Cut what is in all lists "managedFields" of a JSON text, in place, and return its new length. The
 * API server cannot leave them out, they are most of a small object, and tarn reads none. */
size_t kube_json_trim(char *text, size_t length);

/* Those of equal values that came last. */
struct kube_shared {
    json_t *known[16];
    size_t next;
};

/* The value, or an equal one that came before: a large cluster has few different ones, each in
 * thousands of objects. It is not to be changed. Takes the value over; of one thread at a time. */
json_t *kube_json_share(struct kube_shared *shared, json_t *value);

/* The value at a path of keys, which ends with NULL; NULL: a part of it is missing. */
static inline json_t *kube_at(const json_t *object, ...)
{
    const json_t *at = object;
    va_list keys;

    va_start(keys, object);
    for (const char *key; at && (key = va_arg(keys, const char *)) != NULL;)
        at = json_object_get(at, key);
    va_end(keys);
    return (json_t *)at;
}

/* The text of a key; "" without one. */
static inline const char *kube_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static inline int64_t kube_number(const json_t *object, const char *key, int64_t without)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? json_integer_value(value) : without;
}

#endif
