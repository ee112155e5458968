/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/audit: who changed what, and how; GET /v1/jobs/ID/timeline: what happened to a job.
 * Another process reads it from the journal. */
#include <errno.h>
#include <string.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "base/units.h"

enum { AUDIT_DAYS_MAX = 366, LIMIT_DEFAULT = 200 };

static void release_audit(struct asked *asked)
{
    json_decref(asked->study.report);
}

/* Users who are no administrators see their own changes. */
json_t *handle_audit(struct call *call)
{
    const char *last = http_query(call->request, "last"), *user = http_query(call->request, "user");
    struct asked *asked = asked_create(call, sizeof(*asked), release_audit);
    struct api_study *study = &asked->study;
    const struct identity *who = study->who;

    study->last = 7 * USEC_PER_DAY;
    int code = last ? units_parse_duration(last, &study->last, &call->err) : 0;
    if (code < 0)
        code = error_prefix(&call->err, code, "last");
    else if (study->last <= 0 || study->last > AUDIT_DAYS_MAX * USEC_PER_DAY)
        code = error_set(&call->err, -ERANGE, "last '%.40s': expected up to %d days, like 7d", last,
                         AUDIT_DAYS_MAX);
    else if (!who->is_admin && user && strcmp(user, who->name) != 0)
        code = error_set(&call->err, REFUSED_FORBIDDEN,
                         "audit: only administrators see the changes of others");
    study->report = json_pack("{s:b, s:I, s:s?}", "audit", true, "limit",
                              (json_int_t)query_number(call, "limit", LIMIT_DEFAULT), "user",
                              who->is_admin ? user : who->name);
    return asked_begin(call, asked, code);
}

json_t *handle_timeline(struct call *call)
{
    const struct job *job = call_job(call);

    if (!job)
        return NULL;
    struct asked *asked = asked_create(call, sizeof(*asked), release_audit);
    asked->study.last = USEC_PER_DAY;
    asked->study.report = json_pack("{s:I}", "job", (json_int_t)job->id);
    return asked_begin(call, asked, 0);
}
