/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/meter.h"

#include <stdlib.h>
#include <time.h>

void meter_init(struct meter *meter, int64_t capacity_milli, usec_t began, usec_t span,
                const int64_t *demands, uint32_t demand_count, size_t queue_count)
{
    *meter = (struct meter){
        .capacity_milli = capacity_milli,
        .began = began,
        .from = began,
        .to = USEC_NEVER,
        .now = began,
        .demands = demands,
        .demand_count = demand_count,
        .demand_least = demand_count,
        .demand_counts = mem_zero(demand_count + 1, sizeof(uint32_t)),
        .window_end = began + USEC_PER_DAY,
        .sample_every = span / (METER_SAMPLES_MAX / 2) + 1,
        .sample_next = began,
    };
    for (size_t i = 0; i < queue_count; i++)
        list_add(&meter->queues, (struct meter_queue){ .at = began, .idle_at = began });
}

void meter_release(struct meter *meter)
{
    free(meter->demand_counts);
    list_release(&meter->queues);
    list_release(&meter->samples);
}

uint32_t meter_demand_of(const struct meter *meter, int64_t milli)
{
    uint32_t low = 0, high = meter->demand_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (meter->demands[middle] < milli)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What lies in the window of a stretch of time. */
static double part_inside(const struct meter *meter, usec_t from, usec_t to)
{
    from = from > meter->from ? from : meter->from;
    to = to < meter->to ? to : meter->to;
    return to > from ? (double)(to - from) : 0;
}

usec_t meter_time(const struct meter *meter)
{
    return (usec_t)part_inside(meter, meter->began, meter->now);
}

void meter_advance(struct meter *meter, usec_t now)
{
    double elapsed = part_inside(meter, meter->now, now);

    meter->used += elapsed * (double)meter->used_milli;
    if (meter->is_blocked)
        meter->blocked += elapsed * (double)(meter->capacity_milli - meter->used_milli);
    double demand = (double)(meter->used_milli + meter->waiting_milli);
    double load = meter->capacity_milli > 0 ? demand / (double)meter->capacity_milli : 0;
    meter->contention += (double)(now - meter->now) * (load > 1 ? load : 1);
    meter->now = now;
}

static void advance_queue(struct meter *meter, struct meter_queue *queue)
{
    double used = (double)queue->used_milli;

    queue->sum += part_inside(meter, queue->at, meter->now) * used;
    queue->window += (double)(meter->now - queue->at) * used;
    queue->at = meter->now;
}

void meter_wait(struct meter *meter, uint32_t number, uint32_t demand, int sign)
{
    struct meter_queue *queue = &meter->queues.items[number];
    int64_t milli = meter->demands[demand];

    meter->waiting_jobs += (uint64_t)sign;
    meter->waiting_milli += sign * milli;
    if (queue->waiting_milli == 0)
        queue->idle_at = meter->now;
    queue->waiting_milli += sign * milli;
    if (queue->waiting_milli == 0)
        queue->idle_at = meter->now;
    meter->demand_counts[demand] += (uint32_t)sign;
    if (demand < meter->demand_least)
        meter->demand_least = demand;
    while (meter->demand_least < meter->demand_count &&
           meter->demand_counts[meter->demand_least] == 0)
        meter->demand_least++;
}

void meter_use(struct meter *meter, uint32_t number, int64_t milli)
{
    advance_queue(meter, &meter->queues.items[number]);
    meter->queues.items[number].used_milli += milli;
    meter->used_milli += milli;
}

/* A queue with waiting jobs all day that got less than its entitlement counts as deprived. */
static void end_windows(struct meter *meter, const double *shares)
{
    while (meter->now >= meter->window_end) {
        for (size_t i = 0; i < meter->queues.count; i++) {
            struct meter_queue *queue = &meter->queues.items[i];
            advance_queue(meter, queue);
            double got = queue->window / (double)USEC_PER_DAY / (double)meter->capacity_milli;
            double lack = shares[i] - got;
            bool has_waited =
                queue->waiting_milli > 0 && queue->idle_at <= meter->window_end - USEC_PER_DAY;
            if (has_waited && lack > queue->lack)
                queue->lack = lack;
            queue->window = 0;
        }
        /* Long pauses are no windows: nothing changed in them. */
        usec_t passed = (meter->now - meter->window_end) / USEC_PER_DAY;
        meter->window_end += (passed + 1) * USEC_PER_DAY;
    }
}

static void thin_out(struct meter *meter)
{
    size_t kept = 0;

    for (size_t i = 0; i < meter->samples.count; i += 2)
        meter->samples.items[kept++] = meter->samples.items[i];
    meter->samples.count = kept;
    meter->sample_every *= 2;
}

static void take_sample(struct meter *meter)
{
    struct sample sample = {
        .at = meter->now,
        .used_milli = (double)meter->used_milli,
        .waiting_jobs = (double)meter->waiting_jobs,
        .waiting_milli = (double)meter->waiting_milli,
    };

    if (meter->capacity_milli > 0)
        sample.idle_pct = 100.0 * (double)(meter->capacity_milli - meter->used_milli) /
                          (double)meter->capacity_milli;
    if (meter->fragment)
        fragment_look(meter->fragment, &sample.fragment_pct, &sample.largest_node,
                      &sample.free_whole);
    if (meter->samples.count == METER_SAMPLES_MAX)
        thin_out(meter);
    list_add(&meter->samples, sample);
    meter->sample_next = meter->now + meter->sample_every;
}

void meter_settle(struct meter *meter, const double *shares, bool is_last)
{
    int64_t idle = meter->capacity_milli - meter->used_milli;

    meter->is_blocked =
        meter->demand_least < meter->demand_count && meter->demands[meter->demand_least] <= idle;
    end_windows(meter, shares);
    if (meter->now >= meter->sample_next || is_last)
        take_sample(meter);
    if (is_last) {
        for (size_t i = 0; i < meter->queues.count; i++)
            advance_queue(meter, &meter->queues.items[i]);
    }
}

/* ---- decision latency ---- */

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
