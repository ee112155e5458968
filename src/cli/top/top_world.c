/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_world.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job_view.h"

enum { TEMPERATURE_MOST = 100, MIB = 1048576 };

const char *const top_order_gpus_names[GPUS_ORDERS] = { "place", "use", "memory", "power",
                                                        "temperature" };
const char *const top_order_jobs_names[JOBS_ORDERS] = { "number", "user", "gpus", "time" };

/* ---- what came ---- */

static double real_or_nan(const json_t *object, const char *key)
{
    return field_is_null(object, key) ? (double)NAN : field_real(object, key);
}

static double part_of(double value, double most)
{
    return most > 0 ? value / most : (double)NAN;
}

static struct top_gpu read_gpu(const json_t *view)
{
    const json_t *reading = json_object_get(view, "reading");
    double slowdown = real_or_nan(reading, "slowdown_temperature");
    struct top_gpu gpu = {
        .view = view,
        .values = { real_or_nan(reading, "gpu_use"), real_or_nan(reading, "memory_used") / MIB,
                    real_or_nan(reading, "power"), real_or_nan(reading, "temperature") },
        .mosts = { 1, real_or_nan(view, "memory"), real_or_nan(reading, "power_limit"),
                   isnan(slowdown) ? TEMPERATURE_MOST : slowdown },
    };

    for (size_t i = 0; i < TOP_READINGS; i++)
        gpu.parts[i] = part_of(gpu.values[i], gpu.mosts[i]);
    return gpu;
}

/* GPUs come in the same order nearly always. */
static struct top_history *find_history(const struct top_world *world, const char *uuid,
                                        size_t hint)
{
    if (hint < world->histories.count && strcmp(world->histories.items[hint].uuid, uuid) == 0)
        return &world->histories.items[hint];
    for (size_t i = 0; i < world->histories.count; i++) {
        if (strcmp(world->histories.items[i].uuid, uuid) == 0)
            return &world->histories.items[i];
    }
    return NULL;
}

static void remember(struct top_world *world, size_t place, const json_t *view)
{
    const char *uuid = field_text(view, "uuid");
    struct top_gpu gpu = read_gpu(view);
    struct top_history *history = find_history(world, uuid, place);

    if (!history) {
        list_add(&world->histories, (struct top_history){ .uuid = mem_string(uuid) });
        history = &world->histories.items[world->histories.count - 1];
    }
    bool is_full = history->count == HISTORY_MAX;
    history->count += !is_full;
    for (size_t i = 0; i < TOP_READINGS; i++) {
        float *parts = history->parts[i];
        if (is_full)
            memmove(parts, parts + 1, (HISTORY_MAX - 1) * sizeof(parts[0]));
        parts[history->count - 1] = (float)gpu.parts[i];
    }
}

void world_take(struct top_world *world, json_t *gpus, json_t *jobs)
{
    const json_t *view;
    size_t i;

    json_decref(world->gpus_reply);
    world->gpus_reply = gpus;
    if (jobs) {
        json_decref(world->jobs_reply);
        world->jobs_reply = jobs;
    }
    world->gpus.count = world->nodes.count = 0;
    world->jobs[TOP_RUNNING].count = world->jobs[TOP_WAITING].count = 0;
    json_array_foreach(json_object_get(gpus, "gpus"), i, view) remember(world, i, view);
}

const struct top_history *world_history(const struct top_world *world, const char *uuid)
{
    return find_history(world, uuid, 0);
}

/* Which step before the last sample it is in: 1 is the one just before it. */
static int64_t steps_ago(const json_t *times, size_t i, int64_t now_s, int64_t step_s)
{
    int64_t ago = (now_s - (int64_t)json_number_value(json_array_get(times, i))) / step_s;

    return ago < 1 ? 1 : ago;
}

static void recall_one(struct top_history *history, enum top_reading reading, const json_t *values,
                       double most, int64_t now_s, int64_t step_s)
{
    const json_t *times = json_object_get(values, "at"), *means = json_object_get(values, "mean");

    for (size_t i = 0; i < json_array_size(times); i++) {
        int64_t ago = steps_ago(times, i, now_s, step_s);
        double mean = json_number_value(json_array_get(means, i));
        if (ago < (int64_t)history->count)
            history->parts[reading][history->count - 1 - (size_t)ago] = (float)part_of(mean, most);
    }
}

/* How many steps before the last sample the oldest is. */
static size_t length_of(const json_t *readings, int64_t now_s, int64_t step_s)
{
    const char *key;
    const json_t *values;
    int64_t most = 0;

    json_object_foreach((json_t *)(uintptr_t)readings, key, values)
    {
        const json_t *times = json_object_get(values, "at");
        int64_t ago = json_array_size(times) > 0 ? steps_ago(times, 0, now_s, step_s) : 0;
        if (ago > most)
            most = ago;
    }
    return most < HISTORY_MAX ? (size_t)most : HISTORY_MAX - 1;
}

void world_recall(struct top_world *world, const json_t *gpu, const json_t *reply, int64_t now_s,
                  int64_t step_s)
{
    static const char *const keys[TOP_READINGS] = { "gpu_use", "memory_used", "power",
                                                    "temperature" };
    static const double units[TOP_READINGS] = { 1, MIB, 1, 1 };
    struct top_history *history = find_history(world, field_text(gpu, "uuid"), 0);
    const json_t *readings = json_object_get(reply, "readings");
    struct top_gpu now = read_gpu(gpu);

    if (!history || history->count != 1 || step_s < 1)
        return;
    history->count = length_of(readings, now_s, step_s) + 1;
    for (enum top_reading i = 0; i < TOP_READINGS; i++) {
        float *parts = history->parts[i];
        parts[history->count - 1] = parts[0];
        for (size_t k = 0; k + 1 < history->count; k++)
            parts[k] = NAN;
        recall_one(history, i, json_object_get(readings, keys[i]), now.mosts[i] * units[i], now_s,
                   step_s);
    }
}

/* ---- what passes ---- */

static bool any_has(const char *words, const json_t *object, const char *const *keys)
{
    for (; *keys; keys++) {
        if (strcasestr(field_text(object, *keys), words))
            return true;
    }
    return false;
}

static bool gpu_passes(const struct top_choice *choice, const json_t *view)
{
    static const char *const keys[] = { "model", "product", "node", "pool", "uuid", "sick", NULL };
    static const char *const job_keys[] = { "label", "name", "user", NULL };
    const json_t *job;
    size_t i;

    if (choice->pool && strcmp(field_text(view, "pool"), choice->pool) != 0)
        return false;
    if (any_has(choice->words, view, keys))
        return true;
    json_array_foreach(json_object_get(view, "jobs"), i, job)
    {
        if (any_has(choice->words, job, job_keys))
            return true;
    }
    return false;
}

/* Whether it has one of the GPUs of a pool. */
static bool is_in_pool(const struct top_world *world, const json_t *job, const char *pool)
{
    const json_t *gpus = json_object_get(world->gpus_reply, "gpus"), *gpu, *holder;
    size_t i, k;

    if (strcmp(field_text(job, "pool"), pool) == 0)
        return true;
    json_array_foreach(gpus, i, gpu)
    {
        if (strcmp(field_text(gpu, "pool"), pool) != 0)
            continue;
        json_array_foreach(json_object_get(gpu, "jobs"), k, holder)
        {
            if (field_number(holder, "id") == field_number(job, "id"))
                return true;
        }
    }
    return false;
}

static bool job_passes(const struct top_world *world, const struct top_choice *choice,
                       const json_t *job)
{
    static const char *const keys[] = { "label", "name", "user", "queue", "state", "pool", NULL };

    return (!choice->pool || is_in_pool(world, job, choice->pool)) &&
           any_has(choice->words, job, keys);
}

/* ---- in which order ---- */

static int compare_gpus(const void *a, const void *b, void *user)
{
    const struct top_gpu *left = a, *right = b;
    const enum top_order_gpus order = *(const enum top_order_gpus *)user;
    int64_t apart = field_number(left->view, "index") - field_number(right->view, "index");

    if (order != GPUS_BY_PLACE) {
        enum top_reading reading = (enum top_reading)(order - GPUS_BY_USE);
        double first = left->values[reading], second = right->values[reading];
        if (isnan(first) != isnan(second))
            return isnan(first) ? 1 : -1;
        if (first < second || first > second)
            return first < second ? 1 : -1;
    }
    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    return apart < 0 ? -1 : apart > 0;
}

static double time_of(const json_t *job)
{
    return field_real(job, field_is_null(job, "run_seconds") ? "wait_seconds" : "run_seconds");
}

static int compare_jobs(const void *a, const void *b, void *user)
{
    const json_t *left = *(const json_t *const *)a, *right = *(const json_t *const *)b;
    int64_t apart = field_number(left, "id") - field_number(right, "id");
    double more = 0;

    switch (*(const enum top_order_jobs *)user) {
    case JOBS_BY_USER:
        more = strcmp(field_text(left, "user"), field_text(right, "user"));
        break;
    case JOBS_BY_GPUS:
        more = field_real(right, "gpu_count") - field_real(left, "gpu_count");
        break;
    case JOBS_BY_TIME:
        more = time_of(right) - time_of(left);
        break;
    default:
        break;
    }
    if (more < 0 || more > 0)
        return more < 0 ? -1 : 1;
    return apart < 0 ? -1 : apart > 0;
}

/* ---- the lists ---- */

/* A number for each machine, in the order in which they come. */
static size_t number_node(const json_t **names, size_t *count, const json_t *view)
{
    const json_t *name = json_object_get(view, "node");

    if (*count > 0 && json_equal(names[*count - 1], name))
        return *count - 1;
    for (size_t i = 0; i < *count; i++) {
        if (json_equal(names[i], name))
            return i;
    }
    names[*count] = name;
    return (*count)++;
}

static void arrange_gpus(struct top_world *world, const struct top_choice *choice)
{
    const json_t *views = json_object_get(world->gpus_reply, "gpus"), *view;
    AUTO_FREE const json_t **names = mem_zero(json_array_size(views) + 1, sizeof(*names));
    enum top_order_gpus order = choice->gpus;
    size_t i, name_count = 0;

    world->gpus.count = 0;
    world->index_width = 0;
    json_array_foreach(views, i, view)
    {
        char index[UNITS_TEXT_SIZE];
        if (!gpu_passes(choice, view))
            continue;
        struct top_gpu gpu = read_gpu(view);
        gpu.node = number_node(names, &name_count, view);
        list_add(&world->gpus, gpu);
        size_t width =
            (size_t)snprintf(index, sizeof(index), "%" PRId64, field_number(view, "index"));
        if (width > world->index_width)
            world->index_width = width;
    }
    if (world->gpus.count > 0)
        qsort_r(world->gpus.items, world->gpus.count, sizeof(world->gpus.items[0]), compare_gpus,
                &order);
}

static void find_nodes(struct top_world *world)
{
    world->nodes.count = 0;
    world->node_width = 0;
    for (size_t i = 0; i < world->gpus.count; i++) {
        const struct top_gpu *gpu = &world->gpus.items[i];
        const char *name = field_text(gpu->view, "node");

        if (i > 0 && gpu[-1].node == gpu->node) {
            world->nodes.items[world->nodes.count - 1].count++;
            continue;
        }
        list_add(&world->nodes, (struct top_node){ .name = name, .first = i, .count = 1 });
        if (string_width(name) > world->node_width)
            world->node_width = string_width(name);
    }
}

static void arrange_jobs(struct top_world *world, const struct top_choice *choice)
{
    enum top_order_jobs order = choice->jobs;
    const json_t *job;
    size_t i;

    world->jobs[TOP_RUNNING].count = world->jobs[TOP_WAITING].count = 0;
    json_array_foreach(json_object_get(world->jobs_reply, "jobs"), i, job)
    {
        if (!job_passes(world, choice, job))
            continue;
        if (!job_is_ended(job))
            list_add(&world->jobs[job_is_placed(job) ? TOP_RUNNING : TOP_WAITING], job);
    }
    for (enum top_list list = TOP_RUNNING; order != JOBS_BY_ID && list < TOP_LISTS; list++) {
        if (world->jobs[list].count > 0)
            qsort_r(world->jobs[list].items, world->jobs[list].count, sizeof(job), compare_jobs,
                    &order);
    }
}

void world_arrange(struct top_world *world, const struct top_choice *choice)
{
    arrange_gpus(world, choice);
    find_nodes(world);
    arrange_jobs(world, choice);
}

void world_release(struct top_world *world)
{
    for (size_t i = 0; i < world->histories.count; i++)
        free(world->histories.items[i].uuid);
    list_release(&world->histories);
    list_release(&world->gpus);
    list_release(&world->nodes);
    list_release(&world->jobs[TOP_RUNNING]);
    list_release(&world->jobs[TOP_WAITING]);
    json_decref(world->gpus_reply);
    json_decref(world->jobs_reply);
    world->gpus_reply = world->jobs_reply = NULL;
}

size_t world_count(const struct top_world *world, enum top_list list)
{
    return list == TOP_GPUS ? world->gpus.count : world->jobs[list].count;
}

const char *world_key(const struct top_world *world, enum top_list list, size_t place)
{
    return list == TOP_GPUS ? field_text(world->gpus.items[place].view, "uuid")
                            : field_text(world->jobs[list].items[place], "label");
}
