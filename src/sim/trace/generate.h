/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_GENERATE_H
#define SIM_TRACE_GENERATE_H

/* generate - a synthetic workload, for use without a trace
 *
 * Arrivals are Poisson, or come in bursts of `burst` jobs on average; the rate is higher by day
 * than by night (`diurnal`: 0 no difference, 1 no arrivals at night). Run times are log-normal with
 * a tail: a part of them (`tail`) is ten times as long. Limits are two to ten times the run time,
 * as users request them. The load, if given, determines the mean time between arrivals.
 */

#include <stdint.h>

#include "sim/trace/workload.h"

enum { GENERATOR_SIZES_MAX = 32 };

struct generator {
    uint64_t seed;
    uint32_t jobs;
    uint32_t users;
    double burst;   /* 1: Poisson */
    double diurnal; /* 0 to 1 */
    usec_t every;   /* mean between arrivals; 0: from the load */
    double load;    /* of the cluster's GPUs */
    double capacity_gpus;
    usec_t run_median;
    double run_sigma; /* of its natural logarithm */
    double tail;      /* 0 to 1 */
    usec_t run_max;
    struct {
        double gpus; /* "0.5" is half of one */
        double weight;
    } sizes[GENERATOR_SIZES_MAX];
    uint32_t size_count;
    double limit_factor_max;
};

struct generator generator_default(void);
int generate(const struct generator *generator, struct workload *workload, struct error *err);

#endif
