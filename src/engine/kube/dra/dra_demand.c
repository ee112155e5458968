/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/dra/dra_demand.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/job/request.h"
#include "engine/kube/client/kube_json.h"

/* Of all claims of a pod. */
struct reading {
    struct dra_demand demand;
    json_t *filter; /* NULL: none yet */
    const struct dra_claim *claim;
    struct error *err;
};

static int64_t count_of(const json_t *request)
{
    return kube_number(json_object_get(request, "exactly"), "count", 1);
}

uint32_t dra_demand_count(const struct dra_claim *claim)
{
    uint32_t count = 0;
    json_t *request;
    size_t i;

    json_array_foreach(json_object_get(claim->spec, "requests"), i, request) count +=
        (uint32_t)count_of(request);
    return count;
}

static int refuse(const struct reading *reading, const json_t *request, const char *what)
{
    return error_set(reading->err, -ENOTSUP, "ResourceClaim %s: request %s: %s is not supported",
                     reading->claim->name, kube_text(request, "name"), what);
}

/* Attributes that must be equal among the devices of this request; with a list of requests, all of
 * those of the claim are meant. */
static int read_constraints(const struct reading *reading, json_t *match)
{
    const json_t *spec = reading->claim->spec;
    size_t requests = json_array_size(json_object_get(spec, "requests")), i;
    json_t *constraint;

    if (dra_demand_count(reading->claim) < 2) /* a device agrees with itself */
        return 0;
    json_array_foreach(json_object_get(spec, "constraints"), i, constraint)
    {
        size_t named = json_array_size(json_object_get(constraint, "requests"));
        if (!kube_text(constraint, "matchAttribute")[0])
            return error_set(reading->err, -ENOTSUP,
                             "ResourceClaim %s: a constraint other than matchAttribute is not "
                             "supported",
                             reading->claim->name);
        if (named > 0 && named != requests)
            return error_set(
                reading->err, -ENOTSUP,
                "ResourceClaim %s: a constraint of some requests only is not supported",
                reading->claim->name);
        json_array_append(match, json_object_get(constraint, "matchAttribute"));
    }
    return 0;
}

static const char *unsupported(const json_t *exactly)
{
    const char *mode = kube_text(exactly, "allocationMode");

    if (mode[0] && strcmp(mode, "ExactCount") != 0)
        return "allocationMode other than ExactCount";
    if (json_is_true(json_object_get(exactly, "adminAccess")))
        return "adminAccess";
    if (json_array_size(json_object_get(exactly, "tolerations")) > 0)
        return "tolerations";
    return json_object_get(exactly, "capacity") ? "capacity" : NULL;
}

/* All requests of a pod must select the same devices: its job has one condition for them. */
static int add_filter(struct reading *reading, const json_t *exactly)
{
    json_t *selectors = json_array(), *match = json_array(), *selector;
    size_t i;

    json_array_foreach(json_object_get(exactly, "selectors"), i, selector)
        json_array_append(selectors, kube_at(selector, "cel", "expression", NULL));
    int code = read_constraints(reading, match);
    json_t *filter = json_pack("{s:s, s:o, s:o}", "class", kube_text(exactly, "deviceClassName"),
                               "selectors", selectors, "match", match);
    if (code == 0 && reading->filter && !json_equal(reading->filter, filter))
        code = error_set(reading->err, -ENOTSUP,
                         "ResourceClaim %s: requests with different classes, selectors or "
                         "constraints in one pod are not supported",
                         reading->claim->name);
    if (code == 0 && !reading->filter)
        reading->filter = json_incref(filter);
    json_decref(filter);
    return code;
}

static int add_request(struct reading *reading, const json_t *request)
{
    const json_t *exactly = json_object_get(request, "exactly");
    const char *what = exactly ? unsupported(exactly) : "firstAvailable";

    if (what)
        return refuse(reading, request, what);
    if (count_of(request) < 1 || count_of(request) > REQUEST_GPUS_MAX)
        return refuse(reading, request, "this count");
    reading->demand.count += (uint32_t)count_of(request);
    return add_filter(reading, exactly);
}

/* The node must meet one term of each list. */
static void add_nodes(struct reading *reading, const json_t *terms)
{
    if (!terms)
        return;
    if (!reading->demand.nodes)
        reading->demand.nodes = json_array();
    json_array_append(reading->demand.nodes, (json_t *)terms);
}

bool dra_demand_is_met(const struct dra_claim *claim, const char *pod_uid)
{
    bool is_own = claim->mark[0] && json_array_size(claim->reserved) == 1 &&
                  dra_claim_is_reserved(claim, pod_uid);

    return claim->allocation && !is_own;
}

static void share(struct reading *reading)
{
    free(reading->demand.with);
    reading->demand.with = mem_string(reading->claim->taker);
}

static int add_claim(struct reading *reading, struct dra_claim *claim, const struct dra_pod *pod)
{
    json_t *request;
    size_t i;
    int code = 0;

    reading->claim = claim;
    if (dra_demand_is_met(claim, pod->uid)) {
        add_nodes(reading, dra_allocation_terms(claim->allocation));
        return 0;
    }
    if (claim->taker && strcmp(claim->taker, pod->uid) != 0) {
        share(reading);
        return 0;
    }
    if (!claim->taker) {
        claim->taker = mem_string(pod->uid);
        claim->taker_name = mem_string(pod->name);
    }
    json_array_foreach(json_object_get(claim->spec, "requests"), i, request)
    {
        if (code == 0)
            code = add_request(reading, request);
    }
    return code;
}

int dra_demand_read(const struct dra_claims *claims, const struct dra_pod *pod,
                    struct dra_demand *ret, struct error *err)
{
    struct reading reading = { .err = err };
    json_t *name;
    size_t i;
    int code = 0;

    reading.demand.with = mem_string("");
    json_array_foreach(pod->claims, i, name)
    {
        struct dra_claim *claim = dra_claims_find(claims, pod->namespace, json_string_value(name));
        if (code < 0)
            break;
        if (!claim || claim->is_deleting)
            code = error_set(err, -EAGAIN, "its ResourceClaim %s %s", json_string_value(name),
                             claim ? "is being deleted" : "does not exist");
        else
            code = add_claim(&reading, claim, pod);
    }
    if (code == 0 && reading.demand.with[0] && reading.demand.count > 0)
        code =
            error_set(err, -ENOTSUP,
                      "it has ResourceClaims of its own, and one that it shares with another pod");
    reading.demand.filter =
        reading.filter ? json_dumps(reading.filter, JSON_COMPACT | JSON_SORT_KEYS) : mem_string("");
    json_decref(reading.filter);
    if (code < 0)
        dra_demand_release(&reading.demand);
    else
        *ret = reading.demand;
    return code;
}

void dra_demand_release(struct dra_demand *demand)
{
    free(demand->filter);
    free(demand->with);
    json_decref(demand->nodes);
    *demand = (struct dra_demand){ 0 };
}
