/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/report: use and efficiency of the last days. Another process answers. */
#include <errno.h>
#include <string.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "base/units.h"

enum { REPORT_DAYS_MAX = 366, ROWS = 20, PERIODS_MAX = 1000, MONTHS = -1 };

static void release_report(struct asked *asked)
{
    json_decref(asked->study.report);
}

/* Usage of running jobs, which the journal gets at their end only. */
static json_t *view_live(const struct api *api)
{
    const struct watch *watch = api->ports.devices.watch;
    static const char digits[] = "0123456789abcdef";
    json_t *list = json_array();

    for (const struct job *job = api_state(api)->first_active; watch && job;
         job = job->run->active_next) {
        const struct usage *usage = watch->ops->usage(watch, job->id, job->run->attempt);
        AUTO_RELEASE(text) struct text bytes = { 0 }, words = { 0 };
        if (!usage || usage->watched_ms == 0)
            continue;
        struct event event = {
            .kind = EVENT_USAGE,
            .usage = { .job = job->id, .attempt = job->run->attempt, .usage = *usage },
        };
        event_encode(&event, &bytes);
        for (size_t i = 0; i < bytes.length; i++) {
            unsigned char byte = (unsigned char)bytes.bytes[i];
            text_add_bytes(&words, (char[]){ digits[byte >> 4], digits[byte & 15] }, 2);
        }
        json_array_append_new(list, json_string(text_string(&words)));
    }
    return list;
}

/* Expensive with many running jobs: only for a question that is accepted. */
static void complete(struct api_study *study)
{
    const struct asked *asked = CONTAINER_OF(study, struct asked, study);

    json_object_set_new(study->report, "live", view_live(asked->api));
}

static int read_by(const struct call *call)
{
    static const char *const words[] = { "user", "queue", "job", "model", "stage" };
    const char *by = http_query(call->request, "by");
    int i = 0;

    while (by && strcmp(words[i], by) != 0) /* the route has these only */
        i++;
    return i;
}

/* ?step=1h, or month: the length of periods; 0: none. */
static int read_step(const struct call *call, usec_t last, usec_t *ret, struct error *err)
{
    const char *step = http_query(call->request, "step");

    *ret = 0;
    if (!step)
        return 0;
    if (strcmp(step, "month") == 0) {
        *ret = MONTHS;
        return 0;
    }
    int code = units_parse_duration(step, ret, err);
    if (code < 0)
        return error_prefix(err, code, "step");
    if (*ret < USEC_PER_MIN || last / *ret > PERIODS_MAX)
        return error_set(err, -ERANGE,
                         "step '%.40s': expected month, or at least 1m and at most %d steps", step,
                         PERIODS_MAX);
    return 0;
}

static int read_question(struct call *call, struct asked *asked, struct error *err)
{
    const char *last = http_query(call->request, "last");
    struct api_study *study = &asked->study;

    study->last = 7 * USEC_PER_DAY;
    int code = last ? units_parse_duration(last, &study->last, err) : 0;
    if (code < 0)
        return error_prefix(err, code, "last");
    if (study->last <= 0 || study->last > REPORT_DAYS_MAX * USEC_PER_DAY)
        return error_set(err, -ERANGE, "last '%.40s': expected up to %d days, like 7d", last,
                         REPORT_DAYS_MAX);
    usec_t step;
    code = read_step(call, study->last, &step, err);
    if (code < 0)
        return code;
    if (!study->who->is_admin)
        study->hides_from = study->who->name;
    study->report = json_pack("{s:i, s:i, s:I}", "by", read_by(call), "shown",
                              (int)query_number(call, "shown", ROWS), "step", (json_int_t)step);
    return 0;
}

json_t *handle_report(struct call *call)
{
    struct asked *asked = asked_create(call, sizeof(*asked), release_report);

    asked->study.complete = complete;
    return asked_begin(call, asked, read_question(call, asked, &call->err));
}
