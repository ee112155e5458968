/* SPDX-License-Identifier: Apache-2.0 */
#include "core/journal/config_log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/journal/event.h"

static void release_change(struct config_change *change)
{
    free(change->user);
    free(change->words);
}

void config_log_add(struct config_log *log, const struct config_change *change)
{
    struct config_change added = *change;

    added.user = mem_string(change->user ? change->user : "");
    added.words = mem_string(change->words ? change->words : "");
    if (log->items.count == CONFIG_LOG_KEPT) {
        release_change(&log->items.items[0]);
        list_remove(&log->items, 0);
    }
    list_add(&log->items, added);
    assert(log->items.count <= CONFIG_LOG_KEPT);
}

int config_log_note(struct config_log *log, const struct event_change *event, usec_t now,
                    struct error *err)
{
    if (event->number <= config_log_last(log))
        return error_set(err, -EBADMSG, "change %" PRIu64 ": its number is taken", event->number);
    config_log_add(log, &(struct config_change){ .number = event->number,
                                                 .before = event->before,
                                                 .after = event->after,
                                                 .undone = event->undone,
                                                 .at = now,
                                                 .user = (char *)(uintptr_t)event->user,
                                                 .words = (char *)(uintptr_t)event->words,
                                                 .count = event->count });
    return 0;
}

void config_log_release(struct config_log *log)
{
    for (size_t i = 0; i < log->items.count; i++)
        release_change(&log->items.items[i]);
    list_release(&log->items);
}

uint64_t config_log_last(const struct config_log *log)
{
    return log->items.count > 0 ? log->items.items[log->items.count - 1].number : 0;
}

const struct config_change *config_log_find(const struct config_log *log, uint64_t number)
{
    for (size_t i = log->items.count; i > 0; i--) {
        if (log->items.items[i - 1].number == number)
            return &log->items.items[i - 1];
    }
    return NULL;
}
