/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_MIG_H
#define CORE_CLUSTER_MIG_H

/* mig - how devices are split into MIG instances
 *
 * A board has memory slices and compute slices. An instance of a profile takes some compute, and
 * memory slices side by side from one of a few starts. Which starts depends on the layout alone:
 * one for boards of seven compute slices (and eight of memory), one for boards of four. What is
 * held of a device is one number, the sum of what its instances hold, so it is kept up by adding
 * and taking away. A table over what may be held says what still goes in.
 *
 * Boards and profiles are as NVIDIA documents them; the driver of a real device has the last word.
 * Compute instances within one instance ("1c.3g.40gb") are not handed out, nor "-me", "+gfx" and
 * "+me.all".
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
    bool is_double;          /* twice the memory: asked for by its full name only */
};

struct mig_layout {
    uint8_t compute, memory; /* slices of a device */
    uint8_t profile_count;
    struct mig_profile profiles[MIG_PROFILES_MAX];
};

struct mig_board {
    const char *model;
    int64_t mib_min, mib_max; /* of memory, as the driver says it */
    enum mig_layout_kind layout;
    struct {
        uint16_t least, most; /* the GB in the profile's name, which may differ by board */
    } gb[4];                  /* of instances with one, two, four and eight memory slices */
    const char *lacks;        /* a profile of its layout that it does not have; NULL: it has all */
};

/* What still goes in beside what is held, by profile. Those with media: as if none had. */
struct mig_entry {
    uint8_t starts[MIG_PROFILES_MAX];  /* bit i: an instance may begin there */
    uint8_t best[MIG_PROFILES_MAX];    /* the one that leaves most to others; MIG_NOWHERE */
    uint8_t options[MIG_PROFILES_MAX]; /* how many at once */
};

struct mig_table {
    const struct mig_layout *layout;
    struct mig_entry entries[MIG_STATES];
};

const struct mig_layout *mig_layout(enum mig_layout_kind kind);

/* memory_mib 0: not known, the usual one of the model. NULL: its instances are not known. */
const struct mig_board *mig_board_of(const char *model, int64_t memory_mib);

/* "3g.40gb", "1g.10gb+me", "3g"; -1: the board has none of that name. */
int mig_find_profile(const struct mig_board *board, const char *name);

/* Thousandths of a device: its memory slices of all. A part of 8 is 125. */
uint32_t mig_milli(const struct mig_layout *layout, uint32_t profile);

/* What an instance holds; what all of a device hold is the sum. 0 for slices of another kind. */
uint32_t mig_hold(const struct mig_profile *profile, uint32_t start);
uint32_t mig_hold_of_slice(const struct slice *slice);

/* Two on one memory slice, or with media, or more compute than any board has. */
bool mig_is_overlapping(uint32_t held);
/* What is held at either of two times: the rest is free for a job that spans both. */
uint32_t mig_join(uint32_t held, uint32_t other);

uint32_t mig_mask(uint32_t held); /* bit i: memory slice i is held */
uint32_t mig_compute(uint32_t held);
bool mig_has_media(uint32_t held);

void mig_table_make(struct mig_table *table, enum mig_layout_kind kind);
uint32_t mig_starts(const struct mig_table *table, uint32_t held, uint32_t profile);
uint32_t mig_options(const struct mig_table *table, uint32_t held, uint32_t profile);
uint32_t mig_best(const struct mig_table *table, uint32_t held, uint32_t profile);

#endif
