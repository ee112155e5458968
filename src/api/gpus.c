/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/gpus, /v1/topology; POST /v1/gpus/UUID/clear: devices and their health. */
#include <stdlib.h>
#include <string.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "base/mem.h"
#include "base/units.h"
#include "control/lookup.h"
#include "wire/json.h"

/* ---- jobs and processes ---- */

/* The slices that jobs hold, by device. */
struct holder {
    const struct job *job;
    const struct slice *slice;
    uint32_t next; /* of the same device: place plus one; 0: the last */
};

struct holders {
    LIST(struct holder) items;
    uint32_t *first, *last; /* by device: place plus one; 0: none */
};

static void find_holders(const struct state *state, struct holders *ret)
{
    ret->first = mem_zero(state->devices.count + 1, sizeof(*ret->first));
    ret->last = mem_zero(state->devices.count + 1, sizeof(*ret->last));
    for (const struct job *job = state->first_active; job; job = job->run->active_next) {
        for (uint32_t i = 0; i < job->run->lease->slices_count; i++) {
            const struct slice *slice = &job->run->lease->slices[i];
            uint32_t before = ret->last[slice->device];
            list_add(&ret->items, (struct holder){ .job = job, .slice = slice });
            uint32_t place = (uint32_t)ret->items.count;
            *(before > 0 ? &ret->items.items[before - 1].next : &ret->first[slice->device]) = place;
            ret->last[slice->device] = place;
        }
    }
}

static void release_holders(struct holders *holders)
{
    list_release(&holders->items);
    free(holders->first);
    free(holders->last);
}

static json_t *view_holders(const struct state *state, const struct holders *holders,
                            uint32_t device)
{
    json_t *jobs = json_array();

    for (uint32_t at = holders->first[device]; at > 0; at = holders->items.items[at - 1].next) {
        const struct holder *holder = &holders->items.items[at - 1];
        const struct job *job = holder->job;
        AUTO_RELEASE(text) struct text label = { 0 };
        say_job(state, job, &label);
        json_array_append_new(jobs, json_pack("{s:I, s:s, s:s, s:s, s:o}", "id",
                                              (json_int_t)job->id, "label", label.bytes, "user",
                                              state_user(state, job->user), "name", job->name,
                                              "share", view_milli(holder->slice->milli)));
    }
    return jobs;
}

/* Null: of no Slurm job, or not known. */
static json_t *view_slurm(const struct watch *watch, uint32_t pid)
{
    struct watch_slurm slurm;

    if (!watch->ops->slurm || !watch->ops->slurm(watch, pid, &slurm))
        return json_null();
    return json_pack("{s:I, s:o}", "job", (json_int_t)slurm.job, "step", text_or_null(slurm.step));
}

static json_t *view_processes(const struct watch *watch, const struct watch_device *watched)
{
    if (!watched->has_processes)
        return json_null();
    json_t *processes = json_array();

    for (uint32_t i = 0; i < watched->process_count; i++) {
        const struct probe_process *process = &watched->processes[i];
        json_array_append_new(
            processes,
            json_pack("{s:i, s:o, s:o, s:b, s:o}", "pid", (int)process->pid, "memory",
                      process->memory_bytes >= 0 ? json_integer(process->memory_bytes)
                                                 : json_null(),
                      "use",
                      process->use >= 0 ? json_real((double)process->use / READING_RATIO_ONE)
                                        : json_null(),
                      "graphics", process->is_graphics, "slurm", view_slurm(watch, process->pid)));
    }
    return processes;
}

/* ---- readings and faults ---- */

/* In base units; absent readings have no key. */
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

static json_t *view_xids(const struct watch_device *watched)
{
    json_t *xids = json_array();

    for (uint32_t i = 0; i < watched->xid_count; i++)
        json_array_append_new(xids, json_pack("{s:I, s:I}", "xid", (json_int_t)watched->xids[i].xid,
                                              "count", (json_int_t)watched->xids[i].count));
    return xids;
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
    json_object_set_new(view, "xid", number_or_null(watched.health->xid));
    json_object_set_new(view, "xids", view_xids(&watched));
    json_object_set_new(view, "processes", view_processes(api->ports.devices.watch, &watched));
    json_object_set_new(view, "foreign_memory", json_integer(watched.foreign_mib));
    const struct watch *watch = api->ports.devices.watch;
    char pod[WATCH_POD_SIZE];
    if (watch->ops->pod && watch->ops->pod(watch, number, pod))
        json_object_set_new(view, "pod", json_string(pod));
}

/* Why nothing new is placed on it; NULL: it is usable. */
static char *why_not_usable(const struct node *node, const struct device *device)
{
    if (device->sick)
        return mem_string(device->sick);
    if (device->drained)
        return mem_string(device->drained);
    if (node->state == NODE_DRAINED)
        return mem_printf("its node is drained (%s)", node->reason ? node->reason : "");
    if (node->state != NODE_UP)
        return mem_string(node_state_name(node->state));
    if (device->mig_now == device->mig_enabled)
        return NULL;
    return mem_printf("its MIG mode must be turned %s first", device->mig_enabled ? "on" : "off");
}

static json_t *view_gpu(const struct api *api, const struct holders *holders, uint32_t number)
{
    const struct state *state = api_state(api);
    const struct device *device = &state->devices.items[number];
    const struct room_device *room = &state->room.devices.items[number];
    const struct node *node = &state->nodes.items[device->node];
    AUTO_FREE char *why_not = why_not_usable(node, device);

    json_t *view = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:b, s:b, s:o, s:o}", "index",
        (int)device->index, "node", node->name, "uuid", device->uuid, "model", device->model,
        "product", device->product, "memory", number_or_null(device->memory_mib), "memory_given",
        json_integer(device->memory_mib - device->foreign_mib - room->memory_mib), "given",
        view_milli(GPU_MILLI - room->milli), "pool", state->pools.items[device->pool].name, "numa",
        device->numa_node > 0 ? json_integer(device->numa_node - 1) : json_null(), "address",
        text_or_null(device->address), "mig", device->mig_now, "synthetic", device->is_synthetic,
        "sick", text_or_null(why_not), "jobs", view_holders(state, holders, number));
    json_object_set_new(view, "drained", text_or_null(device->drained));
    json_object_set_new(view, "occupied", json_boolean(device->is_occupied));
    json_object_set_new(view, "vendor", text_or_null(device->vendor));
    json_object_set_new(view, "kind",
                        json_string(device->kind && device->kind[0] ? device->kind : "gpu"));
    json_object_set_new(view, "labels", json_names(device->labels));
    json_object_set_new(view, "recorded", json_boolean(device->is_recorded));
    add_watched(api, number, view);
    return view;
}

json_t *handle_gpus(struct call *call)
{
    const char *node = http_query(call->request, "node");
    const struct state *state = api_state(call->api);
    int64_t only = node ? state_find_node(state, node) : -1;
    struct holders holders = { 0 };
    json_t *gpus = json_array();

    find_holders(state, &holders);
    for (uint32_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        bool is_held = state->room.devices.items[i].milli < GPU_MILLI;
        if ((!node || (int64_t)device->node == only) && (is_held || !is_no_more(device)))
            json_array_append_new(gpus, view_gpu(call->api, &holders, i));
    }
    release_holders(&holders);
    return json_pack("{s:o}", "gpus", gpus);
}

/* ---- links ---- */

/* From the island and the switch if the driver does not say. */
static struct probe_link link_of(const struct api *api, uint32_t a, uint32_t b)
{
    const struct state *state = api_state(api);
    const struct device *first = &state->devices.items[a], *second = &state->devices.items[b];
    const struct watch *watch = api->ports.devices.watch;
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

json_t *handle_topology(struct call *call)
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
    return json_pack("{s:o}", "gpus", gpus);
}

/* ---- clear ---- */

static int run_clear(struct deferred *deferred, struct error *err)
{
    const struct api_devices *devices = &deferred->api->ports.devices;
    uint32_t device;

    int code = device_find(api_state(deferred->api), deferred->name, &device, err);
    return code < 0 ? code : devices->clear(devices->user, device, err);
}

static json_t *answer_clear(struct deferred *deferred)
{
    return json_pack("{s:s}", "gpu", deferred->name);
}

json_t *handle_clear(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_clear, .answer = answer_clear };

    return deferred_begin(call, deferred_create(call, sizeof(struct deferred), &ops), 0);
}
