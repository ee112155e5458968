/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config.h"
#include "wire/config/config_watch.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/job/submission.h"
#include "wire/reader.h"

const char *const config_placement_words[PLACEMENT_COUNT + 1] = {
    [PLACEMENT_BEST_FIT] = "best-fit",
    [PLACEMENT_FIRST_FIT] = "first-fit",
    [PLACEMENT_SFG] = "sfg",
    [PLACEMENT_FGD] = "fgd",
    [PLACEMENT_DOT_PRODUCT] = "dot-product",
    [PLACEMENT_SPREAD] = "spread",
    [PLACEMENT_RANDOM] = "random",
};

const char *const config_order_words[ORDER_COUNT + 1] = {
    [ORDER_DEFAULT] = "default",   [ORDER_FIFO] = "fifo",
    [ORDER_SHORTEST] = "shortest", [ORDER_LEAST_ATTAINED] = "least-attained",
    [ORDER_DEADLINE] = "deadline",
};

const char *const config_keys[] = {
    "pools",    "queues",       "prices",    "timezone", "windows", "tariffs",    "reservations",
    "backfill", "fair_share",   "placement", "order",    "predict", "node_types", "defrag",
    "idle",     "memory_grace", "alerts",    "devices",  "health",  "affinity",   NULL
};
const char *const config_policy_keys[] = { "fair_share", "placement", "backfill", "order",
                                           "predict",    "defrag",    NULL };

struct parser {
    struct config *config;
    struct reader reader; /* without a place */
};

struct config *config_create(void)
{
    struct config *config = mem_zero(1, sizeof(*config));

    config->half_life = CONFIG_HALF_LIFE;
    config->placement = CONFIG_PLACEMENT;
    config->order = CONFIG_ORDER;
    config->predict = CONFIG_PREDICT(CONFIG_ORDER);
    config->backfill_depth = CONFIG_BACKFILL_DEPTH;
    return config;
}

void config_destroy(struct config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < config->pool_count; i++) {
        string_list_destroy(config->pools[i].nodes);
        free(config->pools[i].devices);
        config_times_release_pool(&config->pools[i]);
    }
    for (size_t i = 0; i < config->queue_count; i++)
        config_quota_release(&config->queues[i]);
    config_times_release(config);
    free(config->pools);
    free(config->queues);
    free(config->prices);
    free(config->node_types);
    free(config->device_types);
    free(config);
}

int32_t config_find_queue(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->queue_count; i++) {
        if (strcmp(config->queues[i].name, name) == 0)
            return (int32_t)i;
    }
    return -1;
}

int32_t config_find_pool(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->pool_count; i++) {
        if (strcmp(config->pools[i].name, name) == 0)
            return (int32_t)i;
    }
    return -1;
}

static struct reader reader_at(const struct parser *parser, const char *kind, const char *name)
{
    struct reader reader = parser->reader;

    snprintf(reader.where, sizeof(reader.where), "%s %.63s", kind, name);
    return reader;
}

static int read_devices(const struct reader *reader, const json_t *object, struct config_pool *pool)
{
    const json_t *list = reader_get(object, "devices");

    if (!list)
        return 0;
    if (!json_is_array(list) || json_array_size(list) == 0 ||
        json_array_size(list) > CONFIG_DEVICES_MAX)
        return reader_fail(reader, -EINVAL, object, "devices",
                           "expected a list of 1 to %d numbers of devices", CONFIG_DEVICES_MAX);
    pool->devices = mem_zero(json_array_size(list), sizeof(pool->devices[0]));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        json_int_t index = json_integer_value(item);

        if (!json_is_integer(item) || index < 0 || index >= CONFIG_DEVICES_MAX)
            return reader_fail(reader, -EINVAL, object, "devices",
                               "expected numbers of devices, 0 to %d", CONFIG_DEVICES_MAX - 1);
        if (i > 0 && index <= (json_int_t)pool->devices[i - 1])
            return reader_fail(reader, -EINVAL, object, "devices",
                               "%" PRId64 " after %" PRIu32 ", expected them ascending, each once",
                               (int64_t)index, pool->devices[i - 1]);
        pool->devices[i] = (uint32_t)index;
        pool->device_count = i + 1;
    }
    return 0;
}

static int read_model(const struct reader *reader, const json_t *object, struct config_pool *pool)
{
    const char *model = NULL;

    int code = reader_name(reader, object, "model", &model);
    if (code < 0 || !model)
        return code;
    if (strlen(model) >= sizeof(pool->model))
        return reader_fail(reader, -EINVAL, object, "model", "'%s': longer than %d bytes", model,
                           REQUEST_MODEL_SIZE - 1);
    for (size_t i = 0; model[i]; i++)
        pool->model[i] = (char)tolower((unsigned char)model[i]);
    return 0;
}

static int read_selector(const struct reader *reader, const json_t *object,
                         struct config_pool *pool)
{
    size_t count;

    int code = read_model(reader, object, pool);
    if (code == 0)
        code = read_devices(reader, object, pool);
    if (code == 0 && reader_get(object, "nodes"))
        code = reader_names(reader, object, "nodes", CONFIG_NODES_MAX, &pool->nodes, &count);
    if (code == 0)
        code = config_labels_read(reader, object, pool->labels, sizeof(pool->labels));
    return code;
}

static int check_pool(const struct reader *reader, const json_t *object,
                      const struct config_pool *pool)
{
    if (pool->is_static && !pool->queue[0])
        return reader_fail(reader, -EINVAL, object, NULL,
                           "a static pool belongs to a queue; expected queue: NAME");
    if (!pool->is_static && pool->queue[0])
        return reader_fail(reader, -EINVAL, object, "queue",
                           "a dynamic pool is shared; expected type: static, or no queue");
    if (pool->is_static && (pool->min != CONFIG_NONE || pool->max != CONFIG_NONE))
        return reader_fail(reader, -EINVAL, object, pool->min != CONFIG_NONE ? "min" : "max",
                           "a static pool has a fixed size; expected gpus: N");
    if (pool->gpus != CONFIG_NONE && (pool->min != CONFIG_NONE || pool->max != CONFIG_NONE))
        return reader_fail(reader, -EINVAL, object, "gpus",
                           "a size and min or max at once; expected one of the two");
    if (pool->max != CONFIG_NONE && pool->min > pool->max)
        return reader_fail(reader, -EINVAL, object, "max", "%" PRId64 " is less than min, %" PRId64,
                           pool->max, pool->min);
    return 0;
}

static int read_pool(const struct config *config, const struct reader *reader, const json_t *object,
                     struct config_pool *pool)
{
    static const char *const keys[] = { "type",  "queue",   "gpus",   "min",    "max", "model",
                                        "nodes", "devices", "labels", "during", "mig", NULL };
    static const char *const types[] = { "dynamic", "static", NULL };
    static const char *const modes[] = { "any", "off", "on", NULL }; /* enum pool_mig */
    const char *queue = NULL;
    size_t type = 0, mig = POOL_MIG_ANY;

    int code = reader_check_keys(reader, object, keys);
    if (code == 0)
        code = reader_word(reader, object, "type", types, &type);
    if (code == 0)
        code = reader_word(reader, object, "mig", modes, &mig);
    if (code == 0)
        code = reader_name(reader, object, "queue", &queue);
    if (code == 0)
        code = reader_integer(reader, object, "gpus", 0, CONFIG_GPUS_MAX, &pool->gpus);
    if (code == 0)
        code = reader_integer(reader, object, "min", 0, CONFIG_GPUS_MAX, &pool->min);
    if (code == 0)
        code = reader_integer(reader, object, "max", 0, CONFIG_GPUS_MAX, &pool->max);
    if (code == 0)
        code = read_selector(reader, object, pool);
    if (code < 0)
        return code;
    pool->is_static = type == 1;
    pool->mig = (uint8_t)mig;
    if (queue)
        snprintf(pool->queue, sizeof(pool->queue), "%s", queue);
    code = config_times_read_pool(config, pool, reader, object);
    if (code < 0)
        return code;
    return check_pool(reader, object, pool);
}

static int read_pools(struct parser *parser, const json_t *document)
{
    const json_t *pools = reader_get(document, "pools");
    struct config *config = parser->config;
    const char *name;
    json_t *value;

    if (!pools)
        return 0;
    if (!json_is_object(pools))
        return reader_fail(&parser->reader, -EINVAL, document, "pools",
                           "expected a map from name to pool, not %s", reader_kind(pools));
    if (json_object_size(pools) > CONFIG_POOLS_MAX)
        return reader_fail(&parser->reader, -E2BIG, document, "pools",
                           "%zu pools, at most %d are taken", json_object_size(pools),
                           CONFIG_POOLS_MAX);
    config->pools = mem_zero(json_object_size(pools), sizeof(config->pools[0]));
    json_object_foreach((json_t *)(uintptr_t)pools, name, value)
    {
        struct reader reader = reader_at(parser, "pool", name);

        if (!name_is_valid(name)) {
            error_set(reader.err, -EINVAL, "no name; expected 1 to %d letters, digits and '._-+@'",
                      SUBMISSION_NAME_MAX);
            return reader_place_line(&reader, -EINVAL, pools, name);
        }
        struct config_pool *pool = &config->pools[config->pool_count++];
        snprintf(pool->name, sizeof(pool->name), "%s", name);
        pool->gpus = pool->min = pool->max = CONFIG_NONE;
        int code = read_pool(config, &reader, value, pool);
        if (code < 0)
            return code;
    }
    return 0;
}

/* A map of queues that is still to be read, and whose children they are. */
struct level {
    const json_t *queues;
    int32_t parent;
    uint32_t depth;
};

static int read_queue(const struct config *config, const struct reader *reader,
                      const json_t *object, struct config_queue *queue)
{
    static const char *const own[] = {
        "weight", "parent", "queues", "during", "budget", "gpu_hours"
    };
    const char *keys[COUNT_OF(own) + CONFIG_QUOTA_KEYS + 1] = { NULL };
    int64_t weight = 1;

    memcpy(keys, own, sizeof(own));
    memcpy(&keys[COUNT_OF(own)], config_quota_keys, sizeof(config_quota_keys));
    int code = reader_check_keys(reader, object, keys);
    if (code == 0)
        code = reader_integer(reader, object, "weight", 1, CONFIG_WEIGHT_MAX, &weight);
    if (code < 0)
        return code;
    queue->weight = (uint32_t)weight;
    code = config_quota_read(queue, reader, object);
    return code < 0 ? code : config_times_read_queue(config, queue, reader, object);
}

static int add_queue(struct parser *parser, const struct level *level, const char *name,
                     const json_t *value)
{
    struct config *config = parser->config;
    struct reader reader = reader_at(parser, "queue", name);
    int code = 0;

    if (!name_is_valid(name) || strcmp(name, "root") == 0)
        code = error_set(reader.err, -EINVAL,
                         "no name; expected 1 to %d letters, digits and '._-+@', not root",
                         SUBMISSION_NAME_MAX);
    else if (config_find_queue(config, name) >= 0)
        code = error_set(reader.err, -EEXIST, "named twice");
    else if (config->queue_count == CONFIG_QUEUES_MAX)
        code = error_set(reader.err, -E2BIG, "more than %d queues", CONFIG_QUEUES_MAX);
    else if (level->depth >= CONFIG_DEPTH_MAX)
        code = error_set(reader.err, -E2BIG, "more than %d levels deep", CONFIG_DEPTH_MAX);
    if (code < 0)
        return reader_place_line(&reader, code, level->queues, name);

    config->queues = mem_resize(config->queues, config->queue_count + 1, sizeof(config->queues[0]));
    struct config_queue *queue = &config->queues[config->queue_count++];
    *queue = (struct config_queue){ .parent = level->parent };
    config_quota_init(queue);
    snprintf(queue->name, sizeof(queue->name), "%s", name);
    return read_queue(config, &reader, value, queue);
}

/* Objects of the queues, for what is looked at after all are known. */
struct queue_objects {
    LIST(const json_t *) items;
};

/* Read nested maps level by level, so that a parent comes before its children. */
static int read_levels(struct parser *parser, const json_t *document, struct queue_objects *objects)
{
    LIST(struct level) levels = { 0 };
    const json_t *top = reader_get(document, "queues");
    int code = 0;

    if (top)
        list_add(&levels, (struct level){ .queues = top, .parent = -1 });
    for (size_t i = 0; i < levels.count && code == 0; i++) {
        struct level level = levels.items[i];
        const char *name;
        json_t *value;

        if (!json_is_object(level.queues)) {
            code =
                reader_fail(&parser->reader, -EINVAL, document, "queues",
                            "expected a map from name to queue, not %s", reader_kind(level.queues));
            break;
        }
        json_object_foreach((json_t *)(uintptr_t)level.queues, name, value)
        {
            code = add_queue(parser, &level, name, value);
            if (code < 0)
                break;
            list_add(&objects->items, value);
            const json_t *children = reader_get(value, "queues");
            if (children)
                list_add(&levels,
                         (struct level){ children, (int32_t)parser->config->queue_count - 1,
                                         level.depth + 1 });
        }
    }
    list_release(&levels);
    return code;
}

/* "parent: NAME" moves a queue of the top below another. */
static int link_parent(struct parser *parser, size_t index, const json_t *object)
{
    struct config_queue *queue = &parser->config->queues[index];
    struct reader reader = reader_at(parser, "queue", queue->name);
    const char *names[CONFIG_QUEUES_MAX + 1] = { 0 };
    char hint[READER_SCALAR_SIZE * 2];
    const char *parent = NULL;

    int code = reader_name(&reader, object, "parent", &parent);
    if (code < 0 || !parent)
        return code;
    if (queue->parent >= 0)
        return reader_fail(&reader, -EINVAL, object, "parent",
                           "'%s', but it stands below %s already", parent,
                           parser->config->queues[queue->parent].name);
    if (strcmp(parent, "root") == 0)
        return 0;
    queue->parent = config_find_queue(parser->config, parent);
    if (queue->parent >= 0)
        return 0;
    for (size_t i = 0; i < parser->config->queue_count; i++)
        names[i] = parser->config->queues[i].name;
    return reader_fail(&reader, -EINVAL, object, "parent", "no queue '%s'%s", parent,
                       reader_suggest(parent, names, hint, sizeof(hint)));
}

/* How deep a queue stands, or 0 when it stands below itself or too deep. */
static uint32_t depth_of(const struct config *config, size_t index)
{
    uint32_t depth = 1;

    for (int32_t at = config->queues[index].parent; at >= 0; at = config->queues[at].parent) {
        if (++depth > CONFIG_DEPTH_MAX)
            return 0;
    }
    return depth;
}

/* Parents first; those of one depth keep their order. */
static void put_in_order(struct config *config, const uint32_t *depths)
{
    int32_t place[CONFIG_QUEUES_MAX];
    struct config_queue *queues = mem_zero(config->queue_count, sizeof(queues[0]));
    int32_t count = 0;

    for (uint32_t depth = 1; depth <= CONFIG_DEPTH_MAX; depth++) {
        for (size_t i = 0; i < config->queue_count; i++) {
            if (depths[i] != depth)
                continue;
            place[i] = count;
            queues[count++] = config->queues[i];
        }
    }
    for (int32_t i = 0; i < count; i++) {
        if (queues[i].parent >= 0)
            queues[i].parent = place[queues[i].parent];
    }
    free(config->queues);
    config->queues = queues;
}

static int64_t guarantee_of(const struct config_queue *queue, const char *resource)
{
    for (size_t i = 0; i < queue->quota_count; i++) {
        if (strcmp(queue->quotas[i].resource, resource) == 0)
            return queue->quotas[i].quota.guarantee;
    }
    return 0;
}

/* What the queues below one are guaranteed must not be more than its limit. */
static int check_guarantees_of(const struct parser *parser, const json_t *document, size_t number,
                               const struct config_quota *quota)
{
    const struct config *config = parser->config;
    char all[UNITS_TEXT_SIZE], limit[UNITS_TEXT_SIZE];
    int64_t sum = 0;

    for (size_t k = number + 1; k < config->queue_count; k++) {
        if (config->queues[k].parent == (int32_t)number)
            sum += guarantee_of(&config->queues[k], quota->resource);
    }
    if (quota->quota.limit == QUOTA_NONE || sum <= quota->quota.limit)
        return 0;
    struct reader reader = reader_at(parser, "queue", config->queues[number].name);
    return reader_fail(&reader, -EINVAL, document, NULL,
                       "its queues are guaranteed %s %s together, more than its limit of %s",
                       config_amount_spell(all, quota->resource, sum), quota->resource,
                       config_amount_spell(limit, quota->resource, quota->quota.limit));
}

/* Cells are of one queue with all below it. */
static int check_shape_of(const struct parser *parser, const json_t *document, size_t number)
{
    const struct config *config = parser->config;
    int32_t at = config->queues[number].parent;

    while (config->queues[number].cell_count > 0 && at >= 0 && config->queues[at].cell_count == 0)
        at = config->queues[at].parent;
    if (config->queues[number].cell_count == 0 || at < 0)
        return 0;
    struct reader reader = reader_at(parser, "queue", config->queues[number].name);
    return reader_fail(&reader, -EINVAL, document, NULL,
                       "queue %s above it has a shape already; expected one of the two to have it",
                       config->queues[at].name);
}

static int check_guarantees(const struct parser *parser, const json_t *document)
{
    const struct config *config = parser->config;
    int code = 0;

    for (size_t i = 0; i < config->queue_count && code == 0; i++) {
        code = check_shape_of(parser, document, i);
        for (size_t k = 0; k < config->queues[i].quota_count && code == 0; k++)
            code = check_guarantees_of(parser, document, i, &config->queues[i].quotas[k]);
    }
    return code;
}

static int link_queues(struct parser *parser, const struct queue_objects *objects)
{
    struct config *config = parser->config;
    uint32_t depths[CONFIG_QUEUES_MAX];

    for (size_t i = 0; i < config->queue_count; i++) {
        int code = link_parent(parser, i, objects->items.items[i]);
        if (code < 0)
            return code;
    }
    for (size_t i = 0; i < config->queue_count; i++) {
        struct reader reader = reader_at(parser, "queue", config->queues[i].name);

        depths[i] = depth_of(config, i);
        if (depths[i] == 0)
            return reader_fail(&reader, -EINVAL, objects->items.items[i], "parent",
                               "it stands below itself, or more than %d levels deep",
                               CONFIG_DEPTH_MAX);
    }
    put_in_order(config, depths);
    return 0;
}

static int read_queues(struct parser *parser, const json_t *document)
{
    struct queue_objects objects = { 0 };

    int code = read_levels(parser, document, &objects);
    if (code == 0)
        code = link_queues(parser, &objects);
    list_release(&objects.items);
    return code < 0 ? code : check_guarantees(parser, document);
}

/* A static pool's queue must be one. */
static int check_pool_queues(const struct parser *parser, const json_t *document)
{
    const struct config *config = parser->config;
    const json_t *pools = reader_get(document, "pools");

    for (size_t i = 0; i < config->pool_count; i++) {
        const struct config_pool *pool = &config->pools[i];
        const char *names[CONFIG_QUEUES_MAX + 1] = { 0 };
        char hint[READER_SCALAR_SIZE * 2];

        if (!pool->queue[0] || config_find_queue(config, pool->queue) >= 0)
            continue;
        for (size_t k = 0; k < config->queue_count; k++)
            names[k] = config->queues[k].name;
        struct reader reader = reader_at(parser, "pool", pool->name);
        return reader_fail(&reader, -EINVAL, json_object_get(pools, pool->name), "queue",
                           "no queue '%s'%s", pool->queue,
                           reader_suggest(pool->queue, names, hint, sizeof(hint)));
    }
    return 0;
}

static int read_fair_share(struct config *config, const struct reader *above,
                           const json_t *document)
{
    static const char *const keys[] = { "half_life", NULL };
    const json_t *fair_share = reader_get(document, "fair_share");
    struct reader reader = *above;

    if (!fair_share)
        return 0;
    snprintf(reader.where, sizeof(reader.where), "fair_share");
    int code = reader_check_keys(&reader, fair_share, keys);
    if (code == 0)
        code = reader_duration(&reader, fair_share, "half_life", &config->half_life);
    if (code < 0)
        return code;
    if (config->half_life < USEC_PER_MIN)
        return reader_fail(&reader, -EINVAL, fair_share, "half_life", "expected at least a minute");
    config->has_half_life = reader_get(fair_share, "half_life") != NULL;
    return 0;
}

/* "easy", "none", "conservative" or {depth: 1} */
static int read_backfill(struct config *config, const struct reader *above, const json_t *document)
{
    static const char *const keys[] = { "depth", NULL };
    static const char *const words[] = { "none", "easy", "conservative", NULL };
    static const int64_t depths[] = { 0, 1, CONFIG_BACKFILL_DEPTH_MAX };
    const json_t *backfill = reader_get(document, "backfill");
    struct reader reader = *above;
    int64_t depth = CONFIG_BACKFILL_DEPTH;
    size_t word = 0;
    int code;

    if (!backfill)
        return 0;
    if (json_is_object(backfill)) {
        snprintf(reader.where, sizeof(reader.where), "backfill");
        code = reader_check_keys(&reader, backfill, keys);
        if (code == 0)
            code = reader_integer(&reader, backfill, "depth", 0, CONFIG_BACKFILL_DEPTH_MAX, &depth);
    } else {
        code = reader_word(&reader, document, "backfill", words, &word);
        depth = depths[word];
    }
    config->backfill_depth = (uint32_t)depth;
    config->has_backfill = true;
    return code;
}

/* {hours: 2}: GPU-hours of work that may be lost to moves in an hour; or 2, or false. */
static int read_defrag(struct config *config, const struct reader *above, const json_t *document)
{
    static const char *const keys[] = { "hours", NULL };
    const json_t *defrag = reader_get(document, "defrag"), *hours = defrag;
    struct reader reader = *above;
    int code = 0;

    if (!defrag)
        return 0;
    snprintf(reader.where, sizeof(reader.where), "defrag");
    if (json_is_object(defrag)) {
        code = reader_check_keys(&reader, defrag, keys);
        hours = reader_get(defrag, "hours");
    }
    if (code < 0)
        return code;
    if (!json_is_false(hours) && (!json_is_number(hours) || json_number_value(hours) < 0 ||
                                  json_number_value(hours) > CONFIG_DEFRAG_HOURS_MAX))
        return reader_fail(&reader, -EINVAL, defrag, hours && hours != defrag ? "hours" : NULL,
                           "expected hours: GPU-hours that may be lost to moves in an hour, 0 to "
                           "%d",
                           CONFIG_DEFRAG_HOURS_MAX);
    config->defrag_most = (int64_t)(json_number_value(hours) * (double)USEC_PER_HOUR + 0.5);
    config->has_defrag = true;
    return 0;
}

int config_read_policy(struct config *config, const struct reader *reader, const json_t *object)
{
    size_t placement = config->placement, order = config->order;

    int code = read_fair_share(config, reader, object);
    if (code == 0)
        code = reader_word(reader, object, "placement", config_placement_words, &placement);
    if (code == 0)
        code = reader_word(reader, object, "order", config_order_words, &order);
    if (code == 0)
        code = reader_bool(reader, object, "predict", &config->predict);
    if (code < 0)
        return code;
    config->placement = (enum placement)placement;
    config->has_placement |= reader_get(object, "placement") != NULL;
    config->order = (enum ordering)order;
    config->has_order |= reader_get(object, "order") != NULL;
    config->has_predict |= reader_get(object, "predict") != NULL;
    if (!config->has_predict)
        config->predict = CONFIG_PREDICT(config->order);
    code = read_defrag(config, reader, object);
    return code < 0 ? code : read_backfill(config, reader, object);
}

enum { PRICE_MICRO_MAX = 1000000000 };

/* {h100: 3.50, cpus: 0.02}: of one for an hour, of memory for a GiB. */
static int read_prices(struct parser *parser, const json_t *document)
{
    const json_t *prices = reader_get(document, "prices");
    struct reader reader = parser->reader;
    const char *name;
    json_t *value;

    if (!prices)
        return 0;
    snprintf(reader.where, sizeof(reader.where), "prices");
    if (!json_is_object(prices) || json_object_size(prices) > RESOURCES_MAX)
        return reader_fail(&parser->reader, -EINVAL, document, "prices",
                           "expected a map of at most %d from resource to price", RESOURCES_MAX);
    parser->config->prices = mem_zero(json_object_size(prices) + 1, sizeof(struct config_price));
    json_object_foreach((json_t *)(uintptr_t)prices, name, value)
    {
        struct config_price *price = &parser->config->prices[parser->config->price_count++];

        int code = config_resource_read(&reader, prices, name, price->resource);
        if (code == 0 && (!json_is_number(value) || json_number_value(value) < 0 ||
                          json_number_value(value) * 1e6 > PRICE_MICRO_MAX))
            code = reader_fail(&reader, -EINVAL, prices, name,
                               "expected what one costs for an hour, 0 to %d",
                               PRICE_MICRO_MAX / 1000000);
        if (code < 0)
            return code;
        price->price_micro = (int64_t)(json_number_value(value) * 1e6 + 0.5);
    }
    return 0;
}

int config_read(const json_t *document, const struct yaml_lines *lines, const char *source,
                struct config **ret, struct error *err)
{
    AUTO(config) struct config *config = config_create();
    struct parser parser = {
        .config = config,
        .reader = { .source = source, .lines = lines, .err = err },
    };

    int code = config_times_read_windows(config, &parser.reader, document);
    if (code == 0)
        code = read_pools(&parser, document);
    if (code == 0)
        code = read_queues(&parser, document);
    if (code == 0)
        code = check_pool_queues(&parser, document);
    if (code == 0)
        code = read_prices(&parser, document);
    config->node_types = mem_zero(NODE_TYPES_MAX, sizeof(config->node_types[0]));
    if (code == 0)
        code = config_types_read(&parser.reader, document, config->node_types,
                                 &config->node_type_count);
    config->device_types = mem_zero(DEVICE_TYPES_MAX, sizeof(config->device_types[0]));
    if (code == 0)
        code = config_devices_read(&parser.reader, document, config->device_types,
                                   &config->device_type_count);
    if (code == 0)
        code = config_times_read(config, &parser.reader, document);
    if (code == 0)
        code = config_read_policy(config, &parser.reader, document);
    if (code == 0)
        code = config_watch_read(&parser.reader, document, &config->watch);
    if (code == 0)
        *ret = TAKE(config);
    return code;
}

int config_parse(const json_t *document, const struct yaml_lines *lines, const char *source,
                 struct config **ret, struct error *err)
{
    struct reader reader = { .source = source, .lines = lines, .err = err };

    if (json_is_null(document)) {
        *ret = config_create();
        return 0;
    }
    int code = reader_check_keys(&reader, document, config_keys);
    return code < 0 ? code : config_read(document, lines, source, ret, err);
}
