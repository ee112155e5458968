/* SPDX-License-Identifier: Apache-2.0 */

/* One brain: what was recorded gives the same state and the same decisions again, whether decided
 * anew, folded without deciding, or gone on with from a snapshot at any place. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "core/snapshot/snapshot.h"

enum { SEEDS = 40, STEPS = 250 };

static struct chaos *lived(uint64_t seed, int steps)
{
    static const enum chaos_kind kinds[] = { CHAOS_ANY, CHAOS_ANY_ORDER, CHAOS_TIMES };
    struct chaos *chaos = chaos_create(seed, kinds[seed % COUNT_OF(kinds)]);

    for (int i = 0; i < steps; i++)
        chaos_step(chaos);
    return chaos;
}

static void decode(const struct lab_record *record, struct arena *arena, struct event *ret)
{
    struct error err;

    arena_clear(arena);
    if (event_decode(record->bytes, record->length, arena, ret, &err) < 0)
        fail_msg("%s", err.text);
}

static void assert_same_state(const struct state *state, const struct lab *lab, uint64_t seed)
{
    AUTO_RELEASE(text) struct text got = { 0 };
    AUTO_RELEASE(text) struct text expected = { 0 };

    snapshot_save(state, &got);
    lab_save(lab, &expected);
    if (got.length != expected.length || memcmp(got.bytes, expected.bytes, got.length) != 0)
        fail_msg("seed %" PRIu64 ": another state", seed);
}

static void folding_what_was_recorded_gives_the_same_state(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(chaos) struct chaos *chaos = lived(seed, STEPS);
        AUTO(state) struct state *state = state_create();
        AUTO(brain) struct brain *brain = brain_create(state);
        struct arena arena = { 0 };
        struct event event;
        struct error err;

        for (size_t i = 0; i < chaos->lab->records.count; i++) {
            decode(&chaos->lab->records.items[i], &arena, &event);
            if (sched_fold(brain, &event, &err) < 0)
                fail_msg("seed %" PRIu64 ", record %zu: %s", seed, i, err.text);
        }
        assert_same_state(state, chaos->lab, seed);
        arena_release(&arena);
    }
}

/* Tells a brain on this state the events from `first` on; its decisions must be those recorded.
 * is_renewed: at each BOOT another brain takes over. */
static void decide_again(struct state *state, const struct lab *lab, size_t first, bool is_renewed,
                         uint64_t seed)
{
    struct brain *brain = brain_create(state);
    struct decisions decisions = { 0 };
    struct arena arena = { 0 };
    struct text bytes = { 0 };
    size_t decided = 0;

    for (size_t i = first; i < lab->records.count; i++) {
        const struct lab_record *record = &lab->records.items[i];
        struct event event;
        struct error err;

        if (record->is_decision) {
            text_clear(&bytes);
            if (decided == decisions.events.count)
                fail_msg("seed %" PRIu64 ", record %zu: was not decided again", seed, i);
            event_encode(&decisions.events.items[decided++], &bytes);
            if (bytes.length != record->length ||
                memcmp(bytes.bytes, record->bytes, record->length) != 0) {
                struct event was;
                decode(record, &arena, &was);
                fail_msg(
                    "seed %" PRIu64 ", record %zu: decided otherwise %d %d, job %d %d wait %ld %ld",
                    seed, i, (int)was.kind, (int)decisions.events.items[decided - 1].kind,
                    (int)was.hold.job, (int)decisions.events.items[decided - 1].hold.job,
                    (long)was.foresee.wait, (long)decisions.events.items[decided - 1].foresee.wait);
            }
            continue;
        }
        if (decided != decisions.events.count)
            fail_msg("seed %" PRIu64 ", record %zu: decided more", seed, i);
        decided = decisions.events.count = 0;
        decode(record, &arena, &event);
        if (is_renewed && event.kind == EVENT_BOOT) {
            brain_destroy(brain);
            brain = brain_create(state);
        }
        if (sched_step(brain, &event, &decisions, &err) < 0)
            fail_msg("seed %" PRIu64 ", record %zu: %s", seed, i, err.text);
    }
    assert_int_equal(decided, decisions.events.count);
    brain_destroy(brain);
    list_release(&decisions.events);
    arena_release(&arena);
    text_release(&bytes);
}

static void the_same_events_give_the_same_decisions(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(chaos) struct chaos *chaos = lived(seed, STEPS);
        AUTO(state) struct state *state = state_create();

        decide_again(state, chaos->lab, 0, false, seed);
        assert_same_state(state, chaos->lab, seed);
    }
}

static struct state *loaded(const struct text *bytes)
{
    struct state *state = NULL;
    struct error err;

    if (snapshot_load(bytes->bytes, bytes->length, &state, &err) < 0)
        fail_msg("%s", err.text);
    return state;
}

static void a_snapshot_saves_what_it_loads(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(chaos) struct chaos *chaos = chaos_create(seed, CHAOS_ANY);
        for (int i = 0; i < STEPS; i++) {
            AUTO_RELEASE(text) struct text bytes = { 0 };
            chaos_act(chaos); /* also between an event and its plan */
            lab_save(chaos->lab, &bytes);
            AUTO(state) struct state *state = loaded(&bytes);
            assert_same_state(state, chaos->lab, seed);
            assert_int_equal(
                memcmp(&state->capacity, &chaos->lab->state->capacity, sizeof(state->capacity)), 0);
            for (size_t k = 0; k < state->devices.count; k++)
                assert_int_equal(state->devices.items[k].pool,
                                 chaos->lab->state->devices.items[k].pool);
            lab_settle(chaos->lab);
        }
    }
}

static void going_on_from_a_snapshot_decides_the_same(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(chaos) struct chaos *chaos = lived(seed, STEPS / 2);
        AUTO_RELEASE(text) struct text bytes = { 0 };
        size_t first = chaos->lab->records.count;

        lab_save(chaos->lab, &bytes);
        lab_tell(chaos->lab, &(struct event){ .kind = EVENT_BOOT });
        for (int i = 0; i < STEPS / 2; i++)
            chaos_step(chaos);
        AUTO(state) struct state *state = loaded(&bytes);
        decide_again(state, chaos->lab, first, false, seed);
        assert_same_state(state, chaos->lab, seed);
    }
}

static void another_brain_on_the_same_state_decides_the_same(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(chaos) struct chaos *chaos = lived(seed, STEPS);
        AUTO(state) struct state *state = state_create();

        decide_again(state, chaos->lab, 0, true, seed);
        assert_same_state(state, chaos->lab, seed);
    }
}

static void events_survive_their_bytes(void **unused)
{
    size_t count = 0;
    (void)unused;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        AUTO(chaos) struct chaos *chaos = lived(seed, STEPS);
        struct arena arena = { 0 };
        struct text bytes = { 0 };
        for (size_t i = 0; i < chaos->lab->records.count; i++, count++) {
            const struct lab_record *record = &chaos->lab->records.items[i];
            struct event event;
            decode(record, &arena, &event);
            text_clear(&bytes);
            event_encode(&event, &bytes);
            assert_int_equal(bytes.length, record->length);
            assert_memory_equal(bytes.bytes, record->bytes, bytes.length);
        }
        arena_release(&arena);
        text_release(&bytes);
    }
    assert_true(count > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_what_was_recorded_gives_the_same_state),
        cmocka_unit_test(the_same_events_give_the_same_decisions),
        cmocka_unit_test(a_snapshot_saves_what_it_loads),
        cmocka_unit_test(going_on_from_a_snapshot_decides_the_same),
        cmocka_unit_test(another_brain_on_the_same_state_decides_the_same),
        cmocka_unit_test(events_survive_their_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
