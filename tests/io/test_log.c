/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/log.h"

/* What a process says whose stderr is a pipe; the stream is that pipe, plus more. */
static void line_of(bool has_stream, unsigned more, char *ret, size_t size)
{
    struct stat status;
    char stream[64];
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fstat(ends[1], &status), 0);
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev,
             (uintmax_t)status.st_ino + more);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        if (has_stream)
            setenv("JOURNAL_STREAM", stream, 1);
        else
            unsetenv("JOURNAL_STREAM");
        log_line(LOG_WARNING, "a sentence key=%d", 7);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    ssize_t length = read(ends[0], ret, size - 1);
    assert_true(length >= 0);
    ret[length] = '\0';
    close(ends[0]);
}

static void only_the_journal_gets_the_priority(void **state)
{
    char line[128];
    (void)state;

    line_of(true, 0, line, sizeof(line));
    assert_string_equal(line, "<4>a sentence key=7\n");
    line_of(true, 1, line, sizeof(line)); /* of another stream: stderr was sent elsewhere */
    assert_string_equal(line, "a sentence key=7\n");
    line_of(false, 0, line, sizeof(line));
    assert_string_equal(line, "a sentence key=7\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_journal_gets_the_priority),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
