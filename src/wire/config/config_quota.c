/* SPDX-License-Identifier: Apache-2.0 */
/* The quota of a queue: bounds by resource, whole cells, and what a job that ran out of memory
 * gets. A queue with guaranteed GPUs of some models is guaranteed at least as many GPUs. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "wire/config/config_amounts.h"
#include "wire/job/submission.h"

const char *const bound_keys[] = { "guarantee", "limit", "borrow", "lend", NULL };

struct quota *config_quota(struct config *config, struct event_queue *queue, const char *resource)
{
    if (strcmp(resource, "gpus") == 0)
        return &queue->gpus;
    for (uint32_t i = 0; i < queue->quotas_count; i++) {
        if (strcmp(queue->quotas[i].resource, resource) == 0)
            return (struct quota *)(uintptr_t)&queue->quotas[i].quota;
    }
    struct event_quota *added = CONFIG_NEW(config, queue->quotas, queue->quotas_count);
    *added = (struct event_quota){ config_text(config, resource), QUOTA_OPEN };
    return &added->quota;
}

const struct quota *queue_quota_at(const struct event_queue *queue, uint32_t index,
                                   const char **ret_resource)
{
    *ret_resource =
        index == 0 || index > queue->quotas_count ? "gpus" : queue->quotas[index - 1].resource;
    return index == 0                     ? &queue->gpus
           : index <= queue->quotas_count ? &queue->quotas[index - 1].quota
                                          : NULL;
}

/* ---- bounds ---- */

static enum quota_bound bound_of(const struct setting *row)
{
    return (enum quota_bound)((row->offset - offsetof(struct event_queue, gpus)) / sizeof(int64_t));
}

int read_bound(const struct setting_place *place)
{
    struct resource_amounts amounts;

    int code = amounts_read(place->reader, place->object, place->key, NULL, &amounts);
    for (uint32_t i = 0; i < amounts.count && code == 0; i++) {
        struct quota *quota = config_quota(place->config, place->base, amounts.items[i].resource);
        *quota_part(quota, bound_of(place->row)) = amounts.items[i].amount;
    }
    return code;
}

json_t *write_bound(const struct setting_view *of)
{
    enum quota_bound bound = bound_of(of->row);
    json_t *map = json_object();
    const struct quota *quota;
    const char *resource;

    for (uint32_t i = 0; (quota = queue_quota_at(of->base, i, &resource)); i++) {
        int64_t amount = quota_part_of(quota, bound);
        if (bound == BOUND_GUARANTEE ? amount > 0 : amount != QUOTA_NONE)
            amounts_set(map, resource, amount);
    }
    return amounts_shorten(map);
}

/* All of them, with the first row: by resource. */
void tell_bounds(const struct setting_view *of, struct properties *ret)
{
    const struct quota *quota;
    const char *resource;

    for (uint32_t i = 0; bound_of(of->row) == 0 && (quota = queue_quota_at(of->base, i, &resource));
         i++) {
        for (enum quota_bound bound = 0; bound < BOUNDS; bound++) {
            int64_t amount = quota_part_of(quota, bound);
            if ((i == 0 && bound <= BOUND_LIMIT) ||
                amount != (bound == BOUND_GUARANTEE ? 0 : QUOTA_NONE))
                property_add_amount(ret, bound_keys[bound], resource, amount);
        }
    }
}

/* ---- whole cells ---- */

static int read_cell(const struct setting_place *place, const struct reader *reader,
                     const json_t *object)
{
    struct event_queue *queue = place->base;
    struct cell_quota *cell = CONFIG_NEW(place->config, queue->cells, queue->cells_count);

    int code = keys_read(place->config, reader, object, KEYS_CELL, cell);
    if (code < 0)
        return code;
    if (cell->level == CELL_PAIR && cell->gpus == 0)
        cell->gpus = 2;
    if (cell->level == CELL_LEVELS || !cell->model[0] || cell->gpus == 0)
        return reader_fail(reader, -EINVAL, object, NULL,
                           "expected cell (pair, island, node or rack), model and gpus");
    return cell->level == CELL_PAIR && cell->gpus != 2
               ? reader_fail(reader, -EINVAL, object, "gpus", "a pair has 2")
               : 0;
}

int read_shape(const struct setting_place *place)
{
    const json_t *list = place->value;
    struct reader inner = reader_inside(place->reader, place->key);
    int code = 0;

    if (!json_is_array(list) || json_array_size(list) > QUEUE_CELLS_MAX)
        return place_fail(place, -EINVAL, "expected a list of at most %d cells like %s",
                          QUEUE_CELLS_MAX, "{cell: node, model: h100, gpus: 8, count: 2}");
    for (size_t i = 0; i < json_array_size(list) && code == 0; i++)
        code = read_cell(place, &inner, json_array_get(list, i));
    return code;
}

/* A shape is a guarantee, too. */
static void guarantee_cells(struct config *config, struct event_queue *queue)
{
    for (uint32_t i = 0; i < queue->cells_count; i++) {
        struct quota *quota = config_quota(config, queue, queue->cells[i].model);
        int64_t sum = 0;
        for (uint32_t k = 0; k < queue->cells_count; k++) {
            const struct cell_quota *cell = &queue->cells[k];
            if (strcmp(cell->model, queue->cells[i].model) == 0)
                sum += (int64_t)cell->gpus * cell->count * GPU_MILLI;
        }
        quota->guarantee = sum > quota->guarantee ? sum : quota->guarantee;
    }
}

int queue_check(struct config *config, const struct reader *reader, const json_t *object,
                struct event_queue *queue)
{
    const struct quota *quota;
    const char *resource;
    int64_t sum = 0;

    if (queue->rules.duration_most > 0 &&
        queue->rules.duration_default > queue->rules.duration_most)
        return reader_fail(reader, -EINVAL, object, "default_duration",
                           "more than longest_duration");
    guarantee_cells(config, queue);
    for (uint32_t i = 1; (quota = queue_quota_at(queue, i, &resource)); i++)
        sum +=
            strcmp(resource, "cpus") != 0 && strcmp(resource, "memory") != 0 ? quota->guarantee : 0;
    if (sum > queue->gpus.guarantee)
        queue->gpus.guarantee = sum;
    for (uint32_t i = 0; (quota = queue_quota_at(queue, i, &resource)); i++) {
        const char *what = i == 0 ? "" : resource, *space = i == 0 ? "" : ": ";
        if (quota->limit != QUOTA_NONE && quota->guarantee > quota->limit)
            return reader_fail(reader, -EINVAL, object, "guarantee", "%s%smore than the limit",
                               what, space);
        if (quota->lend != QUOTA_NONE && quota->lend > quota->guarantee)
            return reader_fail(reader, -EINVAL, object, "lend", "%s%smore than the guarantee", what,
                               space);
    }
    return 0;
}

/* ---- after a job ran out of memory ---- */

/* {oom: {memory: x1.5, most: 256G}}: of a queue, one of the two or both. */
int read_oom_retry(const struct setting_place *place)
{
    static const char *const keys[] = { "oom", NULL }, *const oom_keys[] = { "memory", "most",
                                                                             NULL };
    struct event_queue *queue = place->base;
    const struct reader reader = reader_inside(place->reader, "retry");
    const struct reader inner = reader_inside(&reader, "oom");
    const json_t *oom = json_object_get(place->value, "oom");
    char buffer[READER_SCALAR_SIZE];
    const char *text = NULL;
    uint16_t factor = 0;
    int code = 0;

    if (!json_is_object(place->value) || !json_is_object(oom) || json_object_size(oom) == 0)
        return place_fail(place, -EINVAL, "expected {oom: {memory: x1.5, most: 256G}}");
    code = reader_check_keys(&reader, place->value, keys);
    if (code == 0)
        code = reader_check_keys(&inner, oom, oom_keys);
    if (code == 0 && json_object_get(oom, "memory"))
        code = reader_scalar(&inner, oom, "memory", "a factor like x1.5", buffer, &text);
    if (code == 0 && text && !oom_factor_parse(text, &factor))
        return reader_fail(&inner, -EINVAL, oom, "memory",
                           "'%.40s': expected a factor like x1.5, 1.1 to 10", text);
    queue->rules.oom_factor = factor;
    if (code < 0 || !json_object_get(oom, "most"))
        return code;
    code = reader_scalar(&inner, oom, "most", "a size like 256G", buffer, &text);
    if (code == 0 && units_parse_mib(text, &queue->rules.oom_most, place->reader->err) < 0)
        return reader_place(&inner, -EINVAL, oom, "most");
    return code;
}

json_t *write_oom_retry(const struct setting_view *of)
{
    const struct queue_rules *rules = &((const struct event_queue *)of->base)->rules;
    char factor[UNITS_TEXT_SIZE], most[UNITS_TEXT_SIZE];
    json_t *oom = json_object();

    if (rules->oom_factor > 0)
        json_object_set_new(oom, "memory",
                            json_sprintf("x%s", units_format_milli(factor, rules->oom_factor)));
    if (rules->oom_most > 0)
        json_object_set_new(oom, "most",
                            json_string(amount_spell(most, "memory", rules->oom_most)));
    if (json_object_size(oom) > 0)
        return json_pack("{s:o}", "oom", oom);
    json_decref(oom);
    return NULL;
}

void tell_oom_retry(const struct setting_view *of, struct properties *ret)
{
    const struct queue_rules *rules = &((const struct event_queue *)of->base)->rules;
    char factor[UNITS_TEXT_SIZE], most[UNITS_TEXT_SIZE];

    if (rules->oom_factor > 0) {
        AUTO_FREE char *value = mem_printf("x%s", units_format_milli(factor, rules->oom_factor));
        property_add(ret, "retry oom memory", value, "");
    }
    if (rules->oom_most > 0)
        property_add(ret, "retry oom most", amount_spell(most, "memory", rules->oom_most), "");
}
