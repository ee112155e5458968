/* SPDX-License-Identifier: Apache-2.0 */
#include "core/journal/receipt_log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void release_receipt(struct receipt *receipt)
{
    free(receipt->user);
    free(receipt->key);
}

static void drop(struct receipt_log *log, size_t place)
{
    release_receipt(&log->items.items[place]);
    list_remove(&log->items, place);
}

/* Make room for one more of this user. */
static void drop_surplus(struct receipt_log *log, const char *user)
{
    size_t count = 0, oldest = 0;

    for (size_t i = log->items.count; i > 0; i--) {
        if (strcmp(log->items.items[i - 1].user, user) != 0)
            continue;
        count++;
        oldest = i - 1;
    }
    if (count == RECEIPTS_USER_MAX)
        drop(log, oldest);
}

void receipt_log_add(struct receipt_log *log, const struct receipt *receipt)
{
    struct receipt added = *receipt;

    assert(log->items.count == 0 || log->items.items[log->items.count - 1].at <= receipt->at);
    while (log->items.count > 0 && log->items.items[0].at + RECEIPT_TIME < receipt->at)
        drop(log, 0);
    added.user = mem_string(receipt->user ? receipt->user : "");
    added.key = mem_string(receipt->key ? receipt->key : "");
    drop_surplus(log, added.user);
    list_add(&log->items, added);
}

void receipt_log_release(struct receipt_log *log)
{
    for (size_t i = 0; i < log->items.count; i++)
        release_receipt(&log->items.items[i]);
    list_release(&log->items);
}

const struct receipt *receipt_log_find(const struct receipt_log *log, const char *user,
                                       const char *key, usec_t now)
{
    for (size_t i = log->items.count; i > 0; i--) {
        const struct receipt *receipt = &log->items.items[i - 1];
        if (receipt->at + RECEIPT_TIME < now)
            return NULL;
        if (strcmp(receipt->user, user) == 0 && strcmp(receipt->key, key) == 0)
            return receipt;
    }
    return NULL;
}
