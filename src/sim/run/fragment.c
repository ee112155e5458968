/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/fragment.h"

#include <stdlib.h>
#include <string.h>

#include "sim/trace/cluster.h"

enum { SHAPES_MAX = 256 };

struct shape {
    const char *models;
    int64_t cpu_milli;
    uint32_t gpus, milli;
    uint32_t count;
    double part;
};

struct fragment {
    const struct state *state;
    LIST(struct shape) shapes; /* typical ones */
    uint32_t *first;           /* devices of node i: first[i] to first[i + 1] of devices */
    uint32_t *devices;
    int64_t capacity_milli;
};

static int compare_shapes(const void *a, const void *b)
{
    const struct shape *left = a, *right = b;

    if (left->gpus != right->gpus)
        return left->gpus < right->gpus ? -1 : 1;
    if (left->milli != right->milli)
        return left->milli < right->milli ? -1 : 1;
    if (left->cpu_milli != right->cpu_milli)
        return left->cpu_milli < right->cpu_milli ? -1 : 1;
    return strcmp(left->models, right->models);
}

static int compare_counts(const void *a, const void *b)
{
    const struct shape *left = a, *right = b;

    if (left->count != right->count)
        return left->count > right->count ? -1 : 1;
    return compare_shapes(a, b);
}

static void find_typical(struct fragment *fragment, const struct workload *workload)
{
    size_t count = workload->jobs.count, kinds = 0, taken = 0, sum = 0;
    AUTO_FREE struct shape *shapes = mem_zero(count + 1, sizeof(shapes[0]));

    for (size_t i = 0; i < count; i++) {
        const struct sim_job *job = &workload->jobs.items[i];
        shapes[i] = (struct shape){ job->models, job->cpu_milli, job->gpus, job->milli, 1, 0 };
    }
    qsort(shapes, count, sizeof(shapes[0]), compare_shapes);
    for (size_t i = 0; i < count; i++) {
        if (kinds > 0 && compare_shapes(&shapes[kinds - 1], &shapes[i]) == 0)
            shapes[kinds - 1].count++;
        else
            shapes[kinds++] = shapes[i];
    }
    qsort(shapes, kinds, sizeof(shapes[0]), compare_counts);
    for (; taken < kinds && taken < SHAPES_MAX && (double)sum < 0.95 * (double)count; taken++) {
        sum += shapes[taken].count;
        list_add(&fragment->shapes, shapes[taken]);
    }
    for (size_t i = 0; i < taken; i++)
        fragment->shapes.items[i].part = (double)shapes[i].count / (double)sum;
}

struct fragment *fragment_create(const struct state *state, const struct workload *workload)
{
    struct fragment *fragment = mem_zero(1, sizeof(*fragment));
    size_t nodes = state->nodes.count, devices = state->devices.count;

    fragment->state = state;
    fragment->capacity_milli = (int64_t)devices * GPU_MILLI;
    fragment->first = mem_zero(nodes + 2, sizeof(uint32_t));
    fragment->devices = mem_zero(devices + 1, sizeof(uint32_t));
    for (size_t i = 0; i < devices; i++)
        fragment->first[state->devices.items[i].node + 2]++;
    for (size_t i = 2; i < nodes + 2; i++)
        fragment->first[i] += fragment->first[i - 1];
    for (size_t i = 0; i < devices; i++)
        fragment->devices[fragment->first[state->devices.items[i].node + 1]++] = (uint32_t)i;
    find_typical(fragment, workload);
    return fragment;
}

void fragment_destroy(struct fragment *fragment)
{
    if (!fragment)
        return;
    list_release(&fragment->shapes);
    free(fragment->first);
    free(fragment->devices);
    free(fragment);
}

/* What of this machine's idle GPU a job of this shape cannot use. */
static int64_t unusable(const struct fragment *fragment, uint32_t node, const struct shape *shape,
                        int64_t idle)
{
    const struct state *state = fragment->state;
    int64_t small = 0;
    uint32_t fitting = 0;

    if (shape->gpus == 0)
        return idle;
    for (uint32_t i = fragment->first[node]; i < fragment->first[node + 1]; i++) {
        int64_t milli = state->room.devices.items[fragment->devices[i]].milli;
        if (milli < shape->milli)
            small += milli;
        else
            fitting++;
    }
    const char *model = state->devices.items[fragment->devices[fragment->first[node]]].model;
    bool fits = fitting >= shape->gpus &&
                state->room.nodes.items[node].cpu_milli >= shape->cpu_milli &&
                models_have(shape->models, model);
    return fits ? small : idle;
}

void fragment_look(struct fragment *fragment, double *ret_percent, uint32_t *ret_largest_node,
                   uint32_t *ret_free_whole)
{
    const struct state *state = fragment->state;
    uint32_t largest = 0, whole = 0;
    double sum = 0;

    for (uint32_t node = 0; node < state->nodes.count; node++) {
        int64_t idle = 0;
        uint32_t free = 0;
        for (uint32_t i = fragment->first[node]; i < fragment->first[node + 1]; i++) {
            int64_t milli = state->room.devices.items[fragment->devices[i]].milli;
            idle += milli;
            free += milli == GPU_MILLI;
        }
        largest = free > largest ? free : largest;
        whole += free;
        if (idle == 0)
            continue;
        for (size_t i = 0; i < fragment->shapes.count; i++)
            sum += fragment->shapes.items[i].part *
                   (double)unusable(fragment, node, &fragment->shapes.items[i], idle);
    }
    if (ret_percent)
        *ret_percent =
            fragment->capacity_milli > 0 ? 100 * sum / (double)fragment->capacity_milli : 0;
    if (ret_largest_node)
        *ret_largest_node = largest;
    if (ret_free_whole)
        *ret_free_whole = whole;
}
