/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/pools, /v1/queues: limits and use. */
#include <string.h>

#include "api/routes.h"
#include "api/view/view.h"
#include "base/mem.h"
#include "core/cluster/queue.h"
#include "wire/where_text.h"

static json_t *view_pool(const struct state *state, uint32_t number)
{
    const struct pool *pool = &state->pools.items[number];
    json_t *devices = json_array();
    int64_t total = 0;

    for (size_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        bool is_in = pool->is_static
                         ? device->pool == number
                         : device->pool == 0 &&
                               pool_matches(pool, device, &state->nodes.items[device->node]);
        if (!is_in)
            continue;
        json_array_append_new(devices, json_integer(device->index));
        total += device_is_usable(state, device) ? GPU_MILLI : 0;
    }
    if (pool->milli_max > 0 && total > pool->milli_max)
        total = pool->milli_max;
    static const char *const modes[] = { NULL, "off", "on" };
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s?}", "name", pool->name,
                     "type", pool->is_static ? "static" : "dynamic", "queue",
                     text_or_null(pool->queue), "model", text_or_null(pool->model), "where",
                     where_to_json(pool->where.items, (uint32_t)pool->where.count), "gpus",
                     view_milli(total), "given", view_milli(state->room.pools.items[number]), "min",
                     pool->is_static ? json_null() : view_milli(pool->milli_min), "max",
                     pool->milli_max > 0 ? view_milli(pool->milli_max) : json_null(), "devices",
                     devices, "mig", modes[pool->mig]);
}

json_t *handle_pools(struct call *call)
{
    const struct state *state = api_state(call->api);
    json_t *pools = json_array();

    for (uint32_t i = 0; i < state->pools.count; i++) {
        if (!state->pools.items[i].is_removed)
            json_array_append_new(pools, view_pool(state, i));
    }
    return json_pack("{s:o}", "pools", pools);
}

/* Jobs of each queue itself, not of those below. */
struct queue_count {
    json_int_t running, queued;
};

static struct queue_count *count_jobs(const struct state *state)
{
    struct queue_count *counts = mem_zero(state->queues.count, sizeof(*counts));

    for (const struct job *job = state->first_job; job; job = job->next) {
        counts[job->queue].running += job_is_active(job);
        counts[job->queue].queued += job->state < JOB_GRANTED;
    }
    return counts;
}

static double weight_of(const struct api *api, const struct queue *queue)
{
    (void)api;
    return queue->weight;
}

static double use_of(const struct api *api, const struct queue *queue)
{
    usec_t half_life = api_state(api)->settings.half_life;

    return (double)queue_usage(queue, SHARE_OF_GPUS, api_now(api), half_life);
}

/* Its part of the sum over its siblings and itself, 0 to 1; null if the sum is 0. */
static json_t *view_part(const struct api *api, uint32_t number,
                         double (*measure)(const struct api *api, const struct queue *queue))
{
    const struct state *state = api_state(api);
    double sum = 0;

    for (uint32_t i = 1; i < state->queues.count; i++) {
        if (state->queues.items[i].parent == state->queues.items[number].parent &&
            !state->queues.items[i].is_removed)
            sum += measure(api, &state->queues.items[i]);
    }
    if (number == QUEUE_ROOT || sum <= 0)
        return json_null();
    return json_real(measure(api, &state->queues.items[number]) / sum);
}

static json_t *amount_or_null(uint32_t resource, int64_t amount)
{
    if (amount == QUOTA_NONE)
        return json_null();
    return resource == RESOURCE_MEMORY ? json_integer(amount) : view_milli(amount);
}

/* Of each resource that it has a quota of, and of GPUs; memory in MiB. */
static json_t *view_quotas(const struct state *state, const struct queue *queue)
{
    json_t *quotas = json_object();

    for (uint32_t i = 0; i < state->resources.count; i++) {
        const struct quota *quota = &queue->quota[i];
        if (i != RESOURCE_GPUS && quota_is_empty(quota))
            continue;
        json_object_set_new(
            quotas, state->resources.items[i].name,
            json_pack(
                "{s:o, s:o, s:o, s:o, s:o, s:o}", "guarantee", amount_or_null(i, quota->guarantee),
                "owned", amount_or_null(i, queue->owned.of[i]), "limit",
                amount_or_null(i, quota->limit), "borrow", amount_or_null(i, quota->borrow), "lend",
                amount_or_null(i, quota->lend), "given", amount_or_null(i, queue->used.of[i])));
    }
    return quotas;
}

static json_t *duration_or_null(usec_t duration)
{
    return duration == 0 || duration == USEC_NEVER
               ? json_null()
               : json_real((double)duration / (double)USEC_PER_SEC);
}

/* What holds for jobs that are submitted to it, with what the queues above it say. */
static json_t *view_policy(const struct state *state, uint32_t number)
{
    static const char *const words[PREEMPTIBLE_WORDS] = { "optional", "optional", "default",
                                                          "always", "never" };
    const struct queue *queues = state->queues.items;
    const struct queue_rules rules = queue_rules_of(queues, number);
    const struct queue *of_models = queue_that_lists(queues, number, QUEUE_MODELS, 1);
    json_t *models = of_models ? json_array() : NULL;

    for (size_t i = 0; of_models && i < of_models->names.count; i++) {
        if (of_models->names.items[i].list == QUEUE_MODELS)
            json_array_append_new(models, json_string(of_models->names.items[i].name));
    }
    return json_pack(
        "{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o?}", "preemptible",
        words[rules.preemptible], "max_priority", (json_int_t)rules.priority_most,
        "default_duration", duration_or_null(rules.duration_default), "longest_duration",
        duration_or_null(rules.duration_most), "gpus_per_job", number_or_null(rules.gpus_most),
        "slack_percent", number_or_null(rules.slack_percent), "slack_least",
        duration_or_null(rules.slack_least), "oom_factor",
        rules.oom_factor > 0 ? json_real((double)rules.oom_factor / 1000) : json_null(), "oom_most",
        number_or_null(rules.oom_most), "models", models);
}

static json_t *view_queue(const struct api *api, uint32_t number, const struct queue_count *count,
                          const struct queue_standing *standing)
{
    const struct state *state = api_state(api);
    const struct queue *queue = &state->queues.items[number];
    const struct quota *gpus = &queue->quota[RESOURCE_GPUS];
    int64_t share = 0;
    uint32_t depth = 0;

    for (size_t i = 0; i < SHARES; i++)
        share = queue->share[i] > share ? queue->share[i] : share;
    for (uint32_t at = number; at != QUEUE_ROOT; at = state->queues.items[at].parent)
        depth++;
    json_t *view = json_pack(
        "{s:s, s:o, s:i, s:i, s:o, s:o, s:o, s:f, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, "
        "s:o}",
        "name", queue->name, "parent",
        number == QUEUE_ROOT ? json_null() : json_string(state->queues.items[queue->parent].name),
        "depth", (int)depth, "weight", (int)queue->weight, "guarantee",
        view_milli(gpus->guarantee + queue->owned.of[RESOURCE_GPUS]), "limit",
        gpus->limit == QUOTA_NONE ? json_null() : view_milli(gpus->limit), "given",
        view_milli(queue->used.of[RESOURCE_GPUS]), "share", (double)share / QUEUE_SHARE_ONE,
        "fair_share", view_part(api, number, weight_of), "used_share",
        view_part(api, number, use_of), "running", count->running, "queued", count->queued, "fair",
        view_milli(standing->fair), "wanted", view_milli(standing->wanted), "borrowed",
        view_milli(standing->borrowed), "lent", view_milli(standing->lent), "claim",
        view_milli(standing->claim), "quotas", view_quotas(state, queue));
    json_object_set_new(view, "policy", view_policy(state, number));
    view_accounts(api, number, view);
    return view;
}

/* Depth first, siblings by number. No recursion: the next one is a child, else the next sibling of
 * the nearest ancestor that has one. */
static int64_t next_child(const struct state *state, uint32_t parent, uint32_t after)
{
    for (uint32_t i = after + 1; i < state->queues.count; i++) {
        if (state->queues.items[i].parent == parent && !state->queues.items[i].is_removed)
            return i;
    }
    return -1;
}

json_t *handle_queues(struct call *call)
{
    const struct state *state = api_state(call->api);
    json_t *queues = json_array();
    AUTO_FREE struct queue_count *counts = count_jobs(state);
    AUTO_FREE struct queue_standing *standing = mem_zero(state->queues.count, sizeof(*standing));
    uint32_t at = QUEUE_ROOT;

    sched_standing(api_brain(call->api), call->api->inquiry, standing);
    for (;;) {
        json_array_append_new(queues, view_queue(call->api, at, &counts[at], &standing[at]));
        int64_t next = next_child(state, at, QUEUE_ROOT);
        while (next < 0 && at != QUEUE_ROOT) {
            next = next_child(state, state->queues.items[at].parent, at);
            at = state->queues.items[at].parent;
        }
        if (next < 0)
            break;
        at = (uint32_t)next;
    }
    return json_pack("{s:o}", "queues", queues);
}
