/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/overview: all devices in few bytes, and what is to be seen first.
 *
 * Many viewers ask for it again and again. It is made at most four times a second, and they share
 * it. A viewer that asks FRESH after it was told of a change sees that change.
 */
#include <stdlib.h>
#include <string.h>

#include "api/routes.h"
#include "api/view/view.h"
#include "base/mem.h"
#include "io/gzip.h"

enum { ALERTS_MAX = 20 };
#define FRESH (250 * USEC_PER_MS)

/* The devices of a node, in the order of their numbers in the state. */
struct row {
    LIST(uint32_t) devices;
};

static char letter_of(const struct state *state, uint32_t number)
{
    const struct device *device = &state->devices.items[number];
    const struct node *node = &state->nodes.items[device->node];

    if (device->drained)
        return 'd';
    if (device->sick)
        return device->is_occupied ? 'o' : 's';
    if (node->state != NODE_UP)
        return node->state == NODE_DRAINED ? 'd' : 's';
    return state->room.devices.items[number].milli < GPU_MILLI ? 'b' : 'f';
}

/* In percent; -1: not known. */
static int use_of(const struct api *api, uint32_t number)
{
    struct watch_device watched;

    if (!api_watch(api, number, &watched) || watched.reading.at <= 0 ||
        !reading_has(&watched.reading, READING_GPU_USE))
        return -1;
    return (int)(reading_in_base(READING_GPU_USE, watched.reading.values[READING_GPU_USE]) * 100 +
                 0.5);
}

static void add_node(const struct api *api, json_t *nodes, uint32_t number, const struct row *row,
                     const uint64_t *jobs)
{
    const struct state *state = api_state(api);
    const struct node *node = &state->nodes.items[number];
    AUTO_RELEASE(text) struct text letters = { 0 };
    json_t *use = json_array(), *held = json_array();
    json_t *indices = json_array();
    bool is_read = false, is_held = false, is_in_order = true;

    LIST_EACH (const uint32_t, device, &row->devices) {
        int percent = use_of(api, *device);
        is_read |= percent >= 0;
        is_held |= jobs[*device] > 0;
        is_in_order &= state->devices.items[*device].index == letters.length;
        json_array_append_new(indices,
                              json_integer((json_int_t)state->devices.items[*device].index));
        text_add_char(&letters, letter_of(state, *device));
        json_array_append_new(use, json_integer(percent));
        json_array_append_new(held, json_integer((json_int_t)jobs[*device]));
    }
    const char *model =
        row->devices.count > 0 ? state->devices.items[row->devices.items[0]].model : "";
    json_t *view = json_pack("{s:s, s:s, s:s, s:s}", "name", node->name, "model", model, "state",
                             node_state_name(node->state), "gpus", text_string(&letters));
    if (node->rack && node->rack[0])
        json_object_set_new(view, "rack", json_string(node->rack));
    if (!is_in_order)
        json_object_set(view, "indices", indices);
    if (is_read)
        json_object_set(view, "use", use);
    if (is_held)
        json_object_set(view, "jobs", held);
    json_decref(indices);
    json_decref(use);
    json_decref(held);
    json_array_append_new(nodes, view);
}

static json_t *view_nodes(const struct api *api)
{
    const struct state *state = api_state(api);
    struct row *rows = mem_zero(state->nodes.count + 1, sizeof(*rows));
    uint64_t *jobs = mem_zero(state->devices.count + 1, sizeof(*jobs));
    json_t *nodes = json_array();

    for (const struct job *job = state->first_active; job; job = job->run->active_next) {
        for (uint32_t i = 0; i < job->run->lease->slices_count; i++)
            jobs[job->run->lease->slices[i].device] = job->id;
    }
    for (uint32_t i = 0; i < state->devices.count; i++) {
        if (jobs[i] > 0 || !is_no_more(&state->devices.items[i]))
            list_add(&rows[state->devices.items[i].node].devices, i);
    }
    for (uint32_t i = 0; i < state->nodes.count; i++) {
        if (rows[i].devices.count > 0)
            add_node(api, nodes, i, &rows[i], jobs);
        list_release(&rows[i].devices);
    }
    free(rows);
    free(jobs);
    return nodes;
}

/* A problem that many devices have is one entry. */
struct problem {
    const struct alert_thing *thing; /* the first */
    uint32_t count;
};

static size_t group_problems(const struct alerts *alerts, struct problem *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < alerts->entries.count; i++) {
        const struct alert_thing *thing = &alerts->entries.items[i].thing;
        size_t k = 0;
        while (k < count && strcmp(ret[k].thing->words, thing->words) != 0)
            k++;
        if (k == ALERTS_MAX)
            continue;
        if (k == count)
            ret[count++] = (struct problem){ .thing = thing };
        ret[k].count++;
    }
    return count;
}

static json_t *view_problems(const struct api *api, size_t *ret_count)
{
    const struct api_alerts *port = &api->ports.alerts;
    const struct alert_silence *silences;
    size_t silence_count;
    json_t *list = json_array();

    *ret_count = 0;
    if (!port->look)
        return list;
    const struct alerts *alerts = port->look(port->user, &silences, &silence_count);
    struct problem problems[ALERTS_MAX];
    size_t count = group_problems(alerts, problems);
    for (size_t i = 0; i < count; i++) {
        const struct alert_thing *thing = problems[i].thing;
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:i, s:o, s:o}", "name", thing->name, "severity",
                            alert_severity_name(thing->severity), "words", thing->words, "count",
                            (int)problems[i].count, "job", number_or_null((int64_t)thing->job),
                            "node", text_or_null(thing->node)));
    }
    *ret_count = alerts->entries.count;
    return list;
}

static char *make(const struct api *api)
{
    const struct state *state = api_state(api);
    size_t problems;

    json_t *list = view_problems(api, &problems);
    return json_bytes(json_pack("{s:o, s:o, s:o, s:I, s:o}", "counts", view_counts(state), "gpus",
                                view_gpus_given(state), "alerts", list, "alert_count",
                                (json_int_t)problems, "nodes", view_nodes(api)));
}

static void renew(struct api *api)
{
    struct overview *overview = &api->overview;
    usec_t now = (usec_t)uv_now(api->loop) * USEC_PER_MS;

    if (overview->bytes && now - overview->at < FRESH)
        return;
    char *bytes = make(api);
    bool is_same = overview->bytes && strcmp(bytes, overview->bytes) == 0;
    free(is_same ? bytes : overview->bytes);
    overview->bytes = is_same ? overview->bytes : bytes;
    overview->at = now;
    if (!is_same)
        text_clear(&overview->packed);
}

json_t *handle_overview(struct call *call)
{
    struct overview *overview = &call->api->overview;
    const char *accepts = http_header(call->request, "Accept-Encoding");

    renew(call->api);
    if (!accepts || !strstr(accepts, "gzip")) {
        reply_tagged(call->request, mem_string(overview->bytes));
        return NULL;
    }
    if (overview->packed.length == 0)
        gzip_pack(overview->bytes, strlen(overview->bytes), &overview->packed);
    reply_packed(call->request, overview->bytes, &overview->packed);
    return NULL;
}

void overview_release(struct overview *overview)
{
    free(overview->bytes);
    text_release(&overview->packed);
}
