/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/own_speed.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/wide.h"

#define EXPECTED "expected models and speeds of 0.001 to 1000, like a100=3,k80=1"

bool own_speeds_add(own_speed_list *list, const struct own_speed *own)
{
    size_t at = list->count;

    while (at > 0 && strcmp(list->items[at - 1].model, own->model) > 0)
        at--;
    if (list->count == OWN_SPEEDS_MAX ||
        (at > 0 && strcmp(list->items[at - 1].model, own->model) == 0))
        return false;
    list_add(list, *own);
    for (size_t i = list->count - 1; i > at; i--)
        list->items[i] = list->items[i - 1];
    list->items[at] = *own;
    return true;
}

static int read_one(const char *text, size_t length, struct own_speed *ret, struct error *err)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : 0;
    int64_t milli = 0;

    if (name == 0 || name >= sizeof(ret->model))
        return error_set(err, -EINVAL, "'%.*s': " EXPECTED, (int)length, text);
    *ret = (struct own_speed){ 0 };
    for (size_t i = 0; i < name; i++)
        ret->model[i] = (char)tolower((unsigned char)text[i]);
    AUTO_FREE char *number = mem_string_of(equals + 1, length - name - 1);
    if (!string_is_name(ret->model, sizeof(ret->model) - 1) ||
        units_parse_milli(number, OWN_SPEED_MOST, &milli, NULL) < 0 || milli < 1)
        return error_set(err, -EINVAL, "'%.*s': " EXPECTED, (int)length, text);
    ret->milli = (uint32_t)milli;
    return 0;
}

int own_speeds_parse(own_speed_list *list, const char *text, struct error *err)
{
    list->count = 0;
    for (const char *at = text;; at++) {
        struct own_speed own;
        size_t length = strcspn(at, ",");
        int code = read_one(at, length, &own, err);
        if (code < 0)
            return code;
        if (list->count == OWN_SPEEDS_MAX)
            return error_set(err, -E2BIG, "more than %d models", OWN_SPEEDS_MAX);
        if (!own_speeds_add(list, &own))
            return error_set(err, -EINVAL, "%s twice", own.model);
        at += length;
        if (!*at)
            break;
    }
    return 0;
}

uint32_t own_speed_on(const struct request *request, const char *model)
{
    for (uint32_t i = 0; i < request->speeds_count; i++) {
        if (strcmp(request->speeds[i].model, model) == 0)
            return request->speeds[i].milli;
    }
    return request->speeds_count > 0 ? 1000 : 0;
}

usec_t own_speed_run(usec_t run, uint32_t milli)
{
    if (run == USEC_NEVER || milli == 0)
        return run;
    uint64_t scaled = wide_scale((uint64_t)run, 1000, milli);
    return scaled < (uint64_t)USEC_NEVER ? (usec_t)scaled : USEC_NEVER - 1;
}

bool own_speeds_are_valid(const struct own_speed *speeds, uint32_t count)
{
    bool are = count <= OWN_SPEEDS_MAX;

    for (uint32_t i = 0; i < count && are; i++)
        are = string_is_name(speeds[i].model, sizeof(speeds[i].model) - 1) && speeds[i].milli > 0 &&
              speeds[i].milli <= OWN_SPEED_MOST &&
              (i == 0 || strcmp(speeds[i - 1].model, speeds[i].model) < 0);
    return are;
}
