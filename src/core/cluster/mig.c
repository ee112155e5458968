/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/mig.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/job/request.h"

/* Held: three bits count the instances on each of eight memory slices, five the compute slices,
 * three the media engines. The counts reveal a place that is promised twice. Sums never carry
 * from one count to the next as long as fewer than eight overlap. */
enum { COUNT_BITS = 3, COMPUTE_AT = 24, COMPUTE_BITS = 5, MEDIA_AT = 29, SLICES_MAX = 8 };

static const uint32_t ones = 0x249249; /* the lowest bit of each count */

enum { MOST_COMPUTE = 7 };

static const struct mig_layout layouts[MIG_LAYOUTS] = {
    [MIG_SEVEN] = { .compute = 7,
                    .memory = 8,
                    .profile_count = 7,
                    .profiles = { { "1g", 1, 1, 0x7f, false, false },
                                  { "1g+me", 1, 1, 0x7f, true, false },
                                  { "1g", 1, 2, 0x55, false, true },
                                  { "2g", 2, 2, 0x15, false, false },
                                  { "3g", 3, 4, 0x11, false, false },
                                  { "4g", 4, 4, 0x01, false, false },
                                  { "7g", 7, 8, 0x01, false, false } } },
    [MIG_FOUR] = { .compute = 4,
                   .memory = 4,
                   .profile_count = 5,
                   .profiles = { { "1g", 1, 1, 0x0f, false, false },
                                 { "1g+me", 1, 1, 0x0f, true, false },
                                 { "2g", 2, 2, 0x05, false, false },
                                 { "2g+me", 2, 2, 0x05, true, false },
                                 { "4g", 4, 4, 0x01, false, false } } },
};

/* Of each model the usual one first. The starts of rtxpro6000 are inferred from its counts. */
static const struct mig_board boards[] = {
    { "a100", 50000, 100000, MIG_SEVEN, { { 10, 10 }, { 20, 20 }, { 40, 40 }, { 80, 80 } }, NULL },
    { "a100", 0, 50000, MIG_SEVEN, { { 5, 5 }, { 10, 10 }, { 20, 20 }, { 40, 40 } }, NULL },
    { "h100", 0, 88000, MIG_SEVEN, { { 10, 10 }, { 20, 20 }, { 40, 40 }, { 80, 80 } }, NULL },
    { "h100", 88000, 96800, MIG_SEVEN, { { 12, 12 }, { 24, 24 }, { 47, 47 }, { 94, 94 } }, NULL },
    { "h100", 96800, 110000, MIG_SEVEN, { { 12, 12 }, { 24, 24 }, { 48, 48 }, { 96, 96 } }, NULL },
    { "gh200", 0, 110000, MIG_SEVEN, { { 12, 12 }, { 24, 24 }, { 48, 48 }, { 96, 96 } }, NULL },
    { "h200", 0, 160000, MIG_SEVEN, { { 18, 18 }, { 35, 35 }, { 71, 71 }, { 141, 141 } }, NULL },
    { "b200", 0, 200000, MIG_SEVEN, { { 23, 23 }, { 45, 45 }, { 90, 90 }, { 180, 180 } }, NULL },
    { "gb200", 0, 200000, MIG_SEVEN, { { 23, 24 }, { 47, 47 }, { 93, 95 }, { 186, 189 } }, NULL },
    { "gb300", 0, 300000, MIG_SEVEN, { { 35, 35 }, { 70, 70 }, { 139, 139 }, { 278, 278 } }, NULL },
    { "a30", 0, 26000, MIG_FOUR, { { 6, 6 }, { 12, 12 }, { 24, 24 } }, NULL },
    { "rtxpro6000", 0, 100000, MIG_FOUR, { { 24, 24 }, { 48, 48 }, { 96, 96 } }, "2g+me" },
};

const struct mig_layout *mig_layout(enum mig_layout_kind kind)
{
    assert(kind < MIG_LAYOUTS);
    return &layouts[kind];
}

const struct mig_board *mig_board_of(const char *model, int64_t memory_mib)
{
    for (size_t i = 0; i < COUNT_OF(boards); i++) {
        if (strcmp(boards[i].model, model) == 0 &&
            (memory_mib == 0 ||
             (memory_mib >= boards[i].mib_min && memory_mib < boards[i].mib_max)))
            return &boards[i];
    }
    return NULL;
}

/* Of one, two, four or eight memory slices: 0, 1, 2 or 3. */
static uint32_t size_of(const struct mig_profile *profile)
{
    return (uint32_t)__builtin_ctz(profile->memory);
}

/* "1g.10gb+me" is "1g", 10, "+me". */
static bool is_named(const struct mig_board *board, uint32_t number, const char *name)
{
    const struct mig_profile *profile = &layouts[board->layout].profiles[number];
    size_t length = strcspn(profile->name, "+");
    const char *suffix = profile->name + length;
    uint32_t least = board->gb[size_of(profile)].least, most = board->gb[size_of(profile)].most;

    if (string_equal(board->lacks, profile->name) || strncmp(name, profile->name, length) != 0)
        return false;
    name += length;
    if (name[0] != '.')
        return !profile->is_double && strcmp(name, suffix) == 0;
    char *end;
    unsigned long gb = strtoul(name + 1, &end, 10);
    return name[1] >= '1' && name[1] <= '9' && gb >= least && gb <= most &&
           strncmp(end, "gb", 2) == 0 && strcmp(end + 2, suffix) == 0;
}

int mig_find_profile(const struct mig_board *board, const char *name)
{
    for (uint32_t i = 0; i < layouts[board->layout].profile_count; i++) {
        if (is_named(board, i, name))
            return (int)i;
    }
    return -1;
}

uint32_t mig_milli(const struct mig_layout *layout, uint32_t profile)
{
    assert(profile < layout->profile_count);
    return layout->profiles[profile].memory * (uint32_t)GPU_MILLI / layout->memory;
}

static uint32_t hold(uint32_t start, uint32_t memory, uint32_t compute, bool has_media)
{
    uint32_t held = compute << COMPUTE_AT | (uint32_t)has_media << MEDIA_AT;

    for (uint32_t i = start; i < start + memory && i < SLICES_MAX; i++)
        held |= UINT32_C(1) << COUNT_BITS * i;
    return held;
}

uint32_t mig_hold(const struct mig_profile *profile, uint32_t start)
{
    return hold(start, profile->memory, profile->compute, profile->has_media);
}

uint32_t mig_hold_of_slice(const struct slice *slice)
{
    return slice->kind != SHARE_MIG
               ? 0
               : hold(slice->mig_start, slice->mig_size, slice->mig_compute, slice->mig_media != 0);
}

uint32_t mig_mask(uint32_t held)
{
    uint32_t mask = (held | held >> 1 | held >> 2) & ones;

    /* every third bit, moved together */
    mask = (mask | mask >> 2) & UINT32_C(0x0c30c3);
    mask = (mask | mask >> 4) & UINT32_C(0x00f00f);
    return (mask | mask >> 8) & 0xff;
}

uint32_t mig_compute(uint32_t held)
{
    return held >> COMPUTE_AT & ((1u << COMPUTE_BITS) - 1);
}

bool mig_has_media(uint32_t held)
{
    return held >> MEDIA_AT != 0;
}

bool mig_is_overlapping(uint32_t held)
{
    return ((held >> 1 | held >> 2) & ones) != 0 || mig_compute(held) > MOST_COMPUTE ||
           held >> MEDIA_AT > 1;
}

uint32_t mig_join(uint32_t held, uint32_t other)
{
    uint32_t below = (UINT32_C(1) << COMPUTE_AT) - 1;
    uint32_t compute = mig_compute(held), more = mig_compute(other);

    return ((held | other) & below) | (compute > more ? compute : more) << COMPUTE_AT |
           (uint32_t)(mig_has_media(held) || mig_has_media(other)) << MEDIA_AT;
}

/* Instances of one profile never overlap by their starts: as many as there are starts, or compute
 * for. */
static void fill_options(const struct mig_layout *layout, uint32_t mask, uint32_t compute,
                         struct mig_entry *entry)
{
    for (uint32_t i = 0; i < layout->profile_count; i++) {
        const struct mig_profile *profile = &layout->profiles[i];
        uint32_t left = compute < layout->compute ? layout->compute - compute : 0;
        uint32_t most = left / profile->compute;
        uint32_t slices = (1u << profile->memory) - 1;
        for (uint32_t start = 0; most > 0 && start < layout->memory; start++) {
            if ((profile->starts >> start & 1) && !(mask & slices << start))
                entry->starts[i] |= (uint8_t)(1u << start);
        }
        uint32_t count = (uint32_t)__builtin_popcount(entry->starts[i]);
        count = count < most ? count : most;
        entry->options[i] = (uint8_t)(profile->has_media && count > 1 ? 1 : count);
    }
}

static uint32_t place_of(uint32_t mask, uint32_t compute)
{
    assert(compute <= MOST_COMPUTE && mask < 1u << SLICES_MAX);
    return compute << SLICES_MAX | mask;
}

/* By what is lost, as if all were asked for alike: of equals the lowest. */
static void fill_best(struct mig_table *table, uint32_t mask, uint32_t compute)
{
    const struct mig_layout *layout = table->layout;
    struct mig_entry *entry = &table->entries[place_of(mask, compute)];

    for (uint32_t i = 0; i < layout->profile_count; i++) {
        const struct mig_profile *profile = &layout->profiles[i];
        int32_t least = INT32_MAX;
        entry->best[i] = MIG_NOWHERE;
        for (uint32_t start = 0; start < layout->memory; start++) {
            if (!(entry->starts[i] >> start & 1))
                continue;
            const struct mig_entry *after = &table->entries[place_of(
                mask | ((1u << profile->memory) - 1) << start, compute + profile->compute)];
            int32_t lost = 0;
            for (uint32_t k = 0; k < layout->profile_count; k++)
                lost += (entry->options[k] - after->options[k]) * layout->profiles[k].memory;
            if (lost < least) {
                least = lost;
                entry->best[i] = (uint8_t)start;
            }
        }
    }
}

void mig_table_make(struct mig_table *table, enum mig_layout_kind kind)
{
    memset(table, 0, sizeof(*table));
    table->layout = &layouts[kind];
    for (uint32_t compute = 0; compute <= MOST_COMPUTE; compute++) {
        for (uint32_t mask = 0; mask < 1u << SLICES_MAX; mask++)
            fill_options(table->layout, mask, compute, &table->entries[place_of(mask, compute)]);
    }
    for (uint32_t compute = 0; compute <= MOST_COMPUTE; compute++) {
        for (uint32_t mask = 0; mask < 1u << SLICES_MAX; mask++)
            fill_best(table, mask, compute);
    }
}

static const struct mig_entry nothing; /* goes in */

static const struct mig_entry *find_entry(const struct mig_table *table, uint32_t held,
                                          uint32_t profile)
{
    assert(profile < table->layout->profile_count);

    uint32_t compute = mig_compute(held);

    if (compute > MOST_COMPUTE ||
        (table->layout->profiles[profile].has_media && mig_has_media(held)))
        return &nothing;
    return &table->entries[place_of(mig_mask(held), compute)];
}

uint32_t mig_starts(const struct mig_table *table, uint32_t held, uint32_t profile)
{
    return find_entry(table, held, profile)->starts[profile];
}

uint32_t mig_options(const struct mig_table *table, uint32_t held, uint32_t profile)
{
    return find_entry(table, held, profile)->options[profile];
}

uint32_t mig_best(const struct mig_table *table, uint32_t held, uint32_t profile)
{
    const struct mig_entry *entry = find_entry(table, held, profile);

    return entry != &nothing ? entry->best[profile] : MIG_NOWHERE;
}
