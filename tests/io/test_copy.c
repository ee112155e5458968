/* SPDX-License-Identifier: Apache-2.0 */
#include "io/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

static int value = 1;

static struct copy start(copy_fn *fn, void *user)
{
    struct copy copy = { -1, -1 };
    struct error err = { "" };

    if (copy_start(fn, user, &copy, &err) < 0)
        fail_msg("%s", err.text);
    return copy;
}

static void read_all(struct copy *copy, struct text *out)
{
    while (copy_read(copy, out))
        continue;
}

static void say_value(void *user, int fd)
{
    char text[32];

    value += *(int *)user;
    snprintf(text, sizeof(text), "%d", value);
    copy_write(fd, text, strlen(text));
}

static void it_has_our_memory_and_we_do_not_have_its(void **unused)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    int more = 41;
    (void)unused;

    struct copy copy = start(say_value, &more);
    read_all(&copy, &out);
    assert_string_equal(text_string(&out), "42");
    assert_int_equal(copy_end(&copy), 0);
    assert_int_equal(value, 1);
}

static void say_descriptors(void *user, int fd)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    char text[32];

    (void)user;
    while (folder && readdir(folder))
        count++;
    snprintf(text, sizeof(text), "%u", count - 3); /* ".", ".." and the folder itself */
    copy_write(fd, text, strlen(text));
}

static void it_has_no_descriptor_of_ours_but_standard_error(void **unused)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    int other = open("/dev/null", O_RDONLY), more = dup(other);
    (void)unused;

    struct copy copy = start(say_descriptors, NULL);
    read_all(&copy, &out);
    assert_string_equal(text_string(&out), "4");
    copy_end(&copy);
    close(other);
    close(more);
}

static void on_signal(int number)
{
    (void)number;
}

static void say_handlers(void *user, int fd)
{
    struct sigaction term, child;
    sigset_t blocked;

    (void)user;
    sigaction(SIGTERM, NULL, &term);
    sigaction(SIGCHLD, NULL, &child);
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    if (term.sa_handler == SIG_DFL && child.sa_handler == SIG_DFL &&
        !sigismember(&blocked, SIGUSR1))
        copy_write(fd, "plain", 5);
}

static void signals_do_what_they_do_in_a_new_program(void **unused)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    sigset_t some, before;
    (void)unused;

    signal(SIGTERM, on_signal);
    signal(SIGCHLD, on_signal);
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigprocmask(SIG_BLOCK, &some, &before);
    struct copy copy = start(say_handlers, NULL);
    read_all(&copy, &out);
    assert_string_equal(text_string(&out), "plain");
    copy_end(&copy);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
}

static void wait_for_ever(void *user, int fd)
{
    (void)user;
    (void)fd;
    for (;;)
        pause();
}

static void one_that_hangs_is_ended(void **unused)
{
    struct copy copy = start(wait_for_ever, NULL);
    (void)unused;

    assert_int_equal(WTERMSIG(copy_end(&copy)), SIGKILL);
}

static void copy_a_copy(void *user, int fd)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    struct copy copy;
    int more = 1;

    (void)user;
    if (copy_start(say_value, &more, &copy, NULL) < 0)
        return;
    read_all(&copy, &out);
    copy_end(&copy);
    copy_write(fd, out.bytes, out.length);
}

static void a_copy_can_be_copied(void **unused)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    (void)unused;

    struct copy copy = start(copy_a_copy, NULL);
    read_all(&copy, &out);
    assert_string_equal(text_string(&out), "2");
    assert_int_equal(copy_end(&copy), 0);
}

/* Says who hangs in its place, then hangs itself. */
static void copy_and_hang(void *user, int fd)
{
    struct copy copy;

    (void)user;
    if (copy_start(wait_for_ever, NULL, &copy, NULL) < 0)
        return;
    char path[64], info[512] = "";
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", copy.pidfd);
    int file = open(path, O_RDONLY);
    ssize_t length = read(file, info, sizeof(info) - 1);
    const char *pid = length > 0 ? strstr(info, "Pid:") : NULL;
    if (pid)
        copy_write(fd, pid + 4, strlen(pid + 4));
    close(fd);
    wait_for_ever(NULL, fd);
}

static void its_copies_go_with_it(void **unused)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    (void)unused;

    struct copy copy = start(copy_and_hang, NULL);
    read_all(&copy, &out);
    pid_t pid = (pid_t)strtol(text_string(&out), NULL, 10);
    assert_true(pid > 1);
    assert_int_equal(kill(pid, 0), 0);
    copy_end(&copy);
    for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++) {
        char path[64], stat[256] = "";
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "re");
        if (!file)
            return;
        bool is_zombie = fgets(stat, sizeof(stat), file) && strstr(stat, ") Z");
        fclose(file);
        if (is_zombie) /* nobody reaps it here */
            return;
        usleep(10000);
    }
    assert_int_not_equal(kill(pid, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_our_memory_and_we_do_not_have_its),
        cmocka_unit_test(it_has_no_descriptor_of_ours_but_standard_error),
        cmocka_unit_test(signals_do_what_they_do_in_a_new_program),
        cmocka_unit_test(one_that_hangs_is_ended),
        cmocka_unit_test(a_copy_can_be_copied),
        cmocka_unit_test(its_copies_go_with_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
