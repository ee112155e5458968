/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/mcp/tool_call.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "cli/fields.h"
#include "io/net/client.h"
#include "wire/json.h"

/* What a preview shows of a job or group, and what must not have changed when it is confirmed. */
static const char *const shown_keys[] = { "id",        "label",       "kind",    "name",
                                          "user",      "queue",       "gpus",    "gpu_count",
                                          "job_count", "ended_count", "started", "run_seconds" };
static const char *const kept_keys[] = { "state", "result", "attempt" };

static int open_session(struct tool_caller *caller, struct error *err)
{
    if (caller->is_open)
        return 0;
    int code = session_open(&caller->session, err);
    if (code < 0)
        session_release(&caller->session);
    caller->is_open = code == 0;
    return code;
}

/* After a failure the next call begins with a connection of its own. */
static void close_session(struct tool_caller *caller)
{
    if (caller->is_open)
        session_release(&caller->session);
    caller->is_open = false;
}

static bool is_refusal(int code)
{
    return code == -ENOENT || code == -EALREADY || code == -EREMOTEIO;
}

static int send(struct tool_caller *caller, const struct tool_request *request, const char *headers,
                struct text *reply, struct error *err)
{
    struct client_reply got;

    int code = open_session(caller, err);
    if (code < 0)
        return code;
    code =
        session_call(&caller->session,
                     &(struct client_request){ .method = request->operation->method,
                                               .path = request->path.bytes,
                                               .body = request->body,
                                               .length = request->body ? strlen(request->body) : 0,
                                               .headers = headers },
                     &got, err);
    if (code < 0 && !is_refusal(code))
        close_session(caller);
    if (code < 0)
        return code;
    text_add_bytes(reply, got.body.bytes, got.body.length);
    client_reply_release(&got);
    return 0;
}

static int get(struct tool_caller *caller, const char *path, json_t **ret, struct error *err)
{
    int code = open_session(caller, err);

    if (code == 0)
        code = session_get(&caller->session, path, ret, err);
    if (code < 0 && !is_refusal(code))
        close_session(caller);
    return code;
}

/* ---- previews ---- */

static void copy_keys(json_t *to, const json_t *from, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(from, keys[i]);
        if (value && !json_is_null(value))
            json_object_set(to, keys[i], value);
    }
}

/* The job, or the group of jobs, as it is now. */
static int preview_job(struct tool_caller *caller, const struct tool_request *request, json_t **ret,
                       struct error *err)
{
    AUTO_FREE char *path = mem_string(request->path.bytes);
    AUTO(json) json_t *job = NULL;

    *strrchr(path, '/') = '\0'; /* "/v1/jobs/7/cancel" */
    int code = get(caller, path, &job, err);
    if (code < 0)
        return code;
    *ret = json_object();
    copy_keys(*ret, job, shown_keys, COUNT_OF(shown_keys));
    copy_keys(*ret, job, kept_keys, COUNT_OF(kept_keys));
    return 0;
}

/* The daemon checks a document without accepting it. */
static int preview_document(struct tool_caller *caller, const struct tool_request *request,
                            json_t **ret, struct error *err)
{
    struct tool_request check = *request;
    AUTO_RELEASE(text) struct text reply = { 0 };

    check.path = (struct text){ 0 };
    text_printf(&check.path, "%s?dry_run=1", request->path.bytes);
    int code = send(caller, &check, NULL, &reply, err);
    text_release(&check.path);
    return code < 0 ? code
                    : json_parse(text_string(&reply), reply.length, CLIENT_REPLY_MAX,
                                 "answer of the daemon", ret, err);
}

static int preview(struct tool_caller *caller, const struct tool_request *request, json_t **ret,
                   struct error *err)
{
    return request->body ? preview_document(caller, request, ret, err)
                         : preview_job(caller, request, ret, err);
}

static int show_preview(struct tool_caller *caller, const struct tool *tool,
                        const struct tool_request *request, const json_t *arguments,
                        struct text *reply, struct error *err)
{
    AUTO(json) json_t *would = NULL, *identity = NULL;

    int code = preview(caller, request, &would, err);
    if (code == 0)
        code = get(caller, "/v1/whoami", &identity, err);
    if (code < 0)
        return code;
    const char *confirm =
        guard_add(&caller->guard, tool->name, arguments, would, clock_read(CLOCK_MONOTONIC));
    AUTO(json)
    json_t *shown =
        json_pack("{s:s, s:O, s:O, s:s, s:i, s:s}", "would", tool->description, "to", would,
                  "acting_as", identity, "confirm", confirm, "confirm_valid_seconds", GUARD_VALID_S,
                  "note", "nothing was changed; call again with confirm to do it");
    json_add(shown, reply);
    return 0;
}

/* ---- actions ---- */

/* Consent covers what was shown. */
static int check_unchanged(struct tool_caller *caller, const struct tool *tool,
                           const struct tool_request *request, const json_t *shown,
                           struct error *err)
{
    AUTO(json) json_t *now = NULL;

    int code = preview(caller, request, &now, err);
    if (code < 0 || request->body)
        return code;
    for (size_t i = 0; i < COUNT_OF(kept_keys); i++) {
        const json_t *before = json_object_get(shown, kept_keys[i]);
        const json_t *after = json_object_get(now, kept_keys[i]);
        if (before != after && !json_equal(before, after))
            return error_set(err, -EALREADY,
                             "%s: the job has changed since its preview (%s); call %s without "
                             "confirm to see it",
                             tool->name, kept_keys[i], tool->name);
    }
    return 0;
}

/* Sent again after a lost connection, a submission is accepted once. */
static int act(struct tool_caller *caller, const struct tool *tool,
               const struct tool_request *request, const json_t *arguments, const char *confirm,
               struct text *reply, struct error *err)
{
    AUTO_FREE char *headers =
        request->body ? mem_printf("Idempotency-Key: %.*s\r\n", SECRET_SIZE, confirm) : NULL;
    const json_t *shown;

    int code = guard_check(&caller->guard, confirm, tool->name, arguments,
                           clock_read(CLOCK_MONOTONIC), &shown, err);
    if (code < 0)
        return code;
    if (!request->body)
        code = check_unchanged(caller, tool, request, shown, err);
    if (code == 0)
        code = send(caller, request, headers, reply, err);
    if (code == 0 || is_refusal(code))
        guard_forget(&caller->guard, confirm);
    return code;
}

/* ---- calls ---- */

static int check_size(const struct tool *tool, const struct text *reply, struct error *err)
{
    if (reply->length <= TOOL_REPLY_MAX)
        return 0;
    return error_set(err, -EMSGSIZE,
                     "%s: the reply has %zu KiB; expected at most %d: ask for less, by arguments "
                     "such as limit, tail, queue or state",
                     tool->name, reply->length >> 10, TOOL_REPLY_MAX >> 10);
}

static int call(struct tool_caller *caller, const struct tool *tool, const json_t *arguments,
                const json_t *confirm, struct text *reply, struct error *err)
{
    struct tool_request request;

    int code = tool_request(tool, arguments, &request, err);
    if (code < 0)
        return code;
    if (tool->kind == TOOL_READ)
        code = send(caller, &request, NULL, reply, err);
    else if (!confirm)
        code = show_preview(caller, tool, &request, arguments, reply, err);
    else
        code = act(caller, tool, &request, arguments, json_string_value(confirm), reply, err);
    tool_request_release(&request);
    return code < 0 ? code : check_size(tool, reply, err);
}

int tool_call(struct tool_caller *caller, const struct tool *tool, const json_t *arguments,
              struct text *reply, struct error *err)
{
    AUTO(json)
    json_t *own = json_is_object(arguments) ? json_copy((json_t *)arguments) : json_object();
    const json_t *confirm = NULL;

    if (tool->kind != TOOL_READ) {
        confirm = json_object_get(arguments, "confirm");
        json_object_del(own, "confirm");
    }
    if (confirm && !json_is_string(confirm))
        return error_set(err, -EINVAL, "%s: argument confirm: expected the text of a preview",
                         tool->name);
    return call(caller, tool, own, confirm, reply, err);
}

void tool_caller_release(struct tool_caller *caller)
{
    close_session(caller);
    guard_release(&caller->guard);
}
