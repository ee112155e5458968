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

int own_speeds_read(own_speed_list *list, const char *model, const char *number, struct error *err)
{
    struct own_speed own = { 0 };
    int64_t milli = 0;

    for (size_t i = 0; i < sizeof(own.model) - 1 && model[i]; i++)
        own.model[i] = (char)tolower((unsigned char)model[i]);
    if (strlen(model) >= sizeof(own.model) || !string_is_name(own.model, sizeof(own.model) - 1) ||
        units_parse_milli(number, OWN_SPEED_MOST, &milli, NULL) < 0 || milli < 1)
        return error_set(err, -EINVAL, "'%s=%s': " EXPECTED, model, number);
    own.milli = (uint32_t)milli;
    if (list->count == OWN_SPEEDS_MAX)
        return error_set(err, -E2BIG, "more than %d models", OWN_SPEEDS_MAX);
    return own_speeds_add(list, &own) ? 0 : error_set(err, -EINVAL, "%s twice", own.model);
}

static int read_one(own_speed_list *list, const char *text, size_t length, struct error *err)
{
    const char *equals = memchr(text, '=', length);

    if (!equals || equals == text)
        return error_set(err, -EINVAL, "'%.*s': " EXPECTED, (int)length, text);
    size_t name = (size_t)(equals - text);
    AUTO_FREE char *model = mem_string_of(text, name);
    AUTO_FREE char *number = mem_string_of(equals + 1, length - name - 1);
    return own_speeds_read(list, model, number, err);
}

int own_speeds_parse(own_speed_list *list, const char *text, struct error *err)
{
    list->count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int code = read_one(list, at, length, err);
        if (code < 0)
            return code;
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
    if (scaled == 0 && run > 0)
        return 1;
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
