/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/mcp/guard.h"

#include <errno.h>
#include <string.h>

static void remove_at(struct guard *guard, size_t i)
{
    json_decref(guard->pending.items[i].arguments);
    json_decref(guard->pending.items[i].preview);
    list_remove(&guard->pending, i);
}

const char *guard_add(struct guard *guard, const char *tool, const json_t *arguments,
                      const json_t *preview, usec_t now)
{
    struct guard_pending pending = { .arguments = json_deep_copy(arguments),
                                     .preview = json_deep_copy(preview),
                                     .tool = tool,
                                     .made = now };

    if (guard->pending.count == GUARD_PENDING_MAX)
        remove_at(guard, 0);
    secret_make(pending.confirm);
    list_add(&guard->pending, pending);
    return guard->pending.items[guard->pending.count - 1].confirm;
}

static struct guard_pending *find(struct guard *guard, const char *confirm)
{
    for (size_t i = 0; i < guard->pending.count; i++) {
        if (secret_is_equal(guard->pending.items[i].confirm, confirm))
            return &guard->pending.items[i];
    }
    return NULL;
}

int guard_check(struct guard *guard, const char *confirm, const char *tool, const json_t *arguments,
                usec_t now, const json_t **ret, struct error *err)
{
    const struct guard_pending *pending = find(guard, confirm);

    if (!pending || now - pending->made > (usec_t)GUARD_VALID_S * USEC_PER_SEC)
        return error_set(err, -EINVAL,
                         "%s: argument confirm: not known, used already, or older than %d minutes; "
                         "call %s without it for a new one",
                         tool, GUARD_VALID_S / 60, tool);
    if (strcmp(pending->tool, tool) != 0 || !json_equal(pending->arguments, arguments))
        return error_set(err, -EINVAL,
                         "%s: argument confirm: it is for a call of %s with other arguments; "
                         "call %s without it for a new one",
                         tool, pending->tool, tool);
    *ret = pending->preview;
    return 0;
}

void guard_forget(struct guard *guard, const char *confirm)
{
    const struct guard_pending *pending = find(guard, confirm);

    if (pending)
        remove_at(guard, (size_t)(pending - guard->pending.items));
}

void guard_release(struct guard *guard)
{
    while (guard->pending.count > 0)
        remove_at(guard, guard->pending.count - 1);
    list_release(&guard->pending);
}
