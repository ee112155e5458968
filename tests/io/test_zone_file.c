/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's zones, read by us and by the C library. */
#include "io/zone_file.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"
#include "time/civil.h"

enum { MOMENTS_A_ZONE = 400 };

static const char database[] = "/usr/share/zoneinfo";

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 20;
}

static bool has_database(void)
{
    if (access("/usr/share/zoneinfo/zone1970.tab", R_OK) == 0 &&
        access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0)
        return true;
    print_message("skipped: no time zones in %s (the package tzdata)\n", database);
    return false;
}

static void check_moment(const struct zone *zone, usec_t at, uint64_t seed)
{
    time_t seconds = (time_t)(at / USEC_PER_SEC);
    struct tm parts;

    localtime_r(&seconds, &parts);
    if (zone_wall(zone, at) - at != parts.tm_gmtoff * USEC_PER_SEC)
        fail_msg("seed %" PRIu64 ", zone %s at %" PRId64 ": %" PRId64 " s from UTC, expected %ld",
                 seed, zone_name(zone), (int64_t)seconds, (zone_wall(zone, at) - at) / USEC_PER_SEC,
                 parts.tm_gmtoff);
}

/* Random moments, and the seconds around each change near them. */
static void check_zone(const char *name, uint64_t *random, uint64_t seed)
{
    usec_t first = civil_day(1920, 1, 1) * USEC_PER_DAY;
    usec_t days = civil_day(2500, 1, 1) - civil_day(1920, 1, 1);
    struct zone *zone = NULL;
    struct error err;

    if (zone_load(name, &zone, &err) < 0)
        fail_msg("%s", err.text);
    setenv("TZ", name, 1);
    tzset();
    for (int i = 0; i < MOMENTS_A_ZONE; i++) {
        usec_t at = first + (usec_t)(next_random(random) % (uint64_t)(days * 86400)) * USEC_PER_SEC;
        usec_t next = zone_piece_at(zone, at).until;

        check_moment(zone, at, seed);
        if (next == USEC_NEVER)
            continue;
        check_moment(zone, next - USEC_PER_SEC, seed);
        check_moment(zone, next, seed);
    }
    zone_destroy(zone);
}

static void all_zones_are_those_of_the_c_library(void **state)
{
    AUTO_RELEASE(text) struct text list = { 0 };
    uint64_t seed = (uint64_t)time(NULL), random = seed * 2 + 1;
    int count = 0;
    char *rest = NULL;
    (void)state;

    if (!has_database())
        skip();
    print_message("seed %" PRIu64 "\n", seed);
    assert_int_equal(file_read("/usr/share/zoneinfo/zone1970.tab", 1 << 20, &list, NULL), 0);
    for (char *line = strtok_r(list.bytes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char name[80];

        if (line[0] == '#' || sscanf(line, "%*s %*s %79s", name) != 1)
            continue;
        check_zone(name, &random, seed);
        count++;
    }
    assert_true(count > 200);
    unsetenv("TZ");
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
    static const char *const names[] = { "../../etc/passwd", "/etc/localtime", "",
                                         "Europe/../Europe/Berlin", "Europe/Berlin\n" };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct zone *zone = NULL;
        struct error err;
        AUTO_FREE char *words =
            mem_printf("zone '%s': not a name; expected one like UTC or Europe/Berlin", names[i]);

        assert_int_equal(zone_load(names[i], &zone, &err), -EINVAL);
        assert_null(zone);
        assert_string_equal(err.text, words);
    }
}

static void a_zone_that_is_not_there_is_named(void **state)
{
    struct zone *zone = NULL;
    struct error err;
    (void)state;

    assert_int_equal(zone_load("Europe/Atlantis", &zone, &err), -ENOENT);
    assert_string_equal(err.text, "zone Europe/Atlantis: there is none in /usr/share/zoneinfo; "
                                  "expected one like UTC or Europe/Berlin");
    if (!has_database())
        skip();
    assert_int_equal(zone_load("Europe", &zone, &err), -ENOENT);
    assert_null(zone);
}

static void another_database_can_be_given(void **state)
{
    char folder[] = "/tmp/tarn-zones-XXXXXX";
    AUTO_FREE char *path = NULL;
    struct zone *zone = NULL;
    struct error err;
    (void)state;

    assert_non_null(mkdtemp(folder));
    path = mem_printf("%s/Moon", folder);
    assert_int_equal(file_replace(path, "cheese", 6, NULL), 0);
    setenv("TZDIR", folder, 1);
    assert_int_equal(zone_load("Moon", &zone, &err), -EINVAL);
    assert_string_equal(err.text, "zone Moon: not a TZif file, or truncated");
    assert_int_equal(zone_load("Europe/Berlin", &zone, &err), -ENOENT);
    assert_non_null(strstr(err.text, folder));
    assert_int_equal(zone_load("UTC", &zone, NULL), 0);
    assert_string_equal(zone_name(zone), "UTC");
    zone_destroy(zone);
    unsetenv("TZDIR");
    unlink(path);
    rmdir(folder);
}

static void the_local_zone_is_what_tz_says(void **state)
{
    struct zone *zone = NULL;
    struct error err;
    (void)state;

    setenv("TZ", "<+0545>-5:45", 1);
    assert_int_equal(zone_load("local", &zone, &err), 0);
    assert_int_equal(zone_wall(zone, 0), 345 * USEC_PER_MIN);
    zone_destroy(zone);
    setenv("TZ", "", 1);
    assert_int_equal(zone_load("local", &zone, &err), 0);
    assert_int_equal(zone_wall(zone, 5), 5);
    zone_destroy(zone);
    zone = NULL;
    setenv("TZ", "No/Such", 1);
    assert_int_equal(zone_load("local", &zone, &err), -ENOENT);
    assert_null(zone);
    unsetenv("TZ");
    assert_int_equal(zone_load("local", &zone, &err), 0);
    zone_destroy(zone);
    if (!has_database())
        skip();
    setenv("TZ", ":Asia/Kolkata", 1);
    assert_int_equal(zone_load("local", &zone, &err), 0);
    assert_int_equal(zone_wall(zone, civil_day(2026, 1, 1) * USEC_PER_DAY),
                     civil_day(2026, 1, 1) * USEC_PER_DAY + 330 * USEC_PER_MIN);
    zone_destroy(zone);
    unsetenv("TZ");
}

static void zones_with_leap_seconds_are_refused(void **state)
{
    struct zone *zone = NULL;
    struct error err;
    (void)state;

    if (access("/usr/share/zoneinfo/right/Europe/Berlin", R_OK) != 0) {
        print_message("skipped: no zones with leap seconds here\n");
        skip();
    }
    assert_int_equal(zone_load("right/Europe/Berlin", &zone, &err), -EINVAL);
    assert_string_equal(err.text, "zone right/Europe/Berlin: leap seconds; expected a zone "
                                  "without them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_zones_are_those_of_the_c_library),
        cmocka_unit_test(names_that_lead_elsewhere_are_refused),
        cmocka_unit_test(a_zone_that_is_not_there_is_named),
        cmocka_unit_test(another_database_can_be_given),
        cmocka_unit_test(the_local_zone_is_what_tz_says),
        cmocka_unit_test(zones_with_leap_seconds_are_refused),
    };

    /* The tests say what they are about themselves. */
    unsetenv("TZ");
    unsetenv("TZDIR");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
