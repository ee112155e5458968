/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_CALL_H
#define API_CALL_H

/* call - one request in a handler: its parameters and its reply
 *
 * The lowest file of this room. A handler returns the body of the reply, or NULL: then the request
 * is refused if call->code is set, and else something replies later (deferred.h, streams.c).
 */

#include <jansson.h>

#include "api/api.h"
#include "api/contract/operation.h"
#include "api/login/login_rate.h"

struct bridge;
struct follower;
struct login;

enum { CHANGES_KEPT = 1024 };

/* The last changes of jobs, for clients that come back (Last-Event-ID). */
struct changes {
    uint64_t daemon; /* another one after each start */
    uint64_t count;  /* change i is at i % CHANGES_KEPT */
    uint64_t told;   /* changes that followers have, with the one that is being told */
    uint64_t jobs[CHANGES_KEPT];
};

/* The last one that was made (page/overview.c). */
struct overview {
    char *bytes;        /* NULL: none yet */
    struct text packed; /* with gzip; empty: nobody asked for that */
    usec_t at;          /* by the clock of the loop */
};

/* A report that many viewers of the web page ask for (usage_report.c). */
struct kept_report {
    char *question; /* NULL: none yet */
    struct text answer;
    usec_t at; /* by the clock of the loop */
};

struct api {
    struct api_ports ports;
    uv_loop_t *loop;
    uv_timer_t *timer; /* looks at followers */
    struct follower *followers;
    struct bridge *bridges; /* bridges.c */
    struct login *logins;   /* login/login.c */
    struct login_rate login_rate;
    struct changes changes;
    struct inquiry *inquiry; /* the inquiry with which the brain computes its answers */
    struct overview overview;
    struct kept_report report;
    char *openapi; /* the description of the API, when it was asked for; owned */
};

static inline const struct control *api_control(const struct api *api)
{
    return &api->ports.control;
}

static inline const struct state *api_state(const struct api *api)
{
    return control_state(&api->ports.control);
}

static inline usec_t api_now(const struct api *api)
{
    return control_now(&api->ports.control);
}

static inline struct brain *api_brain(const struct api *api)
{
    return api->ports.planner.brain(api->ports.planner.user);
}

/* The watched state of a device (its number in the state); false: it is not watched. */
static inline bool api_watch(const struct api *api, uint32_t device, struct watch_device *ret)
{
    const struct watch *watch = api->ports.devices.watch;

    return watch && watch->ops->device(watch, device, ret);
}

enum { CALL_NAME_SIZE = REQUEST_NAME_SIZE + 24 };

/* A request, and the object that its path names: "/v1/jobs/7/why" has id 7. */
struct call {
    struct api *api;
    struct http_request *request;
    const struct operation *operation;
    uint64_t id;               /* the number in the path; 0: none */
    uint32_t index;            /* the index in "7_3", plus one; 0: none */
    char name[CALL_NAME_SIZE]; /* the name in the path, "a/3" for a device; "": none */
    json_t *body;              /* set by read_body(); released after the call */
    int code;                  /* below 0: refused, with err */
    struct error err;
};

typedef json_t *call_fn(struct call *call);

/* admission.c: the name of the cookie of a session */
const char *api_cookie_name(const struct api *api);
/* tokens.c: whether what was opened with this token may go on; 0: it needs none */
bool token_has_access(const struct api *api, uint64_t token);
/* bridges.c: answer with a bridge to this door, which is taken over on success. */
int bridge_open(struct call *call, int door, struct error *err);
/* streams.c: these jobs changed */
void followers_notify(struct api *api, const uint64_t *jobs, size_t count);
void followers_shut(struct api *api); /* refuse what waits for its file system */
void followers_release(struct api *api);
void kept_report_release(struct kept_report *report); /* usage_report.c */
void overview_release(struct overview *overview);     /* page/overview.c */

void reply_json(struct http_request *request, unsigned status, json_t *body);
/* The bytes of a body, which is taken over; new. */
char *json_bytes(json_t *body);
/* JSON, which is taken over, with its ETag; or 304 if the client has it already. */
void reply_tagged(struct http_request *request, char *bytes); /* takes body */
/* The same with the bytes `packed` by gzip, which are copied. */
void reply_packed(struct http_request *request, const char *bytes, const struct text *packed);
void reply_error(struct http_request *request, int code, const struct error *err);
/* Refuse the request with the message in call->err. Returns NULL. */
json_t *refuse(struct call *call, int code);
/* A daemon that is not root runs all jobs as its own user: what is done for a user (jobs, tokens,
 * logins) is done for that one only. */
int call_check_owner(const struct api *api, uid_t uid, struct error *err);
/* The same for the user of a request; root has the Unix socket, too, but nothing else names it. */
int call_check_user(const struct api *api, const struct identity *who, struct error *err);
/* The body, JSON or YAML by its Content-Type: an object or a list. */
int read_body(struct call *call);
/* Whether the query has only keys of the operation, with values of their kinds. */
int check_query(struct call *call);
/* True for "?dry_run" and "?dry_run=1"; false if it is absent or "0". */
bool query_is_on(const struct call *call, const char *key);
/* Within the bounds of the operation; fallback: the query has no such key. */
uint64_t query_number(const struct call *call, const char *key, uint64_t fallback);

/* The group that the path names; NULL: the path names something else. */
const struct group *call_group(const struct call *call);
/* The job that the path names, also as "7_3"; NULL: the request is refused. */
struct job *call_job(struct call *call);

#endif
