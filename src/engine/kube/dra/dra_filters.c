/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/dra/dra_filters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/dra/cel_match.h"
#include "engine/kube/dra/dra_names.h"

enum { FORGET_MS = 600000, LABEL_SIZE = 16 };

struct filter {
    char label[LABEL_SIZE];
    char *text;
    json_t *about;           /* {"class", "selectors", "match"} */
    LIST(struct cel *) cels; /* of its class, and its own */
    char *problem;           /* why it cannot be evaluated; NULL */
    uint64_t asked_at;
};

struct dra_filters {
    const struct dra_claims *claims;
    const struct dra_pools *pools;
    LIST(struct filter *) all; /* their places are the bits of devices */
    uint64_t version;          /* of what devices match */
    uint64_t class_version;    /* of the classes that the programs are of */
};

struct dra_filters *dra_filters_create(const struct dra_claims *claims,
                                       const struct dra_pools *pools)
{
    struct dra_filters *filters = mem_zero(1, sizeof(*filters));

    filters->claims = claims;
    filters->pools = pools;
    filters->version = 1;
    return filters;
}

static void clear_programs(struct filter *filter)
{
    for (size_t i = 0; i < filter->cels.count; i++)
        cel_destroy(filter->cels.items[i]);
    filter->cels.count = 0;
    free(filter->problem);
    filter->problem = NULL;
}

static void filter_destroy(struct filter *filter)
{
    clear_programs(filter);
    list_release(&filter->cels);
    json_decref(filter->about);
    free(filter->text);
    free(filter);
}

void dra_filters_destroy(struct dra_filters *filters)
{
    if (!filters)
        return;
    for (size_t i = 0; i < filters->all.count; i++)
        filter_destroy(filters->all.items[i]);
    list_release(&filters->all);
    free(filters);
}

/* ---- programs ---- */

static void add_programs(struct filter *filter, const json_t *texts, const char *whose)
{
    struct cel *cel;
    struct error err;
    json_t *text;
    size_t i;

    json_array_foreach(texts, i, text)
    {
        const char *words = json_string_value(text);
        if (filter->problem)
            return;
        if (cel_parse(words ? words : "", &cel, &err) == 0)
            list_add(&filter->cels, cel);
        else
            filter->problem = mem_printf("%s: selector %s: %s", whose, words, err.text);
    }
}

static void make_programs(const struct dra_filters *filters, struct filter *filter)
{
    const char *name = kube_text(filter->about, "class");
    const struct dra_class *class = dra_claims_class(filters->claims, name);
    AUTO_FREE char *whose = mem_printf("DeviceClass %s", name);

    clear_programs(filter);
    if (!class) {
        filter->problem = mem_printf("DeviceClass %s does not exist", name);
        return;
    }
    add_programs(filter, class->selectors, whose);
    add_programs(filter, json_object_get(filter->about, "selectors"), "its claim");
}

/* Classes may have changed. */
static void refresh(struct dra_filters *filters)
{
    uint64_t now = dra_claims_class_version(filters->claims);

    if (filters->class_version == now)
        return;
    filters->class_version = now;
    filters->version++;
    for (size_t i = 0; i < filters->all.count; i++)
        make_programs(filters, filters->all.items[i]);
}

uint64_t dra_filters_version(struct dra_filters *filters)
{
    refresh(filters);
    return filters->version;
}

/* ---- devices ---- */

static bool selects(const struct filter *filter, const struct dra_device *device)
{
    const struct cel_device about = { device->driver, device->attributes, device->capacity };

    if (filter->problem)
        return false;
    for (size_t i = 0; i < filter->cels.count; i++) {
        if (!cel_match(filter->cels.items[i], &about))
            return false;
    }
    return true;
}

static uint32_t bits_of(const struct dra_filters *filters, struct dra_device *device)
{
    if (device->version == filters->version)
        return device->matched;
    device->version = filters->version;
    device->matched = 0;
    for (size_t i = 0; i < filters->all.count; i++)
        device->matched |= (uint32_t)selects(filters->all.items[i], device) << i;
    return device->matched;
}

/* With its domain, "resource.kubernetes.io/pcieRoot"; those of the driver may lack it. */
static const json_t *attribute_of(const struct dra_device *device, const char *name)
{
    const json_t *found = json_object_get(device->attributes, name);
    size_t length = strlen(device->driver);

    if (!found && string_starts(name, device->driver) && name[length] == '/')
        found = json_object_get(device->attributes, name + length + 1);
    return found;
}

/* Whether all devices of the node that a filter selects agree on what must be equal. */
static bool agree(const struct dra_filters *filters, const char *node, size_t number)
{
    uint32_t count;
    const struct dra_place *places = dra_pools_of(filters->pools, node, &count);
    json_t *name;
    size_t i;

    json_array_foreach(json_object_get(filters->all.items[number]->about, "match"), i, name)
    {
        const json_t *first = NULL;
        for (uint32_t k = 0; k < count; k++) {
            if (!(bits_of(filters, places[k].device) >> number & 1))
                continue;
            const json_t *value = attribute_of(places[k].device, json_string_value(name));
            if (!value || (first && !json_equal(first, value)))
                return false;
            first = value;
        }
    }
    return true;
}

char **dra_filters_of(struct dra_filters *filters, const char *node)
{
    uint32_t count, agreed = 0;
    const struct dra_place *places = dra_pools_of(filters->pools, node, &count);
    char **labels = mem_zero(count + 1, sizeof(labels[0]));

    refresh(filters);
    for (size_t i = 0; i < filters->all.count; i++)
        agreed |= (uint32_t)agree(filters, node, i) << i;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t bits = bits_of(filters, places[k].device) & agreed;
        struct text text = { 0 };
        text_add(&text, DRA_LABEL);
        for (size_t i = 0; i < filters->all.count; i++) {
            if (bits >> i & 1)
                text_printf(&text, ",%s", filters->all.items[i]->label);
        }
        labels[k] = text_take(&text);
    }
    return labels;
}

/* ---- filters ---- */

static void forget(struct dra_filters *filters, uint64_t now)
{
    for (size_t i = filters->all.count; i-- > 0;) {
        if (now - filters->all.items[i]->asked_at < FORGET_MS)
            continue;
        filter_destroy(filters->all.items[i]);
        list_remove(&filters->all, i);
        filters->version++;
    }
}

static struct filter *find_or_add(struct dra_filters *filters, const char *text, uint64_t now)
{
    uint64_t hash = map_hash(text, strlen(text));

    for (size_t i = 0; i < filters->all.count; i++) {
        if (strcmp(filters->all.items[i]->text, text) == 0)
            return filters->all.items[i];
    }
    if (filters->all.count >= DRA_FILTERS_MAX)
        forget(filters, now);
    if (filters->all.count >= DRA_FILTERS_MAX)
        return NULL;
    struct filter *filter = mem_zero(1, sizeof(*filter));
    snprintf(filter->label, sizeof(filter->label), "dra-%08" PRIx64,
             (hash ^ hash >> 32) & UINT32_MAX);
    filter->text = mem_string(text);
    filter->about = json_loads(text, 0, NULL);
    make_programs(filters, filter);
    list_add(&filters->all, filter);
    filters->version++;
    return filter;
}

struct survey {
    const struct dra_filters *filters;
    size_t number;
    const struct dra_device *first, *other; /* other: of another kind */
};

static bool survey(void *user, struct dra_device *device)
{
    struct survey *of = user;

    if (!(bits_of(of->filters, device) >> of->number & 1))
        return true;
    if (!of->first)
        of->first = device;
    else if (strcmp(of->first->kind, device->kind) != 0)
        of->other = device;
    return of->other == NULL;
}

const char *dra_filters_label(struct dra_filters *filters, const char *text, uint64_t now,
                              const char **ret_kind, struct error *err)
{
    refresh(filters);
    struct filter *filter = find_or_add(filters, text, now);

    if (!filter) {
        error_set(err, -ENOSPC, "the claims of the cluster have more than %d different selectors",
                  DRA_FILTERS_MAX);
        return NULL;
    }
    filter->asked_at = now;
    struct survey found = { .filters = filters };
    while (filters->all.items[found.number] != filter)
        found.number++;
    dra_pools_each(filters->pools, survey, &found);
    const char *left_out = dra_pools_left_out(filters->pools);
    if (filter->problem)
        error_set(err, -ENOTSUP, "%s", filter->problem);
    else if (!found.first)
        error_set(err, -ENODEV, "DeviceClass %s: its claim selects no device of any node%s%s",
                  kube_text(filter->about, "class"), left_out ? "; left out: " : "",
                  left_out ? left_out : "");
    else if (found.other)
        error_set(err, -ENOTSUP, "its claim selects devices of several drivers, such as %s and %s",
                  found.first->driver, found.other->driver);
    if (filter->problem || !found.first || found.other)
        return NULL;
    *ret_kind = found.first->kind;
    return filter->label;
}

char *dra_filters_spell(const struct dra_filters *filters, const char *words, size_t *ret_length)
{
    for (size_t i = 0; i < filters->all.count; i++) {
        const struct filter *filter = filters->all.items[i];
        struct text text = { 0 };
        json_t *value;
        size_t k;
        if (!string_starts(words, filter->label))
            continue;
        *ret_length = strlen(filter->label);
        text_printf(&text, "a device of class %s", kube_text(filter->about, "class"));
        json_array_foreach(json_object_get(filter->about, "selectors"), k, value)
            text_printf(&text, "%s%s", k > 0 ? " and " : " with ", json_string_value(value));
        json_array_foreach(json_object_get(filter->about, "match"), k, value)
            text_printf(&text, ", all with the same %s", json_string_value(value));
        return text_take(&text);
    }
    return NULL;
}
