/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_SPREAD_H
#define SIM_REPORT_SPREAD_H

/* spread - a set of numbers and its quantiles
 *
 * A quantile p of n numbers is the ceil(p n)-th smallest.
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/mem.h"

struct spread {
    LIST(double) values;
    double sum;
    bool is_sorted;
};

void spread_add(struct spread *spread, double value);
double spread_mean(const struct spread *spread); /* 0 when empty */
double spread_quantile(struct spread *spread, double part);
void spread_release(struct spread *spread);

/* {count, mean, p50, p95, p99, max}; new reference. */
json_t *spread_to_json(struct spread *spread);

/* Sizes of jobs, by GPUs: "0", "<1", "1", "2-4", "5-8", "9-64", ">64" */
enum band { BAND_NONE, BAND_PART, BAND_ONE, BAND_FEW, BAND_NODE, BAND_MANY, BAND_MORE, BAND_COUNT };

enum band band_of(int64_t milli);
const char *band_name(enum band band);

#endif
