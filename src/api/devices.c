/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/gpus, /v1/topology; POST /v1/gpus/UUID/clear: devices, and how they do. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/inside.h"
#include "base/mem.h"
#include "base/units.h"

static json_t *text_or_null(const char *text)
{
    return text && text[0] ? json_string(text) : json_null();
}

static json_t *mib_or_null(int64_t mib)
{
    return mib > 0 ? json_integer(mib) : json_null();
}

bool api_watch(const struct api *api, uint32_t device, struct watch_device *ret)
{
    const struct watch *watch = api->ports.watch ? api->ports.watch(api->ports.user) : NULL;

    return watch && watch->ops->device(watch, device, ret);
}

/* ---- who holds it, who uses it ---- */

static json_t *view_holders(const struct api *api, uint32_t device)
{
    const struct state *state = api_state(api);
    json_t *jobs = json_array();

    for (const struct job *job = state->first_job; job; job = job->next) {
        for (uint32_t i = 0; job->run->lease && i < job->run->lease->slices_count; i++) {
            AUTO_RELEASE(text) struct text label = { 0 };
            if (job->run->lease->slices[i].device != device)
                continue;
            view_id(api, job, &label);
            json_array_append_new(
                jobs, json_pack("{s:I, s:s, s:s, s:s, s:o}", "id", (json_int_t)job->id, "label",
                                label.bytes, "user", state_user(state, job->user), "name",
                                job->name, "share", view_milli(job->run->lease->slices[i].milli)));
        }
    }
    return jobs;
}

static json_t *view_processes(const struct watch_device *watched)
{
    if (!watched->has_processes)
        return json_null();
    json_t *processes = json_array();

    for (uint32_t i = 0; i < watched->process_count; i++) {
        const struct probe_process *process = &watched->processes[i];
        json_array_append_new(
            processes,
            json_pack("{s:i, s:o, s:o, s:b}", "pid", (int)process->pid, "memory",
                      process->memory_bytes >= 0 ? json_integer(process->memory_bytes)
                                                 : json_null(),
                      "use",
                      process->use >= 0 ? json_real((double)process->use / READING_RATIO_ONE)
                                        : json_null(),
                      "graphics", process->is_graphics));
    }
    return processes;
}

/* ---- how it does ---- */

/* In base units; what can't be had is not there. */
static json_t *view_reading(const struct reading *reading)
{
    json_t *view = json_object();

    for (enum reading_id id = 0; id < READINGS; id++) {
        double value = reading_in_base(id, reading->values[id]);
        bool is_whole = value == (double)(json_int_t)value;
        if (reading_has(reading, id))
            json_object_set_new(view, reading_about[id].name,
                                is_whole ? json_integer((json_int_t)value) : json_real(value));
    }
    return view;
}

static json_t *view_faults(const struct watch_device *watched)
{
    static const char *const severities[] = { "info", "warning", "critical" };
    json_t *faults = json_array();

    for (enum health_fault i = 0; i < FAULTS; i++) {
        if ((watched->health->faults >> i & 1) == 0)
            continue;
        json_array_append_new(faults, json_pack("{s:s, s:s, s:s, s:b}", "name", fault_name(i),
                                                "severity", severities[fault_severity(i)], "words",
                                                fault_words(i), "drains", fault_drains(i)));
    }
    return faults;
}

static void add_watched(const struct api *api, uint32_t number, json_t *view)
{
    struct watch_device watched;

    if (!api_watch(api, number, &watched)) {
        json_object_set_new(view, "reading", json_null());
        return;
    }
    bool has_reading = watched.reading.at > 0;
    json_object_set_new(view, "reading",
                        has_reading ? view_reading(&watched.reading) : json_null());
    json_object_set_new(view, "read_at", view_time(api, watched.reading.at));
    json_object_set_new(view, "age",
                        has_reading ? json_real((double)watched.age / (double)USEC_PER_SEC)
                                    : json_null());
    json_object_set_new(view, "trouble", text_or_null(watched.trouble));
    json_object_set_new(view, "faults", view_faults(&watched));
    json_object_set_new(view, "xid",
                        watched.health->xid > 0 ? json_integer(watched.health->xid) : json_null());
    json_object_set_new(view, "processes", view_processes(&watched));
    json_object_set_new(view, "foreign_memory", json_integer(watched.foreign_mib));
}

json_t *view_labels(const char *labels)
{
    json_t *list = json_array();

    for (const char *at = labels ? labels : ""; *at; at += strcspn(at, ","), at += *at == ',')
        json_array_append_new(list, json_stringn(at, strcspn(at, ",")));
    return list;
}

static json_t *view_gpu(const struct api *api, uint32_t number)
{
    const struct state *state = api_state(api);
    const struct device *device = &state->devices.items[number];
    const struct room_device *room = &state->room.devices.items[number];
    const struct node *node = &state->nodes.items[device->node];
    const char *sick = device->sick                             ? device->sick
                       : node->state != NODE_UP                 ? node_state_name(node->state)
                       : device->mig_now == device->mig_enabled ? NULL
                       : device->mig_enabled                    ? "its MIG mode is to be turned on"
                                             : "its MIG mode is to be turned off";

    json_t *view = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:b, s:b, s:o, s:o}", "index",
        (int)device->index, "node", node->name, "uuid", device->uuid, "model", device->model,
        "product", device->product, "memory", mib_or_null(device->memory_mib), "memory_given",
        json_integer(device->memory_mib - device->foreign_mib - room->memory_mib), "given",
        view_milli(GPU_MILLI - room->milli), "pool", state->pools.items[device->pool].name, "numa",
        device->numa_node > 0 ? json_integer(device->numa_node - 1) : json_null(), "address",
        text_or_null(device->address), "mig", device->mig_now, "synthetic", device->is_synthetic,
        "sick", text_or_null(sick), "jobs", view_holders(api, number));
    json_object_set_new(view, "vendor", text_or_null(device->vendor));
    json_object_set_new(view, "labels", view_labels(device->labels));
    json_object_set_new(view, "recorded", json_boolean(device->is_recorded));
    add_watched(api, number, view);
    return view;
}

/* One that was made up, or described, and is not any more, never was; hardware has an address. */
bool is_no_more(const struct device *device)
{
    return device->is_synthetic ? device->sick != NULL : device->is_gone && !device->address[0];
}

void handle_gpus(struct call *call)
{
    json_t *gpus = json_array();

    for (uint32_t i = 0; i < api_state(call->api)->devices.count; i++) {
        const struct device *device = &api_state(call->api)->devices.items[i];
        bool is_held = api_state(call->api)->room.devices.items[i].milli < GPU_MILLI;
        if (is_held || !is_no_more(device))
            json_array_append_new(gpus, view_gpu(call->api, i));
    }
    reply_json(call->request, 200, json_pack("{s:o}", "gpus", gpus));
}

/* By its UUID, or by its number where that is of one device only. */
static int64_t find_named(const struct state *state, const char *name)
{
    int64_t found = state_find_device(state, name);
    char *end;
    unsigned long index = strtoul(name, &end, 10);

    for (uint32_t i = 0; found < 0 && *end == '\0' && i < state->devices.count; i++) {
        if (state->devices.items[i].index == index)
            found = i;
    }
    return found;
}

/* ---- how it did ---- */

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
    const struct api_ports *ports = &call->api->ports;
    json_t *view = json_pack("{s:i, s:[], s:[], s:[]}", "id", (int)query->id, "at", "mean", "most");

    int code = ports->readings ? ports->readings(ports->user, query, add_point, view, err) : 0;
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
    const struct api_ports *ports = &call->api->ports;
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
        return error_set(err, -EINVAL,
                         "history: expected steps of at least 1s, and at most %d of them",
                         HISTORY_POINTS_MAX);
    query->until = ports->now(ports->user) + ports->wall_ahead(ports->user) + 1;
    query->from = query->until - length;
    return 0;
}

static int history(struct call *call, json_t *views, struct error *err)
{
    const struct state *state = api_state(call->api);
    int64_t device = find_named(state, call->name);
    struct reading_query query = { .uuid = NULL };
    const char *given = http_query(call->request, "keys");
    AUTO_FREE char *keys = mem_string(given ? given : "gpu_use");
    char *rest = keys;

    if (device < 0)
        return error_set(err, -ENOENT, "gpu %s: no such device", call->name);
    query.uuid = state->devices.items[device].uuid;
    int code = read_history(call, &query, err);
    for (char *key = strsep(&rest, ","); code == 0 && key; key = strsep(&rest, ",")) {
        json_t *view = NULL;
        query.id = reading_find(key);
        if (query.id == READINGS || json_object_size(views) == HISTORY_KEYS_MAX)
            return error_set(err, -EINVAL, "history: '%.40s': no such reading, or too many", key);
        code = view_history(call, &query, &view, err);
        if (code == 0)
            json_object_set_new(views, key, view);
    }
    return code;
}

void handle_history(struct call *call)
{
    json_t *views = json_object();
    struct error err;

    int code = history(call, views, &err);
    if (code < 0) {
        json_decref(views);
        reply_error(call->request, code, &err);
    } else
        reply_json(call->request, 200, json_pack("{s:o}", "readings", views));
}

/* ---- links ---- */

/* By island and switch, where nobody can be asked. */
static struct probe_link link_of(const struct api *api, uint32_t a, uint32_t b)
{
    const struct state *state = api_state(api);
    const struct device *first = &state->devices.items[a], *second = &state->devices.items[b];
    const struct watch *watch = api->ports.watch ? api->ports.watch(api->ports.user) : NULL;
    struct probe_link link = { .near = PROBE_NEAR_UNKNOWN };

    if (watch && first->node == second->node)
        link = watch->ops->link(watch, a, b);
    if (a == b || link.near != PROBE_NEAR_UNKNOWN)
        return a == b ? (struct probe_link){ .near = PROBE_NEAR_SELF } : link;
    if (first->node != second->node)
        return link;
    if (first->island != 0 && first->island == second->island)
        return (struct probe_link){ .near = PROBE_NEAR_LINK, .links = 1 };
    if (first->bridge != 0 && first->bridge == second->bridge)
        return (struct probe_link){ .near = PROBE_NEAR_SWITCH };
    if (first->numa_node > 0 && first->numa_node == second->numa_node)
        return (struct probe_link){ .near = PROBE_NEAR_NUMA };
    return link;
}

void handle_topology(struct call *call)
{
    const struct state *state = api_state(call->api);
    json_t *gpus = json_array();

    for (uint32_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        json_t *links = json_array();
        for (uint32_t k = 0; k < state->devices.count; k++) {
            char word[16];
            json_array_append_new(
                links, json_string(probe_link_word(link_of(call->api, i, k), word, sizeof(word))));
        }
        json_array_append_new(
            gpus,
            json_pack("{s:i, s:s, s:s, s:o, s:i, s:i, s:o}", "index", (int)device->index, "node",
                      state->nodes.items[device->node].name, "uuid", device->uuid, "numa",
                      device->numa_node > 0 ? json_integer(device->numa_node - 1) : json_null(),
                      "island", (int)device->island, "bridge", (int)device->bridge, "links",
                      links));
    }
    reply_json(call->request, 200, json_pack("{s:o}", "gpus", gpus));
}

/* ---- somebody looked after it ---- */

struct clear {
    struct api_change change;
    struct api *api;
    struct http_request *request;
    char uuid[REQUEST_NAME_SIZE + 1];
};

static int run_clear(struct api_change *change, struct error *err)
{
    struct clear *clear = CONTAINER_OF(change, struct clear, change);
    int64_t device = find_named(api_state(clear->api), clear->uuid);

    if (device < 0)
        return error_set(err, -ENOENT, "gpu %s: no such device", clear->uuid);
    return clear->api->ports.clear(clear->api->ports.user, (uint32_t)device, err);
}

static void done_clear(struct api_change *change, int code, const struct error *err)
{
    struct clear *clear = CONTAINER_OF(change, struct clear, change);

    if (code < 0)
        reply_error(clear->request, code, err);
    else
        reply_json(clear->request, 200, json_pack("{s:s}", "gpu", clear->uuid));
    free(clear);
}

void handle_clear(struct call *call)
{
    struct error err;

    if (!is_admin(call->api, call->request->uid) || !call->api->ports.clear) {
        error_set(&err, -EACCES, "clear: only for administrators");
        reply_error(call->request, -EACCES, &err);
        return;
    }
    struct clear *clear = mem_zero(1, sizeof(*clear));
    *clear = (struct clear){ .change = { .run = run_clear, .done = done_clear },
                             .api = call->api,
                             .request = call->request };
    memcpy(clear->uuid, call->name, sizeof(call->name));
    call->api->ports.enqueue(call->api->ports.user, &clear->change);
}
