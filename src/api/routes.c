/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "*" stands for a number, "@" for a name. Longer paths before their prefixes are not needed: all
 * of it must match.
 */
static const struct route {
    const char *method, *path;
    call_fn *handle;
} routes[] = {
    { "POST", "/v1/jobs", handle_submit },
    { "GET", "/v1/jobs", handle_list },
    { "GET", "/v1/jobs/*", handle_show },
    { "PATCH", "/v1/jobs/*", handle_job_update },
    { "GET", "/v1/jobs/*/why", handle_why },
    { "GET", "/v1/jobs/*/when", handle_when },
    { "POST", "/v1/when", handle_when_like },
    { "GET", "/v1/jobs/*/output", handle_output },
    { "GET", "/v1/jobs/*/events", handle_job_events },
    { "POST", "/v1/jobs/*/cancel", handle_job_action },
    { "POST", "/v1/jobs/*/hold", handle_job_action },
    { "POST", "/v1/jobs/*/release", handle_job_action },
    { "POST", "/v1/jobs/*/requeue", handle_job_action },
    { "POST", "/v1/jobs/*/checkpoint", handle_job_action },
    { "GET", "/v1/events", handle_events },
    { "GET", "/v1/gpus", handle_gpus },
    { "POST", "/v1/gpus/@/clear", handle_clear },
    { "POST", "/v1/gpus/@/*/clear", handle_clear },
    { "GET", "/v1/gpus/@/history", handle_history },
    { "GET", "/v1/gpus/@/*/history", handle_history },
    { "GET", "/v1/topology", handle_topology },
    { "GET", "/v1/alerts", handle_alerts },
    { "POST", "/v1/alerts/silences", handle_silence },
    { "DELETE", "/v1/alerts/silences", handle_unsilence },
    { "GET", "/metrics", handle_metrics },
    { "GET", "/metrics/dcgm", handle_metrics_dcgm },
    { "GET", "/v1/nodes", handle_nodes },
    { "POST", "/v1/nodes/@/interrupt", handle_interrupt },
    { "POST", "/v1/nodes/@/drain", handle_drain },
    { "POST", "/v1/nodes/@/undrain", handle_drain },
    { "POST", "/v1/gpus/@/drain", handle_drain },
    { "POST", "/v1/gpus/@/undrain", handle_drain },
    { "POST", "/v1/gpus/@/*/drain", handle_drain },
    { "POST", "/v1/gpus/@/*/undrain", handle_drain },
    { "GET", "/v1/pools", handle_pools },
    { "GET", "/v1/scale", handle_scale },
    { "GET", "/v1/queues", handle_queues },
    { "GET", "/v1/config", handle_config },
    { "PUT", "/v1/config", handle_apply },
    { "GET", "/v1/config/changes", handle_config_log },
    { "POST", "/v1/config/undo", handle_undo },
    { "POST", "/v1/whatif", handle_whatif },
    { "POST", "/v1/rehearsal", handle_rehearsal },
    { "GET", "/v1/report", handle_report },
    { "GET", "/v1/reservations", handle_reservations },
    { "POST", "/v1/reservations", handle_reserve },
    { "DELETE", "/v1/reservations", handle_unreserve },
    { "GET", "/v1/cron", handle_crons },
    { "DELETE", "/v1/cron/*", handle_cron_remove },
    { "GET", "/v1/daemon", handle_daemon },
    { "POST", "/v1/stop", handle_stop },
};

static bool take_id(const char **path, struct call *call)
{
    char *end;

    if (**path < '0' || **path > '9')
        return false;
    errno = 0;
    call->id = strtoull(*path, &end, 10);
    call->has_id = true;
    if (errno == 0 && *end == '_' && end[1] >= '0' && end[1] <= '9') {
        unsigned long index = strtoul(end + 1, &end, 10);
        if (index >= UINT32_MAX)
            return false;
        call->index = (uint32_t)index + 1;
    }
    *path = end;
    return errno == 0;
}

static bool take_name(const char **path, struct call *call)
{
    size_t length = strcspn(*path, "/");

    if (length == 0 || length >= sizeof(call->name))
        return false;
    memcpy(call->name, *path, length);
    call->name[length] = '\0';
    *path += length;
    return true;
}

static bool path_matches(const char *pattern, const char *path, struct call *call)
{
    for (; *pattern; pattern++) {
        if (*pattern == '*') {
            if (!take_id(&path, call))
                return false;
        } else if (*pattern == '@') {
            if (!take_name(&path, call))
                return false;
        } else if (*path++ != *pattern)
            return false;
    }
    return *path == '\0';
}

void api_handle(void *user, struct http_request *request)
{
    struct error err;
    bool is_known = false;

    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        struct call call = { .api = user, .request = request };
        if (!path_matches(routes[i].path, request->path, &call))
            continue;
        is_known = true;
        if (strcmp(routes[i].method, request->method) == 0) {
            routes[i].handle(&call);
            return;
        }
    }
    if (is_known) {
        error_set(&err, REFUSED_METHOD, "%.200s: %.20s is not for this", request->path,
                  request->method);
        reply_error(request, REFUSED_METHOD, &err);
    } else {
        error_set(&err, REFUSED_NOT_FOUND, "%.200s: no such path", request->path);
        reply_error(request, REFUSED_NOT_FOUND, &err);
    }
}

void api_handle_metrics(void *user, struct http_request *request)
{
    struct error err;

    if (strcmp(request->path, "/metrics") == 0 || string_starts(request->path, "/metrics/")) {
        api_handle(user, request);
        return;
    }
    error_set(&err, REFUSED_NOT_FOUND, "%.200s: only /metrics and /metrics/dcgm are here",
              request->path);
    reply_error(request, REFUSED_NOT_FOUND, &err);
}
