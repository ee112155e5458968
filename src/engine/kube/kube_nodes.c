/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_nodes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_fits.h"
#include "wire/json.h"

enum {
    LABELS_MAX = 950,
    CONDITIONS_MAX = 60, /* all of them fit into the labels of a node */
    FORGET_MS = 600000,
};

/* A set of conditions of pods, and the label that stands for it. */
struct condition {
    char *label;
    json_t *fits;
    uint64_t asked_at; /* uv_now(), the last time */
};

/* Devices of one resource that foreign pods have on a node. */
struct foreign {
    char *resource;
    uint32_t count;
};

/* A node, also one that only pods name so far (about NULL). */
struct entry {
    char *name;
    struct kube_node *about;
    int64_t cpu_milli, memory_mib; /* of foreign pods */
    int64_t pods;                  /* all */
    LIST(struct foreign) foreign;
    LIST(char *) held; /* devices that jobs of tarn hold: UUIDs or indices */
    bool is_seen, is_dirty;
};

struct kube_nodes {
    struct engine_options options;
    const struct kube_claims *claims;
    struct kube_dra *dra;
    struct kube_rules *rules;
    void (*each)(void *user); /* NULL: none; see kube_nodes_on_each() */
    void *each_user;
    const struct node_readings *readings; /* memory of devices; NULL: none */
    uint32_t port;                        /* of the exporters that are asked */
    bool is_moved;                        /* nodes or their devices have changed since */
    uint64_t dra_version;                 /* of the labels that were reported */
    LIST(struct entry) all;
    struct map by_name; /* hash of the name -> place plus one */
    LIST(struct condition) conditions;
    bool is_complete, is_dirty; /* is_dirty: any of them may be */
    bool is_exact;              /* tarn chooses the devices of pods */
};

static const struct kube_node *about_of(void *user, size_t node)
{
    const struct kube_nodes *nodes = user;

    return node < nodes->all.count ? nodes->all.items[node].about : NULL;
}

static void count_pods(void *user)
{
    const struct kube_nodes *nodes = user;

    if (nodes->each)
        nodes->each(nodes->each_user);
}

struct kube_nodes *kube_nodes_create(const struct engine_options *options,
                                     const struct kube_claims *claims, struct kube_dra *dra)
{
    struct kube_nodes *nodes = mem_zero(1, sizeof(*nodes));

    nodes->options = *options;
    nodes->claims = claims;
    nodes->dra = dra;
    nodes->rules = kube_rules_create(
        &(struct kube_rules_world){ .about = about_of, .each = count_pods, .user = nodes });
    nodes->is_exact = options->at_start->kube_exact;
    return nodes;
}

void kube_nodes_destroy(struct kube_nodes *nodes)
{
    if (!nodes)
        return;
    LIST_EACH (struct entry, entry, &nodes->all) {
        free(entry->name);
        kube_node_destroy(entry->about);
        for (size_t i = 0; i < entry->foreign.count; i++)
            free(entry->foreign.items[i].resource);
        for (size_t i = 0; i < entry->held.count; i++)
            free(entry->held.items[i]);
        list_release(&entry->foreign);
        list_release(&entry->held);
    }
    LIST_EACH (struct condition, condition, &nodes->conditions) {
        free(condition->label);
        json_decref(condition->fits);
    }
    kube_rules_destroy(nodes->rules);
    list_release(&nodes->all);
    list_release(&nodes->conditions);
    map_release(&nodes->by_name);
    free(nodes);
}

static struct entry *find(const struct kube_nodes *nodes, const char *name)
{
    uint64_t place;

    if (!map_get(&nodes->by_name, map_hash(name, strlen(name)), &place))
        return NULL;
    struct entry *entry = &nodes->all.items[place - 1];
    return strcmp(entry->name, name) == 0 ? entry : NULL;
}

static struct entry *find_or_add(struct kube_nodes *nodes, const char *name)
{
    struct entry *entry = find(nodes, name);

    if (entry)
        return entry;
    list_add(&nodes->all, (struct entry){ .name = mem_string(name) });
    map_set(&nodes->by_name, map_hash(name, strlen(name)), nodes->all.count);
    return &nodes->all.items[nodes->all.count - 1];
}

/* ---- nodes ---- */

static void mark(struct kube_nodes *nodes, struct entry *entry, bool is_dirty)
{
    entry->is_dirty |= is_dirty;
    nodes->is_dirty |= is_dirty;
}

void kube_nodes_begin(struct kube_nodes *nodes)
{
    LIST_EACH (struct entry, entry, &nodes->all)
        entry->is_seen = false;
}

void kube_nodes_see(struct kube_nodes *nodes, struct kube_node *node)
{
    struct entry *entry = find_or_add(nodes, node->name);

    bool is_news = !entry->about || !kube_node_is_same(entry->about, node);
    entry->is_seen = true;
    mark(nodes, entry, is_news);
    nodes->is_moved |= is_news;
    kube_node_destroy(entry->about);
    entry->about = node;
    if (is_news)
        kube_rules_touch(nodes->rules, nodes->all.count);
}

static void lose(struct kube_nodes *nodes, struct entry *entry)
{
    kube_node_destroy(entry->about);
    entry->about = NULL;
    nodes->is_moved = true;
    kube_rules_touch(nodes->rules, nodes->all.count);
    mark(nodes, entry, true);
}

void kube_nodes_gone(struct kube_nodes *nodes, struct kube_node *node)
{
    struct entry *entry = find(nodes, node->name);

    if (entry)
        lose(nodes, entry);
    kube_node_destroy(node);
}

void kube_nodes_end(struct kube_nodes *nodes)
{
    LIST_EACH (struct entry, entry, &nodes->all)
        if (!entry->is_seen && entry->about)
            lose(nodes, entry);
}

const struct kube_node *kube_nodes_find(const struct kube_nodes *nodes, const char *name)
{
    const struct entry *entry = find(nodes, name);

    return entry ? entry->about : NULL;
}

bool kube_nodes_are_exact(const struct kube_nodes *nodes)
{
    return nodes->is_exact;
}

bool kube_nodes_have(const struct kube_nodes *nodes, const char *resource)
{
    LIST_EACH (const struct entry, entry, &nodes->all) {
        for (uint32_t i = 0; entry->about && i < entry->about->device_count; i++) {
            if (strcmp(entry->about->resources[i], resource) == 0)
                return true;
        }
    }
    return false;
}

/* ---- what pods have ---- */

static void charge_devices(struct entry *entry, const char *resource, int64_t count)
{
    LIST_EACH (struct foreign, foreign, &entry->foreign) {
        if (strcmp(foreign->resource, resource) != 0)
            continue;
        foreign->count = (uint32_t)(foreign->count + count);
        return;
    }
    struct foreign added = { .resource = mem_string(resource), .count = (uint32_t)count };
    list_add(&entry->foreign, added);
}

static bool is_full(const struct entry *entry)
{
    return entry->about && entry->pods >= entry->about->pods_max;
}

void kube_nodes_charge(struct kube_nodes *nodes, const struct kube_pod *pod, bool is_there,
                       bool is_ours)
{
    struct entry *entry = find_or_add(nodes, pod->node);
    int64_t sign = is_there ? 1 : -1;
    bool was_full = is_full(entry);

    entry->pods += sign;
    kube_nodes_assume(nodes, pod, pod->node, is_there);
    mark(nodes, entry, !is_ours || was_full != is_full(entry));
    if (is_ours)
        return;
    entry->cpu_milli += sign * pod->cpu_milli;
    entry->memory_mib += sign * pod->memory_mib;
    if (pod->device_count > 0 && !pod->share[0] && pod->device[0])
        charge_devices(entry, pod->device, sign * pod->device_count);
}

void kube_nodes_on_each(struct kube_nodes *nodes, void (*each)(void *user), void *user)
{
    nodes->each = each;
    nodes->each_user = user;
}

struct kube_rules *kube_nodes_rules(struct kube_nodes *nodes)
{
    return nodes->rules;
}

static size_t number_of(struct kube_nodes *nodes, const char *node)
{
    return (size_t)(find_or_add(nodes, node) - nodes->all.items);
}

void kube_nodes_assume(struct kube_nodes *nodes, const struct kube_pod *pod, const char *node,
                       bool is_there)
{
    kube_rules_charge(nodes->rules, pod, number_of(nodes, node), is_there ? 1 : -1);
}

json_t *kube_nodes_forbid(struct kube_nodes *nodes, const struct kube_pod *pod, struct error *err)
{
    return kube_rules_ask(nodes->rules, pod, uv_now(nodes->options.loop), err);
}

bool kube_nodes_allow(struct kube_nodes *nodes, const struct kube_pod *pod, const char *node,
                      uint64_t *ret_added, struct error *err)
{
    return kube_rules_allow(nodes->rules, pod, number_of(nodes, node), uv_now(nodes->options.loop),
                            ret_added, err);
}

static bool is_held(const struct entry *entry, uint32_t index, const char *uuid)
{
    char number[16];

    snprintf(number, sizeof(number), "%" PRIu32, index);
    for (size_t i = 0; i < entry->held.count; i++) {
        const char *held = entry->held.items[i];
        if (strcmp(held, number) == 0 || strcmp(held, uuid) == 0)
            return true;
    }
    return false;
}

static void let_go(struct entry *entry, const char *device)
{
    for (size_t i = 0; i < entry->held.count; i++) {
        if (strcmp(entry->held.items[i], device) != 0)
            continue;
        free(entry->held.items[i]);
        list_remove(&entry->held, i);
        return;
    }
}

void kube_nodes_hold(struct kube_nodes *nodes, const char *node, const char *devices,
                     bool is_held_now)
{
    struct entry *entry = find_or_add(nodes, node);

    for (const char *at = devices; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        AUTO_FREE char *device = mem_string_of(at, length);
        if (is_held_now)
            list_add(&entry->held, TAKE(device));
        else
            let_go(entry, device);
        at += length;
    }
    mark(nodes, entry, entry->foreign.count > 0 || kube_dra_has(nodes->dra, node, devices));
}

/* Conditions that no pod has had for a while. */
static void forget_conditions(struct kube_nodes *nodes, uint64_t now)
{
    for (size_t i = nodes->conditions.count; i-- > 0;) {
        struct condition *condition = &nodes->conditions.items[i];
        if (now - condition->asked_at < FORGET_MS)
            continue;
        free(condition->label);
        json_decref(condition->fits);
        list_remove(&nodes->conditions, i);
    }
}

/* Takes the conditions over. */
static const char *label_of(struct kube_nodes *nodes, json_t *fits, struct error *err)
{
    AUTO(json) json_t *owned = fits;
    AUTO_FREE char *label = kube_fits_label(fits);
    uint64_t now = uv_now(nodes->options.loop);

    LIST_EACH (struct condition, condition, &nodes->conditions) {
        if (strcmp(condition->label, label) != 0)
            continue;
        condition->asked_at = now;
        return condition->label;
    }
    if (nodes->conditions.count >= CONDITIONS_MAX)
        forget_conditions(nodes, now);
    if (nodes->conditions.count >= CONDITIONS_MAX) {
        error_set(err, -ENOSPC,
                  "the pods of the cluster have too many different node selectors, affinities and "
                  "tolerations");
        return NULL;
    }
    struct condition added = { .label = TAKE(label), .fits = TAKE(owned), .asked_at = now };
    list_add(&nodes->conditions, added);
    LIST_EACH (struct entry, entry, &nodes->all)
        mark(nodes, entry, true);
    return nodes->conditions.items[nodes->conditions.count - 1].label;
}

const char *kube_nodes_label(struct kube_nodes *nodes, const struct kube_pod *pod,
                             struct error *err)
{
    json_t *fits = kube_claims_fits(nodes->claims, pod, err);

    if (fits && pod->places) { /* as those of volumes */
        json_t *volumes = json_array(), *copy = json_copy(fits);
        json_array_extend(volumes, json_object_get(fits, "volumes"));
        json_array_extend(volumes, pod->places);
        json_object_set_new(copy, "volumes", volumes);
        json_decref(fits);
        fits = copy;
    }
    return fits ? label_of(nodes, fits, err) : NULL;
}

const char *kube_nodes_device_label(struct kube_nodes *nodes, const struct kube_pod *pod,
                                    const char **ret_kind, struct error *err)
{
    return kube_dra_label(nodes->dra, pod, uv_now(nodes->options.loop), ret_kind, err);
}

bool kube_nodes_have_labelled(const struct kube_nodes *nodes)
{
    LIST_EACH (const struct entry, entry, &nodes->all) {
        for (uint32_t i = 0; entry->about && i < entry->about->device_count; i++) {
            if (kube_device_name(entry->about->resources[i])->label[0])
                return true;
        }
    }
    return false;
}

bool kube_nodes_have_claimed(const struct kube_nodes *nodes)
{
    return kube_dra_is_used(nodes->dra);
}

void kube_nodes_touch(struct kube_nodes *nodes, const char *node)
{
    struct entry *only = find(nodes, node);

    if (only)
        mark(nodes, only, true);
    LIST_EACH (struct entry, entry, &nodes->all) {
        if (!node[0] && entry->about)
            mark(nodes, entry, true);
    }
}

bool kube_nodes_claim_waits(const struct kube_nodes *nodes, const struct kube_pod *pod,
                            const char *name)
{
    return kube_claims_wait(nodes->claims, pod, name);
}

char *kube_nodes_spell(const struct kube_nodes *nodes, const char *words)
{
    struct text text = { 0 };

    while (*words) {
        size_t length = 0;
        AUTO_FREE char *devices = kube_dra_spell(nodes->dra, words, &length);
        const struct condition *found = NULL;
        text_add(&text, devices ? devices : "");
        words += length;
        if (devices)
            continue;
        if (words[0] == '!' && kube_rules_spell(nodes->rules, words + 1, &length, &text)) {
            words += 1 + length;
            continue;
        }
        LIST_EACH (const struct condition, condition, &nodes->conditions) {
            if (string_starts(words, condition->label))
                found = condition;
        }
        if (found) {
            AUTO_FREE char *meant = kube_fits_words(found->fits);
            text_add(&text, meant);
            words += strlen(found->label);
        } else {
            text_add_char(&text, *words++);
        }
    }
    return text_take(&text);
}

/* ---- reports ---- */

/* The labels that jobs of pods require, and plain ones, which tarn's own jobs may name. */
static char *labels_of(const struct kube_nodes *nodes, const struct entry *entry)
{
    struct text text = { 0 };
    const char *key;
    json_t *value;

    LIST_EACH (const struct condition, condition, &nodes->conditions) {
        if (kube_fits(condition->fits, entry->name, entry->about->labels, entry->about->taints) &&
            text.length < LABELS_MAX)
            text_printf(&text, "%s%s", text.length > 0 ? "," : "", condition->label);
    }
    kube_rules_label(nodes->rules, (size_t)(entry - nodes->all.items), LABELS_MAX, &text);
    json_object_foreach(entry->about->labels, key, value)
    {
        const char *words = json_string_value(value);
        if (!string_is_name(key, 63) || !words || (words[0] && !string_is_name(words, 63)) ||
            text.length + strlen(key) + strlen(words) > LABELS_MAX)
            continue;
        text_printf(&text, "%s%s%s%s", text.length > 0 ? "," : "", key, words[0] ? "=" : "", words);
    }
    return text_take(&text);
}

/* The last devices that no job of tarn holds are those that foreign pods have. Devices of slices
 * follow; claims that jobs of tarn hold do not occupy them. */
static struct probe_device *devices_of(const struct entry *entry,
                                       const struct kube_dra_devices *more)
{
    const struct kube_node *about = entry->about;
    uint32_t count = about->device_count;
    struct probe_device *devices = mem_zero(count + more->count + 1, sizeof(devices[0]));

    mem_copy(devices, about->devices, count * sizeof(devices[0]));
    mem_copy(devices + count, more->devices, more->count * sizeof(devices[0]));
    for (uint32_t i = 0; i < more->count; i++) {
        struct probe_device *device = &devices[count + i];
        if (!device->is_occupied || !is_held(entry, count + i, device->uuid))
            continue;
        device->is_occupied = false;
        device->sick[0] = '\0';
    }
    LIST_EACH (const struct foreign, foreign, &entry->foreign) {
        uint32_t left = foreign->count;
        for (uint32_t i = about->device_count; i-- > 0 && left > 0;) {
            if (strcmp(about->resources[i], foreign->resource) != 0 ||
                is_held(entry, i, devices[i].uuid))
                continue;
            devices[i].is_occupied = true;
            snprintf(devices[i].sick, sizeof(devices[i].sick),
                     "used by a pod that tarn did not start");
            left--;
        }
    }
    return devices;
}

/* What a device plugin offers serves only pods that request it. */
static struct engine_device_note *notes_of(const struct kube_node *about,
                                           const struct kube_dra_devices *more)
{
    struct engine_device_note *notes =
        mem_zero(about->device_count + more->count + 1, sizeof(notes[0]));

    for (uint32_t i = 0; i < about->device_count; i++)
        notes[i] = (struct engine_device_note){ kube_device_name(about->resources[i])->label, "" };
    mem_copy(notes + about->device_count, more->notes, more->count * sizeof(notes[0]));
    return notes;
}

/* ---- exporters ---- */

/* Whole GPUs that a driver numbers; those of MIG and time-slicing are other devices. */
static bool is_numbered(const char *resource)
{
    const struct kube_device_name *name = kube_device_name(resource);

    return !name->kind[0] && !kube_mig_profile(resource) &&
           strcmp(resource, "nvidia.com/gpu.shared") != 0;
}

/* Of one resource only: two would count from 0, both of them. */
static void list_names(const struct kube_nodes *nodes, const struct kube_node *about,
                       struct readings_node *ret)
{
    struct kube_dra_devices more;
    const char *resource = NULL;

    kube_dra_devices_of(nodes->dra, about, &more);
    ret->uuids = mem_zero(about->device_count + more.count + 1, sizeof(ret->uuids[0]));
    for (uint32_t i = 0; i < about->device_count; i++) {
        if (!is_numbered(about->resources[i]) ||
            (resource && strcmp(resource, about->resources[i]) != 0))
            continue;
        resource = about->resources[i];
        memcpy(ret->uuids[ret->count++], about->devices[i].uuid, sizeof(ret->uuids[0]));
    }
    ret->expected = ret->count;
    for (uint32_t i = 0; i < more.count; i++) {
        if (string_starts(more.devices[i].uuid, "GPU-"))
            memcpy(ret->uuids[ret->count++], more.devices[i].uuid, sizeof(ret->uuids[0]));
    }
    kube_dra_devices_release(&more);
}

void kube_nodes_follow(struct kube_nodes *nodes, struct node_readings *readings, uint32_t port)
{
    LIST(struct readings_node) asked = { 0 };

    if (!nodes->is_moved && nodes->port == port)
        return;
    nodes->is_moved = false;
    nodes->port = port;
    nodes->readings = readings;
    for (size_t i = 0; port > 0 && i < nodes->all.count; i++) {
        const struct kube_node *about = nodes->all.items[i].about;
        if (!about || about->is_down || !about->address[0])
            continue;
        struct readings_node node = { .name = about->name, .address = about->address };
        list_names(nodes, about, &node);
        if (node.count > 0)
            list_add(&asked, node);
        else
            free(node.uuids);
    }
    node_readings_follow(readings, asked.items, asked.count, port);
    LIST_EACH (struct readings_node, node, &asked)
        free(node->uuids);
    list_release(&asked);
}

bool kube_nodes_have_device(const struct kube_nodes *nodes, const char *node, const char *uuid)
{
    const struct kube_node *about = kube_nodes_find(nodes, node);

    for (uint32_t i = 0; about && i < about->device_count; i++) {
        if (strcmp(about->devices[i].uuid, uuid) == 0)
            return true;
    }
    return false;
}

const char *kube_nodes_name(const struct kube_nodes *nodes, size_t n)
{
    return n < nodes->all.count ? nodes->all.items[n].name : NULL;
}

const char *kube_nodes_taint(const struct kube_nodes *nodes, const char *node, const char *key)
{
    const struct kube_node *about = kube_nodes_find(nodes, node);
    json_t *taint;
    size_t i;

    json_array_foreach(about ? about->taints : NULL, i, taint)
    {
        if (strcmp(kube_text(taint, "key"), key) == 0)
            return kube_text(taint, "value");
    }
    return NULL;
}

/* ---- what is left ---- */

static int64_t left_of(int64_t all, int64_t foreign)
{
    return all > foreign ? all - foreign : 0;
}

static void report(struct kube_nodes *nodes, struct entry *entry)
{
    const struct engine_reports *reports = &nodes->options.reports;
    const struct kube_node *about = entry->about;

    entry->is_dirty = false;
    if (!about)
        return;
    struct kube_dra_devices more;
    kube_dra_devices_of(nodes->dra, about, &more);
    AUTO_FREE char *labels = labels_of(nodes, entry);
    AUTO_FREE struct probe_device *devices = devices_of(entry, &more);
    AUTO_FREE struct engine_device_note *notes = notes_of(about, &more);
    struct engine_node node = {
        .name = about->name,
        .rack = about->rack,
        .block = about->block,
        .boot = about->boot,
        .reason = about->is_down || about->is_drained ? about->reason
                  : is_full(entry)                    ? "Kubernetes: it has as many pods as it may"
                                                      : NULL,
        .labels = labels,
        .cpu_milli = left_of(about->cpu_milli, entry->cpu_milli),
        .memory_mib = left_of(about->memory_mib, entry->memory_mib),
        .is_down = about->is_down,
        .is_drained = about->is_drained || is_full(entry),
        .devices = devices,
        .notes = notes,
        .device_count = about->device_count + more.count,
    };
    if (nodes->readings)
        node_readings_fill(nodes->readings, devices, about->device_count);
    reports->node(reports->user, &node, false);
    kube_dra_devices_release(&more);
}

static void report_lost(struct kube_nodes *nodes, struct entry *entry)
{
    const struct engine_reports *reports = &nodes->options.reports;
    struct engine_node node = { .name = entry->name,
                                .reason = "Kubernetes: the node was deleted",
                                .is_down = true };

    entry->is_dirty = false;
    reports->node(reports->user, &node, false);
}

static void on_excluded(void *user, size_t node)
{
    struct kube_nodes *nodes = user;

    mark(nodes, &nodes->all.items[node], true);
}

void kube_nodes_report(struct kube_nodes *nodes, bool all)
{
    const struct engine_reports *reports = &nodes->options.reports;
    uint64_t version = kube_dra_version(nodes->dra);

    nodes->is_moved |= all || version != nodes->dra_version;
    if (version != nodes->dra_version)
        kube_nodes_touch(nodes, "");
    nodes->dra_version = version;
    kube_rules_settle(nodes->rules, on_excluded, nodes);
    if (!nodes->is_dirty && !all && nodes->is_complete)
        return;
    LIST_EACH (struct entry, entry, &nodes->all) {
        if ((entry->is_dirty || all) && entry->about)
            report(nodes, entry);
        else if (entry->is_dirty && nodes->is_complete)
            report_lost(nodes, entry);
    }
    nodes->is_dirty = !nodes->is_complete; /* some may be lost already */
    if (!nodes->is_complete)
        reports->node(reports->user, NULL, true);
    nodes->is_complete = true;
}
