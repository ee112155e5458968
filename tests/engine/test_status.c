/* SPDX-License-Identifier: Apache-2.0 */
/* Records of shims: whole ones count, others are as if they were not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/local/shim_launch.h"
#include "engine/local/status_file.h"

static void apply(struct status *status, const char *record)
{
    status_apply(status, "here", record, strlen(record));
}

static void records_are_read(void **state)
{
    (void)state;
    struct status status = { 0 };

    apply(&status, "member shim=7 boot=here isolation=2120 kill=/a/1 dir=/b/1 dir=/c/1 .");
    assert_true(status.same_boot);
    assert_int_equal(status.isolation.processes, ISOLATION_ISOLATED);
    assert_int_equal(status.isolation.cpu, ISOLATION_WATCHED);
    assert_int_equal(status.isolation.memory, ISOLATION_ISOLATED);
    assert_int_equal(status.isolation.gpu, ISOLATION_ACCOUNTED);
    assert_string_equal(status.kill, "/a/1");
    assert_int_equal(status.dir_count, 2);
    assert_string_equal(status.dirs[0], "/b/1");
    assert_string_equal(status.dirs[1], "/c/1");
    apply(&status, "forked pid=12 ticks=345 .");
    assert_int_equal(status.pid, 12);
    assert_int_equal(status.ticks, 345);
    assert_false(status.has_started);
    apply(&status, "started pid=12 .");
    assert_true(status.has_started);
    apply(&status, "ended code=-1 signal=9 stopped=1 oom=1 killed=1 user_us=5 system_us=6 "
                   "rss_kib=7 .");
    assert_true(status.has_end);
    assert_int_equal(status.end.kind, ENGINE_ENDED);
    assert_int_equal(status.end.exit_code, -1);
    assert_int_equal(status.end.signal, 9);
    assert_true(status.end.was_stopped && status.end.was_oom && status.end.was_killed);
    assert_int_equal(status.end.user_us, 5);
    assert_int_equal(status.end.system_us, 6);
    assert_int_equal(status.end.memory_kib_max, 7);
    apply(&status, "failed errno=2 stopped=0 text=too late .");
    assert_int_equal(status.end.kind, ENGINE_ENDED);
}

static void a_failure_keeps_its_words(void **state)
{
    (void)state;
    struct status status = { 0 };

    apply(&status, "failed errno=2 stopped=0 text=no such file: /a b/c= . .");
    assert_int_equal(status.end.kind, ENGINE_FAILED);
    assert_string_equal(status.end.reason, "no such file: /a b/c= .");
    assert_false(status.has_started);
}

static void a_shortage_is_no_failure_of_the_job(void **state)
{
    (void)state;
    struct status lacking = { 0 }, stopped = { 0 };

    apply(&lacking, "failed errno=11 stopped=0 lacking=1 text=cannot make a process .");
    assert_int_equal(lacking.end.kind, ENGINE_RETURNED);
    assert_string_equal(lacking.end.reason, "cannot make a process");
    apply(&stopped, "failed errno=125 stopped=1 lacking=1 text=stopped before it started .");
    assert_int_equal(stopped.end.kind, ENGINE_FAILED);
    assert_true(stopped.end.was_stopped);
}

/* Of an interpreter's name, for example; and a cut is between characters. */
static void words_of_a_failure_are_utf8(void **state)
{
    struct status status = { 0 };
    (void)state;

    apply(&status, "failed errno=2 stopped=0 text=bad interpreter: /\xff\xfe for x .");
    assert_string_equal(status.end.reason, "bad interpreter: /\?\? for x");
    for (int is_odd = 0; is_odd < 2; is_odd++) {
        char record[512] = "failed errno=2 stopped=0 text=";
        struct status other = { 0 };

        strcat(record, is_odd ? "a" : "");
        for (size_t i = 0; i < sizeof(other.end.reason); i++)
            strcat(record, "\xc3\xa9");
        strcat(record, " .");
        apply(&other, record);
        assert_true(string_is_utf8(other.end.reason, strlen(other.end.reason)));
        assert_true(strlen(other.end.reason) >= sizeof(other.end.reason) - 2);
    }
}

static void every_torn_record_is_passed_over(void **state)
{
    static const char whole[] = "ended code=3 signal=0 stopped=0 oom=0 killed=0 user_us=1 .";
    (void)state;

    for (size_t length = 0; length < sizeof(whole) - 1; length++) {
        struct status status = { 0 };

        status_apply(&status, "here", whole, length);
        assert_false(status.has_end);
    }
}

static void unknown_and_odd_records_do_no_harm(void **state)
{
    static const char *const records[] = {
        "",
        " .",
        ".",
        "later thing=1 .",
        "member .",
        "ended .",
        "= .",
        "forked .",
        "started x .",
        "failed .",
        "member boot= kill= dir= dir .",
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(records); i++) {
        struct status status = { 0 };

        apply(&status, records[i]);
        assert_string_equal(status.kill, "");
        assert_int_equal(status.pid, 0);
    }
    struct status status = { 0 };
    AUTO_FREE char *path = mem_zero(1, 900);
    memset(path, 'x', 899);
    AUTO_FREE char *record = mem_printf("member boot=there kill=%s .", path);
    apply(&status, record);
    assert_string_equal(status.kill, "");
    assert_false(status.same_boot);
}

static void names_of_members_go_both_ways(void **state)
{
    static const char *const bad[] = { "",
                                       "1",
                                       "1.2",
                                       "1.2.3.4",
                                       "01.2.3",
                                       "1.2.-3",
                                       "1.2.3 ",
                                       "a.b.c",
                                       "1.2.3.new.5",
                                       "99999999999999999999.1.0",
                                       "1.4294967296.0" };
    (void)state;
    struct member_id id;
    char name[MEMBER_NAME_SIZE];

    assert_true(member_parse("18446744073709551615.4294967295.7", 33, &id));
    assert_string_equal(member_name(name, id), "18446744073709551615.4294967295.7");
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(member_parse(bad[i], strlen(bad[i]), &id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read),
        cmocka_unit_test(a_failure_keeps_its_words),
        cmocka_unit_test(a_shortage_is_no_failure_of_the_job),
        cmocka_unit_test(words_of_a_failure_are_utf8),
        cmocka_unit_test(every_torn_record_is_passed_over),
        cmocka_unit_test(unknown_and_odd_records_do_no_harm),
        cmocka_unit_test(names_of_members_go_both_ways),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
