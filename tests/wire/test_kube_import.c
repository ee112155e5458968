/* SPDX-License-Identifier: Apache-2.0 */
/* tarn import kueue and volcano: manifests become a configuration and a report. argv[1]: the folder
 * with the files that are compared. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/file.h"
#include "wire/config/config.h"
#include "wire/import.h"
#include "wire/json.h"
#include "wire/kube/kueue_import.h"
#include "wire/kube/volcano_import.h"

static const char *folder;

typedef void import_fn(struct kube_queues *queues, struct text *config);

struct made {
    struct text config, report;
    struct error err;
    int code;
};

static struct made try(import_fn *import, const char *source, const char *text)
{
    struct made made = { .code = 0 };
    struct kube_queues queues = { .report = &made.report, .err = &made.err };

    made.code = kube_objects_read(&queues.objects, source, text, &made.err);
    if (made.code == 0) {
        import(&queues, &made.config);
        made.code = queues.code;
    }
    kube_queues_release(&queues);
    return made;
}

static void release(struct made *made)
{
    text_release(&made->config);
    text_release(&made->report);
}

/* It is a configuration of tarn. */
static void check(const struct made *made)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;
    AUTO(config) struct config *config = NULL;
    struct error err;

    if (yaml_parse(text_string(&made->config), made->config.length, "made", &document, &lines,
                   &err) < 0 ||
        config_parse(document, lines, "made", &config, &err) < 0)
        fail_msg("%s\nin:\n%s", err.text, text_string(&made->config));
}

/* ---- whole files ---- */

static struct text read_file(const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    struct text text = { 0 };
    struct error err;

    if (file_read(path, 1 << 20, &text, &err) < 0)
        fail_msg("%s", err.text);
    return text;
}

static void compare_with(const char *name, const struct text *made)
{
    struct text expected = read_file(name);

    if (strcmp(text_string(&expected), text_string(made)) != 0)
        fail_msg("%s is another; made:\n%s", name, text_string(made));
    text_release(&expected);
}

static void whole_file(import_fn *import, const char *name)
{
    AUTO_FREE char *source = mem_printf("%s.yaml", name);
    AUTO_FREE char *config = mem_printf("%s.tarn.yaml", name);
    AUTO_FREE char *report = mem_printf("%s.report", name);
    struct text text = read_file(source);
    struct made made = try(import, source, text_string(&text));

    if (made.code < 0)
        fail_msg("%s", made.err.text);
    check(&made);
    compare_with(config, &made.config);
    compare_with(report, &made.report);
    release(&made);
    text_release(&text);
}

static void a_site_with_kueue(void **state)
{
    (void)state;
    whole_file(kueue_import, "kueue");
}

static void a_site_with_volcano(void **state)
{
    (void)state;
    whole_file(volcano_import, "volcano");
}

/* ---- parts ---- */

#define CLUSTER_QUEUE(name, spec)                                                                  \
    "{kind: ClusterQueue, metadata: {name: " name "}, spec: {" spec "}}\n---\n"
#define QUOTA(words)                                                                               \
    "resourceGroups: [{flavors: [{name: f, resources: [{name: nvidia.com/gpu, " words "}]}]}]"

static void expect(import_fn *import, const char *text, const char *config)
{
    struct made made = try(import, "t", text);

    if (made.code < 0)
        fail_msg("%s", made.err.text);
    check(&made);
    if (!strstr(text_string(&made.config), config))
        fail_msg("not found: %s\nin:\n%s", config, text_string(&made.config));
    release(&made);
}

static void flavors_without_a_model_add_up(void **state)
{
    (void)state;
    expect(
        kueue_import,
        "{kind: ResourceFlavor, metadata: {name: h}, spec: {nodeLabels: "
        "{nvidia.com/gpu.product: NVIDIA-H100-PCIe}}}\n---\n"
        "{kind: ClusterQueue, metadata: {name: a}, spec: {cohort: c, resourceGroups: [{flavors: ["
        "{name: h, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]},"
        "{name: x, resources: [{name: amd.com/gpu, nominalQuota: 4, borrowingLimit: 1}]},"
        "{name: y, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]}]}}",
        "  a:\n    parent: c\n    weight: 1\n    guarantee: {h100: 8, gpus: 14}\n");
}

static void reports(import_fn *import, const char *text, const char *report)
{
    struct made made = try(import, "t", text);

    if (made.code < 0)
        fail_msg("%s", made.err.text);
    assert_string_equal(text_string(&made.report), report);
    release(&made);
}

/* Quotas are by model: what flavors of one model tell apart is not lost in silence. */
static void flavors_of_one_model_are_reported(void **state)
{
    (void)state;
    reports(
        kueue_import,
        "{kind: ResourceFlavor, metadata: {name: s}, spec: {nodeLabels: "
        "{amd.com/gpu.product-name: MI300X, capacity: spot}}}\n---\n"
        "{kind: ResourceFlavor, metadata: {name: o}, spec: {nodeLabels: "
        "{amd.com/gpu.product-name: MI300X}}}\n---\n"
        "{kind: ClusterQueue, metadata: {name: a}, spec: {resourceGroups: [{flavors: ["
        "{name: s, resources: [{name: amd.com/gpu, nominalQuota: 8}]},"
        "{name: o, resources: [{name: amd.com/gpu, nominalQuota: 2}]},"
        "{name: z, resources: [{name: cpu, nominalQuota: 2}]}]}]}}",
        "t:1: ResourceFlavor s: "
        "nodeLabels={\"amd.com/gpu.product-name\":\"MI300X\",\"capacity\":\"spot\"}: quotas are by "
        "model, here mi300x: for the other labels, see `where` of pools\n"
        "t:3: ResourceFlavor o: nodeLabels={\"amd.com/gpu.product-name\":\"MI300X\"}: the model is "
        "mi300x, as of flavor s: quotas are by model, so their amounts are added; see `where` of "
        "pools\n"
        "t:5: ClusterQueue a: name=z: there is no such ResourceFlavor: no model of GPU\n");
}

static void a_strict_order_of_a_queue_is_reported(void **state)
{
    (void)state;
    reports(
        volcano_import,
        "{kind: Queue, metadata: {name: a}, spec: {dequeueStrategy: fifo}}\n---\n"
        "{kind: Queue, metadata: {name: b}, spec: {dequeueStrategy: traverse}}\n",
        "t:1: Queue a: dequeueStrategy=fifo: the order is one of all queues: see `order: fifo`\n");
}

/* Slices are models, shared devices GPUs, other accelerators a kind; what tarn does not know is
 * reported, and is not taken for "no GPUs". */
static void devices_of_all_kinds_are_counted(void **state)
{
    (void)state;
#define DEVICES(list) "resourceGroups: [{flavors: [{name: f, resources: [" list "]}]}]"
    expect(kueue_import,
           CLUSTER_QUEUE("a", DEVICES("{name: nvidia.com/mig-1g.10gb, nominalQuota: 14}, "
                                      "{name: nvidia.com/mig-3g.40gb, nominalQuota: 2}")),
           "    guarantee: {mig-1g.10gb: 14, mig-3g.40gb: 2}\n"
           "    limit: {mig-1g.10gb: 14, mig-3g.40gb: 2}\n"
           "    models: [mig-1g.10gb, mig-3g.40gb]\n");
    expect(kueue_import,
           CLUSTER_QUEUE("a", DEVICES("{name: nvidia.com/gpu.shared, nominalQuota: 14}, "
                                      "{name: habana.ai/gaudi, nominalQuota: 2}, "
                                      "{name: aws.amazon.com/neuron, nominalQuota: 1}")),
           "limit: {gpus: 14, npu: 3}\n");
    expect(volcano_import,
           "{kind: Queue, metadata: {name: a}, spec: {capability: {nvidia.com/mig-2g.20gb: 3}}}",
           "limit: {mig-2g.20gb: 3}\n");
    struct made made = try(kueue_import, "t",
                           CLUSTER_QUEUE("a", DEVICES("{name: example.org/gpu, nominalQuota: 4}"))
                               CLUSTER_QUEUE("b", DEVICES("{name: pods, nominalQuota: 9}")));
    const char *first = strstr(text_string(&made.config), "  a:\n");
    const char *next = strstr(text_string(&made.config), "  b:\n");
    const char *closed = strstr(text_string(&made.config), "gpus: 0");
    assert_true(first && next && closed > next);
    assert_non_null(strstr(text_string(&made.report),
                           "name=example.org/gpu: tarn has no quota of this resource"));
    release(&made);
}

static void a_closed_queue_is_reported(void **state)
{
    (void)state;
    struct made made = try(volcano_import, "t",
                           "{kind: Queue, metadata: {name: a}, status: {state: Closed}}\n---\n"
                           "{kind: Queue, metadata: {name: b}, status: {state: Open}}\n");
    assert_string_equal(text_string(&made.report),
                        "t:1: Queue a: state=Closed: no queue of tarn is closed; this one takes "
                        "jobs: see `submit` of a queue\n");
    release(&made);
}

static void a_queue_that_no_other_can_reach_has_a_limit(void **state)
{
    (void)state;
    expect(kueue_import, CLUSTER_QUEUE("a", QUOTA("nominalQuota: 8, borrowingLimit: 4")),
           "  a:\n    weight: 1\n    guarantee: {gpus: 8}\n    limit: {gpus: 8}\n");
}

static void names_that_are_taken_get_a_number(void **state)
{
    (void)state;
    expect(kueue_import,
           CLUSTER_QUEUE("a", "cohort: a") "{kind: LocalQueue, metadata: {name: a, namespace: x}, "
                                           "spec: {clusterQueue: a}}\n---\n"
                                           "{kind: LocalQueue, metadata: {name: b, namespace: x}, "
                                           "spec: {clusterQueue: a}}",
           "  a-2:\n    parent: a\n    weight: 1\n    limit: {gpus: 0}\n"
           "  x-a:\n    parent: a-2\n    weight: 1\n  b:\n    parent: a-2\n");
}

static void rings_of_cohorts_are_cut(void **state)
{
    (void)state;
    expect(kueue_import,
           "{kind: Cohort, metadata: {name: a}, spec: {parentName: b}}\n---\n"
           "{kind: Cohort, metadata: {name: b}, spec: {parentName: a}}",
           "  a:\n    weight: 1\n  b:\n    parent: a\n");
}

static void amounts_beyond_tarns_are_reduced(void **state)
{
    (void)state;
    expect(volcano_import,
           "{kind: Queue, metadata: {name: a}, spec: {capability: {memory: 900Pi, cpu: 1e9}}}",
           "limit: {memory: 1048576G, cpus: 1000000}");
}

static void a_guarantee_is_at_most_the_limit(void **state)
{
    (void)state;
    expect(volcano_import,
           "{kind: Queue, metadata: {name: a}, spec: {capability: {cpu: 8}, deserved: {cpu: 9}, "
           "guarantee: {resource: {cpu: 2}}}}",
           "guarantee: {cpus: 8}\n    limit: {cpus: 8}\n    lend: {cpus: 6}");
    expect(volcano_import,
           "{kind: Queue, metadata: {name: a}, spec: {capability: {cpu: 8}}}\n---\n"
           "{kind: Queue, metadata: {name: b}, spec: {parent: a, deserved: {cpu: 5}}}\n---\n"
           "{kind: Queue, metadata: {name: c}, spec: {parent: a, deserved: {cpu: 5}}}",
           "  c:\n    parent: a\n    weight: 1\n    guarantee: {cpus: 3}\n");
}

static void what_is_wrong_has_its_place(void **state)
{
    static const struct {
        import_fn *import;
        const char *text, *words;
    } cases[] = {
        { kueue_import, "kind: X\n---\n- 1\n", "t:1: kind: X without metadata.name" },
        { kueue_import, "\n---\n- 1\n", "t: a list, expected an object with a kind" },
        { kueue_import, "---\nname: x\n", "t: kind: expected the kind of the object" },
        { kueue_import, "a: [\n", "t:2:1: " },
        { kueue_import, "kind: X\nmetadata: {name: x}\nspec: 5\n",
          "t:3: X x: spec: a number, expected a map" },
        { kueue_import, "---\n" CLUSTER_QUEUE("a", QUOTA("nominalQuota: many")),
          "t:2: ClusterQueue a: nominalQuota: \"many\", expected a quantity such as 8, 500m or "
          "36Gi" },
        { kueue_import, CLUSTER_QUEUE("a", QUOTA("borrowingLimit: 5")),
          "ClusterQueue a: nominalQuota: nothing, expected a quantity" },
        { kueue_import, CLUSTER_QUEUE("a", QUOTA("nominalQuota: [8]")),
          "t:1: ClusterQueue a: nominalQuota: expected a quantity such as 8, 500m or 36Gi, not a "
          "list" },
        { kueue_import, CLUSTER_QUEUE("a", "resourceGroups: [{flavors: [{resources: []}]}]"),
          "ClusterQueue a: name: nothing, expected the name of a flavor" },
        { kueue_import, CLUSTER_QUEUE("a", "fairSharing: {weight: much}"),
          "t:1: ClusterQueue a: weight: \"much\", expected a weight such as 2" },
        { kueue_import, CLUSTER_QUEUE("a", "cohort: 7"),
          "t:1: ClusterQueue a: cohort: expected a string, not a number" },
        { kueue_import, "{kind: LocalQueue, metadata: {name: b, namespace: 7}}",
          "t:1: LocalQueue b: namespace: expected a string, not a number" },
        { volcano_import, "{kind: Queue, metadata: {name: q}, spec: {reclaimable: \"false\"}}",
          "t:1: Queue q: reclaimable: expected true or false, not a string" },
        { volcano_import, "{kind: Queue, metadata: {name: q}, spec: {capability: 5}}",
          "Queue q: a number, expected a map from resource to quantity" },
        { volcano_import, "{kind: Queue, metadata: {name: q}, spec: {deserved: {cpu: -5}}}",
          "t:1: Queue q: cpu: -5, expected a quantity" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made made = try(cases[i].import, "t", cases[i].text);

        if (made.code >= 0 || !strstr(made.err.text, cases[i].words))
            fail_msg("%s: %d, %s", cases[i].text, made.code,
                     made.code < 0 ? made.err.text : text_string(&made.config));
        release(&made);
    }
}

/* A byte order mark, directives, and the end of a document before the next directives. */
static void files_may_say_how_they_are_written(void **state)
{
    (void)state;
    expect(volcano_import,
           "\xef\xbb\xbf# site\n%YAML 1.2\n---\n{kind: Queue, metadata: {name: a}}\n...\n"
           "%YAML 1.1\n---\n{kind: Queue, metadata: {name: 1.10}, spec: {reclaimable: False}}\n"
           "---\n{kind: Queue, metadata: {name: c}}\n",
           "  \"1.10\":\n    weight: 1\n    preemptible: never\n  c:\n    weight: 1\n");
}

static void nothing_is_an_empty_configuration(void **state)
{
    (void)state;
    expect(kueue_import, "", "# made by tarn import kueue\n");
    expect(volcano_import, "---\n# none\n---\n", "# made by tarn import volcano\n");
}

static void moved(void *user, size_t index, const char *what, const char *words)
{
    (void)index;
    (void)what;
    (void)words;
    ++*(unsigned *)user;
}

static void too_deep_trees_are_raised(void **state)
{
    struct import_branch branches[IMPORT_DEPTH_MAX + 2] = { { "0", NULL } };
    static const char *const names[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };
    unsigned count = 0;

    (void)state;
    for (size_t i = 1; i < COUNT_OF(branches); i++)
        branches[i] = (struct import_branch){ names[i], names[i - 1] };
    import_settle(branches, COUNT_OF(branches), moved, &count);
    assert_int_equal(count, 2);
    assert_string_equal(branches[8].parent, "6");
    assert_string_equal(branches[9].parent, "6");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_site_with_kueue),
        cmocka_unit_test(a_site_with_volcano),
        cmocka_unit_test(flavors_without_a_model_add_up),
        cmocka_unit_test(flavors_of_one_model_are_reported),
        cmocka_unit_test(a_strict_order_of_a_queue_is_reported),
        cmocka_unit_test(devices_of_all_kinds_are_counted),
        cmocka_unit_test(a_closed_queue_is_reported),
        cmocka_unit_test(a_queue_that_no_other_can_reach_has_a_limit),
        cmocka_unit_test(names_that_are_taken_get_a_number),
        cmocka_unit_test(rings_of_cohorts_are_cut),
        cmocka_unit_test(amounts_beyond_tarns_are_reduced),
        cmocka_unit_test(a_guarantee_is_at_most_the_limit),
        cmocka_unit_test(what_is_wrong_has_its_place),
        cmocka_unit_test(files_may_say_how_they_are_written),
        cmocka_unit_test(nothing_is_an_empty_configuration),
        cmocka_unit_test(too_deep_trees_are_raised),
    };

    if (argc != 2)
        return 2;
    folder = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
