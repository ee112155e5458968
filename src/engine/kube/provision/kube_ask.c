/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/provision/kube_ask.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/text.h"
#include "io/log.h"

enum {
    PAUSE_MS = 15000, /* after the first failure; it doubles with each */
    PAUSE_MAX = 7,    /* how often */
    SETTLE_MS = 5000, /* between the end of a request and the next one */
    CALL_MS = 60000,
};

struct ask *ask_create(struct uv_loop_s *loop, struct kube_client *client, const char *arrival,
                       const char *namespace, char *name)
{
    struct ask *ask = mem_zero(1, sizeof(*ask));

    *ask = (struct ask){ .loop = loop,
                         .client = client,
                         .arrival = mem_string(arrival),
                         .namespace = mem_string(namespace),
                         .name = name,
                         .wished_at = uv_now(loop) };
    return ask;
}

static void forget_sets(struct ask *ask)
{
    for (size_t i = 0; i < ask->sets.count; i++)
        free(ask->sets.items[i].path);
    list_release(&ask->sets);
    json_decref(ask->owner);
    ask->owner = NULL;
}

void ask_forget_request(struct ask *ask)
{
    kube_request_destroy(ask->request);
    ask->request = NULL;
}

void ask_destroy(struct ask *ask)
{
    if (!ask)
        return;
    forget_sets(ask);
    ask_forget_request(ask);
    free(ask->failed);
    free(ask->arrival);
    free(ask->namespace);
    free(ask->name);
    free(ask->class);
    free(ask);
}

/* ---- calls ---- */

static void call(struct ask *ask, const char *method, char *path, json_t *body,
                 void (*done)(void *user, const struct kube_reply *reply))
{
    kube_client_call(ask->client, &(struct kube_call){ .method = method,
                                                       .path = path,
                                                       .body = body,
                                                       .patience_ms = CALL_MS,
                                                       .done = done,
                                                       .user = ask });
    free(path);
}

static char *templates_path(const struct ask *ask)
{
    return mem_printf("/api/v1/namespaces/%s/podtemplates", ask->namespace);
}

static char *requests_path(const struct ask *ask)
{
    return mem_printf(KUBE_REQUESTS_API "/namespaces/%s/" KUBE_REQUEST_KIND, ask->namespace);
}

void ask_end(struct ask *ask, char *failed)
{
    uint32_t doublings = ask->failures < PAUSE_MAX ? ask->failures : PAUSE_MAX;

    forget_sets(ask);
    ask->state = ASK_WAITS;
    ask->due = uv_now(ask->loop) + (failed ? (uint64_t)PAUSE_MS << doublings : SETTLE_MS);
    if (!failed)
        return;
    ask->failures++;
    free(ask->failed);
    ask->failed = failed;
    log_line(LOG_WARNING, "nodes are not provisioned request=%s/%s reason='%s'", ask->namespace,
             ask->name, failed);
}

static bool is_there(const struct kube_reply *reply)
{
    return kube_reply_is_ok(reply) || reply->status == KUBE_CONFLICT;
}

/* ---- making ---- */

static void make_next(struct ask *ask);

/* A template of an earlier request, of which the pods may have been others. */
static void on_stale(void *user, const struct kube_reply *reply)
{
    struct ask *ask = user;

    if (kube_reply_is_ok(reply) || reply->status == KUBE_NOT_FOUND)
        make_next(ask);
    else
        ask_end(ask, mem_printf("it cannot be made: %s", reply->words));
}

static void on_made(void *user, const struct kube_reply *reply)
{
    struct ask *ask = user;

    if (!is_there(reply)) {
        ask_end(ask, mem_printf("it cannot be made: %s", reply->words));
        return;
    }
    if (reply->status == KUBE_CONFLICT && ask->step < ask->sets.count) {
        AUTO_FREE char *name = kube_request_template_name(ask->name, ask->step);
        AUTO_FREE char *path = templates_path(ask);
        call(ask, "DELETE", mem_printf("%s/%s", path, name), NULL, on_stale);
        return;
    }
    if (ask->step++ < ask->sets.count) {
        make_next(ask);
        return;
    }
    log_line(LOG_INFO, "asks for nodes request=%s/%s", ask->namespace, ask->name);
    forget_sets(ask);
    ask->state = ASK_OPEN;
    ask->made_at = ask->due = uv_now(ask->loop);
}

static void on_model(void *user, const struct kube_reply *reply)
{
    struct ask *ask = user;
    AUTO_FREE char *name = kube_request_template_name(ask->name, ask->step);
    bool is_ok = kube_reply_is_ok(reply);

    if (is_ok && !ask->owner)
        ask->owner = kube_request_owner(reply->body);
    json_t *template =
        is_ok && ask->owner ? kube_request_template(reply->body, name, ask->owner) : NULL;
    if (template)
        call(ask, "POST", templates_path(ask), template, on_made);
    else
        ask_end(ask, mem_printf("it cannot be made: %s",
                                is_ok ? "its pods have no template" : reply->words));
}

/* The templates first: an autoscaler does not wait for them. */
static void make_next(struct ask *ask)
{
    uint32_t counts[KUBE_REQUEST_SETS_MAX];

    if (ask->step < ask->sets.count) {
        call(ask, "GET", mem_string(ask->sets.items[ask->step].path), NULL, on_model);
        return;
    }
    for (size_t i = 0; i < ask->sets.count; i++)
        counts[i] = ask->sets.items[i].count;
    const struct kube_request_plan plan = { .name = ask->name,
                                            .arrival = ask->arrival,
                                            .class = ask->class,
                                            .owner = ask->owner,
                                            .counts = counts,
                                            .set_count = ask->sets.count };
    call(ask, "POST", requests_path(ask), kube_request_make(&plan), on_made);
}

static bool are_alike(const struct kube_pod *a, const struct kube_pod *b)
{
    bool has_same_fits = (!a->fits && !b->fits) || json_equal(a->fits, b->fits);

    return strcmp(a->group.role, b->group.role) == 0 && strcmp(a->device, b->device) == 0 &&
           a->device_count == b->device_count && a->cpu_milli == b->cpu_milli &&
           a->memory_mib == b->memory_mib && has_same_fits;
}

/* False: there are too many kinds of pods. */
static bool add_pod(struct ask *ask, const struct kube_pod *pod, const char *job)
{
    LIST_EACH (struct podset, set, &ask->sets) {
        if (are_alike(set->pod, pod)) {
            set->count++;
            return true;
        }
    }
    if (ask->sets.count == KUBE_REQUEST_SETS_MAX)
        return false;
    char *path = job[0] ? mem_string(job)
                        : mem_printf("/api/v1/namespaces/%s/pods/%s", pod->namespace, pod->name);
    list_add(&ask->sets, ((struct podset){ .path = path, .pod = pod, .count = 1 }));
    return true;
}

void ask_make(struct ask *ask, const char *class, const struct kube_pod *const *pods,
              uint32_t count, const char *job)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!add_pod(ask, pods[i], job)) {
            ask_end(ask, mem_printf("it has more than %d kinds of pods", KUBE_REQUEST_SETS_MAX));
            return;
        }
    }
    free(ask->class);
    ask->class = mem_string(class);
    ask->state = ASK_MAKES;
    ask->step = 0;
    make_next(ask);
}

/* ---- removing ---- */

static void remove_next(struct ask *ask);

static void on_removed(void *user, const struct kube_reply *reply)
{
    struct ask *ask = user;
    bool is_gone = kube_reply_is_ok(reply) || reply->status == KUBE_NOT_FOUND;

    if (is_gone && ask->step > 0) {
        ask->step--;
        remove_next(ask);
    } else if (is_gone) {
        const struct kube_request *request = ask->request;
        ask_end(ask, request && request->is_over ? mem_string(request->words) : NULL);
        ask_forget_request(ask);
    } else {
        log_line(LOG_WARNING, "a request for nodes cannot be removed request=%s/%s reason='%s'",
                 ask->namespace, ask->name, reply->words);
        ask->state = ASK_OPEN;
        ask->due = uv_now(ask->loop) + CALL_MS;
    }
}

/* The templates first: nothing that it made is left when the request is gone. */
static void remove_next(struct ask *ask)
{
    AUTO_FREE char *name = ask->step > 0 ? kube_request_template_name(ask->name, ask->step - 1)
                                         : mem_string(ask->name);
    AUTO_FREE char *path = ask->step > 0 ? templates_path(ask) : requests_path(ask);

    call(ask, "DELETE", mem_printf("%s/%s", path, name), NULL, on_removed);
}

bool ask_is_lost(const struct ask *ask)
{
    return ask->state == ASK_OPEN && !ask->request && uv_now(ask->loop) - ask->made_at >= CALL_MS;
}

void ask_remove(struct ask *ask)
{
    ask->state = ASK_REMOVES;
    ask->step = ask->request ? ask->request->set_count : 0;
    remove_next(ask);
}
