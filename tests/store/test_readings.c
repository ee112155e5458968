/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/log.h"
#include "store/readings.h"

/* A minute that begins with the hour. */
static const usec_t start = INT64_C(1700000000) / 3600 * 3600 * USEC_PER_SEC;

struct points {
    usec_t at[5000];
    int64_t mean[5000], most[5000];
    size_t count;
};

static void add_point(void *user, usec_t at, int64_t mean, int64_t most)
{
    struct points *points = user;

    assert_true(points->count < COUNT_OF(points->at));
    points->at[points->count] = at;
    points->mean[points->count] = mean;
    points->most[points->count++] = most;
}

static char *scratch(void)
{
    static char path[] = "/tmp/tarn-readings-XXXXXX";

    strcpy(path, "/tmp/tarn-readings-XXXXXX");
    assert_non_null(mkdtemp(path));
    return mem_printf("%s/r.db", path);
}

static struct readings *open_at(const char *path, int64_t bytes)
{
    struct readings *readings = NULL;
    struct error err = { "" };

    if (readings_open(path, bytes, &readings, &err) < 0)
        fail_msg("%s", err.text);
    return readings;
}

static struct points *ask(struct readings *readings, enum reading_id id, usec_t from, usec_t until,
                          usec_t step)
{
    static struct points points;
    struct reading_query query = { "GPU-a", id, from, until, step };
    struct error err;

    points.count = 0;
    assert_int_equal(readings_query(readings, &query, add_point, &points, &err), 0);
    return &points;
}

static void fill(struct readings *readings, usec_t from, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        struct reading reading = { 0 };
        reading_set(&reading, READING_POWER, 100000 + i % 60 * 1000);
        reading_set(&reading, READING_TEMPERATURE, 3000);
        reading_set(&reading, READING_ENERGY, (int64_t)i * 500);
        if (i % 2 == 0)
            reading_set(&reading, READING_GPU_USE, 500000);
        readings_add(readings, "GPU-a", from + i * USEC_PER_SEC, &reading);
        readings_add(readings, "GPU-b", from + i * USEC_PER_SEC, &reading);
    }
}

static void only_the_owner_may_read_the_file(void **state)
{
    (void)state;
    AUTO_FREE char *path = scratch();
    AUTO_FREE char *log = mem_printf("%s-wal", path);
    struct stat info;

    /* As earlier versions made it. */
    close(open(path, O_RDWR | O_CREAT, 0644));
    close(open(log, O_RDWR | O_CREAT, 0644));
    struct readings *readings = open_at(path, 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    fill(readings, start, 130);
    assert_int_equal(stat(log, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    readings_close(readings);
}

static void seconds_and_minutes_come_back_as_they_were(void **state)
{
    (void)state;
    AUTO_FREE char *path = scratch();
    struct readings *readings = open_at(path, 0);

    fill(readings, start, 130);
    for (int turn = 0; turn < 2; turn++) { /* from memory, and after a restart */
        struct points *points =
            ask(readings, READING_POWER, start, start + USEC_PER_HOUR, USEC_PER_SEC);
        assert_int_equal(points->count, 130);
        for (size_t i = 0; i < points->count; i++) {
            assert_int_equal(points->at[i], start + (usec_t)i * USEC_PER_SEC);
            assert_int_equal(points->mean[i], 100000 + (int64_t)(i % 60) * 1000);
        }
        points = ask(readings, READING_POWER, start, start + 2 * USEC_PER_MIN, USEC_PER_MIN);
        assert_int_equal(points->count, 2);
        assert_int_equal(points->mean[0], 129500);
        assert_int_equal(points->most[0], 159000);
        points = ask(readings, READING_GPU_USE, start, start + USEC_PER_MIN, USEC_PER_SEC);
        assert_int_equal(points->count, 30); /* what was not read is not there */
        points = ask(readings, READING_TEMPERATURE, start, start + USEC_PER_MIN, USEC_PER_MIN);
        assert_int_equal(points->mean[0], 3000);
        /* Of a counter the last of a minute; what was read now and then is a mean of that. */
        points = ask(readings, READING_ENERGY, start, start + 2 * USEC_PER_MIN, USEC_PER_MIN);
        assert_int_equal(points->mean[0], 59 * 500);
        points = ask(readings, READING_GPU_USE, start, start + USEC_PER_MIN, USEC_PER_MIN);
        assert_int_equal(points->mean[0], 500000);
        points = ask(readings, READING_SM_CLOCK, start, start + USEC_PER_HOUR, USEC_PER_MIN);
        assert_int_equal(points->count, 0);
        if (turn == 0) {
            readings_close(readings);
            readings = open_at(path, 0);
        }
    }
    readings_close(readings);
}

static void what_is_old_goes_and_the_file_keeps_to_its_limit(void **state)
{
    (void)state;
    AUTO_FREE char *path = scratch();
    struct readings *readings = open_at(path, 200000);

    for (int hour = 0; hour < 24 * 3; hour++)
        fill(readings, start + hour * USEC_PER_HOUR, 600);
    assert_true(readings_bytes(readings) < 400000);
    usec_t end = start + 72 * USEC_PER_HOUR;
    assert_int_equal(ask(readings, READING_POWER, end - USEC_PER_HOUR, end, USEC_PER_SEC)->count,
                     600);
    /* Of what is older than an hour there are minutes only. */
    struct points *points = ask(readings, READING_POWER, end - 3 * USEC_PER_HOUR,
                                end - 2 * USEC_PER_HOUR, USEC_PER_SEC);
    assert_in_range(points->count, 1, 10);
    assert_int_equal(
        ask(readings, READING_POWER, start, start + USEC_PER_HOUR, USEC_PER_MIN)->count, 0);
    readings_close(readings);
}

static void a_file_that_cannot_be_used_is_begun_anew_and_kept(void **state)
{
    (void)state;
    AUTO_FREE char *path = scratch();
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    assert_int_equal(write(fd, "this is no database at all, but it is long enough", 48), 48);
    close(fd);
    struct readings *readings = open_at(path, 0);
    fill(readings, start, 10);
    assert_int_equal(ask(readings, READING_POWER, start, start + USEC_PER_MIN, USEC_PER_SEC)->count,
                     10);
    readings_close(readings);
}

static unsigned warnings;

void log_line(int priority, const char *format, ...)
{
    (void)priority;
    warnings += strstr(format, "readings are not saved") != NULL;
}

/* Another program changes the tables under an open file. */
static void what_cannot_be_saved_is_said_once(void **state)
{
    AUTO_FREE char *path = scratch();
    struct readings *readings = open_at(path, 0);
    sqlite3 *db = NULL;

    (void)state;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TRIGGER no BEFORE INSERT ON minute"
                                  " BEGIN SELECT RAISE(ABORT, 'no'); END",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    warnings = 0;
    fill(readings, start, 300);
    assert_int_equal(warnings, 1);
    readings_close(readings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_owner_may_read_the_file),
        cmocka_unit_test(seconds_and_minutes_come_back_as_they_were),
        cmocka_unit_test(what_is_old_goes_and_the_file_keeps_to_its_limit),
        cmocka_unit_test(what_cannot_be_saved_is_said_once),
        cmocka_unit_test(a_file_that_cannot_be_used_is_begun_anew_and_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
