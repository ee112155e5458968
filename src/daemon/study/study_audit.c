/* SPDX-License-Identifier: Apache-2.0 */
/* The changes that clients made, from the journal: the newest ones of a time. */
#include <string.h>

#include "base/identity.h"
#include "base/mem.h"
#include "daemon/daemon.h"
#include "daemon/study/study_report.h"
#include "wire/json.h"

struct audit {
    const char *user; /* NULL: of all users */
    usec_t from, until, wall_ahead;
    size_t limit, count; /* count: all that were found */
    json_t *list;        /* the last `limit` of them; a ring */
    struct arena arena;
};

static json_t *view_change(const struct audit *audit, const struct event *event)
{
    const struct event_audit *change = &event->audit;

    return json_pack("{s:o, s:s, s:s, s:o, s:s, s:s}", "at",
                     json_time(event->at + audit->wall_ahead), "user", change->user, "by",
                     identity_source_name((enum identity_source)change->source), "token",
                     change->token > 0 ? json_integer((json_int_t)change->token) : json_null(),
                     "operation", change->operation, "path", change->path);
}

static int on_record(void *user, const struct journal_record *record, struct error *err)
{
    struct audit *audit = user;
    struct event event;

    arena_clear(&audit->arena);
    int code = event_decode(record->bytes, record->length, &audit->arena, &event, err);
    if (code < 0)
        return error_prefix(err, code, "journal: record %llu",
                            (unsigned long long)record->sequence);
    if (event.kind != EVENT_AUDIT || event.at < audit->from || event.at > audit->until ||
        (audit->user && strcmp(audit->user, event.audit.user) != 0))
        return 0;
    json_t *view = view_change(audit, &event);
    if (json_array_size(audit->list) < audit->limit)
        json_array_append_new(audit->list, view);
    else
        json_array_set_new(audit->list, audit->count % audit->limit, view);
    audit->count++;
    return 0;
}

int audit_view(const json_t *question, json_t **ret, struct error *err)
{
    usec_t now = json_integer_value(json_object_get(question, "now"));
    struct audit audit = {
        .user = json_string_value(json_object_get(question, "user")),
        .from = now - json_integer_value(json_object_get(question, "last")),
        .until = now,
        .wall_ahead = json_integer_value(json_object_get(question, "wall_ahead")),
        .limit = (size_t)json_integer_value(json_object_get(question, "limit")),
        .list = json_array(),
    };
    json_t *newest_first = json_array();

    int code = daemon_read_records(json_string_value(json_object_get(question, "dir")), on_record,
                                   &audit, err);
    for (size_t i = 0; i < json_array_size(audit.list); i++)
        json_array_append(newest_first,
                          json_array_get(audit.list, (audit.count - 1 - i) % audit.limit));
    if (code == 0)
        *ret = json_pack("{s:O, s:b}", "changes", newest_first, "older", audit.count > audit.limit);
    json_decref(audit.list);
    json_decref(newest_first);
    arena_release(&audit.arena);
    return code;
}
