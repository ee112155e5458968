/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/client/kube_json.h"

#include <string.h>

/* The end of the list whose inside begins at `at`: its closing bracket, or the end of the text. */
static size_t end_of_list(const char *text, size_t at, size_t length)
{
    bool is_string = false;

    for (size_t depth = 1; at < length; at++) {
        if (is_string && text[at] == '\\')
            at++;
        else if (text[at] == '"')
            is_string = !is_string;
        else if (!is_string && text[at] == '[')
            depth++;
        else if (!is_string && text[at] == ']' && --depth == 0)
            return at;
    }
    return length;
}

size_t kube_json_trim(char *text, size_t length)
{
    static const char key[] = "\"managedFields\":[";
    size_t from = 0, to = 0;
    char *found;

    if (length == 0)
        return 0;
    while ((found = memmem(text + from, length - from, key, strlen(key)))) {
        size_t end = (size_t)(found - text) + strlen(key);
        memmove(text + to, text + from, end - from);
        to += end - from;
        from = end_of_list(text, end, length);
    }
    memmove(text + to, text + from, length - from);
    return to + length - from;
}

json_t *kube_json_share(struct kube_shared *shared, json_t *value)
{
    for (size_t i = 0; i < COUNT_OF(shared->known); i++) {
        if (!shared->known[i] || !json_equal(shared->known[i], value))
            continue;
        json_decref(value);
        return json_incref(shared->known[i]);
    }
    json_decref(shared->known[shared->next]);
    shared->known[shared->next] = json_incref(value);
    shared->next = (shared->next + 1) % COUNT_OF(shared->known);
    return value;
}
