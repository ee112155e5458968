/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PREDICT_HISTORY_H
#define CORE_PREDICT_HISTORY_H

/* history - how long jobs like this one ran: learned from those that ended well, or at their limit
 *
 * Templates from the particular to the general, policies 6, level 1:
 *     user, name, queue, size, limit > user, name, size > user, size, limit > user, limit > user >
 *     size, limit > all
 * Each has a ring of its last HISTORY_RUNS run times (log2, parts of 2^8) and their ratios to the
 * limit; the newer weighs more (half as much eight runs ago). A prediction starts with the most
 * general template and lets each more particular one with n samples pull it by n / (n + 2).
 * Whether run times or ratios are the better guide is found out for each user. An offset for each
 * level keeps the upper quantile honest (conformal): it moves with every end, so that 90 % of the
 * jobs end within it. A prediction never ends a job.
 *
 * The name counts without digits, so that train-17 and train-18 are alike. Part of the state:
 * integers, folded from events.
 *
 * Limits: HISTORY_RINGS_MAX templates; the one that was not asked for longest goes.
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
    HISTORY_USUAL = 75, /* percent: what a job is taken to run when it is put in order */
    HISTORY_MOST = 90,  /* percent: what room is kept free for */
    HISTORY_FEW = 5,    /* fewer comparable runs say little of the next one */
};

struct history_ring {
    uint64_t key;
    uint32_t count;
    int16_t runs[HISTORY_RUNS]; /* log2 of milliseconds, the newest at (count - 1) % 16 */
    int16_t ratios[HISTORY_RUNS];
    bool is_used; /* since the hand passed */
};

/* Mean errors of both guides, log2 in parts of 2^12. */
struct history_errors {
    int32_t runs, ratios;
    uint32_t count;
    uint32_t version; /* ends ever */
};

struct history {
    LIST(struct history_ring) rings;
    struct map by_key; /* key -> index plus one */
    uint32_t hand;     /* where the next one to go is looked for */
    LIST(struct history_errors) users;
    struct history_errors all;
    int32_t offsets[HISTORY_LEVELS];
    uint64_t version;          /* ends that it learned from */
    uint64_t actual, expected; /* work, GPU-milli x seconds: of jobs that ended, and as predicted */
};

/* What is known of a job before it runs. */
struct history_job {
    uint32_t user, queue, size; /* size: GPU-milli of all members, or CPU-milli without GPUs */
    uint64_t name;              /* history_name() */
    usec_t limit;               /* USEC_NEVER: none */
};

struct history_guess {
    usec_t usual, most;   /* quantiles, at most the limit; USEC_NEVER: nothing is known */
    int32_t runs, ratios; /* log2: what each guide says is usual */
    int32_t raw;          /* log2 of `most` before the offset */
    int32_t level;        /* the most particular template that had two samples */
    bool is_known;
};

uint64_t history_name(const char *name);
/* Changes when what is known of this user's jobs does. */
uint32_t history_version(const struct history *history, uint32_t user);
void history_guess(const struct history *history, const struct history_job *job,
                   struct history_guess *ret);
/* The upper quantile for one that runs for `elapsed` already: more than that. */
usec_t history_most_after(const struct history *history, const struct history_job *job,
                          usec_t elapsed);
/* Any quantile, in percent, for one that runs for `elapsed`; USEC_NEVER: nothing is known. */
usec_t history_quantile(const struct history *history, const struct history_job *job,
                        usec_t elapsed, uint32_t percent);
/* How many of the last jobs were like it: of the same user, and by name or size and limit. */
uint32_t history_comparable(const struct history *history, const struct history_job *job);
void history_learn(struct history *history, const struct history_job *job, usec_t run);
void history_release(struct history *history);

#endif
