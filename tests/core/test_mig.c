/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/mig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "core/job/request.h"

/* The geometry once more, as the tables of NVIDIA have it. */
struct geometry {
    const char *name;
    uint32_t compute, memory, starts, most; /* starts: bit i */
};

static const struct geometry seven[] = {
    { "1g.10gb", 1, 1, 0x7f, 7 }, { "1g.10gb+me", 1, 1, 0x7f, 1 }, { "1g.20gb", 1, 2, 0x55, 4 },
    { "2g.20gb", 2, 2, 0x15, 3 }, { "3g.40gb", 3, 4, 0x11, 2 },    { "4g.40gb", 4, 4, 0x01, 1 },
    { "7g.80gb", 7, 8, 0x01, 1 },
};
static const struct geometry four[] = {
    { "1g.6gb", 1, 1, 0x0f, 4 },     { "1g.6gb+me", 1, 1, 0x0f, 1 }, { "2g.12gb", 2, 2, 0x05, 2 },
    { "2g.12gb+me", 2, 2, 0x05, 1 }, { "4g.24gb", 4, 4, 0x01, 1 },
};

static bool can_start(const struct geometry *profile, uint32_t start, uint32_t mask,
                      uint32_t compute, uint32_t compute_most)
{
    uint32_t slices = ((1u << profile->memory) - 1) << start;

    return (profile->starts >> start & 1) && !(mask & slices) &&
           compute + profile->compute <= compute_most;
}

/* By trying every way. */
static uint32_t search_most(const struct geometry *profile, uint32_t mask, uint32_t compute,
                            uint32_t compute_most)
{
    uint32_t most = 0;

    for (uint32_t start = 0; start < 8; start++) {
        if (!can_start(profile, start, mask, compute, compute_most))
            continue;
        uint32_t count = 1 + search_most(profile, mask | ((1u << profile->memory) - 1) << start,
                                         compute + profile->compute, compute_most);
        most = count > most ? count : most;
    }
    return most;
}

static uint32_t held_of(uint32_t mask, uint32_t compute)
{
    struct mig_profile parts = { .memory = 1 };
    uint32_t held = mig_hold(&(struct mig_profile){ .compute = (uint8_t)compute }, 0);

    for (uint32_t i = 0; i < 8; i++)
        held += mask >> i & 1 ? mig_hold(&parts, i) : 0;
    return held;
}

static void assert_table(enum mig_layout_kind kind, const struct geometry *profiles, uint32_t count)
{
    struct mig_table *table = mem_zero(1, sizeof(*table));
    uint32_t slices = mig_layout(kind)->memory, compute_most = mig_layout(kind)->compute;

    mig_table_make(table, kind);
    assert_int_equal(mig_layout(kind)->profile_count, count);
    for (uint32_t compute = 0; compute <= compute_most; compute++) {
        for (uint32_t mask = 0; mask < 1u << slices; mask++) {
            uint32_t held = held_of(mask, compute);
            assert_int_equal(mig_mask(held), mask);
            assert_int_equal(mig_compute(held), compute);
            for (uint32_t i = 0; i < count; i++) {
                const struct geometry *profile = &profiles[i];
                uint32_t starts = 0, most = search_most(profile, mask, compute, compute_most);
                for (uint32_t start = 0; start < 8; start++)
                    starts |= (uint32_t)can_start(profile, start, mask, compute, compute_most)
                              << start;
                assert_int_equal(mig_starts(table, held, i), starts);
                assert_int_equal(mig_options(table, held, i),
                                 most < profile->most ? most : profile->most);
                uint32_t best = mig_best(table, held, i);
                assert_true(starts == 0 ? best == MIG_NOWHERE : (starts >> best & 1) != 0);
            }
        }
    }
    free(table);
}

static void the_table_is_what_a_search_over_all_placements_finds(void **state)
{
    (void)state;
    assert_table(MIG_SEVEN, seven, COUNT_OF(seven));
    assert_table(MIG_FOUR, four, COUNT_OF(four));
}

/* States that some row of placements leads to. */
static void reach(const struct mig_table *table, uint32_t held, bool *is_reached)
{
    uint32_t at = mig_compute(held) << 8 | mig_mask(held);

    if (is_reached[at])
        return;
    is_reached[at] = true;
    for (uint32_t i = 0; i < table->layout->profile_count; i++) {
        for (uint32_t start = 0; start < 8; start++) {
            if (mig_starts(table, held, i) >> start & 1)
                reach(table, held + mig_hold(&table->layout->profiles[i], start), is_reached);
        }
    }
}

static void a_device_of_seven_may_come_into_336_states(void **state)
{
    struct mig_table *table = mem_zero(1, sizeof(*table));
    bool is_reached[MIG_STATES] = { false };
    uint32_t count = 0;
    (void)state;

    mig_table_make(table, MIG_SEVEN);
    reach(table, 0, is_reached);
    for (size_t i = 0; i < COUNT_OF(is_reached); i++)
        count += is_reached[i];
    assert_int_equal(count, 336);
    free(table);
}

/* Which profile begins at which slice, 0: none; a layout is eight of them. */
struct layouts {
    const struct mig_table *table;
    LIST(uint64_t) seen;
    uint32_t maximal;
};

static void lay_out(struct layouts *layouts, uint32_t held, uint64_t code)
{
    const struct mig_layout *layout = layouts->table->layout;
    bool is_maximal = true;

    for (size_t i = 0; i < layouts->seen.count; i++) {
        if (layouts->seen.items[i] == code)
            return;
    }
    list_add(&layouts->seen, code);
    for (uint32_t i = 0; i < layout->profile_count; i++) {
        if (layout->profiles[i].is_double || layout->profiles[i].has_media)
            continue;
        for (uint32_t start = 0; start < 8; start++) {
            if (!(mig_starts(layouts->table, held, i) >> start & 1))
                continue;
            is_maximal = false;
            lay_out(layouts, held + mig_hold(&layout->profiles[i], start),
                    code | (uint64_t)(i + 1) << 8 * start);
        }
    }
    layouts->maximal += is_maximal;
}

static void a_device_of_seven_has_19_full_layouts_without_the_double_memory(void **state)
{
    struct mig_table *table = mem_zero(1, sizeof(*table));
    struct layouts layouts = { .table = table };
    (void)state;

    mig_table_make(table, MIG_SEVEN);
    lay_out(&layouts, 0, 0);
    assert_int_equal(layouts.maximal, 19);
    list_release(&layouts.seen);
    free(table);
}

static void the_best_start_leaves_most_to_others(void **state)
{
    struct mig_table *table = mem_zero(1, sizeof(*table));
    const struct mig_board *board = mig_board_of("h100", 81559);
    uint32_t three = (uint32_t)mig_find_profile(board, "3g"),
             one = (uint32_t)mig_find_profile(board, "1g");
    (void)state;

    mig_table_make(table, MIG_SEVEN);
    assert_int_equal(mig_best(table, 0, three), 4); /* 4g only goes at 0 */
    assert_int_equal(mig_best(table, 0, one), 6);   /* where 2g does not go */
    free(table);
}

static void profiles_are_known_by_the_names_of_their_board(void **state)
{
    static const struct {
        const char *model;
        int64_t memory_mib;
        const char *name;
        int profile; /* -1: it has none of that name */
    } cases[] = {
        { "a100", 40960, "1g.5gb", 0 },
        { "a100", 40960, "1g.5gb+me", 1 },
        { "a100", 40960, "1g.10gb", 2 },
        { "a100", 40960, "3g.20gb", 4 },
        { "a100", 40960, "3g.40gb", -1 },
        { "a100", 81920, "1g.10gb", 0 },
        { "a100", 81920, "1g.20gb", 2 },
        { "a100", 81920, "7g.80gb", 6 },
        { "a100", 0, "7g.80gb", 6 },
        { "h100", 81559, "3g.40gb", 4 },
        { "h100", 81559, "3g", 4 },
        { "h100", 81559, "1g", 0 },
        { "h100", 81559, "1g+me", 1 },
        { "h100", 81559, "2g+me", -1 },
        { "h100", 81559, "5g.60gb", -1 },
        { "h100", 81559, "3g.40", -1 },
        { "h100", 81559, "3g.40gbx", -1 },
        { "h100", 81559, "3g.040gb", -1 },
        { "h100", 81559, "3g.gb", -1 },
        { "h100", 81559, "3g.40gb+me", -1 },
        { "h100", 81559, "1c.3g.40gb", -1 },
        { "h100", 81559, "1g.10gb-me", -1 },
        { "h100", 95830, "3g.47gb", 4 },
        { "h100", 97871, "3g.48gb", 4 },
        { "gh200", 97871, "1g.24gb", 2 },
        { "h200", 143771, "3g.71gb", 4 },
        { "h200", 143771, "1g.35gb", 2 },
        { "b200", 183359, "4g.90gb", 5 },
        { "gb200", 189471, "1g.23gb", 0 },
        { "gb200", 189471, "1g.24gb", 0 },
        { "gb200", 189471, "3g.95gb", 4 },
        { "gb200", 189471, "3g.96gb", -1 },
        { "gb300", 284000, "7g.278gb", 6 },
        { "a30", 24576, "1g.6gb", 0 },
        { "a30", 24576, "2g.12gb+me", 3 },
        { "a30", 24576, "4g", 4 },
        { "a30", 24576, "3g", -1 },
        { "rtxpro6000", 97887, "2g.48gb", 2 },
        { "rtxpro6000", 97887, "2g.48gb+me", -1 },
        { "rtxpro6000", 97887, "2g+me", -1 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct mig_board *board = mig_board_of(cases[i].model, cases[i].memory_mib);
        assert_non_null(board);
        if (mig_find_profile(board, cases[i].name) != cases[i].profile)
            fail_msg("%s %s: %d", cases[i].model, cases[i].name,
                     mig_find_profile(board, cases[i].name));
    }
    assert_null(mig_board_of("v100", 32768));
    assert_null(mig_board_of("h100", 500000));
}

static void an_instance_counts_by_its_memory_slices(void **state)
{
    static const uint32_t of_seven[] = { 125, 125, 250, 250, 500, 500, 1000 };
    static const uint32_t of_four[] = { 250, 250, 500, 500, 1000 };
    (void)state;

    for (uint32_t i = 0; i < COUNT_OF(of_seven); i++)
        assert_int_equal(mig_milli(mig_layout(MIG_SEVEN), i), of_seven[i]);
    for (uint32_t i = 0; i < COUNT_OF(of_four); i++)
        assert_int_equal(mig_milli(mig_layout(MIG_FOUR), i), of_four[i]);
}

struct placed {
    uint32_t profile, start;
};

/* Whatever comes and goes, as the table allows it. */
static void assert_sums(enum mig_layout_kind kind, const struct geometry *profiles)
{
    struct mig_table *table = mem_zero(1, sizeof(*table));
    struct placed placed[8];
    uint32_t count = 0, held = 0;
    uint64_t random = 12345;

    mig_table_make(table, kind);
    for (int step = 0; step < 20000; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t i = (uint32_t)(random >> 40) % table->layout->profile_count;
        uint32_t start = (uint32_t)(random >> 32) % 8, mask = 0, compute = 0, media = 0;
        if (random >> 63 && count > 0) {
            uint32_t gone = (uint32_t)(random >> 33) % count;
            held -= mig_hold(&table->layout->profiles[placed[gone].profile], placed[gone].start);
            placed[gone] = placed[--count];
        } else if (mig_starts(table, held, i) >> start & 1) {
            held += mig_hold(&table->layout->profiles[i], start);
            placed[count++] = (struct placed){ i, start };
        }
        for (uint32_t k = 0; k < count; k++) {
            const struct geometry *profile = &profiles[placed[k].profile];
            uint32_t slices = ((1u << profile->memory) - 1) << placed[k].start;
            assert_true(profile->starts >> placed[k].start & 1);
            assert_int_equal(mask & slices, 0);
            mask |= slices;
            compute += profile->compute;
            media += strchr(profile->name, '+') != NULL;
        }
        assert_true(mask < 1u << table->layout->memory);
        assert_true(compute <= table->layout->compute);
        assert_true(media <= 1);
        assert_int_equal(mig_mask(held), mask);
        assert_int_equal(mig_compute(held), compute);
        assert_int_equal(mig_has_media(held), media);
        assert_false(mig_is_overlapping(held));
    }
    free(table);
}

static void sums_of_memory_and_compute_are_never_exceeded(void **state)
{
    (void)state;
    assert_sums(MIG_SEVEN, seven);
    assert_sums(MIG_FOUR, four);
}

static void what_is_promised_twice_shows(void **state)
{
    const struct mig_profile *profiles = mig_layout(MIG_SEVEN)->profiles;
    uint32_t low = mig_hold(&profiles[4], 0), high = mig_hold(&profiles[4], 4);
    uint32_t media = mig_hold(&profiles[1], 6);
    (void)state;

    assert_false(mig_is_overlapping(low + high));
    assert_true(mig_is_overlapping(low + low));
    assert_true(mig_is_overlapping(low + low + low + low));
    assert_true(mig_is_overlapping(low + mig_hold(&profiles[6], 0)));
    assert_true(mig_is_overlapping(media + mig_hold(&profiles[1], 5)));
    assert_true(low + high + low - low == low + high);
    /* At either time. */
    assert_int_equal(mig_mask(mig_join(low, high)), 0xff);
    assert_int_equal(mig_compute(mig_join(low, high)), 3);
    assert_true(mig_has_media(mig_join(low, media)));
    assert_int_equal(mig_join(low, low), low);
}

static void a_slice_holds_what_its_instance_does(void **state)
{
    struct slice slice = { .kind = SHARE_MIG, .mig_start = 4, .mig_size = 4, .mig_compute = 3 };
    (void)state;

    assert_int_equal(mig_hold_of_slice(&slice), mig_hold(&mig_layout(MIG_SEVEN)->profiles[4], 4));
    slice.kind = SHARE_WHOLE;
    assert_int_equal(mig_hold_of_slice(&slice), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_what_a_search_over_all_placements_finds),
        cmocka_unit_test(a_device_of_seven_may_come_into_336_states),
        cmocka_unit_test(a_device_of_seven_has_19_full_layouts_without_the_double_memory),
        cmocka_unit_test(the_best_start_leaves_most_to_others),
        cmocka_unit_test(profiles_are_known_by_the_names_of_their_board),
        cmocka_unit_test(an_instance_counts_by_its_memory_slices),
        cmocka_unit_test(sums_of_memory_and_compute_are_never_exceeded),
        cmocka_unit_test(what_is_promised_twice_shows),
        cmocka_unit_test(a_slice_holds_what_its_instance_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
