/* SPDX-License-Identifier: Apache-2.0 */
/* Times, amounts and texts as JSON values. */
#include <string.h>

#include "api/view/view.h"
#include "wire/json.h"

json_t *view_time(const struct api *api, usec_t at)
{
    if (at == 0 || at == USEC_NEVER)
        return json_null();
    return json_time(at + control_wall_ahead(api_control(api)));
}

/* Journal time has drifted since the edge was computed: round to seconds. */
json_t *view_edge(const struct api *api, usec_t at)
{
    usec_t ahead = control_wall_ahead(api_control(api));

    if (at == 0 || at == USEC_NEVER)
        return json_null();
    usec_t wall = (at + ahead + USEC_PER_SEC / 2) / USEC_PER_SEC * USEC_PER_SEC;
    return view_time(api, wall - ahead + USEC_PER_MS / 2);
}

json_t *view_milli(int64_t milli)
{
    return milli % 1000 == 0 ? json_integer(milli / 1000) : json_real((double)milli / 1000);
}

json_t *view_seconds(usec_t duration)
{
    return duration == USEC_NEVER ? json_null() : json_real((double)(duration / 1000) / 1000);
}

json_t *number_or_null(int64_t number)
{
    return number > 0 ? json_integer(number) : json_null();
}

json_t *text_or_null(const char *text)
{
    json_t *value = text && text[0] ? json_string(text) : NULL;

    return value ? value : json_null();
}

char *view_words(const struct api *api, const char *words)
{
    const struct api_attempts *attempts = &api->ports.attempts;
    char *spelled = attempts->spell ? attempts->spell(attempts->user, words) : NULL;

    return spelled ? spelled : mem_string(words);
}

void view_spell(const struct api *api, json_t *texts)
{
    json_t *text;
    size_t i;

    json_array_foreach(texts, i, text)
    {
        AUTO_FREE char *words = view_words(api, json_string_value(text));
        json_string_set(text, words);
    }
}

void view_own(const struct api *api, json_t *labels)
{
    for (size_t i = json_array_size(labels); i-- > 0;) {
        /* As a condition of a job, which rules forbid. */
        AUTO_FREE char *given = mem_printf("!%s", json_string_value(json_array_get(labels, i)));
        AUTO_FREE char *words = view_words(api, given);
        if (strcmp(words, given) != 0)
            json_array_remove(labels, i);
    }
}

static const char *isolation_name(enum isolation isolation)
{
    static const char *const names[] = { "accounted", "watched", "isolated" };

    return names[(size_t)isolation < COUNT_OF(names) ? isolation : 0];
}

json_t *view_isolation(const struct engine_isolation *isolation)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "processes", isolation_name(isolation->processes),
                     "cpu", isolation_name(isolation->cpu), "memory",
                     isolation_name(isolation->memory), "gpu", isolation_name(isolation->gpu));
}

/* A synthetic or described device that was removed is not listed; real hardware has an address. */
bool is_no_more(const struct device *device)
{
    bool is_gone = device->sick && strcmp(device->sick, DEVICE_GONE) == 0;

    return device->is_synthetic ? device->sick != NULL : is_gone && !device->address[0];
}
