/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/gpus/UUID/history: readings of a device over time. */
#include <string.h>

#include "api/routes.h"
#include "base/mem.h"
#include "base/units.h"
#include "control/lookup.h"

enum { HISTORY_POINTS_MAX = 10000, HISTORY_KEYS_MAX = 16 };

static void add_point(void *user, usec_t at, int64_t mean, int64_t most)
{
    json_t *view = user;
    enum reading_id id = (enum reading_id)json_integer_value(json_object_get(view, "id"));

    json_array_append_new(json_object_get(view, "at"), json_integer(at / USEC_PER_SEC));
    json_array_append_new(json_object_get(view, "mean"), json_real(reading_in_base(id, mean)));
    json_array_append_new(json_object_get(view, "most"), json_real(reading_in_base(id, most)));
}

static int view_history(const struct call *call, struct reading_query *query, json_t **ret,
                        struct error *err)
{
    const struct api_readings *readings = &call->api->ports.readings;
    json_t *view = json_pack("{s:i, s:[], s:[], s:[]}", "id", (int)query->id, "at", "mean", "most");

    int code = readings->user ? readings->query(readings->user, query, add_point, view, err) : 0;
    json_object_del(view, "id");
    if (code < 0)
        json_decref(view);
    else
        *ret = view;
    return code;
}

/* ?last=1h&step=1m&keys=gpu_use,power: means and largest of each step. */
static int read_history(struct call *call, struct reading_query *query, struct error *err)
{
    const char *last = http_query(call->request, "last"), *step = http_query(call->request, "step");
    usec_t length = USEC_PER_HOUR;
    int code = 0;

    query->step = USEC_PER_MIN;
    if (last)
        code = units_parse_duration(last, &length, err);
    if (code == 0 && step)
        code = units_parse_duration(step, &query->step, err);
    if (code < 0)
        return code;
    if (query->step < USEC_PER_SEC || length / query->step > HISTORY_POINTS_MAX)
        return error_set(err, REFUSED_BAD,
                         "history: expected steps of at least 1s, and at most %d of them",
                         HISTORY_POINTS_MAX);
    query->until = control_wall(api_control(call->api)) + 1;
    query->from = query->until - length;
    return 0;
}

static int history(struct call *call, json_t *views, struct error *err)
{
    const struct state *state = api_state(call->api);
    struct reading_query query = { .uuid = NULL };
    const char *given = http_query(call->request, "keys");
    AUTO_FREE char *keys = mem_string(given ? given : "gpu_use");
    char *rest = keys;
    uint32_t device;

    int code = device_find(state, call->name, &device, err);
    if (code < 0)
        return code;
    query.uuid = state->devices.items[device].uuid;
    code = read_history(call, &query, err);
    for (char *key = strsep(&rest, ","); code == 0 && key; key = strsep(&rest, ",")) {
        json_t *view = NULL;
        query.id = reading_find(key);
        if (query.id == READINGS || json_object_size(views) == HISTORY_KEYS_MAX)
            return error_set(err, REFUSED_BAD, "history: '%.40s': no such reading, or too many",
                             key);
        code = view_history(call, &query, &view, err);
        if (code == 0)
            json_object_set_new(views, key, view);
    }
    return code;
}

json_t *handle_history(struct call *call)
{
    json_t *views = json_object();
    int code = history(call, views, &call->err);

    json_t *body = code == 0 ? json_pack("{s:O}", "readings", views) : refuse(call, code);
    json_decref(views);
    return body;
}
