/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_faults.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_names.h"
#include "io/log.h"

enum {
    AGAIN_MS = 5000,
    REFUSED_MS = 60000, /* after a refusal: the right may be missing */
    PATIENCE_MS = 10000,
    SWEEP_MS = 10000, /* faults of the journal are told before */
    FORBIDDEN = 403,
};

/* A node whose taint differs from what it should be, or may. */
struct tainted {
    char *node;
    char *reason;                    /* NULL: it should have none */
    uint64_t again_at;               /* uv_now() */
    bool is_asked, is_over, is_told; /* is_told: it was logged that it cannot be written */
};

struct kube_faults {
    struct kube_client *client;
    const struct kube_nodes *nodes;
    const char *instance;
    LIST(struct tainted) all;
    uint64_t now, began; /* began: the first tick */
    bool is_swept;
};

struct kube_faults *kube_faults_create(struct kube_client *client, const struct kube_nodes *nodes,
                                       const char *instance)
{
    struct kube_faults *faults = mem_zero(1, sizeof(*faults));

    faults->client = client;
    faults->nodes = nodes;
    faults->instance = instance;
    return faults;
}

void kube_faults_destroy(struct kube_faults *faults)
{
    if (!faults)
        return;
    LIST_EACH (struct tainted, tainted, &faults->all) {
        free(tainted->node);
        free(tainted->reason);
    }
    list_release(&faults->all);
    free(faults);
}

static struct tainted *find(const struct kube_faults *faults, const char *node)
{
    LIST_EACH (struct tainted, tainted, &faults->all) {
        if (strcmp(tainted->node, node) == 0)
            return tainted;
    }
    return NULL;
}

static struct tainted *add(struct kube_faults *faults, const char *node)
{
    list_add(&faults->all, (struct tainted){ .node = mem_string(node) });
    return &faults->all.items[faults->all.count - 1];
}

/* Most nodes never have one: those are not remembered. */
void kube_faults_set(struct kube_faults *faults, const char *node, const char *reason)
{
    struct tainted *known = find(faults, node);

    if (!known && !reason)
        return;
    if (!known)
        known = add(faults, node);
    free(known->reason);
    known->reason = mem_string(reason);
    known->again_at = 0;
    known->is_over = false;
}

/* ---- one node: it is read, then written ---- */

struct question {
    struct kube_faults *faults;
    char *node;
};

static void end(struct question *question)
{
    free(question->node);
    free(question);
}

static char *path_of(const char *node)
{
    return mem_printf("/api/v1/nodes/%s", node);
}

/* Its taints with ours as it should be. */
static json_t *taints_of(const struct kube_faults *faults, const json_t *node, bool is_faulty)
{
    const json_t *now = kube_at(node, "spec", "taints", NULL);
    json_t *taints = json_array(), *taint;
    size_t i;

    json_array_foreach(now, i, taint)
    {
        if (strcmp(kube_text(taint, "key"), KUBE_FAULT) != 0)
            json_array_append(taints, taint);
    }
    if (is_faulty)
        json_array_append_new(taints, json_pack("{s:s, s:s, s:s}", "key", KUBE_FAULT, "value",
                                                faults->instance, "effect", "NoSchedule"));
    return taints;
}

static void on_written(void *user, const struct kube_reply *reply)
{
    struct question *question = user;
    struct tainted *tainted = find(question->faults, question->node);

    if (tainted) {
        tainted->is_asked = false;
        tainted->is_over = kube_reply_is_ok(reply) && tainted->again_at != 0;
    }
    if (tainted && !kube_reply_is_ok(reply) && reply->status != KUBE_CONFLICT) {
        if (!tainted->is_told)
            log_line(LOG_WARNING, "the taint of a node cannot be written node=%s reason='%s'",
                     question->node, reply->words);
        tainted->is_told = true;
        if (reply->status == FORBIDDEN)
            tainted->again_at = question->faults->now + REFUSED_MS;
    }
    end(question);
}

static void on_read(void *user, const struct kube_reply *reply)
{
    struct question *question = user;
    struct kube_faults *faults = question->faults;
    struct tainted *tainted = find(faults, question->node);
    AUTO_FREE char *path = path_of(question->node);

    if (!tainted || !kube_reply_is_ok(reply)) {
        if (tainted) {
            tainted->is_asked = false;
            tainted->is_over = reply->status == KUBE_NOT_FOUND;
        }
        end(question);
        return;
    }
    const char *version = kube_text(json_object_get(reply->body, "metadata"), "resourceVersion");
    json_t *body = json_pack("{s:{s:s, s:{s:s?}}, s:{s:o}}", "metadata", "resourceVersion", version,
                             "annotations", KUBE_FAULT, tainted->reason, "spec", "taints",
                             taints_of(faults, reply->body, tainted->reason != NULL));
    kube_client_call(faults->client, &(struct kube_call){ .method = "PATCH",
                                                          .path = path,
                                                          .type = "application/merge-patch+json",
                                                          .body = body,
                                                          .patience_ms = PATIENCE_MS,
                                                          .done = on_written,
                                                          .user = question });
}

static void write_taint(struct kube_faults *faults, struct tainted *tainted)
{
    struct question *question = mem_zero(1, sizeof(*question));
    AUTO_FREE char *path = path_of(tainted->node);

    *question = (struct question){ faults, mem_string(tainted->node) };
    tainted->is_asked = true;
    tainted->again_at = faults->now + AGAIN_MS;
    kube_client_call(faults->client, &(struct kube_call){ .method = "GET",
                                                          .path = path,
                                                          .patience_ms = PATIENCE_MS,
                                                          .done = on_read,
                                                          .user = question });
}

/* What this daemon left before it was started again: the fault is over meanwhile. */
static void sweep(struct kube_faults *faults)
{
    const char *node;

    faults->is_swept = true;
    for (size_t i = 0; (node = kube_nodes_name(faults->nodes, i)) != NULL; i++) {
        const char *value = kube_nodes_taint(faults->nodes, node, KUBE_FAULT);
        if (!value || find(faults, node))
            continue;
        if (strcmp(value, faults->instance) == 0)
            add(faults, node);
        else
            log_line(LOG_WARNING,
                     "a node has the taint of another daemon for a faulty GPU, which "
                     "stays node=%s",
                     node);
    }
}

/* Whether the node is as it should be. */
static bool is_right(const struct kube_faults *faults, const struct tainted *tainted)
{
    const char *value = kube_nodes_taint(faults->nodes, tainted->node, KUBE_FAULT);

    return tainted->reason ? value && strcmp(value, faults->instance) == 0 : !value;
}

void kube_faults_tick(struct kube_faults *faults, uint64_t now)
{
    faults->now = now;
    if (faults->began == 0)
        faults->began = now;
    if (!faults->is_swept && now - faults->began >= SWEEP_MS)
        sweep(faults);
    for (size_t i = faults->all.count; i-- > 0;) {
        struct tainted *tainted = &faults->all.items[i];
        if (tainted->is_asked || now < tainted->again_at ||
            !kube_nodes_find(faults->nodes, tainted->node))
            continue;
        if (!tainted->is_over || !is_right(faults, tainted)) {
            write_taint(faults, tainted);
        } else if (!tainted->reason) {
            free(tainted->node);
            list_remove(&faults->all, i);
        }
    }
}
