/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that are asked at a time: nobody waits for one that hangs, and what failed is no reading.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "device/sampler.h"

enum { DEVICES = 3, PATIENCE_S = 20, EVENTS = 300, KEPT = 256 };

/* A driver that does what the test says. */
static struct fake {
    struct probe probe;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool hangs[DEVICES], is_inside[DEVICES];
    int codes[DEVICES], process_codes[DEVICES];
    uint32_t events, told; /* to report, and reported */
    bool was_asked_again;  /* after the last of them */
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER };

static sem_t noted;

static int sample(struct probe *probe, uint32_t device, struct reading *ret, struct error *err)
{
    (void)probe;
    pthread_mutex_lock(&fake.lock);
    fake.is_inside[device] = true;
    pthread_cond_broadcast(&fake.change);
    while (fake.hangs[device])
        pthread_cond_wait(&fake.change, &fake.lock);
    fake.is_inside[device] = false;
    int code = fake.codes[device];
    pthread_mutex_unlock(&fake.lock);
    if (code < 0)
        return error_set(err, code, "device %u fails", device);
    reading_set(ret, READING_POWER, 1000 + device);
    return 0;
}

static int processes(struct probe *probe, uint32_t device, struct probe_process **ret,
                     uint32_t *ret_count, struct error *err)
{
    (void)probe;
    if (fake.process_codes[device] < 0)
        return error_set(err, fake.process_codes[device], "nobody says who uses %u", device);
    *ret = mem_zero(1, sizeof(**ret));
    (*ret)[0].pid = 40 + device;
    *ret_count = 1;
    return 0;
}

static int wait_for_event(struct probe *probe, uint32_t timeout_ms, struct probe_event *ret,
                          struct error *err)
{
    const struct timespec moment = { .tv_nsec = 1000000 };

    (void)probe;
    (void)timeout_ms;
    (void)err;
    pthread_mutex_lock(&fake.lock);
    bool has_one = fake.told < fake.events;
    if (has_one)
        *ret = (struct probe_event){ .device = 1, .xid = fake.told++ };
    else
        fake.was_asked_again = fake.events > 0;
    pthread_mutex_unlock(&fake.lock);
    if (!has_one)
        nanosleep(&moment, NULL);
    return has_one;
}

static const struct probe_ops ops = {
    .name = "fake", .sample = sample, .processes = processes, .wait = wait_for_event
};

static void note(void *user)
{
    (void)user;
    sem_post(&noted);
}

static void say_hangs(uint32_t device, bool is_it)
{
    pthread_mutex_lock(&fake.lock);
    fake.hangs[device] = is_it;
    pthread_cond_broadcast(&fake.change);
    pthread_mutex_unlock(&fake.lock);
}

/* One that waits for ever is ended by the alarm. */
static int set_up(void **state)
{
    (void)state;
    alarm(PATIENCE_S);
    sem_init(&noted, 0, 0);
    fake.probe.ops = &ops;
    fake.events = fake.told = 0;
    fake.was_asked_again = false;
    for (uint32_t i = 0; i < DEVICES; i++) {
        fake.hangs[i] = false;
        fake.codes[i] = fake.process_codes[i] = 0;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    alarm(0);
    return 0;
}

static struct sampler *create(void)
{
    struct sampler_options options = { .probe = &fake.probe,
                                       .device_count = DEVICES,
                                       .notify = note };
    struct sampler *sampler = NULL;
    struct error err = { "" };

    if (sampler_create(&options, &sampler, &err) < 0)
        fail_msg("%s", err.text);
    return sampler;
}

static struct sampled await(struct sampler *sampler, uint32_t device)
{
    struct sampled got;

    while (!sampler_take(sampler, device, &got))
        sem_wait(&noted);
    return got;
}

/* Its thread is in the driver. */
static void await_inside(uint32_t device)
{
    pthread_mutex_lock(&fake.lock);
    while (!fake.is_inside[device])
        pthread_cond_wait(&fake.change, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
}

static void pass(long ms)
{
    const struct timespec moment = { .tv_nsec = ms * 1000000 };

    nanosleep(&moment, NULL);
}

static void one_that_hangs_delays_nobody(void **state)
{
    struct sampler *sampler = create();
    struct sampled got;
    (void)state;

    say_hangs(1, true);
    for (int turn = 0; turn < 3; turn++) {
        usec_t before = sampler_silent(sampler, 1);
        sampler_ask(sampler);
        for (uint32_t i = 0; i < DEVICES; i += 2) {
            got = await(sampler, i);
            assert_int_equal(got.code, 0);
            assert_int_equal(got.reading.values[READING_POWER], 1000 + i);
            assert_true(got.reading.at > 0);
            assert_int_equal(sampler_silent(sampler, i), 0);
            free(got.processes);
        }
        await_inside(1);
        assert_false(sampler_take(sampler, 1, &got));
        assert_true(sampler_silent(sampler, 1) >= before); /* asked again, it is as silent */
        pass(50);
        assert_true(sampler_silent(sampler, 1) >= before + 50000);
    }
    say_hangs(1, false);
    got = await(sampler, 1);
    assert_int_equal(got.code, 0);
    assert_true(got.took >= 150000);
    free(got.processes);
    assert_int_equal(sampler_silent(sampler, 1), 0);
    assert_true(sampler_destroy(sampler));
}

static void one_can_be_asked_alone(void **state)
{
    struct sampler *sampler = create();
    struct sampled got;
    (void)state;

    sampler_ask_one(sampler, 2);
    sampler_ask_one(sampler, DEVICES);
    got = await(sampler, 2);
    free(got.processes);
    assert_false(sampler_take(sampler, 0, &got));
    assert_false(sampler_take(sampler, 2, &got));
    assert_false(sampler_take(sampler, DEVICES, &got));
    assert_true(sampler_destroy(sampler));
}

static void what_failed_is_no_reading(void **state)
{
    struct sampler *sampler = create();
    struct sampled got;
    (void)state;

    fake.codes[0] = -ENODEV;
    fake.process_codes[1] = -ENOTSUP;
    sampler_ask(sampler);
    got = await(sampler, 0);
    assert_int_equal(got.code, -ENODEV);
    assert_string_equal(got.err.text, "device 0 fails");
    assert_int_equal(got.reading.has, 0);
    assert_false(got.has_processes);
    got = await(sampler, 1);
    assert_int_equal(got.code, 0);
    assert_false(got.has_processes);
    assert_int_equal(got.process_count, 0);
    got = await(sampler, 2);
    assert_true(got.has_processes);
    assert_int_equal(got.process_count, 1);
    assert_int_equal(got.processes[0].pid, 42);
    free(got.processes);
    assert_true(sampler_destroy(sampler));
}

static void of_too_many_events_the_oldest_go(void **state)
{
    struct probe_event event;
    (void)state;

    fake.events = EVENTS;
    struct sampler *sampler = create();
    for (bool is_done = false; !is_done; pass(1)) {
        pthread_mutex_lock(&fake.lock);
        is_done = fake.was_asked_again;
        pthread_mutex_unlock(&fake.lock);
    }
    for (uint32_t i = EVENTS - KEPT; i < EVENTS; i++) {
        assert_true(sampler_take_event(sampler, &event));
        assert_int_equal(event.xid, i);
        assert_int_equal(event.device, 1);
    }
    assert_false(sampler_take_event(sampler, &event));
    assert_true(sampler_destroy(sampler));
}

static void who_does_not_come_back_is_left_behind(void **state)
{
    static struct sampler *sampler; /* nobody frees it */
    (void)state;

    sampler = create();
    say_hangs(0, true);
    sampler_ask(sampler);
    await_inside(0);
    assert_false(sampler_destroy(sampler));
    say_hangs(0, false);
}

#define WITH_FAKE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FAKE(one_that_hangs_delays_nobody),
        WITH_FAKE(one_can_be_asked_alone),
        WITH_FAKE(what_failed_is_no_reading),
        WITH_FAKE(of_too_many_events_the_oldest_go),
        WITH_FAKE(who_does_not_come_back_is_left_behind),
    };

    return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
