/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings about a running job, one sentence each. */
#include <inttypes.h>

#include "api/view/view.h"
#include "base/units.h"

static void add(json_t *list, const char *name, const char *words)
{
    json_array_append_new(list, json_pack("{s:s, s:s}", "name", name, "text", words));
}

static void add_counted(json_t *list, const char *name, const char *words, uint8_t count)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    text_printf(&text, count > 1 ? "%s, warned %u times" : "%s, warned", words, (unsigned)count);
    add(list, name, text_string(&text));
}

static void add_limit(const struct job *job, usec_t now, json_t *list)
{
    usec_t left = job->run->started + job->max_duration - now;
    AUTO_RELEASE(text) struct text text = { 0 };
    char buffer[UNITS_TEXT_SIZE];

    if (!job_is_near_limit(job, now))
        return;
    text_printf(&text, "its time limit is in %s",
                units_format_duration(buffer, left > 0 ? left : 0));
    add(list, "limit", text_string(&text));
}

/* The worst of its devices. */
static void add_devices(const struct state *state, const struct job *job, json_t *list)
{
    const struct lease *lease = job->run->lease;
    AUTO_RELEASE(text) struct text text = { 0 };
    const struct device *sick = NULL;
    int64_t foreign = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct device *device = &state->devices.items[lease->slices[i].device];
        sick = device->sick && device->sick[0] && !device->is_occupied && !sick ? device : sick;
        foreign = device->foreign_mib > foreign ? device->foreign_mib : foreign;
    }
    if (sick) {
        text_printf(&text, "gpu %" PRIu32 " is faulty: %s", sick->index, sick->sick);
        add(list, "device", text_string(&text));
        text_clear(&text);
    }
    if (foreign > 0) {
        text_add(&text, "foreign processes hold ");
        say_mib(&text, foreign);
        text_add(&text, " on its gpu");
        add(list, "foreign-memory", text_string(&text));
    }
}

json_t *view_warnings(const struct api *api, const struct job *job)
{
    json_t *list = json_array();

    if (!job_is_active(job) || !job->run->lease)
        return list;
    if (job->run->idle_warnings > 0)
        add_counted(list, "idle", "its gpus are idle", job->run->idle_warnings);
    if (job->run->memory_warnings > 0)
        add_counted(list, "memory", "more gpu memory than allocated", job->run->memory_warnings);
    add_limit(job, api_now(api), list);
    add_devices(api_state(api), job, list);
    return list;
}
