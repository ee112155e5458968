/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/cron, DELETE /v1/cron/ID: what is submitted again and again. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/times.h"
#include "time/cron.h"

/* The next time after a moment of the wall clock, in journal time; USEC_NEVER: it can't be told. */
usec_t cron_next_after(const struct api *api, const char *schedule, usec_t wall)
{
    AUTO(zone) struct zone *zone = NULL;
    struct cron cron;
    struct error err;

    if (cron_parse(schedule, &cron, &err) < 0 ||
        times_zone(api_state(api)->agenda.timezone, &zone, &err) < 0)
        return USEC_NEVER;
    usec_t next = cron_next(&cron, zone, wall);
    return next == USEC_NEVER ? next : next - api->ports.wall_ahead(api->ports.user);
}

/* It fires at whole minutes of the wall clock, which drifts a little against journal time: what was
 * due is rounded, so that it does not fire a moment later once more. */
static usec_t next_of(const struct api *api, const struct cron_entry *entry)
{
    usec_t ahead = api->ports.wall_ahead(api->ports.user);
    usec_t wall = api->ports.now(api->ports.user) + ahead;
    usec_t due = (entry->next + ahead + USEC_PER_MIN / 2) / USEC_PER_MIN * USEC_PER_MIN;
    bool is_near = due > wall && due - wall < USEC_PER_MIN;

    return cron_next_after(api, entry->schedule, is_near ? due : wall);
}

void cron_emit(struct api *api, const struct cron_entry *entry, const struct cron_news *news)
{
    AUTO_FREE char *name = mem_string(entry->name);
    AUTO_FREE char *user = mem_string(entry->user);
    AUTO_FREE char *schedule = mem_string(entry->schedule);
    AUTO_FREE char *trouble = mem_string(news->is_clock_set ? entry->trouble : news->trouble);
    usec_t wall = api->ports.now(api->ports.user) + api->ports.wall_ahead(api->ports.user);
    struct event event = {
        .kind = EVENT_CRON,
        .cron = { .id = entry->id,
                  .name = name,
                  .user = user,
                  .uid = entry->uid,
                  .gid = entry->gid,
                  .schedule = schedule,
                  .document = entry->document,
                  .next = news->is_clock_set ? cron_next_after(api, entry->schedule, wall)
                                             : next_of(api, entry),
                  .fired = news->is_clock_set ? entry->fired : api->ports.now(api->ports.user),
                  .count = entry->count + (news->job > 0),
                  .job = news->job > 0 ? news->job : entry->job,
                  .trouble = trouble },
    };

    api->ports.emit(api->ports.user, &event);
}

void handle_crons(struct call *call)
{
    const struct api *api = call->api;
    const struct agenda *agenda = &api_state(api)->agenda;
    json_t *list = json_array();

    for (size_t i = 0; i < agenda->crons.count; i++) {
        const struct cron_entry *entry = &agenda->crons.items[i];
        json_array_append_new(
            list,
            json_pack("{s:I, s:s, s:s, s:s, s:o, s:o, s:I, s:o, s:o}", "id", (json_int_t)entry->id,
                      "name", entry->name, "user", entry->user, "schedule", entry->schedule, "next",
                      view_edge(api, entry->next), "fired", view_time(api, entry->fired), "count",
                      (json_int_t)entry->count, "job",
                      entry->job > 0 ? json_integer((json_int_t)entry->job) : json_null(),
                      "trouble", entry->trouble[0] ? json_string(entry->trouble) : json_null()));
    }
    reply_json(call->request, 200, json_pack("{s:o}", "cron", list));
}

struct removal {
    struct api_change change;
    struct api *api;
    struct http_request *request;
    uint64_t id;
    const struct identity *who;
};

static int run_removal(struct api_change *change, struct error *err)
{
    struct removal *removal = CONTAINER_OF(change, struct removal, change);
    struct api *api = removal->api;
    const struct cron_entry *entry = agenda_find_cron(&api_state(api)->agenda, removal->id);

    if (!entry)
        return error_set(err, -ENOENT, "cron %" PRIu64 ": there is none", removal->id);
    if (!identity_may(removal->who, entry->uid))
        return error_set(err, -EACCES, "cron %" PRIu64 ": it is %s's", removal->id, entry->user);
    struct event event = { .kind = EVENT_CRON_REMOVE, .cron_remove = { .id = removal->id } };
    api->ports.emit(api->ports.user, &event);
    return 0;
}

static void done_removal(struct api_change *change, int code, const struct error *err)
{
    struct removal *removal = CONTAINER_OF(change, struct removal, change);

    if (code < 0)
        reply_error(removal->request, code, err);
    else
        reply_json(removal->request, 200, json_pack("{s:I}", "removed", (json_int_t)removal->id));
    free(removal);
}

void handle_cron_remove(struct call *call)
{
    struct removal *removal = mem_zero(1, sizeof(*removal));

    *removal = (struct removal){ .change = { .run = run_removal, .done = done_removal },
                                 .api = call->api,
                                 .request = call->request,
                                 .id = call->id,
                                 .who = call->request->who };
    call->api->ports.enqueue(call->api->ports.user, &removal->change);
}
