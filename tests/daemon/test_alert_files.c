/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of alerts, where the disk fails or an earlier version left its files. */
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

static void remove_folder(const char *folder)
{
    AUTO_FREE char *command = mem_printf("rm -r '%s'", folder);

    assert_int_equal(system(command), 0);
}

static void what_was_told_is_saved_again_when_the_disk_takes_it(void **state)
{
    char folder[] = "/tmp/tarn-alert-files-XXXXXX";
    struct alert_thing thing = { .name = "hot", .subject = "GPU-0", .owner = "ana", .job = 7 };
    struct alerts alerts = { 0 }, read = { 0 };
    struct alert_memory memory;
    (void)state;

    assert_non_null(mkdtemp(folder));
    AUTO_FREE char *below = mem_printf("%s/below", folder);
    warnings = 0;
    alerts_recall(&alerts, &thing, 1, 1, 2);
    alert_memory_load(&memory, below, &read, 2);
    assert_int_equal(warnings, 1);
    for (unsigned i = 0; i < 2; i++) {
        alert_memory_save(&memory, &alerts);
        assert_true(memory.is_behind);
        assert_int_equal(warnings, 2);
    }
    assert_int_equal(mkdir(below, 0700), 0);
    alert_memory_save(&memory, &alerts);
    assert_false(memory.is_behind);
    alert_memory_release(&memory);
    alert_memory_load(&memory, below, &read, 2);
    assert_int_equal(read.entries.count, 1);
    assert_memory_equal(&read.entries.items[0].thing, &thing, sizeof(thing));
    alert_memory_release(&memory);
    alerts_release(&alerts);
    alerts_release(&read);
    remove_folder(folder);
}

static void put_file(const char *folder, const char *name, const char *words)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(words, file);
    fclose(file);
}

static void files_of_an_earlier_version_are_taken_over_once(void **state)
{
    char folder[] = "/tmp/tarn-alert-files-XXXXXX";
    (void)state;

    assert_non_null(mkdtemp(folder));
    AUTO_FREE char *old = mem_printf("%s/silences.json", folder);
    put_file(folder, "alerts.json",
             "[{\"fault\": \"hot\", \"uuid\": \"GPU-0\", \"node\": \"a\", \"words\": \"w\", "
             "\"gpu\": 0, \"severity\": 1, \"since\": 1, \"told\": 1}, 7]");
    put_file(folder, "silences.json",
             "[{\"name\": \"hot\", \"subject\": \"*\", \"until\": 0, \"at\": 5, \"by\": \"ana\", "
             "\"comment\": \"fans\"}]");
    for (int i = 0; i < 2; i++) {
        struct alerts alerts = { 0 };
        struct alert_memory memory;
        alert_memory_load(&memory, folder, &alerts, 2);
        assert_int_equal(alerts.entries.count, 1);
        assert_int_equal(memory.silences.list.count, 1);
        assert_string_equal(memory.silences.list.items[0].comment, "fans");
        assert_int_equal(access(old, F_OK), -1);
        alert_memory_release(&memory);
        alerts_release(&alerts);
    }
    remove_folder(folder);
}

static void silences_that_are_no_list_are_told(void **state)
{
    char folder[] = "/tmp/tarn-alert-files-XXXXXX";
    struct alerts alerts = { 0 };
    struct alert_memory memory;
    (void)state;

    assert_non_null(mkdtemp(folder));
    put_file(folder, "silences.json", "{}");
    warnings = 0;
    alert_memory_load(&memory, folder, &alerts, 2);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(said, ": expected a list"));
    assert_int_equal(memory.silences.list.count, 0);
    alert_memory_release(&memory);
    alerts_release(&alerts);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_told_is_saved_again_when_the_disk_takes_it),
        cmocka_unit_test(files_of_an_earlier_version_are_taken_over_once),
        cmocka_unit_test(silences_that_are_no_list_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
