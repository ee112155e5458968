/* SPDX-License-Identifier: Apache-2.0 */

/* The fuzzer itself, and fifty of its worlds. TARN_WORLDS: the folder of worlds that show what the
 * brain is known to do wrong. */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/file.h"
#include "worlds/fuzz_check.h"
#include "worlds/fuzz_shrink.h"

enum { WORLDS = 50, STEPS = 200, BYTES_MAX = 1 << 20 };

static const struct fuzz_look usual = { .sample = FUZZ_SAMPLE };
static const struct fuzz_look strict = { .sample = 1, .is_strict = true };

static struct fuzz_world *world_of(const char *text)
{
    struct fuzz_world *world = NULL;
    struct error err;

    if (fuzz_world_parse(text, strlen(text), "x.world", &world, &err) < 0)
        fail_msg("%s", err.text);
    return world;
}

static void in_fifty_random_worlds_every_invariant_holds(void **state)
{
    uint64_t events = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        AUTO(fuzz_world) struct fuzz_world *world = fuzz_world_make(seed, STEPS);
        struct fuzz_result result;
        fuzz_run(world, &usual, &result);
        if (result.failure.invariant)
            fail_msg("seed %" PRIu64 ", step %zu: %s: %s\n"
                     "brain-worlds --seed %" PRIu64 " --steps %d",
                     seed, result.failure.step, result.failure.invariant, result.failure.found.text,
                     seed, STEPS);
        events += result.events;
    }
    print_message("%d worlds, %" PRIu64 " events\n", WORLDS, events);
    assert_true(events > WORLDS * STEPS);
}

static void a_world_is_the_same_after_it_was_written_and_read(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        AUTO(fuzz_world) struct fuzz_world *world = fuzz_world_make(seed, 60);
        AUTO_RELEASE(text) struct text written = { 0 };
        AUTO_RELEASE(text) struct text again = { 0 };
        struct fuzz_result one, two;

        fuzz_world_format(world, &written);
        AUTO(fuzz_world) struct fuzz_world *read = world_of(text_string(&written));
        fuzz_world_format(read, &again);
        assert_string_equal(again.bytes, written.bytes);
        fuzz_run(world, &usual, &one);
        fuzz_run(read, &usual, &two);
        assert_int_equal(one.events, two.events);
    }
}

static void what_is_wrong_in_a_world_is_said_with_its_line(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "", "x.world: is empty, expected a line that begins with 'world'" },
        { "# words\n5 plan\n", "x.world:2: expected a line that begins with 'world'" },
        { "world seed=1\n", "x.world:1: world: quantum: expected a time above 0" },
        { "world quantum=1\nsoon plan\n",
          "x.world:2: 'soon plan': expected a time in microseconds" },
        { "world quantum=1\n5 grant job=1\n",
          "x.world:2: 'grant': expected an event or one of SNAPSHOT, RESTART, ENGINE, FORGET, "
          "REFRESH" },
        { "world quantum=1\n5 submit gpu=1\n", "x.world:2: submit: 'gpu': no such field" },
        { "world quantum=1\n5 submit retry=two\n",
          "x.world:2: submit: retry: 'two': expected a number" },
        { "world quantum=1\n5 device index=4294967296\n",
          "x.world:2: device: index: the number does not fit" },
        { "world quantum=1\n5 queue name='a\n",
          "x.world:2: queue: name: a text without its second '" },
        { "world quantum=1\n5 submit request={ gpus=[{ count=1 }{}{}{}{}] }\n",
          "x.world:2: submit: request: gpus: more than 4" },
        { "world quantum=1\n5 RESTART now\n", "x.world:2: ' now': expected the end of the line" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fuzz_world *world = NULL;
        struct error err;

        assert_true(
            fuzz_world_parse(cases[i].text, strlen(cases[i].text), "x.world", &world, &err) < 0);
        assert_string_equal(err.text, cases[i].words);
    }
}

static void actions_that_nobody_could_take_are_passed_over(void **state)
{
    struct fuzz_result result;
    (void)state;

    AUTO(fuzz_world)
    struct fuzz_world *world =
        world_of("world quantum=1000000 seed=1\n"
                 "3600000000 cancel job=7 user='ana'\n"
                 "3600000000 device node='nowhere' uuid='d'\n"
                 "3600000000 queue_remove name='default'\n"
                 "3600000000 submit id=1 queue='nowhere' request={ members=1 nodes_min=1 "
                 "nodes_max=1 max_duration=1 }\n"
                 "3600000000 submit id=2 queue='default' request={ members=0 }\n"
                 "3600000000 forget id=1\n"
                 "3600000000 RESTART\n");
    fuzz_run(world, &strict, &result);
    assert_null(result.failure.invariant);
}

/* "# work_conserving: job 1: ..." */
static void name_in(const char *text, char *name, size_t size)
{
    size_t length = strcspn(text + 2, ":");

    assert_true(text[0] == '#' && length < size);
    snprintf(name, size, "%.*s", (int)length, text + 2);
}

static void try_known(const char *path)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct fuzz_result result;
    struct error err;
    char name[64];

    if (file_read(path, BYTES_MAX, &text, &err) < 0)
        fail_msg("%s", err.text);
    name_in(text_string(&text), name, sizeof(name));
    AUTO(fuzz_world) struct fuzz_world *world = world_of(text_string(&text));
    fuzz_run(world, &strict, &result);
    if (!result.failure.invariant)
        fail_msg(
            "%s: holds now: take the world away, and its line out of tests/worlds/fuzz_known.c",
            path);
    assert_string_equal(result.failure.invariant, name);
    fuzz_run(world, &(struct fuzz_look){ .sample = 1 }, &result);
    if (result.failure.invariant)
        fail_msg("%s: not among what is known: %s: %s", path, result.failure.invariant,
                 result.failure.found.text);
}

static void what_is_known_to_be_wrong_is_still_wrong(void **state)
{
    const char *folder = getenv("TARN_WORLDS");
    uint32_t count = 0;
    (void)state;

    DIR *worlds = opendir(folder ? folder : "tests/sim/worlds");
    if (!worlds)
        fail_msg("TARN_WORLDS: no such folder");
    for (const struct dirent *entry = readdir(worlds); entry; entry = readdir(worlds)) {
        if (!strstr(entry->d_name, ".world"))
            continue;
        AUTO_FREE char *path =
            mem_printf("%s/%s", folder ? folder : "tests/sim/worlds", entry->d_name);
        try_known(path);
        count++;
    }
    closedir(worlds);
    print_message("%u worlds\n", count);
}

/* A share by memory that is taken for a whole device, among much that has nothing to do with it. */
static void a_failure_is_made_small(void **state)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct fuzz_failure failure;
    struct fuzz_result result;
    (void)state;

    text_add(&text, "world quantum=1000000 seed=1 late=5\n"
                    "3600000000 node name='n0' cpu_milli=32000 memory_mib=65536 rack='r1'\n"
                    "3600000000 device node='n0' uuid='a' model='h100' memory_mib=81920\n"
                    "3600000000 device node='n0' uuid='b' model='h100' memory_mib=81920\n");
    for (int i = 1; i <= 40; i++)
        text_printf(&text,
                    "%d000000 submit id=%d name='job' user='ana' queue='default' request={ "
                    "gpus=[{ milli=100 count=1 kind=1 %s}] members=1 nodes_min=1 nodes_max=1 "
                    "max_duration=3600000000 } retry=2 %s\n",
                    3601 + i / 4, i, i > 36 ? "memory_mib=8192 " : "",
                    i == 40 ? "preemptible=1" : "");
    AUTO(fuzz_world) struct fuzz_world *world = world_of(text_string(&text));
    fuzz_run(world, &strict, &result);
    assert_non_null(result.failure.invariant);
    AUTO(fuzz_world)
    struct fuzz_world *small = fuzz_shrink(world, &strict, &result.failure, 4000, &failure);
    assert_string_equal(failure.invariant, result.failure.invariant);
    assert_true(small->actions.count < 12);
    fuzz_run(small, &strict, &result);
    assert_string_equal(result.failure.invariant, failure.invariant);
    assert_string_equal(result.failure.found.text, failure.found.text);
}

static void every_invariant_has_a_name_of_its_own_and_a_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < fuzz_invariant_count; i++) {
        assert_true(strlen(fuzz_invariants[i].meaning) > 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(fuzz_invariants[i].name, fuzz_invariants[k].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_fifty_random_worlds_every_invariant_holds),
        cmocka_unit_test(a_world_is_the_same_after_it_was_written_and_read),
        cmocka_unit_test(what_is_wrong_in_a_world_is_said_with_its_line),
        cmocka_unit_test(actions_that_nobody_could_take_are_passed_over),
        cmocka_unit_test(what_is_known_to_be_wrong_is_still_wrong),
        cmocka_unit_test(a_failure_is_made_small),
        cmocka_unit_test(every_invariant_has_a_name_of_its_own_and_a_meaning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
