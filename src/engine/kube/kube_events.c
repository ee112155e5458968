/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "engine/kube/client/kube_time.h"

#define PATH "/apis/events.k8s.io/v1/namespaces/%s/events"

enum {
    AGAIN_MS = 60000,
    SERIES_MS = 600000, /* the same words after this time are a new Event */
    KNOWN = 8192,       /* a power of two; another pod at the same place replaces one */
    PER_SECOND = 20,
    BURST = 200,
    NOTE_MAX = 1000, /* the API accepts 1024 bytes */
    NAME_MAX_SIZE = 230,
};

/* The last Event of a pod with one reason. */
struct known {
    uint64_t key, words; /* hashes; key 0: none */
    uint64_t written_at;
    uint64_t number; /* of its name */
    uint32_t count;
};

struct kube_events {
    struct kube_client *client;
    char instance[64];
    struct known known[KNOWN];
    uint64_t credit; /* thousandths of Events that may be written now */
    uint64_t credited_at;
};

static const struct {
    const char *type, *reason, *action;
} kinds[] = {
    [KUBE_EVENT_SCHEDULED] = { "Normal", "Scheduled", "Binding" },
    [KUBE_EVENT_WAITS] = { "Warning", "FailedScheduling", "Scheduling" },
    [KUBE_EVENT_STOPPED] = { "Normal", "Stopped", "Evicting" },
    [KUBE_EVENT_UNDONE] = { "Warning", "GangUndone", "Evicting" },
};

struct kube_events *kube_events_create(struct kube_client *client, const char *instance)
{
    struct kube_events *events = mem_zero(1, sizeof(*events));

    events->client = client;
    events->credit = BURST * 1000;
    snprintf(events->instance, sizeof(events->instance), "tarn-%s", instance);
    return events;
}

void kube_events_destroy(struct kube_events *events)
{
    free(events);
}

static bool may_write(struct kube_events *events, uint64_t now_ms)
{
    events->credit += (now_ms - events->credited_at) * PER_SECOND;
    events->credited_at = now_ms;
    if (events->credit > BURST * 1000)
        events->credit = BURST * 1000;
    if (events->credit < 1000)
        return false;
    events->credit -= 1000;
    return true;
}

/* At most so many bytes, and no part of a character. */
static char *cut(const char *words)
{
    size_t length = strnlen(words, NOTE_MAX);

    while (words[length] && length > 0 && (words[length] & 0xc0) == 0x80)
        length--;
    return mem_string_of(words, length);
}

static char *name_of(const struct kube_pod *pod, uint64_t number)
{
    return mem_printf("%.*s.%016" PRIx64, NAME_MAX_SIZE, pod->name, number);
}

static void create(struct kube_events *events, const struct kube_pod *pod,
                   enum kube_event_kind kind, const char *words, uint64_t number)
{
    AUTO_FREE char *path = mem_printf(PATH, pod->namespace), *note = cut(words);
    AUTO_FREE char *name = name_of(pod, number);
    char now[KUBE_TIME_SIZE];

    kube_time_now(now);
    json_t *body = json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s}}",
        "apiVersion", "events.k8s.io/v1", "kind", "Event", "metadata", "name", name, "namespace",
        pod->namespace, "eventTime", now, "reportingController", "tarn", "reportingInstance",
        events->instance, "type", kinds[kind].type, "reason", kinds[kind].reason, "action",
        kinds[kind].action, "note", note, "regarding", "apiVersion", "v1", "kind", "Pod",
        "namespace", pod->namespace, "name", pod->name, "uid", pod->uid);
    kube_client_call(events->client,
                     &(struct kube_call){ .method = "POST", .path = path, .body = body });
}

static void count_again(struct kube_events *events, const struct kube_pod *pod,
                        const struct known *known)
{
    AUTO_FREE char *name = name_of(pod, known->number);
    AUTO_FREE char *path = mem_printf(PATH "/%s", pod->namespace, name);
    char now[KUBE_TIME_SIZE];

    kube_time_now(now);
    json_t *body =
        json_pack("{s:{s:i, s:s}}", "series", "count", (int)known->count, "lastObservedTime", now);
    kube_client_call(events->client, &(struct kube_call){ .method = "PATCH",
                                                          .path = path,
                                                          .type = "application/merge-patch+json",
                                                          .body = body });
}

void kube_events_say(struct kube_events *events, const struct kube_pod *pod,
                     enum kube_event_kind kind, const char *words, uint64_t now_ms)
{
    AUTO_FREE char *about = mem_printf("%d %s", (int)kind, pod->uid);
    uint64_t key = map_hash(about, strlen(about)) | 1, said = map_hash(words, strlen(words));
    struct known *known = &events->known[key / 2 % KNOWN];
    bool is_known = known->key == key;
    bool is_same = is_known && known->words == said && now_ms - known->written_at < SERIES_MS;

    if ((is_known && now_ms - known->written_at < AGAIN_MS) || !may_write(events, now_ms))
        return;
    known->written_at = now_ms;
    if (is_same) {
        known->count++;
        count_again(events, pod, known);
        return;
    }
    char time[KUBE_TIME_SIZE];
    kube_time_now(time);
    AUTO_FREE char *unique = mem_printf("%s %s", about, time);
    *known = (struct known){ .key = key,
                             .words = said,
                             .written_at = now_ms,
                             .number = map_hash(unique, strlen(unique)),
                             .count = 1 };
    create(events, pod, kind, words, known->number);
}
