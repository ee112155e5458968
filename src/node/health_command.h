/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_HEALTH_COMMAND_H
#define NODE_HEALTH_COMMAND_H

/* checker - runs the administrator's health command on a device, beside the loop
 *
 * The command goes to /bin/sh, as the user of the daemon, in a session of its own, with nothing of
 * the daemon's environment but what says which device it is about. Its output is read, and the last
 * line kept. Who is not done in time is killed, with all that did not leave his session. Who
 * can't be killed (it hangs in the kernel) is not waited for.
 *
 * Order of calls:  create, start*, destroy
 * Limits:          CHECK_LINE_SIZE bytes of the last line
 */

#include <uv.h>

#include "base/units.h"
#include "core/probe.h"

enum { CHECK_LINE_SIZE = 80 };

struct checker;

enum check_end {
    CHECK_WELL,
    CHECK_SICK,   /* it said so, or was late */
    CHECK_NOT_RUN /* it could not be started, or its shell found no program: that says nothing */
};

struct check {
    const char *command;
    usec_t timeout;
    const struct probe_device *device;
    uint32_t index;   /* of the device on its machine */
    uint64_t job;     /* before or after which */
    const char *when; /* "before", "after" */
    /* From the loop, once. Words say how it ended, with its last line. */
    void (*done)(void *user, uint64_t tag, enum check_end end, const char *words);
    void *user;
    uint64_t tag;
};

struct checker *checker_create(uv_loop_t *loop);
/* Commands under way are killed; done is not called any more. NULL is fine. */
void checker_destroy(struct checker *checker);

void checker_start(struct checker *checker, const struct check *check);

#endif
