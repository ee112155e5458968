/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_mirrors.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_group.h"
#include "io/log.h"

#define API    "/apis/tarn.dev/v1alpha1"
#define QUEUES API "/queues"
#define APPLY  "?fieldManager=tarn&force=true"

enum {
    LOOK_MS = 10000,
    WRITE_MS = 60000,
    PAGE = 500,
};

/* The mirror of a queue, as it was written last. */
struct known_queue {
    char *name;
    uint64_t words;
    bool is_there;
};

struct kube_mirrors {
    struct kube_client *client;
    bool is_known, is_on; /* whether the cluster has the definitions */
    struct map shown;     /* hashes of the paths of workloads */
    LIST(struct known_queue) queues;
    void (*looked)(void *user);
    void *user;
};

struct kube_mirrors *kube_mirrors_create(struct kube_client *client)
{
    struct kube_mirrors *mirrors = mem_zero(1, sizeof(*mirrors));

    mirrors->client = client;
    return mirrors;
}

void kube_mirrors_destroy(struct kube_mirrors *mirrors)
{
    if (!mirrors)
        return;
    for (size_t i = 0; i < mirrors->queues.count; i++)
        free(mirrors->queues.items[i].name);
    list_release(&mirrors->queues);
    map_release(&mirrors->shown);
    free(mirrors);
}

static void on_looked(void *user, const struct kube_reply *reply)
{
    struct kube_mirrors *mirrors = user;

    mirrors->is_known = true;
    mirrors->is_on = kube_reply_is_ok(reply);
    if (mirrors->is_on)
        log_line(LOG_INFO, "shows workloads and queues as objects of tarn.dev");
    mirrors->looked(mirrors->user);
}

void kube_mirrors_look(struct kube_mirrors *mirrors, void (*done)(void *user), void *user)
{
    mirrors->looked = done;
    mirrors->user = user;
    kube_client_call(mirrors->client, &(struct kube_call){ .method = "GET",
                                                           .path = API,
                                                           .patience_ms = LOOK_MS,
                                                           .done = on_looked,
                                                           .user = mirrors });
}

bool kube_mirrors_are_on(const struct kube_mirrors *mirrors)
{
    return mirrors->is_on;
}

/* ---- objects ---- */

static uint64_t hash_of(const char *text)
{
    return map_hash(text, strlen(text));
}

/* "8", "0.5" */
static json_t *gpus_of(int64_t milli)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRId64 ".%03" PRId64, milli / 1000, milli % 1000);
    size_t length = strlen(text);
    while (text[length - 1] == '0')
        text[--length] = '\0';
    if (text[length - 1] == '.')
        text[--length] = '\0';
    return json_string(text);
}

static void apply(struct kube_mirrors *mirrors, const char *path, const char *kind, json_t *status)
{
    AUTO_FREE char *applied = mem_printf("%s" APPLY, path);
    json_t *body = json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "tarn.dev/v1alpha1", "kind",
                             kind, "metadata", "name", strrchr(path, '/') + 1, "status", status);

    kube_client_call(mirrors->client, &(struct kube_call){ .method = "PATCH",
                                                           .path = applied,
                                                           .type = "application/apply-patch+yaml",
                                                           .body = body,
                                                           .patience_ms = WRITE_MS });
}

static void delete (struct kube_mirrors *mirrors, const char *path)
{
    kube_client_call(
        mirrors->client,
        &(struct kube_call){ .method = "DELETE", .path = path, .patience_ms = WRITE_MS });
}

/* ---- workloads ---- */

char *kube_mirrors_path(const struct kube_mirrors *mirrors, const char *namespace,
                        const char *title, const char *key)
{
    AUTO_FREE char *name = kube_object_name(title, key);

    return mirrors->is_on ? mem_printf(API "/namespaces/%s/workloads/%s", namespace, name) : NULL;
}

void kube_mirrors_show(struct kube_mirrors *mirrors, const char *path,
                       const struct engine_view *view)
{
    if (!mirrors->is_on)
        return;
    map_set(&mirrors->shown, hash_of(path), 1);
    apply(mirrors, path, "Workload",
          json_pack("{s:I, s:s, s:s, s:o, s:s, s:s}", "job", (json_int_t)view->job, "state",
                    view->state, "queue", view->queue, "gpus", gpus_of(view->milli), "start",
                    view->start, "reason", view->reason));
}

void kube_mirrors_drop(struct kube_mirrors *mirrors, const char *path)
{
    uint64_t ignored;

    if (!path || !map_get(&mirrors->shown, hash_of(path), &ignored))
        return;
    map_remove(&mirrors->shown, hash_of(path));
    delete (mirrors, path);
}

/* ---- queues ---- */

/* The names of queues are those of the API but for capitals, "_" and what is above a queue. */
static char *queue_path(const char *name)
{
    char *path = mem_printf(QUEUES "/%s", name);
    bool is_plain = true;

    for (char *at = path + strlen(QUEUES "/"); *at; at++) {
        is_plain &= islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '-';
        *at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '-';
    }
    if (is_plain)
        return path;
    char *unique = mem_printf("%s-%08" PRIx32, path, (uint32_t)hash_of(name));
    free(path);
    return unique;
}

static json_t *amount(int64_t milli)
{
    return milli < 0 ? json_string("none") : gpus_of(milli);
}

static json_t *status_of(const struct engine_queue *queue)
{
    int64_t borrowed = queue->used - (queue->guarantee > 0 ? queue->guarantee : 0);

    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:i}", "queue", queue->name, "guarantee",
                     amount(queue->guarantee), "limit", amount(queue->limit), "used",
                     gpus_of(queue->used), "borrowed", gpus_of(borrowed > 0 ? borrowed : 0),
                     "waiting", (int)queue->waiting, "running", (int)queue->running);
}

static struct known_queue *find_queue(struct kube_mirrors *mirrors, const char *name)
{
    LIST_EACH (struct known_queue, known, &mirrors->queues) {
        if (strcmp(known->name, name) == 0)
            return known;
    }
    list_add(&mirrors->queues, (struct known_queue){ .name = mem_string(name) });
    return &mirrors->queues.items[mirrors->queues.count - 1];
}

static void show_queue(struct kube_mirrors *mirrors, const struct engine_queue *queue)
{
    struct known_queue *known = find_queue(mirrors, queue->name);
    json_t *status = status_of(queue);
    AUTO_FREE char *words = json_dumps(status, JSON_COMPACT | JSON_SORT_KEYS);
    AUTO_FREE char *path = queue_path(queue->name);
    uint64_t hash = hash_of(words) | 1;

    known->is_there = true;
    if (known->words == hash) {
        json_decref(status);
        return;
    }
    known->words = hash;
    apply(mirrors, path, "Queue", status);
}

void kube_mirrors_show_queues(struct kube_mirrors *mirrors, const struct engine_queue *queues,
                              size_t count)
{
    if (!mirrors->is_on)
        return;
    LIST_EACH (struct known_queue, known, &mirrors->queues) {
        known->is_there = false;
    }
    for (size_t i = 0; i < count; i++)
        show_queue(mirrors, &queues[i]);
    for (size_t i = mirrors->queues.count; i-- > 0;) {
        struct known_queue *known = &mirrors->queues.items[i];
        if (known->is_there)
            continue;
        AUTO_FREE char *path = queue_path(known->name);
        delete (mirrors, path);
        free(known->name);
        list_remove(&mirrors->queues, i);
    }
}

/* ---- what an earlier daemon left ---- */

static void on_page(void *user, const struct kube_reply *reply);

static void ask_page(struct kube_mirrors *mirrors, const char *more)
{
    AUTO_FREE char *path =
        mem_printf(API "/workloads?limit=%d%s%s", PAGE, more[0] ? "&continue=" : "", more);

    kube_client_call(mirrors->client, &(struct kube_call){ .method = "GET",
                                                           .path = path,
                                                           .patience_ms = WRITE_MS,
                                                           .done = on_page,
                                                           .user = mirrors });
}

static void on_page(void *user, const struct kube_reply *reply)
{
    struct kube_mirrors *mirrors = user;
    const json_t *about = json_object_get(reply->body, "metadata");
    json_t *item;
    size_t i;
    uint64_t ignored;

    if (!kube_reply_is_ok(reply))
        return;
    json_array_foreach(json_object_get(reply->body, "items"), i, item)
    {
        const json_t *its = json_object_get(item, "metadata");
        AUTO_FREE char *path = mem_printf(API "/namespaces/%s/workloads/%s",
                                          kube_text(its, "namespace"), kube_text(its, "name"));
        if (!map_get(&mirrors->shown, hash_of(path), &ignored))
            delete (mirrors, path);
    }
    if (kube_text(about, "continue")[0])
        ask_page(mirrors, kube_text(about, "continue"));
}

static void on_queues(void *user, const struct kube_reply *reply)
{
    struct kube_mirrors *mirrors = user;
    json_t *item;
    size_t i;

    if (!kube_reply_is_ok(reply))
        return;
    json_array_foreach(json_object_get(reply->body, "items"), i, item)
    {
        AUTO_FREE char *path =
            mem_printf(QUEUES "/%s", kube_text(json_object_get(item, "metadata"), "name"));
        bool is_known = false;
        LIST_EACH (const struct known_queue, known, &mirrors->queues) {
            AUTO_FREE char *its = queue_path(known->name);
            is_known |= strcmp(its, path) == 0;
        }
        if (!is_known)
            delete (mirrors, path);
    }
}

bool kube_mirrors_sweep(struct kube_mirrors *mirrors)
{
    if (!mirrors->is_on)
        return mirrors->is_known;
    if (mirrors->queues.count == 0)
        return false; /* there is always one: they were not shown yet */
    ask_page(mirrors, "");
    kube_client_call(mirrors->client, &(struct kube_call){ .method = "GET",
                                                           .path = QUEUES,
                                                           .patience_ms = WRITE_MS,
                                                           .done = on_queues,
                                                           .user = mirrors });
    return true;
}
