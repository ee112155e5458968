/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/study/planned.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "control/repeat.h"
#include "daemon/forward_control.h"

struct document {
    uint64_t id; /* of the blob */
    struct text bytes;
    bool is_used;
};

struct planned {
    const struct control *live;
    LIST(struct document) documents;
    uint32_t submitted; /* in this copy */
};

struct planned *planned_create(const struct control *live)
{
    struct planned *planned = mem_zero(1, sizeof(*planned));

    planned->live = live;
    return planned;
}

void planned_destroy(struct planned *planned)
{
    if (!planned)
        return;
    LIST_EACH (struct document, document, &planned->documents)
        text_release(&document->bytes);
    list_release(&planned->documents);
    free(planned);
}

/* ---- in the daemon ---- */

static struct document *find(const struct planned *planned, uint64_t id)
{
    LIST_EACH (struct document, document, &planned->documents) {
        if (document->id == id)
            return document;
    }
    return NULL;
}

static void read_one(struct planned *planned, uint64_t id)
{
    const struct control_blobs *blobs = &planned->live->blobs;
    struct document *known = find(planned, id), document = { .id = id, .is_used = true };
    struct error err;

    if (known)
        known->is_used = true;
    else if (blobs->get(blobs->user, id, &document.bytes, &err) == 0)
        list_add(&planned->documents, document);
    else
        text_release(&document.bytes); /* the submission fails, too */
}

void planned_read(struct planned *planned)
{
    const struct agenda *agenda = &control_state(planned->live)->agenda;

    LIST_EACH (struct document, document, &planned->documents)
        document->is_used = false;
    LIST_EACH (const struct event_cron, entry, &agenda->crons)
        read_one(planned, entry->document);
    for (size_t i = planned->documents.count; i-- > 0;) {
        if (planned->documents.items[i].is_used)
            continue;
        text_release(&planned->documents.items[i].bytes);
        list_remove(&planned->documents, i);
    }
}

/* ---- in a copy ---- */

static int get(void *user, uint64_t id, struct text *ret, struct error *err)
{
    const struct document *document = find(user, id);

    if (!document)
        return error_set(err, -ENOENT, "the document is not there");
    text_clear(ret);
    text_add_bytes(ret, document->bytes.bytes, document->bytes.length);
    return 0;
}

static const struct event_cron *first_due(const struct state *state)
{
    const struct event_cron *first = NULL;

    LIST_EACH (const struct event_cron, entry, &state->agenda.crons) {
        if (!first || entry->next < first->next)
            first = entry;
    }
    return first;
}

usec_t planned_next(void *user)
{
    const struct planned *planned = user;
    const struct event_cron *first = first_due(control_state(planned->live));

    return first && planned->submitted < PLANNED_MAX ? first->next : USEC_NEVER;
}

int planned_come(void *user, struct forward *forward, usec_t now, struct error *err)
{
    struct planned *planned = user;
    struct forward_control in;

    forward_control_init(&in, forward, control_wall_ahead(planned->live));
    in.control.blobs = (struct control_blobs){ .user = planned, .get = get };
    in.control.grace = planned->live->grace;
    in.control.owner = planned->live->owner;
    while (in.code == 0 && planned_next(planned) <= now) {
        cron_submit(&in.control, first_due(forward->state)->id);
        planned->submitted++;
    }
    return forward_control_end(&in, 0, err);
}
