/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void spread_add(struct spread *spread, double value)
{
    list_add(&spread->values, value);
    spread->sum += value;
    spread->is_sorted = false;
}

double spread_mean(const struct spread *spread)
{
    return spread->values.count > 0 ? spread->sum / (double)spread->values.count : 0;
}

static int compare(const void *a, const void *b)
{
    double left, right;

    memcpy(&left, a, sizeof(left));
    memcpy(&right, b, sizeof(right));
    return (left > right) - (left < right);
}

double spread_quantile(struct spread *spread, double part)
{
    size_t count = spread->values.count;

    if (count == 0)
        return 0;
    if (!spread->is_sorted)
        qsort(spread->values.items, count, sizeof(double), compare);
    spread->is_sorted = true;
    double rank = ceil(part * (double)count - 1e-9);
    size_t index = rank < 1 ? 0 : (size_t)rank - 1;
    return spread->values.items[index < count ? index : count - 1];
}

void spread_release(struct spread *spread)
{
    list_release(&spread->values);
}

json_t *spread_to_json(struct spread *spread)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)spread->values.count,
                     "mean", spread_mean(spread), "p50", spread_quantile(spread, 0.5), "p95",
                     spread_quantile(spread, 0.95), "p99", spread_quantile(spread, 0.99), "max",
                     spread_quantile(spread, 1));
}

/* ---- sizes of jobs ---- */

static const char *const band_names[BAND_COUNT] = { "0", "<1", "1", "2-4", "5-8", "9-64", ">64" };

enum band band_of(int64_t milli)
{
    static const int64_t tops[] = { 0, 999, 1000, 4000, 8000, 64000 };

    for (int i = 0; i < (int)COUNT_OF(tops); i++) {
        if (milli <= tops[i])
            return (enum band)i;
    }
    return BAND_MORE;
}

const char *band_name(enum band band)
{
    return band_names[band];
}
