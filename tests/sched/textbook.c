/* SPDX-License-Identifier: Apache-2.0 */
#include "textbook.h"

#include "chaos.h"

struct workload random_workload(uint64_t seed)
{
    struct random random = { seed };
    struct workload workload = { .gpus = 2 + random_below(&random, 15) };
    usec_t now = USEC_PER_SEC;

    for (size_t i = 0; i < JOBS; i++) {
        struct work *work = &workload.works[i];
        if (random_chance(&random, 70))
            now += random_below(&random, 600) * USEC_PER_SEC;
        work->submitted = now;
        /* Round figures, so that many end at the same time. */
        work->limit = (1 + random_below(&random, 40)) * USEC_PER_MIN;
        work->runs = random_chance(&random, 40)
                         ? work->limit
                         : (1 + random_below(&random, 60)) * work->limit / 60;
        work->gpus = 1 + random_below(&random, random_chance(&random, 30) ? workload.gpus
                                               : workload.gpus > 4        ? 4
                                                                          : 2);
        work->start = USEC_NEVER;
    }
    return workload;
}

static bool runs_at(const struct work *work, usec_t now)
{
    return work->start != USEC_NEVER && work->start + work->runs > now;
}

uint32_t free_at(const struct workload *workload, usec_t now)
{
    uint32_t used = 0;

    for (size_t i = 0; i < JOBS; i++)
        used += runs_at(&workload->works[i], now) ? workload->works[i].gpus : 0;
    return workload->gpus - used;
}

/* Free GPUs at `at`, when what runs now ends at its limit. */
static uint32_t expected_free(const struct workload *workload, usec_t now, usec_t at)
{
    uint32_t used = 0;

    for (size_t i = 0; i < JOBS; i++) {
        const struct work *work = &workload->works[i];
        if (runs_at(work, now) && work->start + work->limit > at)
            used += work->gpus;
    }
    return workload->gpus - used;
}

static bool waits(const struct work *work, usec_t now)
{
    return work->start == USEC_NEVER && work->submitted <= now;
}

usec_t shadow_of(const struct workload *workload, const struct work *head, usec_t now)
{
    usec_t shadow = USEC_NEVER;

    for (size_t i = 0; i < JOBS; i++) {
        usec_t end = workload->works[i].start == USEC_NEVER
                         ? USEC_NEVER
                         : workload->works[i].start + workload->works[i].limit;
        if (runs_at(&workload->works[i], now) && end < shadow &&
            expected_free(workload, now, end) >= head->gpus)
            shadow = end;
    }
    return shadow;
}

/* In seconds, as in plain.h. */
static usec_t turn_of(const struct work *work)
{
    return (work->submitted + work->behind + USEC_PER_SEC - 1) / USEC_PER_SEC;
}

/* By turn; those with the same one as they stand. */
static void sort_by_turn(struct workload *workload, struct work *ret[JOBS])
{
    for (size_t i = 0; i < JOBS; i++) {
        size_t at = i;
        for (; at > 0 && turn_of(ret[at - 1]) > turn_of(&workload->works[i]); at--)
            ret[at] = ret[at - 1];
        ret[at] = &workload->works[i];
    }
}

static void textbook_schedule(struct workload *workload, usec_t now)
{
    const struct work *head = NULL;
    struct work *in_order[JOBS];
    usec_t shadow = 0;
    uint32_t extra = 0;

    sort_by_turn(workload, in_order);
    for (size_t i = 0; i < JOBS; i++) {
        struct work *work = in_order[i];
        if (!waits(work, now))
            continue;
        bool fits = work->gpus <= free_at(workload, now);
        bool is_short = now + work->limit <= shadow;
        if (!head && fits)
            work->start = now;
        else if (!head) {
            head = work;
            shadow = shadow_of(workload, head, now);
            extra = expected_free(workload, now, shadow) - head->gpus;
        } else if (fits && (is_short || work->gpus <= extra)) {
            work->start = now;
            extra -= is_short ? 0 : work->gpus;
        }
    }
}

usec_t next_time(const struct workload *workload, usec_t now)
{
    usec_t next = USEC_NEVER;

    for (size_t i = 0; i < JOBS; i++) {
        const struct work *work = &workload->works[i];
        usec_t end = work->start == USEC_NEVER ? USEC_NEVER : work->start + work->runs;
        if (work->submitted > now && work->submitted < next)
            next = work->submitted;
        if (end > now && end < next)
            next = end;
    }
    return next;
}

void run_textbook(struct workload *workload)
{
    for (usec_t now = next_time(workload, 0); now != USEC_NEVER; now = next_time(workload, now))
        textbook_schedule(workload, now);
}
