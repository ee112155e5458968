/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/result.h"

#include <string.h>

/* The mean of what stands at one place of each; NULL: not numbers, or not in all. Levels of the
 * result are few. */
static json_t *mean_at(const json_t *runs, const char *const *path, size_t depth);

static const json_t *value_at(const json_t *run, const char *const *path, size_t depth)
{
    for (size_t i = 0; i < depth && run; i++)
        run = json_object_get(run, path[i]);
    return run;
}

static json_t *mean_of_object(const json_t *runs, const json_t *object, const char **path,
                              size_t depth)
{
    json_t *mean = json_object();
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        path[depth] = key;
        json_t *one = mean_at(runs, path, depth + 1);
        if (one)
            json_object_set_new(mean, key, one);
    }
    return mean;
}

static json_t *mean_at(const json_t *runs, const char *const *path, size_t depth)
{
    const json_t *first = value_at(json_array_get(runs, 0), path, depth);
    const char *deeper[8];
    double sum = 0;

    memcpy(deeper, path, depth * sizeof(path[0]));
    if (json_is_object(first) && depth + 1 < COUNT_OF(deeper))
        return mean_of_object(runs, first, deeper, depth);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *value = value_at(json_array_get(runs, i), path, depth);
        if (!json_is_number(value))
            return NULL;
        sum += json_number_value(value);
    }
    return json_real(sum / (double)json_array_size(runs));
}

json_t *result_mean(const json_t *runs)
{
    const char *path[8] = { 0 };

    json_t *mean = mean_of_object(runs, json_array_get(runs, 0), path, 0);
    json_object_del(mean, "seed");
    json_object_del(mean, "slice");
    json_object_del(mean, "series");
    return mean;
}
