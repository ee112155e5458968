/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_WORKERS_H
#define IO_WORKERS_H

/* workers - threads for calls that may block: name services, drivers
 *
 * The loop makes none of these calls itself: a directory server that hangs would stop it for all
 * users. Work of the same kind and number, of one device for example, occupies WORKERS_LANE_MAX
 * threads at most: what hangs there does not delay the rest. The first WORKERS_FIRST threads
 * exist from the start on. If no further thread can be created, work waits for one of these.
 *
 * Order of calls:  start, (add | wait)*, stop before the loop is closed
 * Owner:           a piece of work belongs to the workers from add until done
 * On failure:      start fails with -EAGAIN, and its message says which limit is too low
 */

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"

enum { WORKERS_FIRST = 8, WORKERS_MAX = 256, WORKERS_LANE_MAX = 4 };

/* What a piece of work may be stuck in; the number is a device, or 0. */
enum work_kind {
    WORK_NAMES,  /* the user and group databases */
    WORK_DRIVER, /* a device: stop waits for it */
};

struct work_item {
    void (*run)(struct work_item *item);  /* in a thread */
    void (*done)(struct work_item *item); /* in the loop, afterwards */
    enum work_kind kind;
    uint32_t number;
    /* Of the workers: */
    struct work_item *next;
    uint64_t began; /* uv_hrtime() when it was added */
    bool is_over;
};

struct workers;

int workers_start(uv_loop_t *loop, struct workers **ret, struct error *err);
/* Work that is stuck is left to itself, except that of drivers, and is then never done. NULL is
 * fine. */
void workers_stop(struct workers *workers);

void workers_add(struct workers *workers, struct work_item *item);
/* Add the work, and wait until it has run, for timeout_ms at most. False: it has not, and the loop
 * goes on. done is called later in both cases. */
bool workers_wait(struct workers *workers, struct work_item *item, unsigned timeout_ms);
/* For how long the oldest work of this kind has been waiting or running. */
uint64_t workers_age_ms(struct workers *workers, enum work_kind kind);

#endif
