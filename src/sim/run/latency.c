/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/latency.h"

#include <time.h>

uint64_t latency_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The highest bit, and the four below it. */
static unsigned step_of(uint64_t ns)
{
    if (ns < 16)
        return (unsigned)ns;
    unsigned bit = 63u - (unsigned)__builtin_clzll(ns);
    return (bit - 3) * 16 + (unsigned)(ns >> (bit - 4) & 15);
}

static uint64_t step_value(unsigned step)
{
    if (step < 16)
        return step;
    unsigned bit = step / 16 + 3;
    return (UINT64_C(16) + step % 16) << (bit - 4);
}

void latency_add(struct latency *latency, uint64_t ns)
{
    latency->counts[step_of(ns)]++;
    latency->count++;
    latency->sum += ns;
    latency->max = ns > latency->max ? ns : latency->max;
}

uint64_t latency_quantile(const struct latency *latency, double part)
{
    uint64_t seen = 0;

    for (unsigned i = 0; i < LATENCY_STEPS; i++) {
        seen += latency->counts[i];
        if (seen > 0 && (double)seen >= part * (double)latency->count)
            return step_value(i);
    }
    return latency->max;
}
