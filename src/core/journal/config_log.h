/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOURNAL_CONFIG_LOG_H
#define CORE_JOURNAL_CONFIG_LOG_H

/* config_log - the changes of the configuration: user, time, content
 *
 * The newest CONFIG_LOG_KEPT changes, oldest first; numbers only increase. The configurations
 * before and after each change are in blobs of the journal: the brain does not read them.
 *
 * Owner: the log owns its texts; what it returns is valid until the next note or add
 */

#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/units.h"

enum { CONFIG_LOG_KEPT = 100 };

struct config_change {
    uint64_t number;
    uint64_t before, after; /* blobs */
    uint64_t undone;        /* it restored what was before the change of this number; 0: none */
    usec_t at;
    char *user;
    char *words;    /* the differences, in one line */
    uint32_t count; /* number of differences */
};

struct config_log {
    LIST(struct config_change) items;
};

struct event_change;

/* Fails with -EBADMSG if its number is not above the last one. */
int config_log_note(struct config_log *log, const struct event_change *event, usec_t now,
                    struct error *err);
void config_log_add(struct config_log *log, const struct config_change *change); /* copied */
void config_log_release(struct config_log *log);

/* The number of the newest; 0: there was none. */
uint64_t config_log_last(const struct config_log *log);
/* NULL: there was none with that number, or it is no longer kept. */
const struct config_change *config_log_find(const struct config_log *log, uint64_t number);

#endif
