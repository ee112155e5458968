/* SPDX-License-Identifier: Apache-2.0 */
/* Letters to commands: whose hang holds up whose. */
#include "daemon/alert/alert_send.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"

enum { PATIENCE_S = 60 };

/* The sentence is the command's only argument. */
static const struct watch_rules hanging_owners = { .alert_owner_command = "/bin/sleep",
                                                   .alert_command = "/bin/true" };

static void await_sent(struct alert_sender *sender, uint64_t count)
{
    const struct timespec moment = { .tv_nsec = 10000000 };

    for (time_t end = time(NULL) + PATIENCE_S; alert_sender_counts(sender).sent < count;) {
        if (time(NULL) > end)
            fail_msg("it was not sent in %d seconds", PATIENCE_S);
        nanosleep(&moment, NULL);
    }
}

static struct alert_sender *make_sender(void)
{
    struct alert_sender *sender;
    struct error err;

    assert_int_equal(alert_sender_create(&sender, &err), 0);
    return sender;
}

static unsigned count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned count = 0;

    assert_non_null(tasks);
    while (readdir(tasks))
        count++;
    closedir(tasks);
    return count - 2; /* . and .. */
}

/* When it is needed, the machine may lack one. */
static void no_thread_is_needed_after_the_start(void **state)
{
    (void)state;
    unsigned before = count_threads();
    struct alert_sender *sender = make_sender();
    unsigned created = count_threads();

    assert_int_equal(created - before, 6); /* three ways to administrators, three to owners */
    assert_true(alert_sender_send(sender, &hanging_owners, "a GPU is lost", "{}"));
    assert_true(alert_sender_send_owner(sender, &hanging_owners, "ana", "0", "{}", USEC_NEVER));
    await_sent(sender, 2);
    assert_int_equal(count_threads(), created);
    alert_sender_destroy(sender);
}

static void owners_who_take_nothing_keep_no_administrator_waiting(void **state)
{
    (void)state;
    struct alert_sender *sender = make_sender();
    unsigned taken = 0;

    while (taken <= ALERT_QUEUE_MAX + 1 &&
           alert_sender_send_owner(sender, &hanging_owners, "ana", "15", "{}", USEC_NEVER))
        taken++;
    assert_in_range(taken, ALERT_QUEUE_MAX, ALERT_QUEUE_MAX + 1); /* one may be under way */
    assert_int_equal(alert_sender_counts(sender).dropped, 0);     /* the caller tries again */
    assert_true(alert_sender_send(sender, &hanging_owners, "a GPU is lost", "{}"));
    await_sent(sender, 1);
    alert_sender_destroy(sender);
}

static void what_one_way_took_is_told_and_dropped_by_the_other(void **state)
{
    (void)state;
    struct watch_rules rules = { .alert_command = "/bin/sleep" };
    struct alert_sender *sender = make_sender();

    while (alert_sender_send(sender, &rules, "15", "{}"))
        continue;
    snprintf(rules.alert_webhook, sizeof(rules.alert_webhook), "http://127.0.0.1:1/");
    /* The command's way has room for one more, when it begins with its first just then. */
    for (int i = 0; i < 2 && alert_sender_counts(sender).dropped == 0; i++)
        assert_true(alert_sender_send(sender, &rules, "15", "{}"));
    assert_int_equal(alert_sender_counts(sender).dropped, 1);
    alert_sender_destroy(sender);
}

static void where_nobody_is_to_be_told_nothing_waits(void **state)
{
    static const struct watch_rules nobody = { .alert_repeat = 1 };
    (void)state;
    struct alert_sender *sender = make_sender();

    for (unsigned i = 0; i < 3 * ALERT_QUEUE_MAX; i++) {
        assert_true(alert_sender_send(sender, &nobody, "a", "{}"));
        assert_true(alert_sender_send_owner(sender, &nobody, "ana", "a", "{}", USEC_NEVER));
    }
    alert_sender_destroy(sender);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_thread_is_needed_after_the_start),
        cmocka_unit_test(owners_who_take_nothing_keep_no_administrator_waiting),
        cmocka_unit_test(what_one_way_took_is_told_and_dropped_by_the_other),
        cmocka_unit_test(where_nobody_is_to_be_told_nothing_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
