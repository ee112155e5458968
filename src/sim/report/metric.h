/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_METRIC_H
#define SIM_REPORT_METRIC_H

/* metric - the metrics that an experiment measures, and their parameters
 *
 * metrics.def lists all metrics. Without `measure`, an experiment measures the usual ones.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "wire/reader.h"

#define METRIC(ID, name, is_usual, meaning) METRIC_##ID,
enum metric {
#include "sim/report/metrics.def"
    METRIC_COUNT,
};
#undef METRIC

enum { WANTED_PERCENTS_MAX = 32 };

struct percents {
    uint32_t items[WANTED_PERCENTS_MAX];
    uint32_t count;
};

enum ideal { IDEAL_EXCLUSIVE, IDEAL_SHARE };

struct wanted {
    bool is_on[METRIC_COUNT];
    usec_t tau; /* of bounded slowdown */
    struct percents allocation_at, fragmentation_at;
    enum ideal ideal;
    double factor; /* contention: a JCT of at most this times the ideal one is fair */
    double unfair; /* a ratio above this is unfair: 1.05 */
    double gpu_busy_w, gpu_idle_w, node_w;
};

/* list: the value of `measure`. */
int wanted_read(const struct reader *reader, const json_t *document, struct wanted *wanted);

const char *metric_name(enum metric metric);

#endif
