/* SPDX-License-Identifier: Apache-2.0 */
#include "api/deferred.h"

#include <stdlib.h>
#include <string.h>

#include "api/estimates.h"
#include "base/mem.h"
#include "base/text.h"
#include "control/byte_limit.h"

enum { AUDIT_PATH_MAX = 200 };

void deferred_drop(struct deferred *deferred)
{
    if (deferred->ops->release)
        deferred->ops->release(deferred);
    free(deferred);
}

static const struct identity *who_of(const struct deferred *deferred)
{
    return deferred->who ? deferred->who : deferred->request->who;
}

/* Who changed something, and how. written: bytes of the records of the change. */
static void note_change(const struct deferred *deferred, uint64_t written)
{
    const struct http_request *request = deferred->request;
    const struct identity *who = who_of(deferred);
    AUTO_FREE char *path = mem_string_of(request->path, strnlen(request->path, AUDIT_PATH_MAX));
    struct event event = { .kind = EVENT_AUDIT,
                           .audit = { .user = who->name,
                                      .source = (uint8_t)who->source,
                                      .token = who->token,
                                      .operation = deferred->operation->id,
                                      .path = path } };

    if (!who->is_admin)
        event.audit.stored = event_size(&event) + (deferred->ops->tells_bytes ? 0 : written);
    control_emit(api_control(deferred->api), event);
}

/* A user must always be able to end something; what there is to end bounds such requests. The check
 * of the password bounds logins. */
static bool is_always_taken(const struct operation *operation)
{
    static const char *const names[] = { "cancelJob", "logIn", NULL };

    return strcmp(operation->method, "DELETE") == 0 || string_is_in(operation->id, names);
}

static int run_deferred(struct change *change, struct error *err)
{
    struct deferred *deferred = CONTAINER_OF(change, struct deferred, change);
    const struct control *control = api_control(deferred->api);
    uint64_t before = control_written(control);
    int code = 0;

    if (!deferred->ops->tells_bytes && !is_always_taken(deferred->operation))
        code = byte_limit_check(control, who_of(deferred), 0, err);
    if (code == 0)
        code = deferred->ops->run(deferred, err);
    if (code == 0 && !deferred->is_routine)
        note_change(deferred, control_written(control) - before);
    return code;
}

static void answer(struct forecast_waiter *waiter)
{
    struct deferred *deferred = CONTAINER_OF(waiter, struct deferred, waiter);
    reply_json(deferred->request, deferred->status, deferred->ops->answer(deferred));
    deferred_drop(deferred);
}

static void done_deferred(struct change *change, int code, const struct error *err)
{
    struct deferred *deferred = CONTAINER_OF(change, struct deferred, change);

    if (code < 0) {
        reply_error(deferred->request, code, err);
        deferred_drop(deferred);
        return;
    }
    deferred->waiter.done = answer;
    deferred->waiter.patience = FORECAST_PATIENCE;
    deferred->waiter.is_many = true;
    if (!deferred->ops->answers_from_forecast ||
        api_forecast_is_fresh(deferred->api, true, &deferred->waiter))
        answer(&deferred->waiter);
}

void *deferred_create(struct call *call, size_t size, const struct deferred_ops *ops)
{
    struct deferred *deferred = mem_zero(1, size);

    *deferred = (struct deferred){
        .change = { .run = run_deferred, .done = done_deferred },
        .api = call->api,
        .request = call->request,
        .ops = ops,
        .operation = call->operation,
        .status = call->operation->status,
        .id = call->id,
    };
    memcpy(deferred->name, call->name, sizeof(deferred->name));
    return deferred;
}

json_t *deferred_begin(struct call *call, struct deferred *deferred, int code)
{
    if (code == 0)
        control_enqueue(api_control(deferred->api), &deferred->change);
    else
        deferred_drop(deferred);
    return refuse(call, code);
}

/* ---- by a study ---- */

void asked_destroy(struct asked *asked)
{
    if (asked->release)
        asked->release(asked);
    free(asked);
}

static bool is_left(const struct api_study *study)
{
    return http_is_left(CONTAINER_OF(study, struct asked, study)->request);
}

static void done_asked(struct api_study *study, int code, struct text *answer,
                       const struct error *err)
{
    struct asked *asked = CONTAINER_OF(study, struct asked, study);

    if (code < 0)
        reply_error(asked->request, code, err);
    else {
        size_t length = answer->length;
        if (asked->answered)
            asked->answered(asked, answer);
        http_reply(asked->request, 200, "application/json", text_take(answer), length);
    }
    asked_destroy(asked);
}

void *asked_create(struct call *call, size_t size, void (*release)(struct asked *asked))
{
    struct asked *asked = mem_zero(1, size);

    *asked = (struct asked){
        .study = { .who = call->request->who, .is_left = is_left, .done = done_asked },
        .api = call->api,
        .request = call->request,
        .release = release,
    };
    return asked;
}

json_t *asked_begin(struct call *call, struct asked *asked, int code)
{
    const struct api_studies *studies = &asked->api->ports.studies;

    if (code == 0)
        code = studies->start(studies->user, &asked->study, &call->err);
    if (code < 0) /* else done is called */
        asked_destroy(asked);
    return refuse(call, code);
}
