/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_SAMPLER_H
#define DEVICE_SAMPLER_H

/* sampler - reads the devices without blocking the caller
 *
 * It has one thread per device, and one thread for events that the driver reports. On request, a
 * thread reads its device and stores the result; no caller waits for it. If a thread hangs in the
 * driver, only its device is silent: the other devices and the caller are not affected. Times are
 * of CLOCK_BOOTTIME.
 *
 * Order of calls:  create, (ask | take | take_event | silent)*, destroy
 * Threads:         all functions are called from one thread; notify is called from others
 * On destroy:      a thread that does not return within a short time is abandoned, with the probe
 */

#include "core/probe.h"

struct sampler;

struct sampler_options {
    struct probe *probe;
    uint32_t device_count;
    /* A result can be taken. Called from any thread; it may only wake another thread. */
    void (*notify)(void *user);
    void *user;
};

/* The result of one reading. */
struct sampled {
    int code;                        /* the result of sample() (core/probe.h) */
    struct error err;                /* its message */
    struct reading reading;          /* empty if code is not 0 */
    struct probe_process *processes; /* malloc'd */
    uint32_t process_count;
    bool has_processes; /* false: its processes are not known */
    usec_t took;        /* time spent in the driver */
};

/* Fails with -EAGAIN (no threads). */
int sampler_create(const struct sampler_options *options, struct sampler **ret, struct error *err);

/* False: a thread hangs in the driver, so the probe must not be destroyed. NULL is fine. */
bool sampler_destroy(struct sampler *sampler);

/* Make all idle threads read their device now. */
void sampler_ask(struct sampler *sampler);

/* The same for one device. */
void sampler_ask_one(struct sampler *sampler, uint32_t device);

/* Take the last result of a device; false: nothing new. The caller then owns ret->processes. */
bool sampler_take(struct sampler *sampler, uint32_t device, struct sampled *ret);

/* Take an event that a driver reported; false: there is none. */
bool sampler_take_event(struct sampler *sampler, struct probe_event *ret);

/* How long a device has not answered; 0: it is not being read. */
usec_t sampler_silent(struct sampler *sampler, uint32_t device);

usec_t sampler_now(void);

#endif
