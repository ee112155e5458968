/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/straggler.h"

/* The lowest clock against the mean of the others. */
static struct straggler find_slow(const struct straggler_ask *ask)
{
    struct straggler found = { .of = STRAGGLER_OF_CLOCK };
    int64_t sum = 0, count = 0;

    for (uint32_t i = 0; i < ask->usage->gpus_count; i++) {
        const struct usage_gpu *gpu = &ask->usage->gpus[i];
        int64_t clock = ask->is_lately ? gpu->clock_lately_mhz : gpu->clock_mhz;
        if (clock <= 0)
            continue;
        sum += clock;
        count++;
        if (found.gpu && clock >= found.its)
            continue;
        found.gpu = gpu;
        found.its = clock;
    }
    if (count < 2)
        return (struct straggler){ .of = STRAGGLER_OF_NONE };
    found.others = (sum - found.its) / (count - 1);
    if (found.its * 100 >= found.others * STRAGGLER_CLOCK)
        return (struct straggler){ .of = STRAGGLER_OF_NONE };
    return found;
}

/* The least used against the next one: when only one works, the others are no stragglers. */
static struct straggler find_idle(const struct straggler_ask *ask)
{
    struct straggler found = { .of = STRAGGLER_OF_USE, .others = INT64_MAX };

    for (uint32_t i = 0; i < ask->usage->gpus_count; i++) {
        const struct usage_gpu *gpu = &ask->usage->gpus[i];
        int64_t use = ask->is_lately ? gpu->use_lately : gpu->use;
        if (use < 0)
            continue;
        if (!found.gpu || use < found.its) {
            found.others = found.gpu ? found.its : INT64_MAX;
            found.gpu = gpu;
            found.its = use;
        } else if (use < found.others)
            found.others = use;
    }
    if (found.others == INT64_MAX || found.others < STRAGGLER_BUSY ||
        found.its * 100 >= found.others * STRAGGLER_USE)
        return (struct straggler){ .of = STRAGGLER_OF_NONE };
    return found;
}

struct straggler straggler_find(const struct straggler_ask *ask)
{
    struct straggler found = find_slow(ask);

    return found.of == STRAGGLER_OF_NONE && ask->are_alike ? find_idle(ask) : found;
}

DEFINE_NAMES(straggler_of_name, enum straggler_of, "", "clock", "use")
