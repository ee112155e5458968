/* SPDX-License-Identifier: Apache-2.0 */
#include "api/asked.h"

#include "base/mem.h"

static bool is_left(const struct api_study *study)
{
    return http_is_left(CONTAINER_OF(study, struct asked, study)->request);
}

static void done(struct api_study *study, int code, struct text *answer, const struct error *err)
{
    struct asked *asked = CONTAINER_OF(study, struct asked, study);

    if (code < 0)
        reply_error(asked->request, code, err);
    else {
        size_t length = answer->length;
        http_reply(asked->request, 200, "application/json", text_take(answer), length);
    }
    asked->destroy(asked);
}

void asked_init(struct asked *asked, struct call *call, void (*destroy)(struct asked *asked))
{
    *asked = (struct asked){
        .study = { .who = call->request->who, .is_left = is_left, .done = done },
        .api = call->api,
        .request = call->request,
        .destroy = destroy,
    };
}

void asked_begin(struct asked *asked, int code, struct error *err)
{
    struct api_ports *ports = &asked->api->ports;

    if (code == 0)
        code = ports->study(ports->user, &asked->study, err);
    if (code == 0)
        return; /* done is called */
    reply_error(asked->request, code, err);
    asked->destroy(asked);
}
