/* SPDX-License-Identifier: Apache-2.0 */
/* Health commands: real ones, in a real loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "daemon/checker.h"

struct answer {
    unsigned count;
    bool is_well;
    char words[2 * CHECK_LINE_SIZE];
};

static void on_done(void *user, uint64_t tag, bool is_well, const char *words)
{
    struct answer *answer = user;

    assert_int_equal(tag, 7);
    answer->count++;
    answer->is_well = is_well;
    snprintf(answer->words, sizeof(answer->words), "%s", words);
}

/* What is said of a command that has so long. */
static struct answer check(const char *command, usec_t timeout)
{
    static const struct probe_device device = { .uuid = "GPU-1", .vendor = "nvidia" };
    struct answer answer = { 0 };
    uv_loop_t loop;

    uv_loop_init(&loop);
    struct checker *checker = checker_create(&loop);
    checker_start(checker, &(struct check){ .command = command,
                                            .timeout = timeout,
                                            .device = &device,
                                            .when = "before",
                                            .done = on_done,
                                            .user = &answer,
                                            .tag = 7 });
    uv_run(&loop, UV_RUN_DEFAULT);
    checker_destroy(checker);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(answer.count, 1);
    return answer;
}

static void the_end_is_told_with_the_last_line(void **state)
{
    static const struct {
        const char *command, *words;
        bool is_well;
    } cases[] = {
        { "true", "exit 0", true },
        { "echo first; echo; echo fine", "exit 0: fine", true },
        { "echo link 3 is slow >&2; exit 7", "exit 7: link 3 is slow", false },
        { "printf 'no end'; exit 1", "exit 1: no end", false },
        { "exec kill -9 $$", "signal 9", false },
        { "printf 'a\\033[2Jb caf\\351\\n'; exit 1", "exit 1: a [2Jb caf?", false },
        /* Cut before a character, not in it: 78 bytes, and one of two. */
        { "printf '%078d\\303\\244\\303\\244\\n' 0; exit 1",
          "exit 1: 000000000000000000000000000000000000000000000000000000000000000000000000000000",
          false },
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer answer = check(cases[i].command, 60 * USEC_PER_SEC);

        assert_string_equal(answer.words, cases[i].words);
        assert_int_equal(answer.is_well, cases[i].is_well);
    }
}

static void who_is_late_is_killed(void **state)
{
    (void)state;
    struct answer answer = check("echo begun; sleep 600 & sleep 600", USEC_PER_SEC);

    assert_false(answer.is_well);
    assert_string_equal(answer.words, "not done in time: begun");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_told_with_the_last_line),
        cmocka_unit_test(who_is_late_is_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
