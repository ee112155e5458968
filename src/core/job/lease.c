/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/lease.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

static const struct field slice_fields[] = {
    RECORD_UINT(struct slice, 1, device, "number of the device"),
    RECORD_UINT(struct slice, 2, rank, "the member that holds it"),
    RECORD_UINT(struct slice, 3, milli, "allocated compute of the device, in thousandths"),
    RECORD_UINT(struct slice, 4, kind, "0 whole, 1 fraction, 2 MIG, 3 MPS"),
    RECORD_UINT(struct slice, 5, mig_start, "MIG: first memory slice"),
    RECORD_UINT(struct slice, 6, mig_size, "MIG: number of memory slices"),
    RECORD_INT(struct slice, 7, memory_mib, "allocated device memory"),
    RECORD_UINT(struct slice, 8, pool, "number of the pool that it counts against"),
    RECORD_UINT(struct slice, 9, mig_compute, "MIG: number of compute slices"),
    RECORD_UINT(struct slice, 10, mig_media, "MIG: 1: with the media engines"),
};
static const struct record_type slice_record = RECORD_TYPE("slice", struct slice, slice_fields);

static const struct field member_fields[] = {
    RECORD_UINT(struct lease_member, 1, node, "number of its node"),
    RECORD_UINT(struct lease_member, 2, gone, "number of members with a lower rank that were lost"),
    RECORD_UINT(struct lease_member, 3, role, "in a gang with roles: number of its role"),
};
static const struct record_type member_record =
    RECORD_TYPE("member", struct lease_member, member_fields);

static const struct field lease_role_fields[] = {
    RECORD_INT(struct lease_role, 1, cpu_milli, "CPUs of each member, in thousandths"),
    RECORD_INT(struct lease_role, 2, memory_mib, "memory of each member"),
    RECORD_UINT(struct lease_role, 3, alternative,
                "the alternative of its request that was chosen"),
};
static const struct record_type lease_role_record =
    RECORD_TYPE("lease_role", struct lease_role, lease_role_fields);

static const struct field lease_fields[] = {
    RECORD_LIST(struct lease, 1, members, "the node of each member", &member_record),
    RECORD_LIST(struct lease, 2, slices, "parts of devices", &slice_record),
    RECORD_UINT(struct lease, 3, alternative, "the alternative of the request that was chosen"),
    RECORD_UINT(struct lease, 4, share, "dominant share of the cluster, in units of 2^-20"),
    RECORD_INT(struct lease, 5, milli, "GPUs of all members, in thousandths"),
    RECORD_INT(struct lease, 6, cpu_milli, "CPUs of each member, in thousandths"),
    RECORD_INT(struct lease, 7, memory_mib, "memory of each member"),
    RECORD_UINT(struct lease, 8, shares[0],
                "share of the cluster's GPUs, weighted by price, in units of 2^-20"),
    RECORD_UINT(struct lease, 9, shares[1], "share of its CPUs, in the same units"),
    RECORD_UINT(struct lease, 10, shares[2], "share of its memory, in the same units"),
    RECORD_UINT(
        struct lease, 12, model_rule,
        "why it has its model: 0 no choice, 1 cheapest for its speed, 2 cheapest for its speed of "
        "those that were free, 3 fastest, 4 needed to meet its deadline or time limit"),
    RECORD_UINT(struct lease, 13, model_runs,
                "number of earlier runs on which that is based; 0: published speeds"),
    RECORD_LIST(struct lease, 11, roles, "roles of the gang, if it has any", &lease_role_record),
};
const struct record_type lease_record = RECORD_TYPE("lease", struct lease, lease_fields);

static bool are_amounts(int64_t milli, int64_t mib)
{
    const int64_t most = INT64_C(1) << 40;

    return milli >= 0 && milli <= most && mib >= 0 && mib <= most;
}

static bool are_members(const struct lease *lease)
{
    uint32_t roles = lease->roles_count > 0 ? lease->roles_count : 1;

    for (uint32_t i = 0; i < lease->members_count; i++) {
        const struct lease_member *member = &lease->members[i];
        if (member->role >= roles || member->gone > LEASE_GONE_MAX ||
            (i > 0 && member->gone < lease->members[i - 1].gone))
            return false;
    }
    return true;
}

bool lease_is_plausible(const struct lease *lease)
{
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct slice *slice = &lease->slices[i];
        if (slice->rank >= lease->members_count || slice->milli > 1000 ||
            !are_amounts(0, slice->memory_mib) || slice->mig_start + slice->mig_size > 8 ||
            slice->mig_compute > 7 || slice->mig_media > 1)
            return false;
    }
    for (uint32_t i = 0; i < lease->roles_count; i++) {
        if (!are_amounts(lease->roles[i].cpu_milli, lease->roles[i].memory_mib))
            return false;
    }
    return are_members(lease) && are_amounts(lease->milli, 0) &&
           are_amounts(lease->cpu_milli, lease->memory_mib);
}

const struct slice *lease_slice_on(const struct lease *lease, uint32_t device)
{
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (lease->slices[i].device == device)
            return &lease->slices[i];
    }
    return NULL;
}

bool lease_is_on(const struct lease *lease, uint32_t node)
{
    for (uint32_t i = 0; i < lease->members_count; i++) {
        if (lease->members[i].node == node)
            return true;
    }
    return false;
}

int64_t lease_cpus(const struct lease *lease)
{
    int64_t sum = lease->cpu_milli * lease->members_count;

    for (uint32_t i = 0; lease->roles_count > 0 && i < lease->members_count; i++)
        sum += lease_cpu_milli(lease, i);
    return sum;
}

int64_t lease_memory(const struct lease *lease)
{
    int64_t sum = lease->memory_mib * lease->members_count;

    for (uint32_t i = 0; lease->roles_count > 0 && i < lease->members_count; i++)
        sum += lease_memory_mib(lease, i);
    return sum;
}

void lease_complete(struct lease *lease)
{
    for (size_t i = 0; i < SHARES; i++) {
        if (lease->shares[i] > 0)
            return;
    }
    lease->shares[lease->milli > 0 ? SHARE_OF_GPUS : SHARE_OF_CPUS] = lease->share;
}

uint32_t lease_rank(const struct lease *lease, uint32_t place)
{
    assert(place < lease->members_count);
    return place + lease->members[place].gone;
}

uint32_t lease_place(const struct lease *lease, uint32_t rank)
{
    uint32_t low = 0, high = lease->members_count;

    while (low < high) { /* ranks rise with the places */
        uint32_t middle = low + (high - low) / 2;
        if (lease_rank(lease, middle) < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < lease->members_count && lease_rank(lease, low) == rank ? low
                                                                        : lease->members_count;
}

struct lease *lease_copy(const struct lease *lease)
{
    size_t slices_size = lease->slices_count * sizeof(struct slice);
    size_t roles_size = lease->roles_count * sizeof(struct lease_role);
    size_t members_size = lease->members_count * sizeof(struct lease_member);
    struct lease *copy =
        mem_resize(NULL, 1, sizeof(*copy) + slices_size + roles_size + members_size);
    char *slices = (char *)(copy + 1);
    char *roles = slices + slices_size;
    char *members = roles + roles_size;

    *copy = *lease;
    mem_copy(slices, lease->slices, slices_size);
    mem_copy(roles, lease->roles, roles_size);
    mem_copy(members, lease->members, members_size);
    copy->slices = (const struct slice *)(void *)slices;
    copy->roles = (const struct lease_role *)(void *)roles;
    copy->members = (const struct lease_member *)(void *)members;
    return copy;
}

struct lease *lease_exchange(const struct lease *lease, uint32_t a, uint32_t b)
{
    struct lease *copy = lease_copy(lease);
    struct slice *slices = (struct slice *)(uintptr_t)copy->slices; /* in the block of the copy */

    for (uint32_t i = 0; i < copy->slices_count; i++) {
        if (slices[i].device == a || slices[i].device == b)
            slices[i].device = slices[i].device == a ? b : a;
    }
    return copy;
}

struct lease *lease_without(const struct lease *lease, uint32_t place)
{
    assert(place < lease->members_count);

    struct lease *made = lease_copy(lease);
    /* The copy is ours to write to. */
    struct slice *slices = (struct slice *)(uintptr_t)made->slices;
    struct lease_member *members = (struct lease_member *)(uintptr_t)made->members;

    made->members_count = made->slices_count = 0;
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        struct slice slice = lease->slices[i];
        if (slice.rank == place) {
            made->milli -= slice.milli;
            continue;
        }
        slice.rank -= slice.rank > place;
        slices[made->slices_count++] = slice;
    }
    for (uint32_t i = 0; i < lease->members_count; i++) {
        if (i == place)
            continue;
        members[made->members_count] = lease->members[i];
        members[made->members_count++].gone += i > place;
    }
    assert(made->members_count + 1 == lease->members_count);
    return made;
}

void lease_destroy(struct lease *lease)
{
    free(lease);
}
