/* SPDX-License-Identifier: Apache-2.0 */
/* Health commands: real ones, in a real loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"
#include "node/health_command.h"

static bool are_all_immortal;

int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
    return are_all_immortal ? 0 : __real_kill(pid, number);
}

int __real_pidfd_send_signal(int fd, int number, siginfo_t *info, unsigned flags);
int __wrap_pidfd_send_signal(int fd, int number, siginfo_t *info, unsigned flags);
int __wrap_pidfd_send_signal(int fd, int number, siginfo_t *info, unsigned flags)
{
    return are_all_immortal ? 0 : __real_pidfd_send_signal(fd, number, info, flags);
}

struct answer {
    unsigned count;
    enum check_end end;
    char words[2 * CHECK_LINE_SIZE];
};

static void on_done(void *user, uint64_t tag, enum check_end end, const char *words)
{
    struct answer *answer = user;

    assert_int_equal(tag, 7);
    answer->count++;
    answer->end = end;
    snprintf(answer->words, sizeof(answer->words), "%s", words);
}

/* What is said of a command that has so long. */
static struct answer check(const char *command, usec_t timeout)
{
    static const struct probe_device device = { .uuid = "GPU-1", .vendor = "nvidia" };
    struct answer answer = { 0 };
    uv_loop_t loop;

    uv_loop_init(&loop);
    struct health_commands *commands = health_commands_create(&loop);
    health_command_start(commands, &(struct check){ .command = command,
                                                    .timeout = timeout,
                                                    .device = &device,
                                                    .when = "before",
                                                    .done = on_done,
                                                    .user = &answer,
                                                    .tag = 7 });
    uv_run(&loop, UV_RUN_DEFAULT);
    health_commands_destroy(commands);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(answer.count, 1);
    return answer;
}

static void the_end_is_told_with_the_last_line(void **state)
{
    static const struct {
        const char *command, *words;
        enum check_end end;
    } cases[] = {
        { "true", "exit 0", CHECK_WELL },
        { "echo first; echo; echo fine", "exit 0: fine", CHECK_WELL },
        { "echo link 3 is slow >&2; exit 7", "exit 7: link 3 is slow", CHECK_SICK },
        { "printf 'no end'; exit 1", "exit 1: no end", CHECK_SICK },
        { "exec kill -9 $$", "signal 9", CHECK_SICK },
        { "printf 'a\\033[2Jb caf\\351\\n'; exit 1", "exit 1: a [2Jb caf?", CHECK_SICK },
        /* Cut before a character, not in it: 78 bytes, and one of two. */
        { "printf '%078d\\303\\244\\303\\244\\n' 0; exit 1",
          "exit 1: 000000000000000000000000000000000000000000000000000000000000000000000000000000",
          CHECK_SICK },
        { "/bin/nothing-is-called-so 2>/dev/null", "exit 127", CHECK_NOT_RUN },
        { "/dev/null 2>/dev/null", "exit 126", CHECK_NOT_RUN },
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer answer = check(cases[i].command, 60 * USEC_PER_SEC);

        assert_string_equal(answer.words, cases[i].words);
        assert_int_equal(answer.end, cases[i].end);
    }
}

static void who_is_late_is_killed(void **state)
{
    (void)state;
    struct answer answer = check("echo begun; sleep 600 & sleep 600", USEC_PER_SEC);

    assert_int_equal(answer.end, CHECK_SICK);
    assert_string_equal(answer.words, "not done in time: begun");
}

/* timeout(1) makes a process group of its own. */
static void so_are_those_of_its_session_with_a_group_of_their_own(void **state)
{
    (void)state;
    struct answer answer = check("timeout 600 sleep 600 & echo $!; wait; true", USEC_PER_SEC);

    assert_int_equal(answer.end, CHECK_SICK);
    assert_true(string_starts(answer.words, "not done in time: "));
    pid_t pid = (pid_t)strtol(strrchr(answer.words, ' '), NULL, 10);
    assert_true(pid > 1);
    for (int i = 0; i < 100 && getpgid(pid) == pid; i++) /* its new parent takes its end */
        usleep(20000);
    AUTO_FREE char *path = mem_printf("/proc/%d/stat", pid);
    AUTO_RELEASE(text) struct text stat = { 0 };
    if (file_read(path, 4096, &stat, NULL) == 0)
        assert_non_null(strstr(text_string(&stat), ") Z "));
}

/* The device and its job go on; the loop ends when the process does. */
static void who_can_not_be_killed_is_not_waited_for(void **state)
{
    (void)state;
    are_all_immortal = true;
    struct answer answer = check("echo begun; exec sleep 5", USEC_PER_SEC);
    are_all_immortal = false;

    assert_int_equal(answer.end, CHECK_SICK);
    assert_string_equal(answer.words, "not done in time, and cannot be killed: begun");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_told_with_the_last_line),
        cmocka_unit_test(who_is_late_is_killed),
        cmocka_unit_test(so_are_those_of_its_session_with_a_group_of_their_own),
        cmocka_unit_test(who_can_not_be_killed_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
