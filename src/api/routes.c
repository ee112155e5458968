/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/estimates.h"
#include "base/mem.h"
#include "web/web_files.h"

/* "*" stands for a number, "@" for a name. The whole path must match. */
static const struct route {
    const char *method, *path;
    call_fn *handle;
    const char *admins; /* refusal for other users; NULL: open to all */
} routes[] = {
    { "POST", "/v1/jobs", handle_submit, NULL },
    { "GET", "/v1/jobs", handle_list, NULL },
    { "GET", "/v1/jobs/*", handle_show, NULL },
    { "PATCH", "/v1/jobs/*", handle_job_update, NULL },
    { "GET", "/v1/jobs/*/why", handle_why, NULL },
    { "GET", "/v1/jobs/*/when", handle_when, NULL },
    { "POST", "/v1/when", handle_when_like, NULL },
    { "POST", "/v1/choose", handle_choose, NULL },
    { "GET", "/v1/jobs/*/output", handle_output, NULL },
    { "GET", "/v1/jobs/*/events", handle_job_events, NULL },
    { "POST", "/v1/jobs/*/cancel", handle_job_action, NULL },
    { "POST", "/v1/jobs/*/hold", handle_job_action, NULL },
    { "POST", "/v1/jobs/*/release", handle_job_action, NULL },
    { "POST", "/v1/jobs/*/requeue", handle_job_action, NULL },
    { "POST", "/v1/jobs/*/checkpoint", handle_job_action, NULL },
    { "POST", "/v1/jobs/*/signal", handle_signal, NULL },
    { "POST", "/v1/jobs/*/exec", handle_enter, NULL },
    { "GET", "/v1/events", handle_events, NULL },
    { "GET", "/v1/gpus", handle_gpus, NULL },
    { "POST", "/v1/gpus/@/clear", handle_clear, "clear: only for administrators" },
    { "POST", "/v1/gpus/@/*/clear", handle_clear, "clear: only for administrators" },
    { "GET", "/v1/gpus/@/history", handle_history, NULL },
    { "GET", "/v1/gpus/@/*/history", handle_history, NULL },
    { "GET", "/v1/topology", handle_topology, NULL },
    { "GET", "/v1/alerts", handle_alerts, NULL },
    { "POST", "/v1/alerts/silences", handle_silence, "alerts: only administrators silence them" },
    { "DELETE", "/v1/alerts/silences", handle_unsilence,
      "alerts: only administrators silence them" },
    { "GET", "/metrics", handle_metrics, NULL },
    { "GET", "/metrics/dcgm", handle_metrics_dcgm, NULL },
    { "GET", "/v1/nodes", handle_nodes, NULL },
    { "POST", "/v1/nodes/@/interrupt", handle_interrupt, "interrupt: only for administrators" },
    { "POST", "/v1/nodes/@/drain", handle_drain, "drain: only for administrators" },
    { "POST", "/v1/nodes/@/undrain", handle_drain, "drain: only for administrators" },
    { "POST", "/v1/gpus/@/drain", handle_drain, "drain: only for administrators" },
    { "POST", "/v1/gpus/@/undrain", handle_drain, "drain: only for administrators" },
    { "POST", "/v1/gpus/@/*/drain", handle_drain, "drain: only for administrators" },
    { "POST", "/v1/gpus/@/*/undrain", handle_drain, "drain: only for administrators" },
    { "GET", "/v1/pools", handle_pools, NULL },
    { "GET", "/v1/scale", handle_scale, NULL },
    { "GET", "/v1/queues", handle_queues, NULL },
    { "GET", "/v1/config", handle_config, NULL },
    { "PUT", "/v1/config", handle_apply, NULL },
    { "GET", "/v1/config/changes", handle_config_log, NULL },
    { "POST", "/v1/config/undo", handle_undo, NULL },
    { "POST", "/v1/whatif", handle_whatif, NULL },
    { "POST", "/v1/rehearsal", handle_rehearsal, NULL },
    { "GET", "/v1/report", handle_report, NULL },
    { "GET", "/v1/estimates", handle_estimates, NULL },
    { "GET", "/v1/reservations", handle_reservations, NULL },
    { "POST", "/v1/reservations", handle_reserve,
      "reservations: only administrators make and remove them" },
    { "DELETE", "/v1/reservations", handle_unreserve,
      "reservations: only administrators make and remove them" },
    { "GET", "/v1/cron", handle_crons, NULL },
    { "DELETE", "/v1/cron/*", handle_cron_remove, NULL },
    { "GET", "/v1/whoami", handle_whoami, NULL },
    { "GET", "/v1/tokens", handle_tokens, NULL },
    { "POST", "/v1/session", handle_session_begin, NULL },
    { "DELETE", "/v1/session", handle_session_end, NULL },
    { "POST", "/v1/tokens", handle_token_create, NULL },
    { "DELETE", "/v1/tokens/*", handle_token_revoke, NULL },
    { "GET", "/v1/daemon", handle_daemon, NULL },
    { "POST", "/v1/stop", handle_stop, "stop: only for administrators" },
};

/* Those that answer from the forecast. */
static const struct {
    call_fn *handle;
    bool is_of_waiting; /* only from the starts of jobs that wait */
    usec_t patience;
} foretellers[] = {
    /* A listing of many jobs has to be there at once; the times of the last forecast will do. */
    { handle_list, true, 50 * USEC_PER_MS },
    { handle_show, true, FORECAST_PATIENCE },
    { handle_why, true, FORECAST_PATIENCE },
    { handle_when, false, FORECAST_PATIENCE },
};

static bool take_id(const char **path, struct call *call)
{
    char *end;

    if (**path < '0' || **path > '9')
        return false;
    errno = 0;
    call->id = strtoull(*path, &end, 10);
    size_t length = strlen(call->name);
    if (length > 0)
        snprintf(call->name + length, sizeof(call->name) - length, "/%" PRIu64, call->id);
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

    if (length == 0 || length > REQUEST_NAME_SIZE)
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

/* Questions are asked with POST, too. */
static enum identity_scope scope_of(const struct route *route)
{
    static call_fn *const questions[] = {
        handle_when_like, handle_choose,        handle_whatif,
        handle_rehearsal, handle_session_begin, handle_session_end
    };
    bool is_question = strcmp(route->method, "GET") == 0;

    for (size_t i = 0; i < COUNT_OF(questions); i++)
        is_question |= route->handle == questions[i];
    return is_question ? SCOPE_READ : SCOPE_SUBMIT;
}

static int check_right(const struct route *route, const struct identity *who, struct error *err)
{
    enum identity_scope needed = route->admins ? SCOPE_ADMIN : scope_of(route);

    if (who->scope < needed)
        return error_set(err, REFUSED_FORBIDDEN, "the scope of the token is '%s'; expected '%s'",
                         identity_scope_name(who->scope), identity_scope_name(needed));
    return !route->admins || who->is_admin ? 0
                                           : error_set(err, REFUSED_FORBIDDEN, "%s", route->admins);
}

static void run(const struct route *route, struct call *call)
{

    if (call->api->inquiry && call->api->ports.control.clock.now)
        inquiry_set_time(call->api->inquiry, api_now(call->api));
    call->code = check_right(route, call->request->who, &call->err);
    json_t *body = call->code == 0 ? route->handle(call) : NULL;
    if (call->code < 0)
        reply_error(call->request, call->code, &call->err);
    else if (body)
        reply_json(call->request, 200, body);
    json_decref(call->body);
}

/* A request that waits for a fresh forecast. */
struct postponed {
    struct forecast_waiter waiter;
    const struct route *route;
    struct call call;
};

static void run_postponed(struct forecast_waiter *waiter)
{
    struct postponed *postponed = CONTAINER_OF(waiter, struct postponed, waiter);

    run(postponed->route, &postponed->call);
    free(postponed);
}

static void run_fresh(const struct route *route, const struct call *call)
{
    struct postponed *postponed = mem_zero(1, sizeof(*postponed));
    bool is_fresh = true;

    *postponed = (struct postponed){ .waiter.done = run_postponed, .route = route, .call = *call };
    for (size_t i = 0; i < COUNT_OF(foretellers); i++) {
        if (foretellers[i].handle != route->handle)
            continue;
        postponed->waiter.patience = foretellers[i].patience;
        is_fresh =
            api_forecast_is_fresh(call->api, foretellers[i].is_of_waiting, &postponed->waiter);
    }
    if (is_fresh)
        run_postponed(&postponed->waiter);
}

/* The web page. Nothing in it comes from elsewhere, and nothing else may frame it. */
static void serve_page(struct http_request *request, const struct web_file *file)
{
    const char *known = http_header(request, "If-None-Match");
    bool is_known = known && strcmp(known, file->etag) == 0;
    size_t length = is_known ? 0 : file->length;
    char *bytes = mem_zero(length + 1, 1);

    memcpy(bytes, file->bytes, length);
    http_add_header(request, "ETag", file->etag);
    http_add_header(request, "Cache-Control", "no-cache");
    http_add_header(request, "Content-Encoding", "gzip");
    http_add_header(request, "Referrer-Policy", "no-referrer");
    http_add_header(request, "X-Content-Type-Options", "nosniff");
    http_add_header(request, "Content-Security-Policy",
                    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                    "img-src 'self' data:; base-uri 'none'; form-action 'none'; "
                    "frame-ancestors 'none'");
    http_reply(request, is_known ? 304 : 200, file->type, bytes, length);
}

void api_handle(void *user, struct http_request *request)
{
    const struct web_file *file =
        strcmp(request->method, "GET") == 0 ? web_file_find(request->path) : NULL;
    struct error err;
    bool is_known = false;

    if (file) {
        serve_page(request, file);
        return;
    }

    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        struct call call = { .api = user, .request = request };
        if (!path_matches(routes[i].path, request->path, &call))
            continue;
        is_known = true;
        if (strcmp(routes[i].method, request->method) == 0) {
            run_fresh(&routes[i], &call);
            return;
        }
    }
    int code = is_known ? error_set(&err, REFUSED_METHOD, "%.200s: method %.20s is not supported",
                                    request->path, request->method)
                        : error_set(&err, REFUSED_NOT_FOUND, "%.200s: no such path", request->path);
    reply_error(request, code, &err);
}

void api_handle_metrics(void *user, struct http_request *request)
{
    const struct api *api = user;
    bool has_gpus = api->ports.daemon.has_no_jobs;
    struct error err;

    if (strcmp(request->path, "/metrics") == 0 || string_starts(request->path, "/metrics/") ||
        (has_gpus && strcmp(request->path, "/v1/gpus") == 0))
        api_handle(user, request);
    else
        reply_error(request,
                    error_set(&err, REFUSED_NOT_FOUND, "%.200s: only %s are served here",
                              request->path,
                              has_gpus ? "/metrics, /metrics/dcgm and /v1/gpus"
                                       : "/metrics and /metrics/dcgm"),
                    &err);
}

struct api *api_create(const struct api_ports *ports, uv_loop_t *loop)
{
    struct api *api = mem_zero(1, sizeof(*api));

    api->ports = *ports;
    api->loop = loop;
    api->inquiry = inquiry_create();
    return api;
}

void api_destroy(struct api *api)
{
    if (!api)
        return;
    followers_release(api);
    inquiry_destroy(api->inquiry);
    free(api);
}

void api_changed(struct api *api, const uint64_t *jobs, size_t count)
{
    followers_notify(api, jobs, count);
}
