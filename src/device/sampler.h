/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_SAMPLER_H
#define DEVICE_SAMPLER_H

/* sampler - asks each device how it does, without waiting for any
 *
 * A thread for each device, and one for what the driver reports by itself. They are told to ask
 * and leave what they got; no caller waits for them. One that hangs in the driver is only silent:
 * the others, and the users of the sampler, go on. Times are of CLOCK_BOOTTIME.
 *
 * Order of calls:  create, (ask | take | take_event | silent)*, destroy
 * Threads:         all calls from one; notify is called from others
 * On destroy:      a thread that does not return within a short time is left, with the probe
 */

#include "core/probe.h"

struct sampler;

struct sampler_options {
    struct probe *probe;
    uint32_t device_count;
    /* Something can be taken. Called from any thread; it may only wake another one. */
    void (*notify)(void *user);
    void *user;
};

/* What came of one asking. */
struct sampled {
    int code;                        /* 0, or as probe.h says of sample() */
    struct error err;                /* its words */
    struct reading reading;          /* none when code is not 0 */
    struct probe_process *processes; /* malloc'd */
    uint32_t process_count;
    bool has_processes; /* else its processes are not known */
    usec_t took;        /* in the driver */
};

/* Fails with -EAGAIN (no threads). */
int sampler_create(const struct sampler_options *options, struct sampler **ret, struct error *err);

/* False: a thread hangs in the driver, so the probe must not be destroyed. NULL is fine. */
bool sampler_destroy(struct sampler *sampler);

/* All threads that are idle ask their device now. */
void sampler_ask(struct sampler *sampler);

/* The same of one device. */
void sampler_ask_one(struct sampler *sampler, uint32_t device);

/* What a device said last; false: nothing new. ret->processes then belongs to the caller. */
bool sampler_take(struct sampler *sampler, uint32_t device, struct sampled *ret);

/* What a driver reported; false: nothing. */
bool sampler_take_event(struct sampler *sampler, struct probe_event *ret);

/* For how long a device has not answered; 0: it is not being asked. */
usec_t sampler_silent(struct sampler *sampler, uint32_t device);

usec_t sampler_now(void);

#endif
