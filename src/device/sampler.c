/* SPDX-License-Identifier: Apache-2.0 */
#include "device/sampler.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"

enum {
    EVENTS_KEPT = 256,       /* not taken yet; then the oldest is dropped */
    WAIT_MS = 100,           /* of the thread for events: how soon it sees that it is to end */
    LEAVE_MS = 10 * WAIT_MS, /* how long destroy waits for all of them */
    STACK_BYTES = 256 * 1024,
};

enum phase { IDLE, ASKED, ASKING };

struct worker {
    struct sampler *sampler;
    pthread_t thread;
    uint32_t device;
    enum phase phase;
    usec_t asked; /* since when it is asking */
    struct sampled got;
    bool has_got;
};

/* Threads that are left behind keep it alive. */
struct sampler {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct sampler_options options;
    struct worker *workers;
    pthread_t events_thread;
    bool has_events_thread;
    LIST(struct probe_event) events;
    bool is_ending;
};

usec_t sampler_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (usec_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

static void sampled_clear(struct sampled *sampled)
{
    free(sampled->processes);
    *sampled = (struct sampled){ 0 };
}

static void ask(struct probe *probe, uint32_t device, struct sampled *ret)
{
    usec_t began = sampler_now();

    *ret = (struct sampled){ 0 };
    ret->code = probe->ops->sample(probe, device, &ret->reading, &ret->err);
    if (ret->code == 0 && probe->ops->processes) {
        struct error err;
        ret->has_processes =
            probe->ops->processes(probe, device, &ret->processes, &ret->process_count, &err) == 0;
    }
    usec_t now = sampler_now();
    reading_drop_impossible(&ret->reading);
    ret->reading.at = now;
    ret->took = now - began;
}

static void *work(void *user)
{
    struct worker *worker = user;
    struct sampler *sampler = worker->sampler;

    pthread_mutex_lock(&sampler->lock);
    while (!sampler->is_ending) {
        struct sampled got;
        if (worker->phase != ASKED) {
            pthread_cond_wait(&sampler->wake, &sampler->lock);
            continue;
        }
        worker->phase = ASKING;
        pthread_mutex_unlock(&sampler->lock);
        ask(sampler->options.probe, worker->device, &got);
        pthread_mutex_lock(&sampler->lock);
        sampled_clear(&worker->got);
        worker->got = got;
        worker->has_got = true;
        worker->phase = IDLE;
        if (!sampler->is_ending)
            sampler->options.notify(sampler->options.user);
    }
    pthread_mutex_unlock(&sampler->lock);
    return NULL;
}

static void *wait_for_events(void *user)
{
    struct sampler *sampler = user;
    struct probe *probe = sampler->options.probe;

    pthread_mutex_lock(&sampler->lock);
    while (!sampler->is_ending) {
        struct probe_event event;
        struct error err;
        pthread_mutex_unlock(&sampler->lock);
        int code = probe->ops->wait(probe, WAIT_MS, &event, &err);
        pthread_mutex_lock(&sampler->lock);
        if (code != 1 || sampler->is_ending)
            continue;
        if (sampler->events.count == EVENTS_KEPT)
            list_remove(&sampler->events, 0);
        list_add(&sampler->events, event);
        sampler->options.notify(sampler->options.user);
    }
    pthread_mutex_unlock(&sampler->lock);
    return NULL;
}

/* Signals are for the thread that has the loop. */
static int start(pthread_t *thread, void *(*fn)(void *), void *user)
{
    pthread_attr_t attributes;
    sigset_t all, before;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(thread, &attributes, fn, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -code;
}

int sampler_create(const struct sampler_options *options, struct sampler **ret, struct error *err)
{
    struct sampler *sampler = mem_zero(1, sizeof(*sampler));
    int code = 0;

    sampler->options = *options;
    pthread_mutex_init(&sampler->lock, NULL);
    pthread_cond_init(&sampler->wake, NULL);
    sampler->workers = mem_zero(options->device_count + 1, sizeof(sampler->workers[0]));
    uint32_t count = options->probe->ops->sample ? options->device_count : 0;
    sampler->options.device_count = 0;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        sampler->workers[i] = (struct worker){ .sampler = sampler, .device = i };
        code = start(&sampler->workers[i].thread, work, &sampler->workers[i]);
        sampler->options.device_count += code == 0;
    }
    if (code == 0 && count > 0 && options->probe->ops->wait) {
        code = start(&sampler->events_thread, wait_for_events, sampler);
        sampler->has_events_thread = code == 0;
    }
    if (code < 0) {
        sampler_destroy(sampler);
        return error_set(err, code, "watching the devices: no more threads");
    }
    *ret = sampler;
    return 0;
}

static bool join(pthread_t thread, const struct timespec *until)
{
    if (pthread_timedjoin_np(thread, NULL, until) == 0)
        return true;
    pthread_detach(thread);
    return false;
}

bool sampler_destroy(struct sampler *sampler)
{
    struct timespec until;
    bool are_all_back = true;

    if (!sampler)
        return true;
    pthread_mutex_lock(&sampler->lock);
    sampler->is_ending = true;
    pthread_cond_broadcast(&sampler->wake);
    pthread_mutex_unlock(&sampler->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LEAVE_MS / 1000;
    for (uint32_t i = 0; i < sampler->options.device_count; i++)
        are_all_back &= join(sampler->workers[i].thread, &until);
    if (sampler->has_events_thread)
        are_all_back &= join(sampler->events_thread, &until);
    if (!are_all_back)
        return false; /* they still look at it */
    for (uint32_t i = 0; i < sampler->options.device_count; i++)
        sampled_clear(&sampler->workers[i].got);
    pthread_mutex_destroy(&sampler->lock);
    pthread_cond_destroy(&sampler->wake);
    list_release(&sampler->events);
    free(sampler->workers);
    free(sampler);
    return true;
}

void sampler_ask(struct sampler *sampler)
{
    usec_t now = sampler_now();

    pthread_mutex_lock(&sampler->lock);
    for (uint32_t i = 0; i < sampler->options.device_count; i++) {
        struct worker *worker = &sampler->workers[i];
        if (worker->phase != IDLE)
            continue;
        worker->phase = ASKED;
        worker->asked = now;
    }
    pthread_cond_broadcast(&sampler->wake);
    pthread_mutex_unlock(&sampler->lock);
}

void sampler_ask_one(struct sampler *sampler, uint32_t device)
{
    usec_t now = sampler_now();

    if (device >= sampler->options.device_count)
        return;
    pthread_mutex_lock(&sampler->lock);
    struct worker *worker = &sampler->workers[device];
    if (worker->phase == IDLE) {
        worker->phase = ASKED;
        worker->asked = now;
        pthread_cond_broadcast(&sampler->wake);
    }
    pthread_mutex_unlock(&sampler->lock);
}

bool sampler_take(struct sampler *sampler, uint32_t device, struct sampled *ret)
{
    bool has = false;

    if (device >= sampler->options.device_count)
        return false;
    pthread_mutex_lock(&sampler->lock);
    struct worker *worker = &sampler->workers[device];
    has = worker->has_got;
    if (has) {
        *ret = worker->got;
        worker->got = (struct sampled){ 0 };
        worker->has_got = false;
    }
    pthread_mutex_unlock(&sampler->lock);
    return has;
}

bool sampler_take_event(struct sampler *sampler, struct probe_event *ret)
{
    bool has = false;

    pthread_mutex_lock(&sampler->lock);
    has = sampler->events.count > 0;
    if (has) {
        *ret = sampler->events.items[0];
        list_remove(&sampler->events, 0);
    }
    pthread_mutex_unlock(&sampler->lock);
    return has;
}

usec_t sampler_silent(struct sampler *sampler, uint32_t device)
{
    usec_t silent = 0;

    if (device >= sampler->options.device_count)
        return 0;
    pthread_mutex_lock(&sampler->lock);
    const struct worker *worker = &sampler->workers[device];
    if (worker->phase != IDLE)
        silent = sampler_now() - worker->asked;
    pthread_mutex_unlock(&sampler->lock);
    return silent;
}
