/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_HEALTH_COMMAND_H
#define NODE_HEALTH_COMMAND_H

/* health_command - runs the administrator's health command on a device, beside the loop
 *
 * /bin/sh runs the command as the daemon's user, in a session of its own. The environment holds
 * nothing of the daemon's, only what names the device. The output is read, and its last line kept.
 * A command that is late is killed with all processes of its session. A process that cannot be
 * killed, because it hangs in the kernel, is not waited for.
 *
 * Order of calls:  create, start*, destroy
 * Limits:          CHECK_LINE_SIZE bytes of the last line
 */

#include <uv.h>

#include "base/units.h"
#include "core/probe.h"

enum { CHECK_LINE_SIZE = 80 };

struct health_commands;

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

struct health_commands *health_commands_create(uv_loop_t *loop);
/* Commands under way are killed; done is not called any more. NULL is fine. */
void health_commands_destroy(struct health_commands *commands);

void health_command_start(struct health_commands *commands, const struct check *check);

#endif
