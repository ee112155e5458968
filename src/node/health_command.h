/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_HEALTH_COMMAND_H
#define NODE_HEALTH_COMMAND_H

/* health_command - runs the administrator's health command on a device, without blocking the loop
 *
 * /bin/sh runs the command as the daemon's user, in its own session. The environment identifies
 * the device and contains nothing else. The last line of the output is kept. If the command exceeds
 * its time limit, all processes of its session are killed. The daemon does not wait for a process
 * that cannot be killed because it hangs in the kernel.
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
    CHECK_SICK,   /* the command failed or exceeded its time limit */
    CHECK_NOT_RUN /* it could not be started, or the shell found no program: no result */
};

struct check {
    const char *command;
    usec_t timeout;
    const struct probe_device *device;
    uint32_t index;   /* of the device on its node */
    uint64_t job;     /* the job before or after which it runs */
    const char *when; /* "before", "after" */
    /* Called once, from the loop. words: how it ended, and its last line of output. */
    void (*done)(void *user, uint64_t tag, enum check_end end, const char *words);
    void *user;
    uint64_t tag;
};

struct health_commands *health_commands_create(uv_loop_t *loop);
/* Kills running commands; done is no longer called. NULL is fine. */
void health_commands_destroy(struct health_commands *commands);

void health_command_start(struct health_commands *commands, const struct check *check);

#endif
