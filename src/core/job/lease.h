/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_LEASE_H
#define CORE_JOB_LEASE_H

/* lease - what a job holds: a machine for each member, and slices of devices
 *
 * A slice is a part of one device that is handed out: all of it, a fraction, or a MIG instance.
 * The milli of an instance are its part of the device's memory slices (mig.h).
 *
 * A member has a place in the lease, and a rank, by which engines and programs know it. As long as
 * all are there the two are the same. When a gang goes on without a lost member, its part leaves
 * the lease; the others move up, and keep their ranks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/record.h"

/* What shares are counted of. */
enum share { SHARE_OF_GPUS, SHARE_OF_CPUS, SHARE_OF_MEMORY, SHARES };

enum { LEASE_GONE_MAX = 4096 }; /* no gang has more members */

struct slice {
    uint32_t device; /* number in the state */
    uint32_t rank;   /* the member that holds it: its place in members */
    uint32_t milli;
    uint32_t pool;                  /* number of the pool that it counts against */
    uint8_t kind;                   /* enum share_kind */
    uint8_t mig_start, mig_size;    /* memory slices */
    uint8_t mig_compute, mig_media; /* compute slices; whether it has the media engines */
    int64_t memory_mib;
};

struct lease_member {
    uint32_t node; /* number in the state */
    uint32_t gone; /* so many members of lower rank were lost: its rank is its place plus these */
    uint32_t role; /* number in roles, of a gang that has some */
};

/* What each member of a role has. */
struct lease_role {
    int64_t cpu_milli;
    int64_t memory_mib;
    uint32_t alternative; /* of its GPU alternatives: the one that was met */
};

struct lease {
    const struct lease_member *members;
    const struct slice *slices;
    const struct lease_role *roles;
    uint32_t members_count;
    uint32_t slices_count;
    uint32_t roles_count;    /* 0: all members are alike */
    uint32_t alternative;    /* of the request's GPU alternatives: the one that was met */
    uint32_t share;          /* the largest of shares */
    uint32_t shares[SHARES]; /* of the cluster when granted, in parts of 2^20 */
    uint32_t model_runs; /* earlier runs of its class that chose the model; 0: published speeds */
    uint8_t model_rule;  /* why it has the model (sched/placement/model_score.h); 0: no choice */
    uint64_t labels, apart; /* of its job, as bits (class.h); not in records */
    int64_t milli;          /* GPUs in all, for quota */
    int64_t cpu_milli;      /* a member; 0 with roles */
    int64_t memory_mib;     /* a member; 0 with roles */
};

/* Of the member at a place. */
static inline int64_t lease_cpu_milli(const struct lease *lease, uint32_t place)
{
    return lease->roles_count > 0 ? lease->roles[lease->members[place].role].cpu_milli
                                  : lease->cpu_milli;
}
static inline int64_t lease_memory_mib(const struct lease *lease, uint32_t place)
{
    return lease->roles_count > 0 ? lease->roles[lease->members[place].role].memory_mib
                                  : lease->memory_mib;
}

/* The jobs of two leases must not share a node. */
static inline bool lease_is_apart(const struct lease *lease, uint64_t labels, uint64_t apart)
{
    return (lease->labels & apart) != 0 || (lease->apart & labels) != 0;
}

/* A member is on this machine. */
bool lease_is_on(const struct lease *lease, uint32_t node);
/* Its first slice of a device; NULL: none. */
const struct slice *lease_slice_on(const struct lease *lease, uint32_t device);
/* Of all members. */
int64_t lease_cpus(const struct lease *lease);
int64_t lease_memory(const struct lease *lease);

extern const struct record_type lease_record;

/* All amounts are ones that a tarn could have written. */
bool lease_is_plausible(const struct lease *lease);

/* One that was written before shares were counted apart: all of its share is of GPUs, or of CPUs
 * when it has none. */
void lease_complete(struct lease *lease);

/* The rank of the member at a place, and where the one with a rank is; members_count: nowhere. */
uint32_t lease_rank(const struct lease *lease, uint32_t place);
uint32_t lease_place(const struct lease *lease, uint32_t rank);

/* One block of memory, freed with lease_destroy. */
struct lease *lease_copy(const struct lease *lease);
/* The same without the member at `place`. Shares are left as they were. */
struct lease *lease_without(const struct lease *lease, uint32_t place);
/* The same with the slices on device `a` on `b`, and those on `b` on `a`. */
struct lease *lease_exchange(const struct lease *lease, uint32_t a, uint32_t b);
void lease_destroy(struct lease *lease);

#endif
