/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_LATENCY_H
#define SIM_RUN_LATENCY_H

/* latency - a histogram of durations with steps of 1/16 */

#include <stdint.h>

enum { LATENCY_STEPS = 64 * 16 };

struct latency {
    uint64_t counts[LATENCY_STEPS];
    uint64_t count;
    uint64_t sum, max; /* ns */
};

void latency_add(struct latency *latency, uint64_t ns);
uint64_t latency_quantile(const struct latency *latency, double part); /* ns; 0: nothing */
uint64_t latency_now(void); /* ns of a clock that only goes forward */

#endif
