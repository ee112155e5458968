/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/cron, DELETE /v1/cron/ID: repeating jobs. */
#include "api/deferred.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "control/repeat.h"

json_t *handle_crons(struct call *call)
{
    const struct api *api = call->api;
    const struct agenda *agenda = &api_state(api)->agenda;
    json_t *list = json_array();

    for (size_t i = 0; i < agenda->crons.count; i++) {
        const struct event_cron *entry = &agenda->crons.items[i];
        json_array_append_new(
            list,
            json_pack("{s:I, s:s, s:s, s:s, s:o, s:o, s:I, s:o, s:o}", "id", (json_int_t)entry->id,
                      "name", entry->name, "user", entry->user, "schedule", entry->schedule, "next",
                      view_edge(api, entry->next), "fired", view_time(api, entry->fired), "count",
                      (json_int_t)entry->count, "job", number_or_null((int64_t)entry->job),
                      "trouble", text_or_null(entry->trouble)));
    }
    return json_pack("{s:o}", "cron", list);
}

static int run_removal(struct deferred *deferred, struct error *err)
{
    return cron_remove(api_control(deferred->api), deferred->request->who, deferred->id, err);
}

static json_t *answer_removal(struct deferred *deferred)
{
    return json_pack("{s:I}", "removed", (json_int_t)deferred->id);
}

json_t *handle_cron_remove(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_removal, .answer = answer_removal };

    return deferred_begin(call, deferred_create(call, sizeof(struct deferred), &ops), 0);
}
