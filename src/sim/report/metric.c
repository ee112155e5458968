/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/metric.h"

#include <errno.h>
#include <string.h>

#define METRIC(ID, name, is_usual, meaning) [METRIC_##ID] = name,
static const char *const names[METRIC_COUNT + 1] = {
#include "sim/report/metrics.def"
};
#undef METRIC
#define METRIC(ID, name, is_usual, meaning) [METRIC_##ID] = is_usual,
static const bool usual[METRIC_COUNT] = {
#include "sim/report/metrics.def"
};
#undef METRIC

const char *metric_name(enum metric metric)
{
    return names[metric];
}

static struct wanted wanted_usual(void)
{
    struct wanted wanted = {
        .tau = 10 * USEC_PER_SEC,
        .factor = 1,
        .unfair = 1.05,
        .gpu_busy_w = 400,
        .gpu_idle_w = 60,
        .node_w = 500,
    };

    memcpy(wanted.is_on, usual, sizeof(usual));
    return wanted;
}

static int read_percents(const struct reader *reader, const json_t *object, const char *key,
                         struct percents *percents)
{
    const json_t *value = json_object_get(object, key);
    size_t count = json_is_array(value) ? json_array_size(value) : 1;

    if (count > WANTED_PERCENTS_MAX)
        return reader_fail(reader, -E2BIG, object, key, "%zu, at most %d are accepted", count,
                           WANTED_PERCENTS_MAX);
    percents->count = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        json_int_t percent = json_integer_value(item);
        if (!json_is_integer(item) || percent < 1 || percent > 1000)
            return reader_fail(reader, -EINVAL, object, key,
                               "expected percents of the capacity, 1 to 1000");
        percents->items[percents->count++] = (uint32_t)percent;
    }
    return 0;
}

static int read_options(const struct reader *above, const json_t *object, enum metric metric,
                        struct wanted *wanted)
{
    static const char *const tau_keys[] = { "tau", NULL };
    static const char *const ideal_keys[] = { "ideal", "factor", "unfair", NULL };
    static const char *const ideals[] = { "exclusive", "share", NULL };
    static const char *const energy_keys[] = { "gpu_busy", "gpu_idle", "node", NULL };
    const char *name = names[metric];
    const json_t *value = json_object_get(object, name);
    struct reader reader = reader_at(above, "measure: %s", name);
    size_t ideal = wanted->ideal;
    int code;

    if (json_is_null(value))
        return 0;
    switch (metric) {
    case METRIC_ALLOCATION_AT:
        return read_percents(above, object, name, &wanted->allocation_at);
    case METRIC_FRAGMENTATION_AT:
        return read_percents(above, object, name, &wanted->fragmentation_at);
    case METRIC_BOUNDED_SLOWDOWN:
    case METRIC_PER_PROCESSOR_SLOWDOWN:
        code = reader_check_keys(&reader, value, tau_keys);
        if (code == 0)
            code = reader_duration(&reader, value, "tau", &wanted->tau);
        if (code == 0 && (wanted->tau < 1 || wanted->tau > USEC_PER_DAY))
            code = reader_fail(&reader, -ERANGE, value, "tau", "expected 1us to 1d");
        return code;
    case METRIC_FINISH_TIME_FAIRNESS:
        code = reader_check_keys(&reader, value, ideal_keys);
        if (code == 0)
            code = reader_word(&reader, value, "ideal", ideals, &ideal);
        if (code == 0)
            code = reader_real(&reader, value, "factor", 0.001, 1e6, &wanted->factor);
        if (code == 0)
            code = reader_real(&reader, value, "unfair", 0.001, 1e6, &wanted->unfair);
        wanted->ideal = (enum ideal)ideal;
        return code;
    case METRIC_ENERGY:
        code = reader_check_keys(&reader, value, energy_keys);
        if (code == 0)
            code = reader_real(&reader, value, "gpu_busy", 0, 1e5, &wanted->gpu_busy_w);
        if (code == 0)
            code = reader_real(&reader, value, "gpu_idle", 0, 1e5, &wanted->gpu_idle_w);
        if (code == 0)
            code = reader_real(&reader, value, "node", 0, 1e6, &wanted->node_w);
        return code;
    default:
        return reader_fail(above, -EINVAL, object, name, "expected no options");
    }
}

static int read_one(const struct reader *reader, const json_t *document, const char *name,
                    const json_t *options, struct wanted *wanted)
{
    char hint[READER_SCALAR_SIZE];

    for (int i = 0; i < METRIC_COUNT; i++) {
        if (strcmp(names[i], name) != 0)
            continue;
        wanted->is_on[i] = true;
        if (options)
            return read_options(reader, options, (enum metric)i, wanted);
        if ((i == METRIC_ALLOCATION_AT && wanted->allocation_at.count == 0) ||
            (i == METRIC_FRAGMENTATION_AT && wanted->fragmentation_at.count == 0))
            return reader_fail(reader, -EINVAL, document, "measure", "%s: expected %s: [100]", name,
                               name);
        return 0;
    }
    return reader_fail(reader, -EINVAL, document, "measure", "unknown metric '%.60s'%s", name,
                       reader_suggest(name, names, hint, sizeof(hint)));
}

int wanted_read(const struct reader *reader, const json_t *document, struct wanted *wanted)
{
    const json_t *list = reader_get(document, "measure");
    const char *name;
    json_t *value;
    int code = 0;

    *wanted = wanted_usual();
    if (!list)
        return 0;
    if (!json_is_array(list) || json_array_size(list) > 64)
        return reader_fail(reader, -EINVAL, document, "measure", "expected a list of metrics");
    memset(wanted->is_on, 0, sizeof(wanted->is_on));
    for (size_t i = 0; i < json_array_size(list) && code == 0; i++) {
        json_t *item = json_array_get(list, i);
        if (json_is_string(item))
            code = read_one(reader, document, json_string_value(item), NULL, wanted);
        else if (json_is_object(item)) {
            json_object_foreach(item, name, value)
            {
                code = read_one(reader, document, name, item, wanted);
                if (code < 0)
                    break;
            }
        } else
            code = reader_fail(reader, -EINVAL, document, "measure", "expected names of metrics");
    }
    (void)value;
    return code;
}
