/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/report: use and efficiency of the last days. Another process answers.
 *
 * A report is kept for KEPT, for those that say that it will do: the viewers of the web page.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "base/mem.h"
#include "base/units.h"

enum { REPORT_DAYS_MAX = 366, ROWS = 20, PERIODS_MAX = 1000, MONTHS = -1 };

#define KEPT USEC_PER_MIN

struct reporting {
    struct asked asked;
    char *question; /* to keep the answer; NULL: it is not kept */
};

static void release_report(struct asked *asked)
{
    json_decref(asked->study.report);
    free(CONTAINER_OF(asked, struct reporting, asked)->question);
}

static usec_t now_of(const struct api *api)
{
    return (usec_t)uv_now(api->loop) * USEC_PER_MS;
}

static void keep(struct asked *asked, const struct text *answer)
{
    struct kept_report *kept = &asked->api->report;
    struct reporting *reporting = CONTAINER_OF(asked, struct reporting, asked);

    free(kept->question);
    kept->question = TAKE(reporting->question);
    text_clear(&kept->answer);
    text_add_bytes(&kept->answer, answer->bytes, answer->length);
    kept->at = now_of(asked->api);
}

void kept_report_release(struct kept_report *report)
{
    free(report->question);
    text_release(&report->answer);
}

/* True: the answer is there, and sent. Else it will be kept. */
static bool answer_from_kept(struct call *call, struct reporting *reporting)
{
    const struct kept_report *kept = &call->api->report;
    const struct api_study *study = &reporting->asked.study;
    AUTO_FREE char *asked = json_dumps(study->report, JSON_COMPACT);

    reporting->question = mem_printf("%lld %s %s", (long long)study->last,
                                     study->hides_from ? study->hides_from : "", asked);
    reporting->asked.answered = keep;
    if (!kept->question || strcmp(kept->question, reporting->question) != 0 ||
        now_of(call->api) - kept->at > KEPT)
        return false;
    char *copy = mem_string_of(kept->answer.bytes, kept->answer.length);
    http_reply(call->request, 200, "application/json", copy, kept->answer.length);
    return true;
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
    struct reporting *reporting = asked_create(call, sizeof(*reporting), release_report);
    struct asked *asked = &reporting->asked;

    asked->study.complete = complete;
    int code = read_question(call, asked, &call->err);
    if (code == 0 && query_is_on(call, "kept") && answer_from_kept(call, reporting)) {
        release_report(asked);
        free(reporting);
        return NULL;
    }
    return asked_begin(call, asked, code);
}
