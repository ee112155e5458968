/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics: DCGM's names and tarn's own; GET /metrics/dcgm: DCGM's names only. */
#include <string.h>

#include "api/routes.h"
#include "export/dcgm.h"
#include "export/metrics.h"

static json_t *reply_text(struct call *call, struct text *text)
{
    size_t length = text->length;

    text_string(text);
    http_reply(call->request, call->operation->status, content_type(call->operation->content),
               text_take(text), length);
    return NULL;
}

static bool is_asked(const struct call *call, const char *key, const char *value)
{
    const char *given = http_query(call->request, key);

    return given && strcmp(given, value) == 0;
}

static void add_dcgm(const struct call *call, struct text *text)
{
    struct dcgm_options options = { .old_hostname = is_asked(call, "hostname", "old"),
                                    .new_names = is_asked(call, "names", "new") };

    if (call->api->ports.devices.watch)
        dcgm_export(api_state(call->api), call->api->ports.devices.watch, &options, text);
}

json_t *handle_metrics(struct call *call)
{
    const struct api_ports *ports = &call->api->ports;
    const struct api_planner *planner = &ports->planner;
    const struct api_alerts *alerts = &ports->alerts;
    struct api_work work = planner->work ? planner->work(planner->user) : (struct api_work){ 0 };
    struct alert_counts counts =
        alerts->counts ? alerts->counts(alerts->user) : (struct alert_counts){ 0 };
    struct metrics_self self = { .version = TARN_VERSION,
                                 .now = api_now(call->api),
                                 .started = ports->daemon.started,
                                 .plans = work.plans,
                                 .decisions = work.decisions,
                                 .plan_sum = work.plan_sum,
                                 .plan_max = work.plan_max,
                                 .alerts_sent = counts.sent,
                                 .alerts_failed = counts.failed,
                                 .alerts_dropped = counts.dropped,
                                 .is_in_trouble =
                                     planner->trouble && planner->trouble(planner->user),
                                 .has_no_jobs = ports->daemon.has_no_jobs };
    struct text text = { 0 };

    add_dcgm(call, &text);
    metrics_export(api_state(call->api), call->api->ports.devices.watch, &self, &text);
    return reply_text(call, &text);
}

json_t *handle_metrics_dcgm(struct call *call)
{
    struct text text = { 0 };

    add_dcgm(call, &text);
    return reply_text(call, &text);
}
