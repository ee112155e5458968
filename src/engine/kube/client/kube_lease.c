/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/client/kube_lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/client/kube_time.h"
#include "io/log.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"

enum { DURATION_S = 15, RENEW_MS = 4000, LOST_MS = 10000, TICK_MS = 1000, NS_PER_MS = 1000000 };

struct kube_lease {
    uv_timer_t timer;
    struct kube_client *client;
    void (*begin)(void *user);
    void *user;
    char identity[128];
    char seen[256];   /* holder and time of its last renewal */
    uint64_t seen_at; /* uv_now() when that was first seen */
    uint64_t asked_at, renewed_at;
    bool is_asking, is_held, has_begun;
    char trouble[ERROR_TEXT_SIZE];
};

static void set_held(struct kube_lease *lease, bool is_held)
{
    if (lease->is_held == is_held)
        return;
    lease->is_held = is_held;
    if (is_held)
        lease->trouble[0] = '\0';
    else
        snprintf(lease->trouble, sizeof(lease->trouble),
                 "the lease kube-system/tarn is not renewed");
    if (!is_held || lease->has_begun)
        return;
    lease->has_begun = true;
    log_line(LOG_INFO, "is in charge of the cluster identity=%s", lease->identity);
    lease->begin(lease->user);
}

static void on_written(void *user, const struct kube_reply *reply)
{
    struct kube_lease *lease = user;

    lease->is_asking = false;
    if (!kube_reply_is_ok(reply)) { /* a conflict: another daemon was faster */
        if (reply->status != KUBE_STATUS_NONE && reply->status != KUBE_CONFLICT && !lease->is_held)
            snprintf(lease->trouble, sizeof(lease->trouble), "the lease kube-system/tarn: %s",
                     reply->words);
        return;
    }
    lease->renewed_at = lease->asked_at;
    kube_client_allow(lease->client, (lease->renewed_at + LOST_MS) * NS_PER_MS);
    set_held(lease, true);
}

/* object: the lease as it is; NULL: make it. */
static void take(struct kube_lease *lease, const json_t *object)
{
    json_t *made =
        object ? json_deep_copy(object)
               : json_pack("{s:s, s:s, s:{s:s}, s:{}}", "apiVersion", "coordination.k8s.io/v1",
                           "kind", "Lease", "metadata", "name", "tarn", "spec");
    json_t *spec = json_object_get(made, "spec");
    char now[KUBE_TIME_SIZE];

    if (!spec) {
        spec = json_object();
        json_object_set_new(made, "spec", spec);
    }
    kube_time_now(now);
    if (strcmp(kube_text(spec, "holderIdentity"), lease->identity) != 0) {
        json_object_set_new(spec, "acquireTime", json_string(now));
        json_object_set_new(
            spec, "leaseTransitions",
            json_integer(kube_number(spec, "leaseTransitions", 0) + (object != NULL)));
    }
    json_object_set_new(spec, "holderIdentity", json_string(lease->identity));
    json_object_set_new(spec, "leaseDurationSeconds", json_integer(DURATION_S));
    json_object_set_new(spec, "renewTime", json_string(now));
    lease->is_asking = true;
    lease->asked_at = uv_now(lease->timer.loop);
    kube_client_call(lease->client, &(struct kube_call){ .method = object ? "PUT" : "POST",
                                                         .path = object ? LEASES "/tarn" : LEASES,
                                                         .body = made,
                                                         .is_always_allowed = true,
                                                         .done = on_written,
                                                         .user = lease });
}

static void look_at_other(struct kube_lease *lease, const json_t *object, const char *holder)
{
    const json_t *spec = json_object_get(object, "spec");
    uint64_t now = uv_now(lease->timer.loop);
    int64_t duration_s = kube_number(spec, "leaseDurationSeconds", DURATION_S);
    char seen[256];

    if (lease->has_begun) {
        log_line(LOG_ERR, "another daemon is in charge of the cluster: this one ends holder=%s",
                 holder);
        _exit(EXIT_FAILURE);
    }
    snprintf(seen, sizeof(seen), "%.120s %.60s", holder, kube_text(spec, "renewTime"));
    if (strcmp(seen, lease->seen) != 0) {
        memcpy(lease->seen, seen, sizeof(seen));
        lease->seen_at = now;
    }
    snprintf(lease->trouble, sizeof(lease->trouble),
             "another daemon is in charge of the cluster: %s", holder);
    if (now - lease->seen_at >= (uint64_t)duration_s * 1000)
        take(lease, object);
}

static void on_read(void *user, const struct kube_reply *reply)
{
    struct kube_lease *lease = user;
    const char *holder = kube_text(kube_at(reply->body, "spec", NULL), "holderIdentity");

    lease->is_asking = false;
    if (reply->status == KUBE_NOT_FOUND)
        take(lease, NULL);
    else if (kube_reply_is_ok(reply) && (!holder[0] || strcmp(holder, lease->identity) == 0))
        take(lease, reply->body);
    else if (kube_reply_is_ok(reply))
        look_at_other(lease, reply->body, holder);
    else if (reply->status != KUBE_STATUS_NONE && !lease->is_held)
        snprintf(lease->trouble, sizeof(lease->trouble), "the lease kube-system/tarn: %s",
                 reply->words);
}

static void on_timer(uv_timer_t *timer)
{
    struct kube_lease *lease = timer->data;
    uint64_t now = uv_now(timer->loop);

    if (lease->is_held && now - lease->renewed_at >= LOST_MS)
        set_held(lease, false);
    if (lease->is_asking || (lease->is_held && now - lease->renewed_at < RENEW_MS))
        return;
    lease->is_asking = true;
    kube_client_call(lease->client, &(struct kube_call){ .method = "GET",
                                                         .path = LEASES "/tarn",
                                                         .is_always_allowed = true,
                                                         .done = on_read,
                                                         .user = lease });
}

const char *kube_lease_trouble(const struct kube_lease *lease)
{
    return lease->trouble[0] ? lease->trouble : NULL;
}

struct kube_lease *kube_lease_create(uv_loop_t *loop, struct kube_client *client,
                                     const char *instance, void (*begin)(void *user), void *user)
{
    struct kube_lease *lease = mem_zero(1, sizeof(*lease));
    char host[64] = "";

    gethostname(host, sizeof(host) - 1);
    lease->client = client;
    lease->begin = begin;
    lease->user = user;
    snprintf(lease->identity, sizeof(lease->identity), "%s_%s", host, instance);
    snprintf(lease->trouble, sizeof(lease->trouble), "the lease kube-system/tarn is not held yet");
    kube_client_allow(client, 0);
    uv_timer_init(loop, &lease->timer);
    lease->timer.data = lease;
    uv_timer_start(&lease->timer, on_timer, 0, TICK_MS);
    return lease;
}

bool kube_lease_give_up(const struct kube_lease *lease, struct kube_call *ret)
{
    if (!lease->is_held)
        return false;
    *ret = (struct kube_call){
        .method = "PATCH",
        .path = LEASES "/tarn",
        .type = "application/json-patch+json",
        .body = json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "op", "test", "path",
                          "/spec/holderIdentity", "value", lease->identity, "op", "replace", "path",
                          "/spec/holderIdentity", "value", ""),
    };
    return true;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void kube_lease_destroy(struct kube_lease *lease)
{
    if (lease)
        uv_close((uv_handle_t *)&lease->timer, on_closed);
}
