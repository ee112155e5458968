/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/exporter/node_readings.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/text.h"
#include "engine/exporter/exporter_answer.h"
#include "io/log.h"

enum { TIMEOUT_MS = 3000, IDLE_MS = 1000, CONNECTIONS_MAX = 128, XIDS_MAX = 16 };

/* The XIDs of a device that were reported. */
struct known_device {
    struct watch_xid xids[WATCH_XIDS_MAX];
    uint32_t xid_count;
};

struct asked_node {
    char *name, *address;
    char (*uuids)[PROBE_UUID_SIZE]; /* of its GPUs */
    uint32_t gpus, expected;
    CURL *call; /* it is being asked; NULL: it is not */
    struct text body;
    usec_t answered;            /* when it last did */
    bool is_known;              /* its XIDs are */
    bool is_lost;               /* its devices were reported as not known */
    bool is_wrong;              /* its last answer could not be read */
    struct known_device *known; /* by index */
};

/* What is reported about a device. */
struct device_news {
    char uuid[PROBE_UUID_SIZE];
    struct reading reading;
    bool is_read;
    int64_t memory_mib; /* 0: not known */
    int code;
    char trouble[120];
    char pod[WATCH_POD_SIZE];
    uint32_t xids[XIDS_MAX], xid_count;
};

typedef LIST(struct asked_node) node_list;

struct node_readings {
    struct engine_reports reports;
    node_readings_pod_fn *on_pod; /* NULL: not wanted */
    void *user;
    uv_thread_t thread;
    uv_mutex_t mutex;
    uv_async_t async;
    /* with the mutex */
    node_list wanted; /* to be asked from the next round on */
    uint32_t port;
    bool is_changed, is_ending;
    LIST(struct device_news) news;
    /* of the thread */
    node_list nodes; /* their bodies must not move while they are asked */
    CURLM *multi;
    /* of the loop */
    uint64_t set;      /* hash of what was wanted last; 0: nothing was */
    struct map memory; /* hash of the device's name -> MiB */
};

static usec_t boot_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

static void forget_nodes(node_list *nodes)
{
    LIST_EACH (struct asked_node, node, nodes) {
        free(node->name);
        free(node->address);
        free(node->uuids);
        free(node->known);
        text_release(&node->body);
    }
    list_release(nodes);
}

/* ---- in the thread: news ---- */

static void add_news(struct node_readings *readings, const struct device_news *news)
{
    uv_mutex_lock(&readings->mutex);
    list_add(&readings->news, *news);
    uv_mutex_unlock(&readings->mutex);
    uv_async_send(&readings->async);
}

static bool was_known(const struct known_device *known, const struct watch_xid *xid,
                      uint64_t *ret_count)
{
    for (uint32_t i = 0; i < known->xid_count; i++) {
        if (known->xids[i].xid != xid->xid)
            continue;
        *ret_count = known->xids[i].count;
        return true;
    }
    return false;
}

/* Those that came since the last answer. An exporter that started again counts from 0. */
static void find_new_xids(const struct known_device *known, const struct exporter_device *device,
                          struct device_news *news)
{
    for (uint32_t i = 0; i < device->xid_count; i++) {
        uint64_t before = 0;
        const struct watch_xid *xid = &device->xids[i];
        bool is_old = was_known(known, xid, &before) && before == xid->count;
        if (!is_old && news->xid_count < XIDS_MAX)
            news->xids[news->xid_count++] = xid->xid;
    }
}

/* Its place among the GPUs of the node; their number: it is none of them. */
static uint32_t place_of(const struct asked_node *node, const struct exporter_device *device,
                         size_t count)
{
    for (uint32_t i = 0; i < node->gpus; i++) {
        if (strcmp(node->uuids[i], device->uuid) == 0)
            return i;
    }
    bool is_indexed =
        device->index < node->gpus && (node->expected == 0 || node->expected == count);
    const char *name = is_indexed ? node->uuids[device->index] : "";
    /* A node, too, may be called GPU-1. */
    bool is_uuid = string_starts(name, "GPU-") && !string_starts(name, node->name);
    return is_indexed && !is_uuid ? device->index : node->gpus;
}

static void tell_device(struct node_readings *readings, struct asked_node *node, uint32_t place,
                        const struct exporter_device *device)
{
    struct device_news news = {
        .reading = device->reading,
        .is_read = device->is_read || device->code<0, .memory_mib = device->memory_mib> 0
                       ? device->memory_mib
                       : 0,
        .code = device->code
    };
    struct known_device *known = &node->known[place];

    memcpy(news.uuid, node->uuids[place], sizeof(news.uuid));
    memcpy(news.pod, device->pod, sizeof(news.pod));
    snprintf(news.trouble, sizeof(news.trouble), "%s", device->trouble);
    news.reading.at = boot_time() - device->reading.at;
    if (node->is_known)
        find_new_xids(known, device, &news);
    memcpy(known->xids, device->xids, sizeof(known->xids));
    known->xid_count = device->xid_count;
    add_news(readings, &news);
}

static void tell_unknown(struct node_readings *readings, const struct asked_node *node,
                         uint32_t place)
{
    struct device_news news = { 0 };

    memcpy(news.uuid, node->uuids[place], sizeof(news.uuid));
    add_news(readings, &news);
}

static void tell_lost(struct node_readings *readings, struct asked_node *node)
{
    node->is_lost = true;
    for (uint32_t i = 0; i < node->gpus; i++)
        tell_unknown(readings, node, i);
}

/* ---- in the thread: questions ---- */

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    struct text *body = user;

    if (body->length + size * count > NODE_READINGS_BYTES_MAX)
        return 0;
    text_add_bytes(body, bytes, size * count);
    return size * count;
}

static void ask(struct node_readings *readings, struct asked_node *node, uint32_t port)
{
    bool is_ipv6 = strchr(node->address, ':') != NULL;
    AUTO_FREE char *url = mem_printf("http://%s%s%s:%" PRIu32 "/v1/gpus", is_ipv6 ? "[" : "",
                                     node->address, is_ipv6 ? "]" : "", port);

    node->call = curl_easy_init();
    if (!node->call)
        return;
    text_clear(&node->body);
    curl_easy_setopt(node->call, CURLOPT_URL, url);
    curl_easy_setopt(node->call, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(node->call, CURLOPT_PROXY, "");
    curl_easy_setopt(node->call, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(node->call, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    curl_easy_setopt(node->call, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(node->call, CURLOPT_USERAGENT, "tarn");
    curl_easy_setopt(node->call, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(node->call, CURLOPT_WRITEDATA, &node->body);
    curl_easy_setopt(node->call, CURLOPT_PRIVATE, node);
    curl_multi_add_handle(readings->multi, node->call);
}

static void take_answer(struct node_readings *readings, struct asked_node *node)
{
    struct exporter_answer answer;
    struct error err;

    if (exporter_answer_read(node->body.bytes, node->body.length, &answer, &err) < 0) {
        if (!node->is_wrong)
            log_line(LOG_WARNING, "an exporter's answer cannot be read node=%s reason='%s'",
                     node->name, err.text);
        node->is_wrong = true;
        return;
    }
    if (node->is_lost)
        log_line(LOG_NOTICE, "the exporter of a node answers again node=%s", node->name);
    node->answered = boot_time();
    node->is_wrong = node->is_lost = false;
    AUTO_FREE bool *is_told = mem_zero(node->gpus + 1, sizeof(is_told[0]));
    LIST_EACH (const struct exporter_device, device, &answer.devices) {
        uint32_t place = place_of(node, device, answer.devices.count);
        if (place == node->gpus || is_told[place])
            continue;
        is_told[place] = true;
        tell_device(readings, node, place, device);
    }
    for (uint32_t i = 0; i < node->gpus; i++) {
        if (!is_told[i])
            tell_unknown(readings, node, i);
    }
    node->is_known = true;
    exporter_answer_release(&answer);
}

static void end_call(struct node_readings *readings, struct asked_node *node)
{
    if (!node->call)
        return;
    curl_multi_remove_handle(readings->multi, node->call);
    curl_easy_cleanup(node->call);
    node->call = NULL;
}

static void take_answers(struct node_readings *readings)
{
    struct CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(readings->multi, &left))) {
        struct asked_node *node = NULL;
        bool is_good = message->data.result == CURLE_OK;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&node);
        end_call(readings, node);
        if (is_good)
            take_answer(readings, node);
        text_release(&node->body);
    }
}

/* One that has not answered the last question yet is not asked again. */
static void ask_all(struct node_readings *readings, uint32_t port)
{
    LIST_EACH (struct asked_node, node, &readings->nodes) {
        if (!node->call)
            ask(readings, node, port);
    }
}

static usec_t period_of(const struct node_readings *readings)
{
    usec_t period = (usec_t)readings->nodes.count * USEC_PER_SEC / NODE_READINGS_RATE;

    return period > USEC_PER_SEC ? period : USEC_PER_SEC;
}

static void look_for_lost(struct node_readings *readings)
{
    usec_t patience = NODE_READINGS_PATIENCE_S * USEC_PER_SEC;

    if (patience < 3 * period_of(readings))
        patience = 3 * period_of(readings);

    LIST_EACH (struct asked_node, node, &readings->nodes) {
        if (node->is_lost || boot_time() - node->answered <= patience)
            continue;
        log_line(LOG_WARNING, "the exporter of a node does not answer node=%s", node->name);
        tell_lost(readings, node);
    }
}

/* ---- in the thread: which nodes ---- */

static struct asked_node *find_node(const node_list *nodes, const char *name, size_t guess)
{
    if (guess < nodes->count && strcmp(nodes->items[guess].name, name) == 0)
        return &nodes->items[guess];
    LIST_EACH (struct asked_node, node, nodes) {
        if (strcmp(node->name, name) == 0)
            return node;
    }
    return NULL;
}

/* What is known about a node stays known. Those that are not asked any more are reported once. */
static void replace_nodes(struct node_readings *readings, node_list *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        struct asked_node *node = &wanted->items[i];
        struct asked_node *old = find_node(&readings->nodes, node->name, i);
        node->known = mem_zero(node->gpus + 1, sizeof(*node->known));
        node->answered = old ? old->answered : boot_time();
        node->is_lost = old && old->is_lost;
        node->is_wrong = old && old->is_wrong;
        node->is_known = old && old->is_known && old->gpus == node->gpus &&
                         memcmp(old->uuids, node->uuids, node->gpus * sizeof(*node->uuids)) == 0;
        if (node->is_known)
            memcpy(node->known, old->known, node->gpus * sizeof(*node->known));
        if (old)
            old->is_lost = true; /* the new entry reports it */
    }
    LIST_EACH (struct asked_node, node, &readings->nodes) {
        end_call(readings, node);
        if (!node->is_lost)
            tell_lost(readings, node);
    }
    forget_nodes(&readings->nodes);
    readings->nodes = *wanted;
}

/* With the mutex, which is released meanwhile. */
static void take_wanted(struct node_readings *readings)
{
    node_list wanted = readings->wanted;

    memset(&readings->wanted, 0, sizeof(readings->wanted));
    readings->is_changed = false;
    uv_mutex_unlock(&readings->mutex);
    replace_nodes(readings, &wanted);
    uv_mutex_lock(&readings->mutex);
}

static void run(void *arg)
{
    struct node_readings *readings = arg;
    usec_t due = 0;

    uv_mutex_lock(&readings->mutex);
    while (!readings->is_ending) {
        int running;
        if (readings->is_changed)
            take_wanted(readings);
        uint32_t port = readings->port;
        uv_mutex_unlock(&readings->mutex);
        if (port > 0 && boot_time() >= due) {
            due = boot_time() + period_of(readings);
            ask_all(readings, port);
            look_for_lost(readings);
        }
        curl_multi_perform(readings->multi, &running);
        take_answers(readings);
        int wait_ms = (int)((due - boot_time()) / USEC_PER_MS) + 1;
        if (wait_ms <= 0)
            wait_ms = IDLE_MS;
        curl_multi_poll(readings->multi, NULL, 0, wait_ms, NULL);
        uv_mutex_lock(&readings->mutex);
    }
    uv_mutex_unlock(&readings->mutex);
    LIST_EACH (struct asked_node, node, &readings->nodes)
        end_call(readings, node);
}

/* ---- in the thread of the loop ---- */

static void report(const struct node_readings *readings, const struct device_news *news)
{
    readings->reports.reading(
        readings->reports.user,
        &(struct engine_reading){ .uuid = news->uuid,
                                  .reading = news->is_read ? &news->reading : NULL,
                                  .code = news->code,
                                  .trouble = news->trouble,
                                  .xids = news->xids,
                                  .xid_count = news->xid_count });
    if (readings->on_pod && news->pod[0])
        readings->on_pod(readings->user, news->uuid, news->pod);
}

static void on_async(uv_async_t *async)
{
    struct node_readings *readings = async->data;

    uv_mutex_lock(&readings->mutex);
    LIST(struct device_news)
    news = { readings->news.items, readings->news.count, readings->news.capacity };
    memset(&readings->news, 0, sizeof(readings->news));
    uv_mutex_unlock(&readings->mutex);
    LIST_EACH (const struct device_news, one, &news) {
        if (one->memory_mib > 0)
            map_set(&readings->memory, map_hash(one->uuid, strlen(one->uuid)),
                    (uint64_t)one->memory_mib);
        report(readings, one);
    }
    list_release(&news);
}

void node_readings_fill(const struct node_readings *readings, struct probe_device *devices,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t mib;
        if (devices[i].memory_mib == PROBE_UNKNOWN &&
            map_get(&readings->memory, map_hash(devices[i].uuid, strlen(devices[i].uuid)), &mib))
            devices[i].memory_mib = (int64_t)mib;
    }
}

/* Never 0. */
static uint64_t hash_of(const struct readings_node *nodes, size_t count, uint32_t port)
{
    uint64_t hash = map_hash(&port, sizeof(port));

    for (size_t i = 0; i < count; i++) {
        const struct readings_node *node = &nodes[i];
        uint64_t parts[] = { hash, node->expected, map_hash(node->name, strlen(node->name)),
                             map_hash(node->address, strlen(node->address)),
                             map_hash(node->uuids, node->count * sizeof(node->uuids[0])) };
        hash = map_hash(parts, sizeof(parts));
    }
    return hash | 1;
}

void node_readings_follow(struct node_readings *readings, const struct readings_node *nodes,
                          size_t count, uint32_t port)
{
    node_list wanted = { 0 };
    uint64_t set = hash_of(nodes, port > 0 ? count : 0, port);

    if (readings->set == set)
        return;
    readings->set = set;
    for (size_t i = 0; port > 0 && i < count; i++) {
        size_t size = nodes[i].count * sizeof(nodes[i].uuids[0]);
        struct asked_node node = { .name = mem_string(nodes[i].name),
                                   .address = mem_string(nodes[i].address),
                                   .uuids = mem_zero(nodes[i].count + 1, sizeof(node.uuids[0])),
                                   .gpus = nodes[i].count,
                                   .expected = nodes[i].expected };
        memcpy(node.uuids, nodes[i].uuids, size);
        list_add(&wanted, node);
    }
    uv_mutex_lock(&readings->mutex);
    forget_nodes(&readings->wanted);
    readings->wanted = wanted;
    readings->port = port;
    readings->is_changed = true;
    uv_mutex_unlock(&readings->mutex);
    curl_multi_wakeup(readings->multi);
}

void node_readings_on_pod(struct node_readings *readings, node_readings_pod_fn *on_pod, void *user)
{
    readings->on_pod = on_pod;
    readings->user = user;
}

int node_readings_create(uv_loop_t *loop, const struct engine_reports *reports,
                         struct node_readings **ret, struct error *err)
{
    struct node_readings *readings = mem_zero(1, sizeof(*readings));

    readings->reports = *reports;
    readings->async.data = readings;
    readings->multi = curl_multi_init();
    if (!readings->multi) {
        free(readings);
        return error_set(err, -ENOMEM, "exporters: libcurl cannot be started");
    }
    curl_multi_setopt(readings->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)CONNECTIONS_MAX);
    uv_mutex_init(&readings->mutex);
    uv_async_init(loop, &readings->async, on_async);
    int code = uv_thread_create(&readings->thread, run, readings);
    if (code < 0)
        return error_set(err, code, "exporters: no thread: %s", uv_strerror(code));
    *ret = readings;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void node_readings_destroy(struct node_readings *readings)
{
    if (!readings)
        return;
    uv_mutex_lock(&readings->mutex);
    readings->is_ending = true;
    uv_mutex_unlock(&readings->mutex);
    curl_multi_wakeup(readings->multi);
    uv_thread_join(&readings->thread);
    forget_nodes(&readings->nodes);
    forget_nodes(&readings->wanted);
    list_release(&readings->news);
    map_release(&readings->memory);
    curl_multi_cleanup(readings->multi);
    uv_mutex_destroy(&readings->mutex);
    uv_close((uv_handle_t *)&readings->async, on_closed);
}
