/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PREDICT_HISTORY_H
#define CORE_PREDICT_HISTORY_H

/* history - how long similar jobs ran: learned from those that succeeded or reached their limit
 *
 * Templates from the most specific to the most general:
 *     user, name, queue, size, limit > user, name, size > user, size, limit > user, limit > user >
 *     size, limit > all
 * Each has a ring of its last HISTORY_RUNS run times (log2, parts of 2^8) and their ratios to the
 * limit; newer runs weigh more (a run eight runs ago weighs half). A prediction starts with the
 * most general template; each more specific one with n samples pulls it by n / (n + 2). Whether run
 * times or ratios predict better is learned for each user. An offset for each level calibrates the
 * upper quantile (conformal): it moves with each end, so that 90 % of the jobs end within it. A
 * prediction never ends a job.
 *
 * Digits in a name are ignored, so that train-17 and train-18 are alike. Part of the state:
 * integers, folded from events.
 *
 * Limits: HISTORY_RINGS_MAX templates; beyond that, one that was not used lately is dropped
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"

enum {
    HISTORY_RUNS = 16,
    HISTORY_LEVELS = 7,
    HISTORY_RINGS_MAX = 1 << 15,
    HISTORY_USUAL = 50, /* percent: the assumed run time when jobs are ordered */
    HISTORY_MOST = 90,  /* percent: the assumed run time when room is kept free */
    HISTORY_FEW = 5,    /* fewer comparable runs say little about the next one */
};

struct history_ring {
    uint64_t key;
    uint32_t count;
    int16_t runs[HISTORY_RUNS]; /* log2 of milliseconds, the newest at (count - 1) % 16 */
    int16_t ratios[HISTORY_RUNS];
    bool is_used; /* since the clock hand last passed */
};

/* Mean errors of both predictors, log2 in parts of 2^12. */
struct history_errors {
    int32_t runs, ratios;
    uint32_t count;
    uint32_t version; /* ends counted since the beginning */
};

struct history {
    LIST(struct history_ring) rings;
    struct map by_key; /* key -> index, plus one */
    uint32_t hand;     /* of the clock: where the search for one to drop begins */
    LIST(struct history_errors) users;
    struct history_errors all;
    int32_t offsets[HISTORY_LEVELS];
    uint64_t version;          /* number of ends that it learned from */
    uint64_t actual, expected; /* work of ended jobs, GPU-milli x seconds: actual, and predicted */
};

/* What is known of a job before it runs. */
struct history_job {
    uint32_t user, queue, size; /* size: GPU-milli of all members, or CPU-milli without GPUs */
    uint64_t name;              /* history_name() */
    usec_t limit;               /* USEC_NEVER: none */
};

struct history_guess {
    usec_t usual, most;   /* quantiles, at most the limit; USEC_NEVER: nothing is known */
    int32_t runs, ratios; /* log2: the usual run time by each predictor */
    int32_t raw;          /* log2 of `most` before the offset */
    int32_t level;        /* the most specific template with at least two samples */
    bool is_known;
};

uint64_t history_name(const char *name);
/* Changes whenever predictions for this user's jobs may have changed. */
uint32_t history_version(const struct history *history, uint32_t user);
void history_guess(const struct history *history, const struct history_job *job,
                   struct history_guess *ret);
/* The upper quantile for a job that has run for `elapsed`: more than that. */
usec_t history_most_after(const struct history *history, const struct history_job *job,
                          usec_t elapsed);
/* Any quantile, in percent, for a job that has run for `elapsed`; USEC_NEVER: not known. */
usec_t history_quantile(const struct history *history, const struct history_job *job,
                        usec_t elapsed, uint32_t percent);
/* The number of recent similar jobs: same user, and same name or same size and limit. */
uint32_t history_comparable(const struct history *history, const struct history_job *job);
void history_learn(struct history *history, const struct history_job *job, usec_t run);
void history_release(struct history *history);

#endif
