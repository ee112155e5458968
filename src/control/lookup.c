/* SPDX-License-Identifier: Apache-2.0 */
#include "control/lookup.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/phrases.h"
#include "sched/sched.h"

int node_find(const struct state *state, const char *name, const struct node **ret,
              struct error *err)
{
    int64_t number = state_find_node(state, name);

    if (number < 0)
        return error_set(err, REFUSED_NOT_FOUND, "node %.80s: no such node", name);
    *ret = &state->nodes.items[number];
    return 0;
}

/* "3", "a/3" */
static bool is_called(const struct state *state, const struct device *device, const char *name)
{
    const char *node = state->nodes.items[device->node].name;
    const char *slash = strrchr(name, '/');
    const char *number = slash ? slash + 1 : name;
    size_t length = slash ? (size_t)(slash - name) : 0;
    char *end;

    unsigned long index = strtoul(number, &end, 10);
    if (number[0] < '0' || number[0] > '9' || *end || index != device->index)
        return false;
    return !slash || (strlen(node) == length && strncmp(node, name, length) == 0);
}

static int refuse_several(const struct state *state, const char *name, struct error *err)
{
    AUTO_RELEASE(text) struct text names = { 0 };

    for (size_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        if (is_called(state, device, name))
            text_printf(&names, "%s%s/%s", names.length > 0 ? ", " : "",
                        state->nodes.items[device->node].name, name);
    }
    return error_set(err, REFUSED_BAD, "gpu %.80s: several nodes have one; name it %.200s", name,
                     text_string(&names));
}

int device_find(const struct state *state, const char *name, uint32_t *ret, struct error *err)
{
    int64_t found = state_find_device(state, name);

    for (uint32_t i = 0; i < state->devices.count && state_find_device(state, name) < 0; i++) {
        if (!is_called(state, &state->devices.items[i], name))
            continue;
        if (found >= 0 && state->devices.items[found].node != state->devices.items[i].node)
            return refuse_several(state, name, err);
        found = i;
    }
    if (found < 0)
        return error_set(err, REFUSED_NOT_FOUND, "gpu %.80s: no such device", name);
    *ret = (uint32_t)found;
    return 0;
}

int admit_find_queue(const struct state *state, const char *name, uint32_t *ret, struct error *err)
{
    int64_t queue = state_find_queue(state, name);

    if (queue == QUEUE_ROOT)
        queue = -1;
    if (queue < 0) {
        const char **names = mem_zero(state->queues.count + 1, sizeof(char *));
        size_t count = 0;
        for (size_t i = QUEUE_DEFAULT; i < state->queues.count; i++) {
            if (!state->queues.items[i].is_removed)
                names[count++] = state->queues.items[i].name;
        }
        const char *nearest = string_nearest(name, names);
        int code = error_set(err, REFUSED_NOT_FOUND, "queue %s: no such queue%s%s%s", name,
                             nearest ? "; did you mean '" : "", nearest ? nearest : "",
                             nearest ? "'?" : "");
        free(names);
        return code;
    }
    if (state->queues.items[queue].child_count > 0)
        return error_set(err, REFUSED_BAD, "queue %s: has queues below it; name one of them", name);
    *ret = (uint32_t)queue;
    return 0;
}

int admit_check(const struct state *state, const struct request *request, uint32_t queue,
                bool is_preemptible, struct error *err)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct class *class = class_find(&state->classes, request);
    uint64_t world = state_world(state);
    struct why why;

    if (class && class->possible.world == world && class->possible.queue == queue &&
        class->possible.is_preemptible == is_preemptible)
        return 0;
    sched_admit(state, request, queue, is_preemptible, &why);
    if (!why_is_never(why.kind)) {
        if (class)
            class->possible = (struct class_possible){ world, queue, is_preemptible };
        return 0;
    }
    never_say(state, request, &why, &text);
    return error_set(err, REFUSED_NEVER, "%s", text_string(&text));
}

bool admit_lacks_nodes(const struct state *state, const struct request *request, uint32_t queue,
                       bool is_preemptible)
{
    struct why why;

    sched_admit(state, request, queue, is_preemptible, &why);
    return why_is_never(why.kind) && why_is_of_nodes(why.kind);
}

int admit_check_user(const struct state *state, const struct request *request, uint32_t queue,
                     uint32_t user, uint32_t gid, struct error *err)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct why why;

    sched_admit_user(state, request, queue, user, gid, &why);
    if (why.kind == WHY_NONE)
        return 0;
    never_say(state, request, &why, &text);
    return error_set(err, REFUSED_NEVER, "%s", text_string(&text));
}

uint32_t user_find(const struct state *state, const char *name)
{
    uint32_t user = 0;

    while (user < state->users.count && strcmp(state->users.items[user], name) != 0)
        user++;
    return user;
}

bool cluster_is_real(const struct state *state)
{
    bool is_real = false;

    LIST_EACH (const struct device, device, &state->devices)
        is_real |= !device->is_synthetic;
    return is_real;
}
