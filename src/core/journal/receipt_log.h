/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOURNAL_RECEIPT_LOG_H
#define CORE_JOURNAL_RECEIPT_LOG_H

/* receipt_log - submissions that their clients named, so that a repeated one is recognized
 *
 * A receipt is kept for RECEIPT_TIME, the newest RECEIPTS_USER_MAX of each user; oldest first.
 *
 * Owner: the log owns its texts; what it returns is valid until the next add
 */

#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/units.h"

#define RECEIPT_TIME (24 * USEC_PER_HOUR)
enum { RECEIPTS_USER_MAX = 1000, RECEIPT_KEY_MAX = 64 };

struct receipt {
    char *user, *key;
    uint64_t fingerprint; /* of the documents */
    uint64_t job, cron;   /* numbers that its first job and repeating job have, if it has some */
    usec_t at;
};

struct receipt_log {
    LIST(struct receipt) items;
};

/* Copied; its time is not before that of the last one. What is too old or too much is dropped. */
void receipt_log_add(struct receipt_log *log, const struct receipt *receipt);
void receipt_log_release(struct receipt_log *log);
/* The newest one; NULL: this user has none with this key that is still kept at this time. */
const struct receipt *receipt_log_find(const struct receipt_log *log, const char *user,
                                       const char *key, usec_t now);

#endif
