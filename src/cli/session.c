/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/fields.h"
#include "cli/screen.h"
#include "cli/start.h"

int session_open(struct session *session, struct error *err)
{
    *session = (struct session){ 0 };
    int code = paths_find(&session->paths, err);
    if (code == 0)
        code = client_create(session->paths.socket, &session->client, err);
    if (code < 0)
        session_release(session);
    return code;
}

int session_start(struct session *session, const char *devices, struct error *err)
{
    if (paths_is_listening(session->paths.socket))
        return 0;
    return daemon_start(&session->paths, devices, err);
}

void session_release(struct session *session)
{
    client_destroy(session->client);
    session->client = NULL;
    paths_release(&session->paths);
}

int refusal_read(long status, const char *body, size_t length, struct error *err)
{
    json_t *reply = NULL;
    int code = status == 404 ? -ENOENT : -EREMOTEIO;

    if (json_parse(body, length, CLIENT_REPLY_MAX, NULL, &reply, NULL) < 0)
        return error_set(err, code, "the daemon refused, with HTTP status %ld", status);
    const char *message = field_text(json_object_get(reply, "error"), "message");
    if (message[0])
        error_set(err, code, "%s", message);
    else
        error_set(err, code, "the daemon refused, with HTTP status %ld", status);
    json_decref(reply);
    return code;
}

static int nobody_there(const struct session *session, int code, struct error *err)
{
    if (code != -ENOENT && code != -ECONNREFUSED)
        return code;
    if (getenv("TARN_SOCKET"))
        return error_set(err, -ENODATA, "no daemon is running at %s; tarn up starts one",
                         session->paths.socket);
    return error_set(err, -ENODATA, "no daemon is running; tarn up starts one");
}

int session_send(struct session *session, const struct client_request *request, json_t **ret,
                 struct error *err)
{
    struct client_reply reply;

    int code = client_call(session->client, request, &reply, err);
    if (code < 0)
        return nobody_there(session, code, err);
    if (reply.status >= 400)
        code = refusal_read(reply.status, text_string(&reply.body), reply.body.length, err);
    else
        code = json_parse(text_string(&reply.body), reply.body.length, CLIENT_REPLY_MAX,
                          "answer of the daemon", ret, err);
    client_reply_release(&reply);
    return code;
}

int session_get(struct session *session, const char *path, json_t **ret, struct error *err)
{
    const struct client_request request = { .method = "GET", .path = path };

    return session_send(session, &request, ret, err);
}

static int send_body(struct session *session, const char *method, const char *path,
                     const json_t *body, json_t **ret, struct error *err)
{
    AUTO_FREE char *bytes = body ? json_dumps(body, JSON_COMPACT) : NULL;
    const struct client_request request = {
        .method = method, .path = path, .body = bytes, .length = bytes ? strlen(bytes) : 0
    };

    return session_send(session, &request, ret, err);
}

int session_post(struct session *session, const char *path, const json_t *body, json_t **ret,
                 struct error *err)
{
    return send_body(session, "POST", path, body, ret, err);
}

int session_ask(const char *method, const char *path, const json_t *body, json_t **ret)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    struct error err;

    int code = session_open(&session, &err);
    if (code == 0)
        code = send_body(&session, method, path, body, ret, &err);
    return code < 0 ? complain(&err) : 0;
}

void reply_print(const json_t *reply)
{
    json_dumpf(reply, stdout, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    putchar('\n');
}
