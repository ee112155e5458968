/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_MIG_H
#define CORE_CLUSTER_MIG_H

/* mig - the geometry of MIG instances on devices
 *
 * A board has memory slices and compute slices. An instance of a profile takes some compute slices,
 * and contiguous memory slices from one of a few start positions. The start positions depend only
 * on the layout: there is one layout for boards with seven compute slices (and eight memory
 * slices), and one for boards with four. The held part of a device is one number, the sum over its
 * instances, so it is updated by addition and subtraction. A table over all held parts has the
 * instances that still fit.
 *
 * Boards and profiles follow NVIDIA's documentation; on a real device, the driver decides. Compute
 * instances within one instance ("1c.3g.40gb"), "-me", "+gfx" and "+me.all" are not supported.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/job/lease.h"

enum {
    MIG_PROFILES_MAX = 7,
    MIG_STATES = 256 * 8, /* which memory slices are held, and how much compute */
    MIG_NOWHERE = 255,
};

enum mig_layout_kind { MIG_SEVEN, MIG_FOUR, MIG_LAYOUTS };

struct mig_profile {
    const char *name;        /* without its memory: "3g", "1g+me" */
    uint8_t compute, memory; /* slices */
    uint8_t starts;          /* bit i: may begin at memory slice i */
    bool has_media;          /* has the media engines: at most one on a device */
    bool is_double;          /* twice the memory: requested by its full name only */
};

struct mig_layout {
    uint8_t compute, memory; /* slices of a device */
    uint8_t profile_count;
    struct mig_profile profiles[MIG_PROFILES_MAX];
};

struct mig_board {
    const char *model;
    int64_t mib_min, mib_max; /* device memory, as the driver reports it */
    enum mig_layout_kind layout;
    struct {
        uint16_t least, most; /* the GB in the profile's name, which may differ by board */
    } gb[4];                  /* of instances with one, two, four and eight memory slices */
    const char *lacks;        /* a profile of the layout that the board lacks; NULL: none */
};

/* The instances that still fit, by profile. For profiles with media engines: as if none held them.
 */
struct mig_entry {
    uint8_t starts[MIG_PROFILES_MAX];  /* bit i: an instance may begin there */
    uint8_t best[MIG_PROFILES_MAX];    /* the start that leaves most to others; MIG_NOWHERE */
    uint8_t options[MIG_PROFILES_MAX]; /* how many fit at the same time */
};

struct mig_table {
    const struct mig_layout *layout;
    struct mig_entry entries[MIG_STATES];
};

const struct mig_layout *mig_layout(enum mig_layout_kind kind);

/* memory_mib 0: not known; the usual board of the model. NULL: no instances are known for it. */
const struct mig_board *mig_board_of(const char *model, int64_t memory_mib);

/* "3g.40gb", "1g.10gb+me", "3g"; -1: the board has no such profile. */
int mig_find_profile(const struct mig_board *board, const char *name);

/* The part of a device in thousandths, by memory slices: one of eight is 125. */
uint32_t mig_milli(const struct mig_layout *layout, uint32_t profile);

/* The held part of one instance; a device holds the sum. 0 for slices of another kind. */
uint32_t mig_hold(const struct mig_profile *profile, uint32_t start);
uint32_t mig_hold_of_slice(const struct slice *slice);

/* Whether two instances share a memory slice, both have media engines, or exceed the compute. */
bool mig_is_overlapping(uint32_t held);
/* The part held at either of two times; the rest is free for a job that spans both. */
uint32_t mig_join(uint32_t held, uint32_t other);

uint32_t mig_mask(uint32_t held); /* bit i: memory slice i is held */
uint32_t mig_compute(uint32_t held);
bool mig_has_media(uint32_t held);

void mig_table_make(struct mig_table *table, enum mig_layout_kind kind);
uint32_t mig_starts(const struct mig_table *table, uint32_t held, uint32_t profile);
uint32_t mig_options(const struct mig_table *table, uint32_t held, uint32_t profile);
uint32_t mig_best(const struct mig_table *table, uint32_t held, uint32_t profile);

#endif
