/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_LEASE_H
#define CORE_JOB_LEASE_H

/* lease - what a job holds: a node for each member, and slices of devices
 *
 * A slice is the allocated part of one device: all of it, a fraction, or a MIG instance. The milli
 * of an instance are its part of the device's memory slices (mig.h).
 *
 * A member has a place in the lease, and a rank, by which engines and programs know it. The two are
 * equal until a member is lost. When a gang goes on without a lost member, that member leaves the
 * lease; the others move up in place and keep their ranks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/record.h"

/* The resources whose shares are computed. */
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
    uint32_t gone; /* lost members of lower rank: its rank is its place plus this number */
    uint32_t role; /* index into roles, in a gang with roles */
};

/* What each member of a role has. */
struct lease_role {
    int64_t cpu_milli;
    int64_t memory_mib;
    uint32_t alternative; /* index of the GPU alternative that was granted */
};

struct lease {
    const struct lease_member *members;
    const struct slice *slices;
    const struct lease_role *roles;
    uint32_t members_count;
    uint32_t slices_count;
    uint32_t roles_count;    /* 0: all members are alike */
    uint32_t alternative;    /* index of the request's GPU alternative that was granted */
    uint32_t share;          /* the largest of shares */
    uint32_t shares[SHARES]; /* of the cluster's capacity at the grant, in parts of 2^20 */
    uint32_t model_runs; /* earlier runs of its class that chose the model; 0: published speeds */
    uint8_t model_rule;  /* why it has the model (sched/placement/model_score.h); 0: no choice */
    uint64_t labels, apart; /* of its job, as bits (class.h); not in records */
    int64_t milli;          /* GPUs in all, for quota */
    int64_t cpu_milli;      /* of each member; 0 with roles */
    int64_t memory_mib;     /* of each member; 0 with roles */
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

/* Whether a member is on this node. */
bool lease_is_on(const struct lease *lease, uint32_t node);
/* The first slice of a device; NULL: none. */
const struct slice *lease_slice_on(const struct lease *lease, uint32_t device);
/* Of all members. */
int64_t lease_cpus(const struct lease *lease);
int64_t lease_memory(const struct lease *lease);

extern const struct record_type lease_record;

/* Whether all amounts are ones that tarn could have written. */
bool lease_is_plausible(const struct lease *lease);

/* Complete a lease written before shares were counted by resource: all of its share is of GPUs, or
 * of CPUs if it has no GPU. */
void lease_complete(struct lease *lease);

/* The rank of the member at a place, and the place of a rank; members_count: there is none. */
uint32_t lease_rank(const struct lease *lease, uint32_t place);
uint32_t lease_place(const struct lease *lease, uint32_t rank);

/* One block of memory, freed with lease_destroy. */
struct lease *lease_copy(const struct lease *lease);
/* A copy without the member at `place`. Shares stay as they were. */
struct lease *lease_without(const struct lease *lease, uint32_t place);
/* A copy in which the slices on device `a` are on `b`, and those on `b` on `a`. */
struct lease *lease_exchange(const struct lease *lease, uint32_t a, uint32_t b);
void lease_destroy(struct lease *lease);

#endif
