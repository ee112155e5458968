/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PREDICT_SPEED_H
#define CORE_PREDICT_SPEED_H

/* speed - how fast the jobs of a class run on each model of GPU
 *
 * Learned from jobs that succeeded in one attempt on one model. A class is a user, a name without
 * its digits and a size, as in the most specific templates of history.h. If a class ran on several
 * models, its own ratio counts, shrunk towards that of the published speeds: n runs on a model move
 * it by n / (n + SPEED_TRUST). Part of the state: integers, folded from events.
 *
 * Logarithms are those of base/log2.h, of milliseconds and of thousandths of a T4.
 *
 * Limits: SPEED_RINGS_MAX classes on a model; a new one replaces the one at the place of its key
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/predict/history.h"

enum {
    SPEED_RINGS_MAX = 1 << 14,
    SPEED_RUNS = 16, /* the mean is over about this many */
    SPEED_TRUST = 3, /* the published speeds weigh as much as this many runs */
    SPEED_MODELS = 32,
};

/* What a job does with its GPUs. */
enum gpu_work { WORK_ANY, WORK_TRAINING, WORK_INFERENCE, WORKS };

struct speed_ring {
    uint64_t key;
    uint32_t count;
    int32_t mean; /* of the run times: log2, parts of 2^12 */
};

/* Nothing is learned under older scheduling rules: their snapshots have no rings. */
enum { SPEED_BRAIN = 8 };

struct speeds {
    LIST(struct speed_ring) rings;
    struct map by_key; /* key -> index plus one */
    bool is_learning;  /* decided at the last BOOT */
};

/* One model, for one class. */
struct speed_view {
    const char *model;
    int32_t published; /* log2; set by the caller */
    uint32_t runs;     /* of the class on it */
    int32_t speed;     /* log2: the expected speed */
    int32_t run;       /* log2: the expected run time */
};

void speed_learn(struct speeds *speeds, const struct history_job *job, const char *model,
                 usec_t run);
/* Set runs, speed and run. False: the class never ran, and run is not set. */
bool speed_look(const struct speeds *speeds, const struct history_job *job,
                struct speed_view *views, uint32_t count);
/* In thousandths of a T4; 0: not published. */
uint32_t speed_published(const char *model, enum gpu_work work);
/* Restore from a snapshot. False: the saved ring is not valid. */
bool speed_restore(struct speeds *speeds, const struct speed_ring *saved);
void speeds_release(struct speeds *speeds);

const char *work_name(uint8_t work); /* "any", "training", "inference" */

#endif
