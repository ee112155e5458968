/* SPDX-License-Identifier: Apache-2.0 */
/* Devices by ResourceClaims: selectors in CEL, pools of slices, what claims request, and the
 * requests that allocate them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/dra/cel_match.h"
#include "engine/kube/dra/dra_allocate.h"
#include "engine/kube/dra/dra_demand.h"
#include "engine/kube/dra/dra_filters.h"
#include "engine/kube/dra/semver.h"
#include "kube_client_fake.h"
#include "quoted.h"

#define DEVICE                                                                                     \
    "{'attributes': {'model': {'string': 'H100'}, 'index': {'int': 3}, 'good': {'bool': true},"    \
    "'driverVersion': {'version': '1.10.0'}, 'pci.example.com/root': {'string': 'pci0'}},"         \
    "'capacity': {'memory': {'value': '80Gi'}, 'cores': {'value': '132'}}}"

/* ---- selectors ---- */

static bool match(const char *text)
{
    json_t *device = json(DEVICE);
    const struct cel_device about = { "gpu.example.com", json_object_get(device, "attributes"),
                                      json_object_get(device, "capacity") };
    struct cel *cel;
    struct error err;

    if (cel_parse(text, &cel, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    bool is_match = cel_match(cel, &about);
    cel_destroy(cel);
    json_decref(device);
    return is_match;
}

#define A "device.attributes[\"gpu.example.com\"]"
#define C "device.capacity['gpu.example.com']"

static void selectors_match_as_in_cel(void **state)
{
    static const char *const hold[] = {
        "true",
        "device.driver == 'gpu.example.com'",
        "device.driver == \"gpu.example.com\" && " A ".model == 'H100'",
        A "['model'] == r'H100'",
        A ".index == 3",
        A ".index >= 3 && " A ".index < 4 && !(" A ".index > 3)",
        A ".index != -3",
        A ".good",
        "!!" A ".good",
        A ".model in ['A100', 'H100']",
        "!(" A ".index in [1, 2])",
        "'model' in " A,
        "'gpu.example.com' in device.attributes && !('x' in device.attributes)",
        "device.attributes['pci.example.com'].root.startsWith('pci')",
        A ".model.endsWith('00') && " A ".model.contains('10')",
        A ".model.lowerAscii() == 'h100'",
        A ".model.lowerAscii().matches('^h1[0-9]+$')",
        A ".model.matches('^(A100|H100)$')",
        C ".memory.compareTo(quantity('40Gi')) > 0",
        C ".memory.compareTo(quantity(\"80Gi\")) == 0",
        C ".memory.isGreaterThan(quantity('79.5Gi')) && " C ".memory.isLessThan(quantity('100G'))",
        C ".memory == quantity('81920Mi')",
        C ".cores.compareTo(quantity('132')) >= 0",
        A ".driverVersion.compareTo(semver('1.9.9')) > 0",
        A ".driverVersion.isLessThan(semver('1.10.1')) && " A ".driverVersion.isGreaterThan(semver("
          "'1.10.0-rc.1'))",
        "isQuantity('1Gi') && !isQuantity('big') && isSemver('1.0.0') && !isSemver('v1')",
        "has(" A ".model) && !has(" A ".missing) && !has(device.attributes['x'].model)",
        "cel.bind(dra, " A ", dra.good && dra.index == 3)",
        "cel.bind(a, 1, cel.bind(b, 2, a < b)) && cel.bind(a, 5, a == 5)",
        "has(" A ".missing) ? " A ".missing == 1 : " A ".index == 3",
        "false ? false : true ? true : false",
        "true || " A ".missing == 1",
        A ".missing == 1 || true",
        "!(false && " A ".missing == 1)",
        "'a' < 'b' && size('abc') == 3 && 'abc'.size() == 3 && size([1, 2]) == 2",
        "[1, 2][1] == 2",
        "1 != 'a' && !(1 == true)",
        "// a comment\ntrue",
        "'it\\'s' == \"it's\" && 'a\\\\b' == r'a\\b'",
    };
    static const char *const fail[] = {
        "false",
        "device.driver == 'other'",
        A ".missing == 1",
        A ".missing != 1",
        "!" A ".missing",
        A ".missing || false",
        "device.attributes['x'].model == 'H100'",
        A ".index == '3'",
        A ".index < 'b'",
        A ".model > 1",
        A ".index",
        A ".model",
        "device.attributes",
        C ".missing.compareTo(quantity('1')) > 0",
        C ".memory > quantity('1Gi')",
        "quantity('big') == quantity('big')",
        "device.missing == 1",
        "1 in 2",
        "[1][1] == 1",
        "(" A ".missing ? true : true)",
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(hold); i++) {
        if (!match(hold[i]))
            fail_msg("does not hold: %s", hold[i]);
    }
    for (size_t i = 0; i < COUNT_OF(fail); i++) {
        if (match(fail[i]))
            fail_msg("holds: %s", fail[i]);
    }
}

static void what_is_outside_of_the_subset_is_named(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "", "it ends too early" },
        { "true &&", "it ends too early" },
        { "(true", "it ends too early" },
        { "true)", "')' at character 5 is outside of the part of CEL that tarn evaluates" },
        { "1 + 1 == 2", "'+' at character 3 is outside of the part of CEL that tarn evaluates" },
        { "1.5 < 2", "'1' at character 1 is outside of the part of CEL that tarn evaluates" },
        { "x == 1", "'x' at character 1 is outside of the part of CEL that tarn evaluates" },
        { "[1].exists(x, x == 1)",
          "'exists' at character 5 is outside of the part of CEL that tarn evaluates" },
        { "'a'.matches('a{2}')", NULL },
        { "'a'.matches('\\\\d')", NULL },
        { "'a'.matches('(?i)a')", NULL },
        { "'a'.matches(device.driver)", NULL },
        { "has(true)", NULL },
        { "size()", NULL },
        { "[1, 2", "it ends too early" },
        { "cel.bind(1, 2, 3)", NULL },
        { "cel.bind(a, 2)", NULL },
        { "cel.bind(a, 2, true) && a == 2", NULL },
        { "true ? 1", "it ends too early" },
        { "'open", NULL },
        { "'''three'''", NULL },
        { "'\\x41' == 'A'", NULL },
        { "99999999999999999999 > 1", NULL },
        { "true : false", NULL },
        { "a, b", NULL },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct cel *cel;
        struct error err;
        assert_int_equal(cel_parse(cases[i].text, &cel, &err), -ENOTSUP);
        if (cases[i].words)
            assert_string_equal(err.text, cases[i].words);
    }
}

static void depth_and_length_of_selectors_are_limited(void **state)
{
    struct text deep = { 0 }, wide = { 0 };
    struct cel *cel;
    struct error err;
    (void)state;

    for (int i = 0; i <= CEL_DEPTH_MAX; i++)
        text_add(&deep, "(");
    assert_int_equal(cel_parse(deep.bytes, &cel, &err), -ENOTSUP);
    assert_string_equal(err.text, "it is nested more than 64 levels deep");
    for (int i = 0; i < 1200; i++)
        text_add(&wide, "true&&");
    assert_int_equal(cel_parse(wide.bytes, &cel, &err), -ENOTSUP);
    assert_string_equal(err.text, "it has more than 2000 operations");
    for (int i = 0; i < 1200; i++)
        text_add(&wide, "true&&");
    assert_int_equal(cel_parse(wide.bytes, &cel, &err), -ENOTSUP);
    assert_string_equal(err.text, "it is longer than 10240 bytes");
    text_release(&deep);
    text_release(&wide);
}

static void versions_have_the_order_of_semver(void **state)
{
    static const char *const rising[] = { "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
                                          "1.0.0-beta",  "1.0.0-beta.2",  "1.0.0-beta.11",
                                          "1.0.0-rc.1",  "1.0.0",         "1.2.0",
                                          "1.10.0",      "2.0.0" };
    static const char *const wrong[] = { "",       "1",      "1.2",      "v1.2.3", "1.2.3.4",
                                         "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-a..b" };
    struct semver a, b;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(rising); i++) {
        for (size_t k = 0; k < COUNT_OF(rising); k++) {
            assert_true(semver_parse(rising[i], &a) && semver_parse(rising[k], &b));
            assert_int_equal(semver_compare(&a, &b), (i > k) - (i < k));
        }
    }
    assert_true(semver_parse("1.0.0+a", &a) && semver_parse("1.0.0+b.01", &b));
    assert_int_equal(semver_compare(&a, &b), 0);
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(semver_parse(wrong[i], &a));
}

/* ---- what there is ---- */

struct world {
    struct dra_pools *pools;
    struct dra_claims *claims;
    struct dra_filters *filters;
    struct dra_allocator *allocator;
    char touched[64];
    char why[256]; /* of the last allocation: "": none, "ok" */
};

static void on_touched(void *user, const char *node)
{
    struct world *world = user;

    snprintf(world->touched, sizeof(world->touched), "%s", node);
}

static void see_slice(struct world *world, const char *text)
{
    json_t *object = json(text);

    dra_pools_see(world->pools, KUBE_OBJECT, dra_slice_read(object), on_touched, world);
    json_decref(object);
}

static void see_claim(struct world *world, const char *text)
{
    json_t *object = json(text);

    dra_claims_see(world->claims, KUBE_OBJECT, dra_claim_read(object));
    json_decref(object);
}

static void see_class(struct world *world, const char *text)
{
    json_t *object = json(text);

    dra_claims_see_class(world->claims, KUBE_OBJECT, dra_class_read(object));
    json_decref(object);
}

#define SLICE(name, generation, count, devices)                                                    \
    "{'metadata': {'name': '" name "'}, 'spec': {'driver': 'gpu.example.com', 'nodeName': 'n1',"   \
    "'pool': {'name': 'n1', 'generation': " generation ", 'resourceSliceCount': " count "},"       \
    "'devices': [" devices "]}}"
#define GPU(name, root)                                                                            \
    "{'name': '" name "', 'attributes': {'model': {'string': 'NVIDIA H100 80GB HBM3'},"            \
    "'pci.example.com/root': {'string': '" root "'}}, 'capacity': {'memory': {'value': '80Gi'}}}"

static int make_world(void **state)
{
    struct world *world = mem_zero(1, sizeof(*world));

    world->pools = dra_pools_create();
    world->claims = dra_claims_create(on_touched, world);
    world->filters = dra_filters_create(world->claims, world->pools);
    world->allocator = dra_allocator_create(NULL, world->claims, world->pools);
    dra_pools_see(world->pools, KUBE_LIST_BEGINS, NULL, on_touched, world);
    see_slice(world, SLICE("s1", "1", "1",
                           GPU("gpu-10", "a") "," GPU("gpu-2", "a") "," GPU("gpu-1", "b")));
    dra_pools_see(world->pools, KUBE_LIST_ENDS, NULL, on_touched, world);
    see_class(world, "{'metadata': {'name': 'gpu'}, 'spec': {'selectors': [{'cel': {'expression':"
                     "'device.driver == \\'gpu.example.com\\''}}], 'config': [{'opaque': {'driver':"
                     "'gpu.example.com'}}]}}");
    *state = world;
    return 0;
}

static int end_world(void **state)
{
    struct world *world = *state;

    dra_allocator_destroy(world->allocator);
    dra_filters_destroy(world->filters);
    dra_claims_destroy(world->claims);
    dra_pools_destroy(world->pools);
    free(world);
    return 0;
}

static void devices_are_named_and_ordered(void **state)
{
    struct world *world = *state;
    uint32_t count;
    const struct dra_place *places = dra_pools_of(world->pools, "n1", &count);

    assert_int_equal(count, 3);
    assert_string_equal(places[0].device->probe.uuid, "gpu-1.n1.gpu.example.com");
    assert_string_equal(places[2].device->probe.uuid, "gpu-10.n1.gpu.example.com");
    assert_string_equal(places[0].device->probe.model, "h100");
    assert_string_equal(places[0].device->probe.vendor, "example");
    assert_string_equal(places[0].device->kind, "");
    assert_int_equal(places[0].device->probe.memory_mib, 81920);
}

static void models_and_kinds_come_from_attributes(void **state)
{
    static const struct {
        const char *driver, *attributes, *more;
        const char *model, *kind, *uuid, *sick;
    } cases[] = {
        { "gpu.nvidia.com",
          "'type': {'string': 'gpu'}, 'productName': {'string': 'NVIDIA A100-SXM4-40GB'}, 'uuid':"
          "{'string': 'GPU-1'}",
          "", "a100", "", "GPU-1", "" },
        { "gpu.nvidia.com",
          "'type': {'string': 'mig'}, 'profile': {'string': '3g.40gb'}, 'uuid': {'string': "
          "'MIG-1'}",
          "", "mig-3g.40gb", "", "MIG-1", "" },
        { "nic.example.com", "'type': {'string': 'ethernet'}", "", "nic", "nic",
          "d0.p.nic.example.com", "" },
        { "gpu.example.com", "'model': {'string': 'X1'}",
          ", 'taints': [{'key': 'a', 'effect': 'None'}, {'key': 'sick', 'value': 'yes', 'effect':"
          "'NoExecute'}]",
          "x1", "", "d0.p.gpu.example.com",
          "its driver or an administrator tainted it: sick=yes:NoExecute" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *text = mem_printf(
            "{'metadata': {'name': 's'}, 'spec': {'driver': '%s', 'nodeName': 'n', 'pool': "
            "{'name': 'p'}, 'devices': [{'name': 'd0', 'attributes': {%s}%s}]}}",
            cases[i].driver, cases[i].attributes, cases[i].more);
        json_t *object = json(text);
        struct dra_slice *slice = dra_slice_read(object);
        const struct dra_device *device = slice->devices[0];
        assert_string_equal(device->probe.model, cases[i].model);
        assert_string_equal(device->kind, cases[i].kind);
        assert_string_equal(device->probe.uuid, cases[i].uuid);
        assert_string_equal(device->probe.sick, cases[i].sick);
        dra_slice_destroy(slice);
        json_decref(object);
    }
}

static void what_is_left_out_is_named(void **state)
{
    static const struct {
        const char *spec, *words;
        uint32_t count;
    } cases[] = {
        { "'nodeSelector': {}", "ResourceSlice s: its devices are of several nodes (nodeSelector)",
          0 },
        { "'allNodes': true", "ResourceSlice s: its devices are of all nodes (allNodes)", 0 },
        { "'perDeviceNodeSelection': true",
          "ResourceSlice s: each device has nodes of its own (perDeviceNodeSelection)", 0 },
        { "'nodeName': 'n', 'devices': [{'name': 'a', 'consumesCounters': [{}]}, {'name': 'b'}]",
          "ResourceSlice s: devices share counters (consumesCounters)", 1 },
        { "'nodeName': 'n', 'devices': [{'name': 'a', 'allowMultipleAllocations': true}]",
          "ResourceSlice s: several claims may have a device (allowMultipleAllocations)", 0 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *text = mem_printf(
            "{'metadata': {'name': 's'}, 'spec': {'driver': 'gpu.example.com', 'pool': {'name': "
            "'p'}, %s}}",
            cases[i].spec);
        json_t *object = json(text);
        struct dra_slice *slice = dra_slice_read(object);
        assert_string_equal(slice->left_out, cases[i].words);
        assert_int_equal(slice->device_count, cases[i].count);
        dra_slice_destroy(slice);
        json_decref(object);
    }
}

static void a_pool_that_is_published_anew_keeps_its_devices(void **state)
{
    struct world *world = *state;
    uint32_t count;

    see_slice(world, SLICE("s2", "2", "2", GPU("gpu-7", "a")));
    const struct dra_place *places = dra_pools_of(world->pools, "n1", &count);
    assert_int_equal(count, 3);
    assert_true(places[0].is_updating);
    see_slice(world, SLICE("s1", "2", "2", GPU("gpu-8", "a")));
    places = dra_pools_of(world->pools, "n1", &count);
    assert_int_equal(count, 2);
    assert_false(places[0].is_updating);
    assert_string_equal(places[0].device->name, "gpu-7");
    see_slice(world, SLICE("s1", "3", "1", GPU("gpu-8", "a") "," GPU("gpu-8", "a")));
    dra_pools_of(world->pools, "n1", &count);
    assert_int_equal(count, 0); /* a name twice */
}

/* ---- claims ---- */

#define CLAIM(name, version, more, status)                                                         \
    "{'metadata': {'name': '" name "', 'namespace': 'ml', 'uid': 'u-" name                         \
    "', 'resourceVersion': '" version "'" more "}, 'spec': {'devices': {'requests': [{'name': "    \
    "'r', 'exactly': {'deviceClassName': 'gpu', 'count': 2}}]}}, 'status': {" status "}}"
#define ALLOCATED(a, b, pod)                                                                       \
    "'allocation': {'devices': {'results': [{'request': 'r', 'driver': 'gpu.example.com', "        \
    "'pool': 'n1', 'device': '" a "'}, {'request': 'r', 'driver': 'gpu.example.com', 'pool': "     \
    "'n1', 'device': '" b "'}]}, 'nodeSelector': {'nodeSelectorTerms': [{'matchFields': [{'key': " \
    "'metadata.name', 'operator': 'In', 'values': ['n1']}]}]}}, 'reservedFor': [{'resource': "     \
    "'pods', 'name': '" pod "', 'uid': 'u-" pod "'}]"
#define MARKED                                                                                     \
    ", 'finalizers': ['resource.kubernetes.io/delete-protection'], 'annotations': "                \
    "{'tarn.dev/attempt': 'f/1.1/0'}"

static int demand(struct world *world, const char *pod, const char *names, struct dra_demand *ret,
                  struct error *err)
{
    json_t *claims = json(names);
    AUTO_FREE char *uid = mem_printf("u-%s", pod);
    const struct dra_pod about = { uid, "ml", pod, claims };
    int code = dra_demand_read(world->claims, &about, ret, err);

    json_decref(claims);
    return code;
}

static void a_claim_requests_devices_until_it_is_allocated(void **state)
{
    struct world *world = *state;
    struct dra_demand found;
    struct error err;

    assert_int_equal(demand(world, "p", "['c']", &found, &err), -EAGAIN);
    assert_string_equal(err.text, "its ResourceClaim c does not exist");
    see_claim(world, CLAIM("c", "1", "", ""));
    assert_int_equal(demand(world, "p", "['c']", &found, &err), 0);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.filter, "{\"class\":\"gpu\",\"match\":[],\"selectors\":[]}");
    dra_demand_release(&found);
    assert_int_equal(demand(world, "q", "['c']", &found, &err), 0); /* it shares them with p */
    assert_string_equal(found.with, "u-p");
    assert_int_equal(found.count, 0);
    dra_demand_release(&found);
    see_claim(world, CLAIM("c", "2", "", ALLOCATED("gpu-1", "gpu-2", "p")));
    assert_string_equal(world->touched, "n1");
    assert_int_equal(demand(world, "q", "['c']", &found, &err), 0); /* by another scheduler */
    assert_string_equal(found.with, "");
    assert_int_equal(found.count, 0);
    assert_int_equal(json_array_size(found.nodes), 1);
    dra_demand_release(&found);
    see_claim(world, CLAIM("c", "3", MARKED, ALLOCATED("gpu-1", "gpu-2", "p")));
    assert_int_equal(demand(world, "p", "['c']", &found, &err), 0); /* by tarn, for it alone */
    assert_int_equal(found.count, 2);
    dra_demand_release(&found);
}

static void requests_that_are_not_supported_are_named(void **state)
{
    static const struct {
        const char *devices, *words;
    } cases[] = {
        { "'requests': [{'name': 'r', 'firstAvailable': []}]",
          "ResourceClaim c: request r: firstAvailable is not supported" },
        { "'requests': [{'name': 'r', 'exactly': {'allocationMode': 'All'}}]",
          "ResourceClaim c: request r: allocationMode other than ExactCount is not supported" },
        { "'requests': [{'name': 'r', 'exactly': {'adminAccess': true}}]",
          "ResourceClaim c: request r: adminAccess is not supported" },
        { "'requests': [{'name': 'r', 'exactly': {'tolerations': [{}]}}]",
          "ResourceClaim c: request r: tolerations is not supported" },
        { "'requests': [{'name': 'r', 'exactly': {'capacity': {}}}]",
          "ResourceClaim c: request r: capacity is not supported" },
        { "'requests': [{'name': 'r', 'exactly': {'count': 99999}}]",
          "ResourceClaim c: request r: this count is not supported" },
        { "'requests': [{'name': 'r', 'exactly': {'count': 2}}], 'constraints': "
          "[{'distinctAttribute': 'a/b'}]",
          "ResourceClaim c: a constraint other than matchAttribute is not supported" },
        { "'requests': [{'name': 'r', 'exactly': {}}, {'name': 's', 'exactly': {}}], "
          "'constraints': [{'matchAttribute': 'a/b', 'requests': ['r']}]",
          "ResourceClaim c: a constraint of some requests only is not supported" },
        { "'requests': [{'name': 'r', 'exactly': {'deviceClassName': 'a'}}, {'name': 's', "
          "'exactly': {'deviceClassName': 'b'}}]",
          "ResourceClaim c: requests with different classes, selectors or constraints in one pod "
          "are not supported" },
    };
    struct world *world = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dra_demand found;
        struct error err;
        AUTO_FREE char *text = mem_printf(
            "{'metadata': {'name': 'c', 'namespace': 'ml', 'uid': 'u', 'resourceVersion': '%zu'}, "
            "'spec': {'devices': {%s}}}",
            i + 1, cases[i].devices);
        see_claim(world, text);
        assert_int_equal(demand(world, "p", "['c']", &found, &err), -ENOTSUP);
        assert_string_equal(err.text, cases[i].words);
    }
}

static void filters_label_the_devices_that_they_select(void **state)
{
    static const char any[] = "{\"class\":\"gpu\",\"match\":[],\"selectors\":[]}";
    static const char one[] = "{\"class\":\"gpu\",\"match\":[],\"selectors\":[\"device.attributes["
                              "'pci.example.com'].root == 'b'\"]}";
    static const char same[] =
        "{\"class\":\"gpu\",\"match\":[\"pci.example.com/root\"],\"selectors\":[]}";
    struct world *world = *state;
    struct error err;
    const char *kind;

    const char *label = dra_filters_label(world->filters, any, 1, &kind, &err);
    assert_non_null(label);
    assert_string_equal(kind, "");
    AUTO_FREE char *first = mem_printf("dra,%s", label);
    label = dra_filters_label(world->filters, one, 1, &kind, &err);
    AUTO_FREE char *both = mem_printf("%s,%s", first, label);
    assert_non_null(dra_filters_label(world->filters, same, 1, &kind, &err));
    char **labels = dra_filters_of(world->filters, "n1");
    assert_string_equal(labels[0], both); /* gpu-1; none agree on the root */
    assert_string_equal(labels[1], first);
    assert_string_equal(labels[2], first);
    for (int i = 0; i < 3; i++)
        free(labels[i]);
    free(labels);
    see_class(
        world,
        "{'metadata': {'name': 'gpu'}, 'spec': {'selectors': [{'cel': {'expression': 'false'}}]}}");
    assert_null(dra_filters_label(world->filters, any, 1, &kind, &err));
    assert_string_equal(err.text, "DeviceClass gpu: its claim selects no device of any node");
    size_t length;
    AUTO_FREE char *words = dra_filters_spell(world->filters, label, &length);
    assert_string_equal(
        words, "a device of class gpu with device.attributes['pci.example.com'].root == 'b'");
}

/* ---- allocations ---- */

static void on_done(void *user, const char *why)
{
    struct world *world = user;

    snprintf(world->why, sizeof(world->why), "%s", why ? why : "ok");
}

static void begin(struct world *world, const char *devices)
{
    json_t *claims = json("['c']");

    dra_allocate(world->allocator, &(struct dra_order){ .pod = { "u-p", "ml", "p", claims },
                                                        .node = "n1",
                                                        .devices = devices,
                                                        .mark = "f/1.1/0",
                                                        .now_ms = 1000,
                                                        .done = on_done,
                                                        .user = world });
    json_decref(claims);
    dra_allocator_tick(world->allocator, 1001);
}

#define ORDERED "gpu-1.n1.gpu.example.com,gpu-2.n1.gpu.example.com"

static void answer(const char *text)
{
    json_t *object = json(text);
    AUTO_FREE char *body = json_dumps(object, 0);

    fake_answer(200, body);
    json_decref(object);
}

static void a_claim_is_marked_then_allocated(void **state)
{
    struct world *world = *state;

    see_claim(world, CLAIM("c", "1", "", ""));
    begin(world, ORDERED);
    assert_string_equal(fake_call(0)->path,
                        "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/c");
    assert_string_equal(kube_text(kube_at(fake_call(0)->body, "metadata", NULL), "resourceVersion"),
                        "1");
    answer(CLAIM("c", "2", MARKED, ""));
    assert_string_equal(fake_call(0)->path,
                        "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/c/status");
    const json_t *devices = kube_at(fake_call(0)->body, "status", "allocation", "devices", NULL);
    assert_string_equal(kube_text(json_array_get(json_object_get(devices, "results"), 1), "device"),
                        "gpu-2");
    assert_string_equal(kube_text(json_array_get(json_object_get(devices, "config"), 0), "source"),
                        "FromClass");
    assert_string_equal(kube_text(kube_at(fake_call(0)->body, "metadata", NULL), "resourceVersion"),
                        "2");
    answer(CLAIM("c", "3", MARKED, ALLOCATED("gpu-1", "gpu-2", "p")));
    assert_string_equal(world->why, "ok");
    assert_null(fake_call(0));
    assert_string_equal(dra_claims_holder(world->claims, "gpu.example.com/n1/gpu-2")->name, "c");
}

static void what_was_allocated_before_a_crash_is_adopted_or_undone(void **state)
{
    struct world *world = *state;

    see_claim(world, CLAIM("c", "3", MARKED, ALLOCATED("gpu-2", "gpu-1", "p")));
    begin(world, ORDERED);
    assert_string_equal(world->why, "ok");
    see_claim(world, CLAIM("c", "4", MARKED, ALLOCATED("gpu-2", "gpu-10", "p")));
    begin(world, ORDERED);
    assert_true(json_is_null(kube_at(fake_call(0)->body, "status", "allocation", NULL)));
    answer(CLAIM("c", "5", MARKED, ""));
    assert_non_null(kube_at(fake_call(0)->body, "status", "allocation", "devices", NULL));
    answer(CLAIM("c", "6", MARKED, ALLOCATED("gpu-1", "gpu-2", "p")));
    assert_null(fake_call(0));
}

static void a_device_that_another_claim_has_is_waited_for(void **state)
{
    struct world *world = *state;

    see_claim(world, CLAIM("c", "1", MARKED, ""));
    see_claim(world, CLAIM("other", "1", "", ALLOCATED("gpu-2", "gpu-10", "x")));
    begin(world, ORDERED);
    assert_null(fake_call(0));
    see_claim(world, CLAIM("other", "2", "", ""));
    dra_allocator_tick(world->allocator, 2000);
    assert_non_null(fake_call(0));
    fake_answer(409, NULL);
    see_claim(world, CLAIM("other", "3", "", ALLOCATED("gpu-2", "gpu-10", "x")));
    dra_allocator_tick(world->allocator, 3000);
    assert_null(fake_call(0));
    assert_string_equal(world->why, "");
    dra_allocator_tick(world->allocator, 40000);
    assert_string_equal(
        world->why, "ResourceClaim ml/other still has a device that ResourceClaim ml/c is to get");
}

static void an_allocation_that_cannot_be_says_why(void **state)
{
    struct world *world = *state;

    begin(world, ORDERED);
    assert_string_equal(world->why, "ResourceClaim c was deleted");
    see_claim(world, CLAIM("c", "1", "", ""));
    begin(world, "gone.n1.gpu.example.com");
    assert_string_equal(world->why, "a device that its pod was to get is not published any more");
    begin(world, ORDERED);
    for (uint64_t i = 0; i < 5; i++) {
        dra_allocator_tick(world->allocator, 1002 + i);
        fake_answer(403, NULL);
    }
    assert_string_equal(world->why, "ResourceClaim c: refused");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selectors_match_as_in_cel),
        cmocka_unit_test(what_is_outside_of_the_subset_is_named),
        cmocka_unit_test(depth_and_length_of_selectors_are_limited),
        cmocka_unit_test(versions_have_the_order_of_semver),
        cmocka_unit_test_setup_teardown(devices_are_named_and_ordered, make_world, end_world),
        cmocka_unit_test(models_and_kinds_come_from_attributes),
        cmocka_unit_test(what_is_left_out_is_named),
        cmocka_unit_test_setup_teardown(a_pool_that_is_published_anew_keeps_its_devices, make_world,
                                        end_world),
        cmocka_unit_test_setup_teardown(a_claim_requests_devices_until_it_is_allocated, make_world,
                                        end_world),
        cmocka_unit_test_setup_teardown(requests_that_are_not_supported_are_named, make_world,
                                        end_world),
        cmocka_unit_test_setup_teardown(filters_label_the_devices_that_they_select, make_world,
                                        end_world),
        cmocka_unit_test_setup_teardown(a_claim_is_marked_then_allocated, make_world, end_world),
        cmocka_unit_test_setup_teardown(what_was_allocated_before_a_crash_is_adopted_or_undone,
                                        make_world, end_world),
        cmocka_unit_test_setup_teardown(a_device_that_another_claim_has_is_waited_for, make_world,
                                        end_world),
        cmocka_unit_test_setup_teardown(an_allocation_that_cannot_be_says_why, make_world,
                                        end_world),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
