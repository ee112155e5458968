/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ALERT_ALERT_MEMORY_H
#define DAEMON_ALERT_ALERT_MEMORY_H

/* alert_memory - what people were told, over restarts of the daemon
 *
 * A small file of JSON, written by a thread of the loop's pool whenever something was told. Without
 * it, or when it can't be read, things are told once more; that is all. What can't be written is
 * said in the log once, and is_behind until it could.
 *
 * Order of calls:  load, save*, release
 */

#include <uv.h>

#include "core/health/alert.h"

struct alert_saving;

struct alert_memory {
    uv_loop_t *loop;
    char *path;
    struct alert_saving *saving; /* under way */
    char *next;                  /* to be saved after that */
    bool is_behind;              /* what was saved last is not on disk: to be saved again */
};

/* Takes path. */
void alert_memory_load(struct alert_memory *memory, uv_loop_t *loop, char *path,
                       struct alerts *alerts, usec_t now);
void alert_memory_save(struct alert_memory *memory, const struct alerts *alerts);
void alert_memory_release(struct alert_memory *memory);

#endif
