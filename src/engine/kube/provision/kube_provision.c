/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/provision/kube_provision.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/provision/kube_ask.h"
#include "io/log.h"

#define REQUESTS KUBE_REQUESTS_API "/" KUBE_REQUEST_KIND

enum {
    OPEN_MAX = 20,
    LOOK_MS = 60000, /* between looks for the definition */
    WISH_MS = 30000, /* a request that is not wished for this long is removed */
};

enum look { LOOK_DUE, LOOK_ASKS, LOOK_FOUND, LOOK_MISSES };

struct kube_provision {
    const struct engine_options *options;
    struct kube_client *client;
    enum look look;
    uint64_t looked_at;
    bool is_watched, is_known; /* is_known: all that exist are */
    bool was_missed;           /* the log says so */
    size_t open_count;
    LIST(struct ask *) all;
    struct map by_arrival; /* hash -> pointer */
};

static const char *class_of(const struct kube_provision *provision)
{
    return provision->options->rules->kube_provisioning;
}

static uint64_t now_of(const struct kube_provision *provision)
{
    return uv_now(provision->options->loop);
}

struct kube_provision *kube_provision_create(const struct engine_options *options,
                                             struct kube_client *client)
{
    struct kube_provision *provision = mem_zero(1, sizeof(*provision));

    provision->options = options;
    provision->client = client;
    return provision;
}

void kube_provision_destroy(struct kube_provision *provision)
{
    if (!provision)
        return;
    for (size_t i = 0; i < provision->all.count; i++)
        ask_destroy(provision->all.items[i]);
    list_release(&provision->all);
    map_release(&provision->by_arrival);
    free(provision);
}

bool kube_provision_is_on(const struct kube_provision *provision)
{
    return class_of(provision)[0] && provision->look != LOOK_MISSES;
}

/* ---- which ---- */

static struct ask *find(const struct kube_provision *provision, const char *arrival)
{
    uint64_t at;

    if (!map_get(&provision->by_arrival, map_hash(arrival, strlen(arrival)), &at))
        return NULL;
    struct ask *ask = (struct ask *)(uintptr_t)at;
    return strcmp(ask->arrival, arrival) == 0 ? ask : NULL;
}

static struct ask *add(struct kube_provision *provision, const char *arrival, const char *namespace,
                       char *name)
{
    struct ask *ask =
        ask_create(provision->options->loop, provision->client, arrival, namespace, name);

    list_add(&provision->all, ask);
    map_set(&provision->by_arrival, map_hash(arrival, strlen(arrival)), (uint64_t)(uintptr_t)ask);
    return ask;
}

/* An object with the annotation of this arrival was seen first, which is not the request of tarn.
 */
static void correct(struct ask *ask, const struct kube_pod *first)
{
    AUTO_FREE char *name = kube_object_name(first->group.title, ask->arrival);

    if (strcmp(ask->name, name) == 0 && strcmp(ask->namespace, first->namespace) == 0)
        return;
    if (ask->state == ASK_MAKES || ask->state == ASK_REMOVES)
        return;
    ask_forget_request(ask);
    ask->state = ASK_WAITS;
    free(ask->name);
    ask->name = TAKE(name);
    free(ask->namespace);
    ask->namespace = mem_string(first->namespace);
}

bool kube_provision_wish(struct kube_provision *provision, const struct kube_wish *wish)
{
    struct ask *ask = find(provision, wish->arrival);

    if (!class_of(provision)[0])
        return false;
    if (!ask)
        ask = add(provision, wish->arrival, wish->first->namespace,
                  kube_object_name(wish->first->group.title, wish->arrival));
    correct(ask, wish->first);
    ask->wished_at = now_of(provision);
    ask->job = wish->job;
    ask->priority = wish->first->priority;
    return ask->state == ASK_CHOSEN;
}

void kube_provision_keep(struct kube_provision *provision, const char *arrival)
{
    struct ask *ask = find(provision, arrival);

    if (ask)
        ask->wished_at = now_of(provision);
}

void kube_provision_ask(struct kube_provision *provision, const char *arrival,
                        const struct kube_pod *const *pods, uint32_t count, const char *job)
{
    struct ask *ask = find(provision, arrival);

    if (ask && ask->state == ASK_CHOSEN && count > 0)
        ask_make(ask, class_of(provision), pods, count, job);
}

/* ---- what is there ---- */

static void see(struct kube_provision *provision, struct kube_request *request)
{
    struct ask *ask = find(provision, request->arrival);

    if (!ask)
        ask = add(provision, request->arrival, request->namespace, mem_string(request->name));
    if (strcmp(ask->name, request->name) != 0 || strcmp(ask->namespace, request->namespace) != 0) {
        kube_request_destroy(request); /* a copy that a user made */
        return;
    }
    if (ask->state == ASK_WAITS || ask->state == ASK_CHOSEN)
        ask->state = ASK_OPEN;
    ask->is_listed = true;
    kube_request_destroy(ask->request);
    ask->request = request;
}

static void lose(struct ask *ask, const char *uid)
{
    if (!ask || ask->state != ASK_OPEN || !ask->request ||
        (uid && strcmp(ask->request->uid, uid) != 0))
        return;
    ask_forget_request(ask);
    ask_end(ask, NULL);
}

static void on_request(void *user, enum kube_event event, void *object)
{
    struct kube_provision *provision = user;
    struct kube_request *request = object;

    switch (event) {
    case KUBE_LIST_BEGINS:
        for (size_t i = 0; i < provision->all.count; i++)
            provision->all.items[i]->is_listed = false;
        break;
    case KUBE_OBJECT:
        see(provision, request);
        break;
    case KUBE_GONE:
        lose(find(provision, request->arrival), request->uid);
        kube_request_destroy(request);
        break;
    case KUBE_LIST_ENDS:
        for (size_t i = 0; i < provision->all.count; i++) {
            if (!provision->all.items[i]->is_listed)
                lose(provision->all.items[i], NULL);
        }
        provision->is_known = true;
        break;
    }
}

/* ---- the definition ---- */

static bool has_kind(const json_t *list)
{
    json_t *resource;
    size_t i;

    json_array_foreach(json_object_get(list, "resources"), i, resource)
    {
        if (strcmp(kube_text(resource, "name"), KUBE_REQUEST_KIND) == 0)
            return true;
    }
    return false;
}

static void on_looked(void *user, const struct kube_reply *reply)
{
    struct kube_provision *provision = user;
    bool is_absent =
        reply->status == KUBE_NOT_FOUND || (kube_reply_is_ok(reply) && !has_kind(reply->body));

    provision->look = is_absent ? LOOK_MISSES : kube_reply_is_ok(reply) ? LOOK_FOUND : LOOK_DUE;
    if (provision->look == LOOK_MISSES && !provision->was_missed)
        log_line(LOG_WARNING,
                 "asks for no nodes reason='the cluster does not serve " KUBE_REQUEST_KIND
                 " of " KUBE_REQUEST_API "'");
    provision->was_missed = provision->look == LOOK_MISSES;
    if (provision->look != LOOK_FOUND || provision->is_watched)
        return;
    provision->is_watched = true;
    log_line(LOG_INFO, "asks for nodes by requests class=%s", class_of(provision));
    kube_client_watch(provision->client, &(struct kube_watch){ .path = REQUESTS,
                                                               .read = kube_request_read,
                                                               .on_event = on_request,
                                                               .release = kube_request_destroy,
                                                               .user = provision });
}

static void look(struct kube_provision *provision)
{
    uint64_t now = now_of(provision);
    bool is_due = provision->look == LOOK_DUE || provision->look == LOOK_MISSES;

    if (!is_due || (provision->looked_at > 0 && now - provision->looked_at < LOOK_MS))
        return;
    provision->looked_at = now;
    if (provision->look == LOOK_DUE)
        provision->look = LOOK_ASKS;
    kube_client_call(provision->client, &(struct kube_call){ .method = "GET",
                                                             .path = KUBE_REQUESTS_API,
                                                             .patience_ms = LOOK_MS,
                                                             .done = on_looked,
                                                             .user = provision });
}

/* ---- in turn ---- */

static bool is_wished(const struct ask *ask)
{
    return uv_now(ask->loop) - ask->wished_at < WISH_MS;
}

static bool has_request(const struct ask *ask)
{
    return ask->state != ASK_WAITS;
}

static bool is_before(const struct ask *a, const struct ask *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->job < b->job;
}

static void choose(struct kube_provision *provision)
{
    provision->open_count = 0;
    for (size_t i = 0; i < provision->all.count; i++)
        provision->open_count +=
            has_request(provision->all.items[i]) && is_wished(provision->all.items[i]);
    for (; provision->open_count < OPEN_MAX; provision->open_count++) {
        struct ask *best = NULL;
        for (size_t i = 0; i < provision->all.count; i++) {
            struct ask *ask = provision->all.items[i];
            if (!has_request(ask) && now_of(provision) >= ask->due && is_wished(ask) &&
                (!best || is_before(ask, best)))
                best = ask;
        }
        if (!best)
            return;
        best->state = ASK_CHOSEN;
    }
}

static void look_at(const struct kube_provision *provision, struct ask *ask)
{
    const struct kube_request *request = ask->request;

    if (ask->state == ASK_CHOSEN && !is_wished(ask))
        ask->state = ASK_WAITS;
    if (ask_is_lost(ask))
        ask_end(ask, NULL);
    if (ask->state != ASK_OPEN || !request || uv_now(ask->loop) < ask->due)
        return;
    if (!is_wished(ask) || request->is_over || strcmp(request->class, class_of(provision)) != 0)
        ask_remove(ask);
}

static void forget_unwished(struct kube_provision *provision)
{
    size_t kept = 0;

    for (size_t i = 0; i < provision->all.count; i++) {
        struct ask *ask = provision->all.items[i];
        if (has_request(ask) || is_wished(ask)) {
            provision->all.items[kept++] = ask;
            continue;
        }
        map_remove(&provision->by_arrival, map_hash(ask->arrival, strlen(ask->arrival)));
        ask_destroy(ask);
    }
    provision->all.count = kept;
}

void kube_provision_tick(struct kube_provision *provision)
{
    if (class_of(provision)[0])
        look(provision);
    if (!provision->is_known)
        return;
    for (size_t i = 0; i < provision->all.count; i++)
        look_at(provision, provision->all.items[i]);
    forget_unwished(provision);
    if (class_of(provision)[0])
        choose(provision);
}

/* ---- what is said ---- */

char *kube_provision_words(const struct kube_provision *provision, const char *arrival)
{
    const struct ask *ask = find(provision, arrival);
    const struct kube_request *request = ask ? ask->request : NULL;

    if (class_of(provision)[0] && provision->look == LOOK_MISSES)
        return mem_printf("no nodes are asked for: the cluster does not serve " KUBE_REQUEST_KIND
                          " of " KUBE_REQUEST_API);
    if (!ask)
        return NULL;
    if (request)
        return mem_printf("asked for nodes: ProvisioningRequest %s%s%s", ask->name,
                          request->words[0] ? ": " : "", request->words);
    if (ask->failed)
        return mem_printf("asked for nodes: ProvisioningRequest %s: %s; it will be asked again",
                          ask->name, ask->failed);
    return ask->state == ASK_WAITS && provision->open_count >= OPEN_MAX
               ? mem_printf("waits to ask for nodes: %d requests are open", OPEN_MAX)
               : NULL;
}

void kube_provision_annotate(const struct kube_provision *provision, const char *arrival,
                             json_t *notes)
{
    const struct ask *ask = find(provision, arrival);

    if (!ask || !ask->request || !ask->request->is_provisioned)
        return;
    json_object_set_new(notes, KUBE_REQUEST_NAME, json_string(ask->name));
    json_object_set_new(notes, KUBE_REQUEST_CLASS, json_string(ask->request->class));
}
