/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOURNAL_CONFIG_LOG_H
#define CORE_JOURNAL_CONFIG_LOG_H

/* config_log - the changes of the configuration: user, time, content
 *
 * The newest CONFIG_LOG_KEPT changes, oldest first; numbers only rise. What was configured before
 * and after each stands in blobs of the journal: the brain does not read them.
 *
 * Owner: the log owns its texts; what it hands out is good until the next note or add
 */

#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/units.h"

enum { CONFIG_LOG_KEPT = 100 };

struct config_change {
    uint64_t number;
    uint64_t before, after; /* blobs */
    uint64_t undone;        /* it is back to what was before this one; 0: a new one */
    usec_t at;
    char *user;
    char *words;    /* what is different, in one line */
    uint32_t count; /* how many things are */
};

struct config_log {
    LIST(struct config_change) items;
};

struct event_change;

/* Fails with -EBADMSG when its number is not above the last. */
int config_log_note(struct config_log *log, const struct event_change *event, usec_t now,
                    struct error *err);
void config_log_add(struct config_log *log, const struct config_change *change); /* copied */
void config_log_release(struct config_log *log);

/* The number of the newest; 0: there was none. */
uint64_t config_log_last(const struct config_log *log);
/* NULL: there was none with that number, or it is too long ago. */
const struct config_change *config_log_find(const struct config_log *log, uint64_t number);

#endif
