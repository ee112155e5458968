/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/inside.h"
#include "base/mem.h"
#include "base/units.h"
#include "wire/json.h"

enum { BODY_VALUES_MAX = 500000, BODY_CONTAINERS_MAX = 100000 };

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

const struct state *api_state(const struct api *api)
{
    return api->ports.state(api->ports.user);
}

void api_changed(struct api *api, const uint64_t *jobs, size_t count)
{
    followers_notify(api, jobs, count);
}

bool is_admin(const struct api *api, uid_t uid)
{
    return uid == 0 || uid == api->ports.owner;
}

void reply_json(struct http_request *request, unsigned status, json_t *body)
{
    char *bytes = json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));

    json_decref(body);
    if (!bytes) /* only what is not UTF-8 can't be said, and that never came in */
        bytes = mem_string("{}");
    size_t length = strlen(bytes);
    bytes = mem_resize(bytes, length + 2, 1);
    memcpy(bytes + length, "\n", 2);
    http_reply(request, status, "application/json", bytes, length + 1);
}

void reply_error(struct http_request *request, int code, const struct error *err)
{
    static const struct {
        int code;
        unsigned status;
        const char *name;
    } answers[] = {
        { -EINVAL, 400, "bad_request" }, { -ERANGE, 400, "bad_request" },
        { -E2BIG, 400, "bad_request" },  { -ENAMETOOLONG, 400, "bad_request" },
        { -ELOOP, 400, "bad_request" },  { -EACCES, 403, "forbidden" },
        { -ENOENT, 404, "not_found" },   { -ENOTSUP, 405, "bad_method" },
        { -EALREADY, 409, "conflict" },  { -EDQUOT, 429, "too_many" },
        { -EDOM, 422, "never" },         { -ESHUTDOWN, 503, "stopping" },
        { -ETIMEDOUT, 504, "timeout" },  { -ENOSPC, 507, "disk_full" },
        { 0, 500, "internal" },
    };
    size_t i = 0;

    while (answers[i].code != 0 && answers[i].code != code)
        i++;
    json_t *message = json_string(err->text);
    reply_json(request, answers[i].status,
               json_pack("{s:{s:s, s:o}}", "error", "code", answers[i].name, "message",
                         message ? message : json_string("words that are not UTF-8")));
}

/* Few bytes can be many values, and a value takes a hundred times its bytes. */
static bool has_too_many_values(const char *bytes, size_t length)
{
    size_t values = 1, containers = 0;
    bool in_string = false;

    for (size_t i = 0; i < length; i++) {
        if (in_string && bytes[i] == '\\')
            i++;
        else if (bytes[i] == '"')
            in_string = !in_string;
        else if (!in_string) {
            values += bytes[i] == ',';
            containers += bytes[i] == '{' || bytes[i] == '[';
        }
    }
    return values > BODY_VALUES_MAX || containers > BODY_CONTAINERS_MAX;
}

int check_query(const struct http_request *request, const char *const *keys, struct error *err)
{
    const char *unknown = http_query_unknown(request, keys);
    AUTO_RELEASE(text) struct text known = { 0 };

    if (!unknown)
        return 0;
    for (size_t i = 0; keys[i]; i++)
        text_printf(&known, "%s%s", i > 0 ? ", " : "", keys[i]);
    return error_set(err, -EINVAL, "unknown parameter '%.40s'; expected %s", unknown,
                     text_string(&known));
}

json_t *read_body(struct http_request *request)
{
    const struct text *bytes = &request->body;
    json_t *body = NULL;
    struct error err;
    int code = 0;

    if (bytes->length == 0)
        code = error_set(&err, -EINVAL, "body: empty, expected JSON");
    else if (has_too_many_values(bytes->bytes, bytes->length))
        code = error_set(&err, -EINVAL, "body: more than %d values, or %d objects and lists",
                         BODY_VALUES_MAX, BODY_CONTAINERS_MAX);
    else
        code = json_parse(bytes->bytes, bytes->length, HTTP_BODY_MAX, "body", &body, &err);
    if (code == 0 && !json_is_object(body) && !json_is_array(body)) {
        json_decref(body);
        code = error_set(&err, -EINVAL, "body: expected an object or a list");
    }
    if (code < 0)
        reply_error(request, code, &err);
    return code == 0 ? body : NULL;
}

const struct job *find_task(const struct state *state, const struct group *group, uint32_t index)
{
    for (uint64_t id = group->id + 1; id <= group->last; id++) {
        const struct job *job = state_job(state, id);
        if (job && job->group == group->id && job->index == index)
            return job;
    }
    return NULL;
}

struct job *find_job(struct call *call)
{
    const struct state *state = api_state(call->api);
    struct error err;

    if (call->index == 0) {
        struct job *job = state_job(state, call->id);
        const struct group *group = state_group(state, call->id);
        if (job)
            return job;
        if (group) {
            error_set(&err, -EINVAL, "%llu is %s of %u jobs; name one of them: tarn show %llu",
                      (unsigned long long)call->id, group_kind_name(group->kind), group->job_count,
                      (unsigned long long)call->id);
            reply_error(call->request, -EINVAL, &err);
            return NULL;
        }
        error_set(&err, -ENOENT, "job %llu: no such job", (unsigned long long)call->id);
    } else {
        const struct group *group = state_group(state, call->id);
        const struct job *task = group ? find_task(state, group, call->index - 1) : NULL;
        if (task)
            return state_job(state, task->id);
        error_set(&err, -ENOENT, "job %llu_%u: no such task", (unsigned long long)call->id,
                  call->index - 1);
    }
    reply_error(call->request, -ENOENT, &err);
    return NULL;
}

static void handle_daemon(struct call *call)
{
    struct api *api = call->api;
    struct engine_isolation isolation = api->ports.isolation(api->ports.user);
    char owner[64];

    reply_json(call->request, 200,
               json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:o, s:i, s:o}", "version",
                         TARN_VERSION, "pid", (int)getpid(), "state_dir", api->ports.state_dir,
                         "socket", api->ports.socket, "user",
                         user_name_of(api->ports.owner, owner, sizeof(owner)), "engine", "local",
                         "devices", api->ports.devices, "disk_full",
                         api->ports.trouble(api->ports.user) != NULL, "machine_wide",
                         api->ports.is_machine_wide, "started", view_time(api, api->ports.started),
                         "api", 1, "isolation", view_isolation(&isolation)));
}

static void handle_stop(struct call *call)
{
    struct error err;

    if (!is_admin(call->api, call->request->uid)) {
        error_set(&err, -EACCES, "stop: only for administrators");
        reply_error(call->request, -EACCES, &err);
        return;
    }
    const char *kill = http_query(call->request, "kill");
    bool kill_jobs = kill && strcmp(kill, "0") != 0;
    reply_json(call->request, 202, json_pack("{s:b}", "stopping", 1));
    call->api->ports.stop(call->api->ports.user, kill_jobs);
}

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
    { "PATCH", "/v1/jobs/*", handle_update },
    { "GET", "/v1/jobs/*/why", handle_why },
    { "GET", "/v1/jobs/*/when", handle_when },
    { "POST", "/v1/when", handle_when_like },
    { "GET", "/v1/jobs/*/output", handle_output },
    { "GET", "/v1/jobs/*/events", handle_job_events },
    { "POST", "/v1/jobs/*/cancel", handle_act },
    { "POST", "/v1/jobs/*/hold", handle_act },
    { "POST", "/v1/jobs/*/release", handle_act },
    { "POST", "/v1/jobs/*/requeue", handle_act },
    { "POST", "/v1/jobs/*/checkpoint", handle_act },
    { "GET", "/v1/events", handle_events },
    { "GET", "/v1/gpus", handle_gpus },
    { "POST", "/v1/gpus/@/clear", handle_clear },
    { "GET", "/v1/gpus/@/history", handle_history },
    { "GET", "/v1/topology", handle_topology },
    { "GET", "/v1/alerts", handle_alerts },
    { "POST", "/v1/alerts/silences", handle_silence },
    { "DELETE", "/v1/alerts/silences", handle_unsilence },
    { "GET", "/metrics", handle_metrics },
    { "GET", "/metrics/dcgm", handle_metrics_dcgm },
    { "GET", "/v1/nodes", handle_nodes },
    { "POST", "/v1/nodes/@/interrupt", handle_interrupt },
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
        error_set(&err, -ENOTSUP, "%.200s: %.20s is not for this", request->path, request->method);
        reply_error(request, -ENOTSUP, &err);
    } else {
        error_set(&err, -ENOENT, "%.200s: no such path", request->path);
        reply_error(request, -ENOENT, &err);
    }
}

void api_handle_metrics(void *user, struct http_request *request)
{
    struct error err;

    if (strcmp(request->path, "/metrics") == 0 || string_starts(request->path, "/metrics/")) {
        api_handle(user, request);
        return;
    }
    error_set(&err, -ENOENT, "%.200s: only /metrics and /metrics/dcgm are here", request->path);
    reply_error(request, -ENOENT, &err);
}
