/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/estimates.h"
#include "api/login/login.h"
#include "base/mem.h"
#include "web/web_files.h"

/* In the order of operations[]. */
static call_fn *const handlers[] = {
#define ROUTE(METHOD, path, operation, handler, ...) handler,
#include "api/contract/routes.def"
};

/* Those that answer from the forecast. */
static const struct {
    call_fn *handle;
    bool is_of_waiting; /* only from the starts of jobs that wait */
    usec_t patience;
} foretellers[] = {
    /* A listing of many jobs has to be there at once; the times of the last forecast will do. */
    { handle_list, true, 50 * USEC_PER_MS },       { handle_show, true, FORECAST_PATIENCE },
    { handle_why, true, FORECAST_PATIENCE },       { handle_when, false, FORECAST_PATIENCE },
    { handle_pipeline, false, FORECAST_PATIENCE }, { handle_forecast, false, FORECAST_PATIENCE },
};

static bool take_id(const char **path, bool may_be_task, struct call *call)
{
    char *end;

    if (**path < '0' || **path > '9')
        return false;
    errno = 0;
    call->id = strtoull(*path, &end, 10);
    size_t length = strlen(call->name);
    if (length > 0)
        snprintf(call->name + length, sizeof(call->name) - length, "/%" PRIu64, call->id);
    if (may_be_task && errno == 0 && *end == '_' && end[1] >= '0' && end[1] <= '9') {
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

/* The whole path must match. */
static bool path_matches(const char *pattern, const char *path, struct call *call)
{
    while (*pattern) {
        if (*pattern != '{') {
            if (*path++ != *pattern++)
                return false;
            continue;
        }
        enum path_kind kind = path_part_at(pattern, &pattern)->kind;
        if (kind == PATH_NAME ? !take_name(&path, call) : !take_id(&path, kind == PATH_TASK, call))
            return false;
    }
    return *path == '\0';
}

/* Questions are asked with POST, too. */
static enum identity_scope scope_of(const struct operation *operation)
{
    static call_fn *const questions[] = { handle_when_like,     handle_choose,
                                          handle_whatif,        handle_rehearsal,
                                          handle_session_begin, handle_session_end,
                                          handle_login };
    bool is_question = strcmp(operation->method, "GET") == 0;

    for (size_t i = 0; i < COUNT_OF(questions); i++)
        is_question |= handlers[operation - operations] == questions[i];
    return is_question ? SCOPE_READ : SCOPE_SUBMIT;
}

static int check_right(const struct api *api, const struct operation *operation,
                       const struct identity *who, struct error *err)
{
    bool is_for_admins = operation->callers == CALLERS_ADMINS;
    enum identity_scope needed = is_for_admins ? SCOPE_ADMIN : scope_of(operation);

    int code = who->source == IDENTITY_NOBODY ? 0 : call_check_user(api, who, err);
    if (code < 0)
        return code;
    if (who->scope < needed)
        return error_set(err, REFUSED_FORBIDDEN, "the scope of the token is '%s'; expected '%s'",
                         identity_scope_name(who->scope), identity_scope_name(needed));
    return !is_for_admins || who->is_admin
               ? 0
               : error_set(err, REFUSED_FORBIDDEN, "%s", operation->refusal);
}

static void run(struct call *call)
{
    const struct operation *operation = call->operation;

    if (call->api->inquiry && call->api->ports.control.clock.now)
        inquiry_set_time(call->api->inquiry, api_now(call->api));
    call->code = check_right(call->api, operation, call->request->who, &call->err);
    if (call->code == 0)
        call->code = check_query(call);
    json_t *body = call->code == 0 ? handlers[operation - operations](call) : NULL;
    if (call->code < 0)
        reply_error(call->request, call->code, &call->err);
    else if (body && operation->content == CONTENT_TAGGED)
        reply_tagged(call->request, json_bytes(body));
    else if (body)
        reply_json(call->request, operation->status, body);
    json_decref(call->body);
}

/* A request that waits for a fresh forecast. */
struct postponed {
    struct forecast_waiter waiter;
    struct call call;
};

static void run_postponed(struct forecast_waiter *waiter)
{
    struct postponed *postponed = CONTAINER_OF(waiter, struct postponed, waiter);

    run(&postponed->call);
    free(postponed);
}

static void run_fresh(const struct call *call)
{
    struct postponed *postponed = mem_zero(1, sizeof(*postponed));
    bool is_fresh = true;

    *postponed = (struct postponed){ .waiter.done = run_postponed, .call = *call };
    for (size_t i = 0; i < COUNT_OF(foretellers); i++) {
        if (foretellers[i].handle != handlers[call->operation - operations])
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
    http_header_add(request, "ETag", file->etag);
    http_header_add(request, "Cache-Control", "no-cache");
    http_header_add(request, "Content-Encoding", "gzip");
    http_header_add(request, "Referrer-Policy", "no-referrer");
    http_header_add(request, "Content-Security-Policy",
                    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                    "img-src 'self' data:; base-uri 'none'; form-action 'none'; "
                    "frame-ancestors 'none'");
    http_reply(request, is_known ? 304 : 200, file->type, bytes, length);
}

static void add_method(struct text *allowed, const char *method)
{
    text_printf(allowed, "%s%s", allowed->length > 0 ? ", " : "", method);
}

void api_handle(void *user, struct http_request *request)
{
    const struct web_file *file =
        strcmp(request->method, "GET") == 0 ? web_file_find(request->path) : NULL;
    AUTO_RELEASE(text) struct text allowed = { 0 };
    struct error err;

    if (file) {
        serve_page(request, file);
        return;
    }

    for (size_t i = 0; i < operation_count; i++) {
        struct call call = { .api = user, .request = request, .operation = &operations[i] };
        if (!path_matches(operations[i].path, request->path, &call))
            continue;
        if (strcmp(operations[i].method, request->method) == 0) {
            run_fresh(&call);
            return;
        }
        add_method(&allowed, operations[i].method);
    }
    int code = allowed.length > 0
                   ? error_set(&err, REFUSED_METHOD, "%.200s: method %.20s is not supported",
                               request->path, request->method)
                   : error_set(&err, REFUSED_NOT_FOUND, "%.200s: no such path", request->path);
    if (allowed.length > 0)
        http_header_add(request, "Allow", text_string(&allowed));
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
    api->changes.daemon = (uint64_t)time(NULL) << 24 ^ (uint64_t)getpid();
    return api;
}

void api_shut(struct api *api)
{
    if (!api)
        return;
    logins_shut(api);
    followers_shut(api);
}

void api_destroy(struct api *api)
{
    if (!api)
        return;
    followers_release(api);
    inquiry_destroy(api->inquiry);
    login_rate_release(&api->login_rate);
    free(api->openapi);
    overview_release(&api->overview);
    kept_report_release(&api->report);
    free(api);
}

void api_changed(struct api *api, const uint64_t *jobs, size_t count)
{
    followers_notify(api, jobs, count);
}
