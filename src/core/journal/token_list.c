/* SPDX-License-Identifier: Apache-2.0 */
#include "core/journal/token_list.h"

#include <errno.h>
#include <inttypes.h>

static struct event_token *find(const struct token_list *list, uint64_t id)
{
    for (size_t i = 0; i < list->items.count; i++) {
        if (list->items.items[i].id == id)
            return &list->items.items[i];
    }
    return NULL;
}

const struct event_token *token_list_find(const struct token_list *list, uint64_t id)
{
    return find(list, id);
}

int token_list_put(struct token_list *list, const struct event_token *token, struct error *err)
{
    struct event_token *known = find(list, token->id), added = *token;

    if (!known && token->id <= list->last)
        return error_set(err, -EBADMSG, "token %" PRIu64 ": its number is taken", token->id);
    record_own(event_type(EVENT_TOKEN), &added);
    if (known) {
        record_release(event_type(EVENT_TOKEN), known);
        *known = added;
    } else {
        list_add(&list->items, added);
        list->last = token->id;
    }
    return 0;
}

int token_list_remove(struct token_list *list, uint64_t id, struct error *err)
{
    struct event_token *known = find(list, id);

    if (!known)
        return error_set(err, -EBADMSG, "token %" PRIu64 ": there is none", id);
    record_release(event_type(EVENT_TOKEN), known);
    list_remove(&list->items, (size_t)(known - list->items.items));
    return 0;
}

void token_list_release(struct token_list *list)
{
    for (size_t i = 0; i < list->items.count; i++)
        record_release(event_type(EVENT_TOKEN), &list->items.items[i]);
    list_release(&list->items);
}
