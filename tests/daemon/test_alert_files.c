/* SPDX-License-Identifier: Apache-2.0 */
/* The two small files of alerts, where the disk or somebody else had a hand in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "daemon/alert/alert_memory.h"
#include "daemon/alert/silences.h"
#include "io/log.h"

static char said[1024];
static unsigned warnings;

void log_line(int priority, const char *format, ...)
{
    va_list list;

    warnings += priority == LOG_WARNING;
    va_start(list, format);
    vsnprintf(said, sizeof(said), format, list);
    va_end(list);
}

static void what_was_told_is_saved_again_when_the_disk_takes_it(void **state)
{
    char folder[] = "/tmp/tarn-alert-files-XXXXXX";
    struct alert_thing thing = { .name = "hot", .subject = "GPU-0", .gpu = 0 };
    struct alerts alerts = { 0 }, read = { 0 };
    struct alert_memory memory;
    uv_loop_t loop;
    (void)state;

    assert_non_null(mkdtemp(folder));
    AUTO_FREE char *below = mem_printf("%s/below", folder);
    AUTO_FREE char *path = mem_printf("%s/alerts.json", below);
    warnings = 0;
    uv_loop_init(&loop);
    alerts_recall(&alerts, &thing, 1, 1, 2);
    alert_memory_load(&memory, &loop, mem_string(path), &read, 2);
    for (unsigned i = 0; i < 2; i++) {
        alert_memory_save(&memory, &alerts);
        uv_run(&loop, UV_RUN_DEFAULT);
        assert_true(memory.is_behind);
        assert_int_equal(warnings, 1);
    }
    assert_int_equal(mkdir(below, 0700), 0);
    alert_memory_save(&memory, &alerts);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_false(memory.is_behind);
    alert_memory_release(&memory);
    alert_memory_load(&memory, &loop, mem_string(path), &read, 2);
    assert_int_equal(read.entries.count, 1);
    alert_memory_release(&memory);
    alerts_release(&alerts);
    alerts_release(&read);
    assert_int_equal(uv_loop_close(&loop), 0);
    unlink(path);
    rmdir(below);
    rmdir(folder);
}

static void silences_that_are_no_list_are_told(void **state)
{
    char path[] = "/tmp/tarn-silences-XXXXXX";
    struct silences silences;
    (void)state;

    int fd = mkstemp(path);
    assert_int_equal(write(fd, "{}", 2), 2);
    close(fd);
    warnings = 0;
    silences_load(&silences, mem_string(path));
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(said, ": expected a list"));
    assert_int_equal(silences.list.count, 0);
    silences_release(&silences);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_told_is_saved_again_when_the_disk_takes_it),
        cmocka_unit_test(silences_that_are_no_list_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
