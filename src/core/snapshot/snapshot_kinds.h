/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SNAPSHOT_SNAPSHOT_KINDS_H
#define CORE_SNAPSHOT_SNAPSHOT_KINDS_H

/* snapshot_kinds - the records of a snapshot, and the structs written where the state itself is not
 * a plain struct. The list is snapshot_kinds.def; the fields are in snapshot_kinds.c. Only for
 * snapshot.c and snapshot_load.c.
 */

#include "core/state/state.h"

enum snapshot_kind {
#define KIND(ID, number, name, owner) ID = number,
#include "core/snapshot/snapshot_kinds.def"
    KIND_COUNT
};

struct saved_quota {
    uint32_t resource;
    struct quota quota;
};

/* Bit i of given: limit i of the quota is set. */
struct saved_during {
    struct queue_during during;
    uint8_t given;
};

struct saved_queue {
    struct queue queue;
    struct payer payer;
    const struct budget *budgets; /* of users; those of the queue are in its accounts */
    const struct saved_quota *quotas;
    const struct subject_limit *subjects;
    const struct saved_during *during;
    const struct cell_quota *cells;
    const struct queue_name *names;
    uint32_t budgets_count, names_count, quotas_count, subjects_count, during_count, cells_count;
};

struct saved_pool {
    struct pool pool;
    const struct pool_during *during;
    uint32_t during_count;
    char *nodes, *labels; /* in older snapshots, instead of conditions */
    const struct where_term *where;
    uint32_t where_count;
};

struct saved_reservation {
    struct reservation reservation;
    char *nodes; /* in older snapshots, instead of conditions */
    const struct where_term *where;
    uint32_t where_count;
};

struct saved_window {
    const char *name, *words;
    const struct event_span *spans;
    int64_t made, until;
    uint32_t spans_count;
};

struct saved_user {
    const char *name;
    struct allowance allowance;
};

/* A job with everything that belongs to it. */
struct saved_job {
    struct job job;
    struct job_run run;
    struct request request;
    struct lease lease;
    struct usage usage;
    const char *member_states; /* one digit each */
};

struct saved_demand {
    struct request request;
    uint64_t weight;
};

/* Numbers of four hex digits each. */
struct saved_runs {
    uint64_t key;
    uint32_t count;
    uint8_t is_used;
    const char *runs, *ratios;
};

struct saved_band {
    uint32_t number;
    struct calibration_band band;
};

struct saved_arrived {
    uint32_t level;
    uint64_t work;
};

struct saved_bin {
    uint32_t class, bin, left, ended;
};

#endif
