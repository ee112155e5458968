/* SPDX-License-Identifier: Apache-2.0 */
/* A device between two jobs: what counts as left there, and when it is given on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "core/health/handover.h"
#include "core/health/health.h"

static const struct reading clean = { .at = 1 };

static struct handover_look look_at(usec_t began)
{
    return (struct handover_look){ .began = began, .reading = &clean, .unowned_mib = 300 };
}

static void all_well_the_first_look_says_so(void **state)
{
    struct handover handover = { 0 };
    struct handover_look look = look_at(11);
    (void)state;

    handover_begin(&handover, 7, 10);
    assert_true(handover.is_open);
    assert_false(handover_judge(&handover, &look));
    assert_false(handover.is_open);
    assert_string_equal(handover.words, "");
}

static void after_the_server_has_ended_only_later_looks_count(void **state)
{
    struct handover handover = { 0 };
    struct handover_look look = look_at(11);
    (void)state;

    handover_begin(&handover, 7, 10);
    handover_renew(&handover, 12);
    handover_judge(&handover, &look);
    assert_true(handover.is_open);
    look.began = 13;
    assert_false(handover_judge(&handover, &look));
    assert_false(handover.is_open);
}

static void a_look_that_began_before_says_nothing(void **state)
{
    struct handover handover = { 0 };
    struct handover_look look = look_at(9);
    (void)state;

    handover_begin(&handover, 7, 10);
    assert_false(handover_judge(&handover, &look));
    assert_true(handover.is_open);
}

static void what_is_left_is_named(void **state)
{
    struct reading exclusive = clean, usual = clean;
    (void)state;
    reading_set(&exclusive, READING_COMPUTE_MODE, 3);
    reading_set(&usual, READING_COMPUTE_MODE, 0);
    const struct {
        struct handover_look look;
        const char *words; /* "": nothing is left */
    } cases[] = {
        { { .reading = &clean, .unowned_mib = 811 }, "" },
        { { .reading = &clean, .unowned_mib = 813 },
          "0.8 GiB are still in use after job 7, and no process has them" },
        { { .reading = &clean, .unowned_mib = 9000, .is_used = true }, "" }, /* a neighbour's */
        { { .reading = &clean, .unowned_mib = -1 }, "" },
        { { .reading = &clean,
            .unowned_mib = 300,
            .left_pid = 42,
            .left_job = 6,
            .left_name = "python" },
          "process 42 (python) of job 6 is still on it" },
        { { .reading = &clean,
            .is_used = true,
            .left_pid = 42,
            .left_job = 6,
            .left_name = "python" },
          "process 42 (python) of job 6 is still on it" },
        { { .reading = &exclusive, .unowned_mib = 300 },
          "its compute mode is 3 after job 7, and 0 without jobs" },
        { { .reading = &exclusive, .unowned_mib = 300, .is_shared = true }, "" },
        { { .reading = &exclusive, .unowned_mib = 300, .is_used = true }, "" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct handover handover = { 0 };
        struct handover_look before = look_at(1), look = cases[i].look;
        look.began = 20;
        before.reading = &usual;
        assert_false(handover_judge(&handover, &before)); /* 300 MiB are usual */
        handover_begin(&handover, 7, 10);
        assert_int_equal(handover_judge(&handover, &look), cases[i].words[0] != '\0');
        assert_string_equal(handover.words, cases[i].words);
        assert_int_equal(handover.is_open, cases[i].words[0] != '\0');
        if (!cases[i].words[0])
            continue;
        look = look_at(30); /* and when it is gone, it is given on */
        assert_false(handover_judge(&handover, &look));
        assert_false(handover.is_open);
    }
}

static void without_a_job_before_only_its_processes_count(void **state)
{
    struct handover handover = { 0 };
    struct handover_look look = look_at(1);
    struct reading exclusive = clean;
    (void)state;

    reading_set(&exclusive, READING_COMPUTE_MODE, 3);
    look.reading = &exclusive;
    look.unowned_mib = 9000;
    assert_false(handover_judge(&handover, &look));
    look.left_pid = 42;
    look.left_name = "python";
    assert_true(handover_judge(&handover, &look));
}

/* Looked at once a second: by whom it is used, its mode, and whether that is to be set back. */
static void a_compute_mode_is_what_it_was_without_jobs(void **state)
{
    static const struct {
        const char *who; /* " ": nobody; "j": a job; "s": a share; "e": a job has just ended */
        const char *modes;
        const char *resets; /* "*": it is to be set back */
        int usual;          /* in the end; -1: not known */
    } cases[] = {
        { "  jje  ", "0000000", "       ", 0 },
        { "  jje  ", "3333333", "       ", 3 },          /* the administrator's: it is left alone */
        { "  jje  ", "0003300", "    *  ", 0 },          /* the job's */
        { "  jje  ", "3330033", "    *  ", 3 },          /* set back to the administrator's */
        { "  jje  ", "0333333", "       ", 3 },          /* changed before the job */
        { "jje  ", "33333", "     ", 3 },                /* never seen without a job */
        { "  je      ", "0033333333", "   ****   ", 3 }, /* it can't be set back, and is kept */
        { "  sse  ", "0033300", "    *  ", 0 },          /* the server's for shares */
        { "sse    ", "3333000", "       ", 0 }, /* that is late to end: not the usual one */
        { "  e  ", "00300", "  *  ", 0 },
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct handover handover = { 0 };

        for (size_t k = 0; cases[i].who[k]; k++) {
            struct reading reading = clean;
            usec_t now = (usec_t)(k + 1) * USEC_PER_SEC;
            struct handover_look look = { .began = now,
                                          .reading = &reading,
                                          .unowned_mib = 300,
                                          .is_used = strchr("js", cases[i].who[k]) != NULL,
                                          .is_shared = cases[i].who[k] == 's' };
            reading_set(&reading, READING_COMPUTE_MODE, cases[i].modes[k] - '0');
            if (cases[i].who[k] == 'e')
                handover_begin(&handover, 7, now);
            bool is_reset = handover_needs_reset(&handover, &look);
            if (is_reset != (cases[i].resets[k] == '*') ||
                (handover_judge(&handover, &look) && !is_reset))
                fail_msg("case %zu, second %zu: '%s'", i, k, handover.words);
        }
        assert_int_equal(handover.usual_mode - 1, cases[i].usual);
        assert_false(handover.is_open);
    }
}

static void what_was_never_seen_without_a_job_may_be_what_a_driver_needs(void **state)
{
    struct handover handover = { 0 };
    struct handover_look look = look_at(20);
    (void)state;

    handover_begin(&handover, 7, 10);
    look.unowned_mib = HEALTH_CONTEXT_MIB;
    assert_false(handover_judge(&handover, &look));
    handover_begin(&handover, 8, 30);
    look.began = 40;
    look.unowned_mib = HEALTH_CONTEXT_MIB + 1;
    assert_true(handover_judge(&handover, &look));
}

static void only_after_a_while_it_is_a_fault(void **state)
{
    struct health health = { 0 };
    struct health_ask ask = { .reading = &clean, .unowned_mib = -1, .has_left = true };
    (void)state;

    for (ask.now = 0; ask.now < HEALTH_LEFT_S * USEC_PER_SEC; ask.now += USEC_PER_SEC) {
        health_judge(&health, &ask);
        assert_true(health_is_seen(&health, FAULT_LEFT));
        assert_int_equal(health_worst(&health), FAULTS);
    }
    health_judge(&health, &ask);
    assert_int_equal(health_worst(&health), FAULT_LEFT);
    ask.has_left = false;
    health_judge(&health, &ask);
    assert_int_equal(health_worst(&health), FAULTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_well_the_first_look_says_so),
        cmocka_unit_test(after_the_server_has_ended_only_later_looks_count),
        cmocka_unit_test(a_look_that_began_before_says_nothing),
        cmocka_unit_test(what_is_left_is_named),
        cmocka_unit_test(without_a_job_before_only_its_processes_count),
        cmocka_unit_test(a_compute_mode_is_what_it_was_without_jobs),
        cmocka_unit_test(what_was_never_seen_without_a_job_may_be_what_a_driver_needs),
        cmocka_unit_test(only_after_a_while_it_is_a_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
