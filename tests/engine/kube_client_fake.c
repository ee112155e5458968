/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_client_fake.h"

#include <stdlib.h>

#include "base/mem.h"

static LIST(struct kube_call) calls;
static struct kube_watch watched;

bool kube_reply_is_ok(const struct kube_reply *reply)
{
    return reply->status >= 200 && reply->status < 300;
}

void kube_client_call(struct kube_client *client, const struct kube_call *call)
{
    struct kube_call copy = *call;

    (void)client;
    copy.path = mem_string(call->path);
    list_add(&calls, copy);
}

void kube_client_watch(struct kube_client *client, const struct kube_watch *watch)
{
    (void)client;
    watched = *watch;
}

void fake_event(enum kube_event event, const char *body)
{
    json_t *object = body ? json_loads(body, 0, NULL) : NULL;
    void *value = object ? watched.read(object) : NULL;

    json_decref(object);
    if (value || !body)
        watched.on_event(watched.user, event, value);
}

const struct kube_call *fake_call(size_t at)
{
    return at < calls.count ? &calls.items[at] : NULL;
}

void fake_answer(long status, const char *body)
{
    struct kube_call call = calls.items[0];
    json_t *object = body ? json_loads(body, 0, NULL) : NULL;
    const struct kube_reply reply = { .status = status, .body = object, .words = "refused" };

    list_remove(&calls, 0);
    if (calls.count == 0)
        list_release(&calls);
    if (call.done)
        call.done(call.user, &reply);
    json_decref(object);
    json_decref(call.body);
    free((char *)call.path);
}
