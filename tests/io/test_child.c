/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "io/child.h"
#include "io/child_watch.h"

static int child_wait(int pidfd)
{
    struct pollfd wait = { .fd = pidfd, .events = POLLIN };
    int status = -1;

    assert_int_equal(poll(&wait, 1, -1), 1);
    assert_true(child_reap(pidfd, &status));
    assert_false(child_reap(pidfd, &status));
    close(pidfd);
    return status;
}

static int shell(const char *script, const int *fds, unsigned fd_count)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
    char *envp[] = { (char *)"A=1", NULL };
    struct child_plan plan = {
        .path = "/bin/sh", .argv = argv, .envp = envp, .fds = fds, .fd_count = fd_count
    };
    struct error err = { "" };
    int pidfd = -1;

    if (child_start(&plan, &pidfd, &err) < 0)
        fail_msg("%s", err.text);
    return pidfd;
}

static void a_status_comes_back(void **state)
{
    (void)state;
    int status = child_wait(shell("[ \"$A\" = 1 ] && exit 3", NULL, 0));

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    status = child_wait(shell("kill -KILL $$", NULL, 0));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void descriptors_arrive_in_order_and_ours_stay_ours(void **state)
{
    (void)state;
    int first[2], second[2];
    char text[64] = "";

    assert_int_equal(pipe2(first, O_CLOEXEC), 0);
    assert_int_equal(pipe2(second, O_CLOEXEC), 0);
    int fds[] = { fd_raise(first[1]), fd_raise(second[1]) };
    AUTO_FREE char *script = mem_printf("echo one >&3; echo two >&4; exec ls -d /proc/self/fd/%d "
                                        "/proc/self/fd/%d 2> /dev/null",
                                        fds[0], fds[1]);
    /* ls finds neither of our numbers there. */
    assert_int_equal(WEXITSTATUS(child_wait(shell(script, fds, 2))), 2);
    assert_true(read(first[0], text, sizeof(text)) == 4);
    assert_memory_equal(text, "one\n", 4);
    assert_true(read(second[0], text, sizeof(text)) == 4);
    assert_memory_equal(text, "two\n", 4);
    close(fds[0]);
    close(fds[1]);
    close(first[0]);
    close(second[0]);
}

static void a_signal_is_kept_until_the_child_is_ready(void **state)
{
    (void)state;
    int pidfd = shell("exec sleep 1000", NULL, 0);

    assert_int_equal(child_signal(pidfd, SIGTERM, 5), 0);
    int status = -1;
    assert_false(child_reap(pidfd, &status));
    assert_int_equal(child_signal(pidfd, SIGKILL, 0), 0);
    status = child_wait(pidfd);
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void a_start_that_fails_says_why(void **state)
{
    static const struct {
        const char *path;
        int code;
        const char *text;
    } cases[] = {
        { "/nope", -ENOENT, "cannot start /nope: No such file or directory" },
        { "/etc/passwd", -EACCES, "cannot start /etc/passwd: Permission denied" },
    };
    (void)state;
    char *none[] = { NULL };
    char *argv[] = { (char *)"x", NULL };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct child_plan plan = { .path = cases[i].path, .argv = argv, .envp = none };
        struct error err;
        int pidfd = -1;

        assert_int_equal(child_start(&plan, &pidfd, &err), cases[i].code);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(pidfd, -1);
    }
}

static void too_many_files_start_nothing(void **state)
{
    (void)state;
    char *none[] = { NULL };
    char *argv[] = { (char *)"true", NULL };
    struct child_plan plan = { .path = "/bin/true", .argv = argv, .envp = none };
    struct rlimit before, few;
    struct error err;
    int pidfd = -1;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int code = child_start(&plan, &pidfd, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(code, -EMFILE);
    assert_string_equal(err.text, "cannot start /bin/true: too many open files (see ulimit -n)");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void on_end(void *user, int status)
{
    *(int *)user = status;
}

static void a_watched_child_is_reaped(void **state)
{
    (void)state;
    uv_loop_t loop;
    int status = 0, pidfd = shell("exit 5", NULL, 0), copy = dup(pidfd);

    uv_loop_init(&loop);
    child_watch_start(&loop, pidfd, on_end, &status);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_false(child_reap(copy, &status));
    assert_int_equal(child_signal(copy, 0, 0), -ESRCH);
    close(copy);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Nothing is told, and no zombie is left. */
static void a_killed_child_is_reaped_later(void **state)
{
    (void)state;
    uv_loop_t loop;
    int status = 77, pidfd = shell("exec sleep 100000", NULL, 0), copy = dup(pidfd);

    uv_loop_init(&loop);
    child_watch_kill(child_watch_start(&loop, pidfd, on_end, &status));
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(status, 77);
    assert_int_equal(child_signal(copy, 0, 0), -ESRCH);
    close(copy);
    child_watch_drain(&loop); /* none is left to wait for */
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_comes_back),
        cmocka_unit_test(a_watched_child_is_reaped),
        cmocka_unit_test(a_killed_child_is_reaped_later),
        cmocka_unit_test(descriptors_arrive_in_order_and_ours_stay_ours),
        cmocka_unit_test(a_signal_is_kept_until_the_child_is_ready),
        cmocka_unit_test(a_start_that_fails_says_why),
        cmocka_unit_test(too_many_files_start_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
