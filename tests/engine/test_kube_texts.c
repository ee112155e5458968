/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine kube reads of the API's objects: pods, workloads, conditions for nodes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/client/kube_plugin.h"
#include "engine/kube/kube_claims.h"
#include "engine/kube/kube_document.h"
#include "engine/kube/kube_dra.h"
#include "engine/kube/kube_own.h"
#include "engine/kube/objects/kube_fits.h"
#include "engine/kube/objects/kube_node.h"
#include "engine/kube/objects/kube_pod.h"
#include "kube_client_fake.h"

static json_t *json(const char *text)
{
    json_error_t why;
    json_t *value = json_loads(text, 0, &why);

    if (!value)
        fail_msg("%s: %s", why.text, text);
    return value;
}

/* A pod with this metadata and spec. */
static struct kube_pod *pod_of(const char *about, const char *spec, const char *status)
{
    AUTO_FREE char *text =
        mem_printf("{\"metadata\":{\"uid\":\"u1\",\"namespace\":\"ml\",\"name\":\"p\"%s%s},"
                   "\"spec\":{%s},\"status\":{%s}}",
                   about[0] ? "," : "", about, spec, status);
    json_t *object = json(text);
    struct kube_pod *pod = kube_pod_read(object);

    json_decref(object);
    assert_non_null(pod);
    return pod;
}

static void managed_fields_are_cut_and_nothing_else(void **state)
{
    static const char *const cases[][2] = {
        { "", "" },
        { "{\"a\":1}", "{\"a\":1}" },
        { "[{\"managedFields\":[{\"f\":{\"]\":[],\"\\\"]\":[[1]]}}],\"b\":2},{\"managedFields\":[]}"
          ",3]",
          "[{\"managedFields\":[],\"b\":2},{\"managedFields\":[]},3]" },
        { "{\"a\":\"\\\"managedFields\\\":[1]\"}", "{\"a\":\"\\\"managedFields\\\":[1]\"}" },
        { "{\"managedFields\":[{\"cut\":\"off", "{\"managedFields\":[" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *text = mem_string(cases[i][0]);
        text[kube_json_trim(text, strlen(text))] = '\0';
        assert_string_equal(text, cases[i][1]);
    }
}

/* ---- requests ---- */

static void requests_are_counted_as_the_scheduler_counts_them(void **state)
{
    static const struct {
        const char *spec;
        int64_t cpu_milli, memory_mib;
        uint32_t devices;
    } cases[] = {
        { "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}}},"
          "{\"resources\":{\"limits\":{\"cpu\":2,\"memory\":\"1500k\",\"nvidia.com/gpu\":\"2\"}}}]",
          2500, 1026, 2 },
        { "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
          "\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":\"4\"}}},"
          "{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}},"
          "{\"resources\":{\"requests\":{\"cpu\":\"3\"}}}]",
          5000, 0, 0 }, /* the last init container beside the sidecar */
        { "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
          "\"overhead\":{\"cpu\":\"250m\",\"memory\":\"120Mi\"}",
          1250, 120, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct kube_pod *pod = pod_of("", cases[i].spec, "");
        assert_null(pod->refused);
        assert_int_equal(pod->cpu_milli, cases[i].cpu_milli);
        assert_int_equal(pod->memory_mib, cases[i].memory_mib);
        assert_int_equal(pod->device_count, cases[i].devices);
        kube_pod_destroy(pod);
    }
}

static void what_cannot_be_honoured_is_named(void **state)
{
    static const struct {
        const char *spec, *refused;
    } cases[] = {
        { "\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":1,\"amd.com/gpu\":1}}}]",
          "it requests both nvidia.com/gpu and amd.com/gpu" },
        { "\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"many\"}}}]",
          "cpu: 'many' is not a quantity" },
        { "\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}],"
          "\"resourceClaims\":[{\"name\":\"g\",\"resourceClaimName\":\"one\"}]",
          "it has ResourceClaims, and requests nvidia.com/gpu" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct kube_pod *pod = pod_of("", cases[i].spec, "");
        assert_non_null(pod->refused);
        assert_string_equal(pod->refused, cases[i].refused);
        kube_pod_destroy(pod);
    }
}

static void on_touched(void *user, const char *node)
{
    (void)user;
    (void)node;
}

static void on_changed(void *user)
{
    ++*(int *)user;
}

static void claims_that_tarn_cannot_see_are_explained(void **state)
{
    static const struct {
        long status;
        const char *words;
    } cases[] = {
        { 404, "it has ResourceClaims, and the API server does not serve resource.k8s.io/v1" },
        { 403, "it has ResourceClaims, and the daemon may not list resourceclaims of "
               "resource.k8s.io" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int changes = 0;
        struct kube_dra *dra =
            kube_dra_create(NULL, &(struct kube_dra_told){ on_touched, on_changed, &changes });
        struct kube_pod *pod =
            pod_of("",
                   "\"containers\":[],\"resourceClaims\":[{\"name\":\"g\",\"resourceClaimName\":"
                   "\"one\"}]",
                   "");
        kube_dra_watch(dra);
        assert_false(kube_dra_is_known(dra));
        fake_answer(cases[i].status, NULL);
        assert_true(kube_dra_is_known(dra) && changes == 1);
        kube_dra_resolve(dra, pod);
        assert_string_equal(pod->unresolved, cases[i].words);
        kube_pod_destroy(pod);
        kube_dra_destroy(dra);
    }
}

static void a_gang_without_a_number_is_refused(void **state)
{
    struct kube_pod *pod = pod_of("\"labels\":{\"tarn.dev/gang\":\"g\"},\"annotations\":"
                                  "{\"tarn.dev/gang-size\":\"many\"}",
                                  "\"containers\":[]", "");

    (void)state;
    assert_string_equal(pod->refused,
                        "annotation tarn.dev/gang-size: 'many': expected a number, 1 to 100000");
    kube_pod_destroy(pod);
}

static void pods_keep_apart_by_ports_and_by_what_they_are(void **state)
{
    struct kube_pod *pod = pod_of(
        "\"labels\":{\"app\":\"web\",\"x\":\"1\"}",
        "\"containers\":[{\"ports\":[{\"hostPort\":80},{\"hostPort\":80,\"protocol\":\"TCP\"},"
        "{\"hostPort\":53,\"protocol\":\"UDP\"},{\"containerPort\":1}]}],\"affinity\":"
        "{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
        "\"topologyKey\":"
        "\"kubernetes.io/hostname\",\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}}}]}}",
        "");

    (void)state;
    assert_null(pod->refused);
    assert_int_equal(pod->apart_count, 3);
    assert_string_equal(pod->apart[0], "port-80-TCP");
    assert_string_equal(pod->apart[1], "port-53-UDP");
    assert_true(strncmp(pod->apart[2], "apart-", 6) == 0);
    assert_int_equal(pod->apart_marks, 0);
    kube_pod_destroy(pod);

    pod = pod_of("",
                 "\"containers\":[{\"ports\":[{\"hostPort\":54321,\"protocol\":\"SCTP\","
                 "\"hostIP\":\"10.0.0.1\"},{\"hostPort\":80,\"hostIP\":\"0.0.0.0\"}]}]",
                 "");
    assert_int_equal(pod->apart_count, 3);
    assert_string_equal(pod->apart[0],
                        "port-54321-SCTP"); /* for pods with this port of any address */
    assert_true(strncmp(pod->apart[1], "port-54321-SCTP-", 16) == 0);
    assert_int_equal(strlen(pod->apart[1]), KUBE_APART_SIZE - 1);
    assert_string_equal(pod->apart[2], "port-80-TCP");
    assert_int_equal(pod->apart_marks, 1);
    kube_pod_destroy(pod);
}

/* ---- state ---- */

static void the_end_of_a_pod_is_that_of_its_first_failed_container(void **state)
{
    struct kube_pod *pod = pod_of(
        "", "\"containers\":[]",
        "\"phase\":\"Failed\",\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":0}}},"
        "{\"state\":{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]");

    (void)state;
    assert_int_equal(pod->phase, KUBE_FAILED);
    assert_true(pod->is_started);
    assert_true(pod->was_oom);
    assert_int_equal(pod->signal, 9);
    assert_false(pod->is_evicted);
    kube_pod_destroy(pod);

    pod = pod_of("", "\"containers\":[]",
                 "\"phase\":\"Failed\",\"reason\":\"OutOfnvidia.com/gpu\",\"message\":\"no room\"");
    assert_true(pod->is_evicted);
    assert_string_equal(pod->reason, "OutOfnvidia.com/gpu: no room");
    kube_pod_destroy(pod);
}

static void what_keeps_a_container_from_starting_is_told(void **state)
{
    static const struct {
        const char *status, *waits;
        bool is_hopeless;
    } cases[] = {
        { "\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{"
          "\"reason\":\"ContainerCreating\"}}}]",
          "", false },
        { "\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{"
          "\"reason\":\"ImagePullBackOff\",\"message\":\"no such image\"}}}]",
          "ImagePullBackOff: no such image", false },
        { "\"phase\":\"Pending\",\"initContainerStatuses\":[{\"state\":{\"waiting\":{"
          "\"reason\":\"InvalidImageName\"}}}],\"containerStatuses\":[{\"state\":{\"waiting\":{"
          "\"reason\":\"PodInitializing\"}}}]",
          "InvalidImageName", true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct kube_pod *pod = pod_of("", "\"containers\":[]", cases[i].status);
        assert_string_equal(pod->waits, cases[i].waits);
        assert_int_equal(pod->is_hopeless, cases[i].is_hopeless);
        assert_false(pod->is_started);
        kube_pod_destroy(pod);
    }
}

static void conditions_have_words_for_people(void **state)
{
    static const char *const cases[][2] = {
        { "{}", "a taint that it does not tolerate" },
        { "{\"nodeSelector\":{\"type\":\"real\",\"zone\":\"a\"}}",
          "node selector type=real zone=a, or a taint that it does not tolerate" },
        { "{\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"
          "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\","
          "\"values\":[\"a\",\"b\"]},{\"key\":\"fast\",\"operator\":\"Exists\"}]}]}}},"
          "\"tolerations\":[{\"key\":\"spot\",\"operator\":\"Exists\"}]}",
          "node affinity zone In a|b and fast Exists, or a taint that it does not tolerate" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *spec = json(cases[i][0]), *fits = kube_fits_read(spec);
        AUTO_FREE char *words = kube_fits_words(fits);
        assert_string_equal(words, cases[i][1]);
        json_decref(fits);
        json_decref(spec);
    }
}

static void the_mark_of_a_binding_is_read(void **state)
{
    struct kube_pod *pod =
        pod_of("\"annotations\":{\"tarn.dev/attempt\":\"0123456789abcdef/12.3/7\"}",
               "\"containers\":[],\"schedulingGates\":[{\"name\":\"tarn.dev/queue\"}]", "");

    (void)state;
    assert_true(pod->is_marked && pod->is_gated && !pod->is_gated_by_others);
    assert_string_equal(pod->mark.instance, "0123456789abcdef");
    assert_int_equal(pod->mark.job, 12);
    assert_int_equal(pod->mark.attempt, 3);
    assert_int_equal(pod->mark.rank, 7);
    kube_pod_destroy(pod);
    pod = pod_of("\"annotations\":{\"tarn.dev/attempt\":\"0123456789abcdef/12.3/7x\"}",
                 "\"containers\":[]", "");
    assert_false(pod->is_marked);
    kube_pod_destroy(pod);
}

/* ---- workloads ---- */

static void a_pod_says_which_workload_it_belongs_to(void **state)
{
    static const struct {
        const char *about, *key, *object;
        enum kube_group_kind kind;
        uint32_t size;
    } cases[] = {
        { "", "u1", "", KUBE_GROUP_POD, 1 },
        { "\"ownerReferences\":[{\"apiVersion\":\"batch/"
          "v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":"
          "\"u2\",\"controller\":true}]",
          "ml/u2", "/apis/batch/v1/namespaces/ml/jobs/j", KUBE_GROUP_BATCH_JOB, 0 },
        { "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"r\","
          "\"uid\":\"u2\",\"controller\":true}]",
          "u1", "", KUBE_GROUP_POD, 1 },
        { "\"labels\":{\"training.kubeflow.org/"
          "job-name\":\"t\"},\"ownerReferences\":[{\"apiVersion\":"
          "\"kubeflow.org/"
          "v1\",\"kind\":\"PyTorchJob\",\"name\":\"t\",\"uid\":\"u2\",\"controller\":"
          "true}]",
          "training.kubeflow.org/job-name/ml/t",
          "/apis/kubeflow.org/v1/namespaces/ml/pytorchjobs/t", KUBE_GROUP_KUBEFLOW, 0 },
        { "\"labels\":{\"tarn.dev/gang\":\"g\"},\"annotations\":{\"tarn.dev/gang-size\":\"3\"}",
          "tarn.dev/gang/ml/g", "", KUBE_GROUP_TARN, 3 },
        { "\"annotations\":{\"scheduling.k8s.io/group-name\":\"v\"}",
          "scheduling.k8s.io/group-name/ml/v",
          "/apis/scheduling.volcano.sh/v1beta1/namespaces/ml/podgroups/v", KUBE_GROUP_VOLCANO, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct kube_pod *pod = pod_of(cases[i].about, "\"containers\":[]", "");
        assert_string_equal(pod->group.key, cases[i].key);
        assert_string_equal(pod->group.object, cases[i].object);
        assert_int_equal(pod->group.kind, cases[i].kind);
        assert_int_equal(pod->group.size, cases[i].size);
        kube_pod_destroy(pod);
    }
}

static void an_object_says_how_many_pods_start_together(void **state)
{
    static const struct {
        enum kube_group_kind kind;
        const char *object;
        uint32_t size;
        bool is_split;
    } cases[] = {
        { KUBE_GROUP_BATCH_JOB, "{\"spec\":{}}", 1, false },
        { KUBE_GROUP_BATCH_JOB, "{\"spec\":{\"parallelism\":8,\"completions\":8}}", 8, false },
        { KUBE_GROUP_BATCH_JOB, "{\"spec\":{\"parallelism\":8,\"completions\":3}}", 3, false },
        { KUBE_GROUP_BATCH_JOB, "{\"spec\":{\"parallelism\":8,\"completions\":100}}", 8, true },
        { KUBE_GROUP_JOBSET,
          "{\"spec\":{\"replicatedJobs\":[{\"replicas\":2,\"template\":{\"spec\":{\"parallelism\":"
          "4,"
          "\"completions\":4}}},{\"template\":{\"spec\":{}}}]}}",
          9, false },
        { KUBE_GROUP_KUBEFLOW,
          "{\"spec\":{\"pytorchReplicaSpecs\":{\"Master\":{},\"Worker\":{\"replicas\":3}}}}", 4,
          false },
        { KUBE_GROUP_RAY,
          "{\"spec\":{\"workerGroupSpecs\":[{\"replicas\":2,\"numOfHosts\":2},{\"minReplicas\":1}]}"
          "}",
          6, false },
        { KUBE_GROUP_KAI, "{\"spec\":{\"minMember\":5}}", 5, false },
        { KUBE_GROUP_KAI, "{\"spec\":{\"minMember\":-5}}", 0, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *object = json(cases[i].object);
        assert_int_equal(kube_group_size(cases[i].kind, object), cases[i].size);
        assert_int_equal(kube_group_is_split(cases[i].kind, object), cases[i].is_split);
        json_decref(object);
    }
}

static void a_workload_is_suspended_by_its_own_key(void **state)
{
    static const struct {
        enum kube_group_kind kind;
        const char *patch; /* NULL: it has none */
    } cases[] = {
        { KUBE_GROUP_BATCH_JOB, "{\"spec\": {\"suspend\": true}}" },
        { KUBE_GROUP_KUBEFLOW, "{\"spec\": {\"runPolicy\": {\"suspend\": true}}}" },
        { KUBE_GROUP_POD, NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *patch = kube_group_suspend(cases[i].kind, true);
        char *text = patch ? json_dumps(patch, 0) : NULL;
        if (cases[i].patch)
            assert_string_equal(text, cases[i].patch);
        else
            assert_null(text);
        free(text);
        json_decref(patch);
    }
}

static void paths_have_the_plurals_of_the_api(void **state)
{
    static const struct {
        const char *version, *kind, *path;
    } cases[] = {
        { "v1", "Pod", "/api/v1/namespaces/ml/pods/x" },
        { "batch/v1", "Job", "/apis/batch/v1/namespaces/ml/jobs/x" },
        { "networking.k8s.io/v1", "NetworkPolicy",
          "/apis/networking.k8s.io/v1/namespaces/ml/networkpolicies/x" },
        { "networking.k8s.io/v1", "Ingress",
          "/apis/networking.k8s.io/v1/namespaces/ml/ingresses/x" },
        { "batch/v1", "Job/../../victim/jobs", "" },
        { "../v1", "Job", "" },
        { "apps.x/v1", "Relay", "/apis/apps.x/v1/namespaces/ml/relays/x" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *path = kube_object_path(cases[i].version, cases[i].kind, "ml", "x");
        assert_string_equal(path, cases[i].path);
    }
}

/* ---- conditions for nodes ---- */

static bool fits(const char *spec, const char *labels, const char *taints)
{
    json_t *conditions_of = json(spec), *has = json(labels), *repels = json(taints);
    json_t *conditions = kube_fits_read(conditions_of);
    bool is_ok = kube_fits(conditions, "n1", has, repels);

    json_decref(conditions);
    json_decref(conditions_of);
    json_decref(has);
    json_decref(repels);
    return is_ok;
}

#define TERM(expression)                                                                           \
    "{\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"         \
    "{\"nodeSelectorTerms\":[" expression "]}}}}"
#define MATCH(key, operator, values)                                                               \
    "{\"matchExpressions\":[{\"key\":\"" key "\",\"operator\":\"" operator"\",\"values\":[" values \
                                                                          "]}]}"

static void selectors_affinity_and_taints_decide(void **state)
{
    static const struct {
        const char *spec, *labels, *taints;
        bool fits;
    } cases[] = {
        { "{}", "{}", "[]", true },
        { "{\"nodeSelector\":{\"a\":\"1\"}}", "{\"a\":\"1\"}", "[]", true },
        { "{\"nodeSelector\":{\"a\":\"1\"}}", "{\"a\":\"2\"}", "[]", false },
        { TERM(MATCH("a", "In", "\"1\",\"2\"")), "{\"a\":\"2\"}", "[]", true },
        { TERM(MATCH("a", "NotIn", "\"1\"")), "{}", "[]", true },
        { TERM(MATCH("a", "Exists", "")), "{}", "[]", false },
        { TERM(MATCH("a", "DoesNotExist", "")), "{}", "[]", true },
        { TERM(MATCH("a", "Gt", "\"5\"")), "{\"a\":\"6\"}", "[]", true },
        { TERM(MATCH("a", "Gt", "\"5\"")), "{\"a\":\"5\"}", "[]", false },
        { TERM(MATCH("a", "Lt", "\"5\"")), "{\"a\":\"x\"}", "[]", false },
        { TERM(MATCH("a", "In", "\"1\"") "," MATCH("b", "Exists", "")), "{\"b\":\"\"}", "[]",
          true },
        { TERM("{}"), "{}", "[]", false }, /* an empty term matches nothing */
        { TERM("{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":["
               "\"n1\"]}]}"),
          "{}", "[]", true },
        { "{}", "{}", "[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]", false },
        { "{}", "{}", "[{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}]", true },
        { "{\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]}", "{}",
          "[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]", true },
        { "{\"tolerations\":[{\"key\":\"k\",\"value\":\"w\"}]}", "{}",
          "[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]", false },
        { "{\"tolerations\":[{\"operator\":\"Exists\"}]}", "{}",
          "[{\"key\":\"k\",\"effect\":\"NoExecute\"}]", true },
        { "{\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}]}",
          "{}", "[{\"key\":\"k\",\"effect\":\"NoExecute\"}]", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (fits(cases[i].spec, cases[i].labels, cases[i].taints) != cases[i].fits)
            fail_msg("case %zu: %s on %s %s", i, cases[i].spec, cases[i].labels, cases[i].taints);
    }
}

static void equal_conditions_have_one_label(void **state)
{
    json_t *a = json("{\"nodeSelector\":{\"x\":\"1\",\"y\":\"2\"},\"tolerations\":[{\"key\":\"n\","
                     "\"effect\":\"NoExecute\",\"tolerationSeconds\":300}]}");
    json_t *b = json("{\"nodeSelector\":{\"y\":\"2\",\"x\":\"1\"}}"), *c = json("{}");
    json_t *fits_a = kube_fits_read(a), *fits_b = kube_fits_read(b), *fits_c = kube_fits_read(c);
    AUTO_FREE char *label_a = kube_fits_label(fits_a);
    AUTO_FREE char *label_b = kube_fits_label(fits_b);
    AUTO_FREE char *label_c = kube_fits_label(fits_c);
    json_t *all[] = { a, b, c, fits_a, fits_b, fits_c };

    (void)state;
    assert_string_equal(label_a, label_b); /* the default tolerations of a pod are no condition */
    assert_string_not_equal(label_a, label_c);
    for (size_t i = 0; i < COUNT_OF(all); i++)
        json_decref(all[i]);
}

/* ---- nodes ---- */

static struct kube_node *node_of(const char *labels, const char *spec, const char *allocatable,
                                 const char *ready)
{
    AUTO_FREE char *text =
        mem_printf("{\"metadata\":{\"name\":\"n1\",\"labels\":{%s}},\"spec\":{%s},\"status\":{"
                   "\"allocatable\":{%s},"
                   "\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\",\"message\":\"m\"}]}}",
                   labels, spec, allocatable, ready);
    json_t *object = json(text);
    struct kube_node *node = kube_node_read(object);

    json_decref(object);
    return node;
}

static void a_node_has_the_devices_that_its_plugins_offer(void **state)
{
    struct kube_node *node =
        node_of("\"nvidia.com/gpu.product\":\"NVIDIA-A100-SXM4-40GB\",\"nvidia.com/gpu.memory\":"
                "\"40960\",\"topology.kubernetes.io/zone\":\"z\"",
                "",
                "\"cpu\":\"7500m\",\"memory\":\"16Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"2\","
                "\"nvidia.com/mig-1g.5gb\":\"1\"",
                "True");

    (void)state;
    assert_int_equal(node->cpu_milli, 7500);
    assert_int_equal(node->memory_mib, 16384);
    assert_int_equal(node->pods_max, 110);
    assert_int_equal(node->device_count, 3);
    assert_string_equal(node->devices[0].model, "a100");
    assert_int_equal(node->devices[0].memory_mib, 40960);
    assert_string_equal(node->devices[1].uuid, "n1-gpu1");
    assert_string_equal(node->devices[2].model, "mig-1g.5gb");
    assert_int_equal(node->devices[2].memory_mib, 5120);
    assert_string_equal(node->block, "z");
    assert_false(node->is_down || node->is_drained);
    kube_node_destroy(node);
}

static void a_node_that_is_not_ready_or_cordoned_says_why(void **state)
{
    struct kube_node *node = node_of("", "\"unschedulable\":true", "", "True");

    (void)state;
    assert_true(node->is_drained);
    assert_string_equal(node->reason, "Kubernetes: cordoned");
    kube_node_destroy(node);
    node = node_of("", "", "", "Unknown");
    assert_true(node->is_down);
    assert_string_equal(node->reason, "Kubernetes: not ready: m");
    kube_node_destroy(node);
}

/* ---- documents ---- */

static void priorities_keep_their_order(void **state)
{
    static const int32_t values[] = {
        INT32_MIN, -1000000, -1000, -500, -1,      0,       1,
        500,       501,      1000,  5000, 1000000, 2000000, INT32_MAX
    };

    (void)state;
    assert_int_equal(kube_priority(0), 0);
    assert_int_equal(kube_priority(100), 100);
    assert_int_equal(kube_priority(-500), -500);
    for (size_t i = 1; i < COUNT_OF(values); i++) {
        assert_true(kube_priority(values[i - 1]) <= kube_priority(values[i]));
        assert_in_range(kube_priority(values[i]) + 1000, 0, 2000);
    }
    assert_true(kube_priority(1000000) < kube_priority(2000000));
}

static void a_pod_of_tarn_has_the_template_and_the_launch(void **state)
{
    static const char *const argv[] = { "python3", "train.py", "$x", NULL };
    static const char *const envp[] = { "PATH=/submitter", "RANK=1", "MASTER_ADDR=n1", NULL };
    static const struct engine_slice slice = { .uuid = "n1-gpu3", .index = 3, .milli = 1000 };
    struct engine_launch launch = { .id = { 12, 2, 1 },
                                    .node = "n1",
                                    .slices = &slice,
                                    .slices_count = 1,
                                    .title = "train",
                                    .queue = "research",
                                    .argv = argv,
                                    .envp = envp,
                                    .cwd = "/w",
                                    .output = "/o",
                                    .umask = 022,
                                    .memory_mib = 2048 };
    json_t *template = json("{\"spec\":{\"containers\":[{\"image\":\"i\",\"args\":[\"x\"]}]}}");
    json_t *pod =
        kube_own_pod(template, "0123456789abcdef", "ml", &launch, "nvidia.com/gpu", "3", true);
    json_t *spec = json_object_get(pod, "spec");
    json_t *container = json_array_get(json_object_get(spec, "containers"), 0);
    char *env = json_dumps(json_object_get(container, "env"), JSON_COMPACT);
    char *command = json_dumps(json_object_get(container, "command"), JSON_COMPACT);

    (void)state;
    assert_string_equal(kube_text(json_object_get(pod, "metadata"), "name"),
                        "tarn-01234567-12-2-1");
    assert_string_equal(kube_text(spec, "nodeName"), "n1");
    assert_string_equal(kube_text(spec, "hostname"), "r1");
    assert_string_equal(kube_text(container, "image"), "i");
    assert_string_equal(command, "[\"python3\",\"train.py\",\"$$x\"]");
    assert_null(json_object_get(container, "args"));
    assert_string_equal(env,
                        "[{\"name\":\"RANK\",\"value\":\"1\"},{\"name\":\"MASTER_ADDR\",\"value\":"
                        "\"r0.tarn-01234567-12-2.ml.svc\"}]");
    assert_string_equal(kube_text(kube_at(container, "resources", "limits", NULL), "memory"),
                        "2048Mi");
    assert_string_equal(
        kube_text(kube_at(container, "resources", "limits", NULL), "nvidia.com/gpu"), "1");
    free(env);
    free(command);
    json_decref(pod);
    json_decref(template);
}

static void a_pod_of_tarn_has_the_input_and_the_mask_of_its_submitter(void **state)
{
    static const char *const argv[] = { "cat", NULL }, *const envp[] = { NULL };
    static const struct {
        const char *input;
        uint32_t umask;
        const char *command;
    } cases[] = {
        { NULL, 022, "[\"cat\"]" },
        { NULL, 027, "[\"/bin/sh\",\"-c\",\"umask 0027; exec \\\"$@\\\"\",\"sh\",\"cat\"]" },
        { "/a$(b)", 0,
          "[\"/bin/sh\",\"-c\",\"umask 0000; in=$1; shift; exec \\\"$@\\\" <\\\"$in\\\"\",\"sh\","
          "\"/a$$(b)\",\"cat\"]" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct engine_launch launch = { .title = "t",
                                        .queue = "q",
                                        .argv = argv,
                                        .envp = envp,
                                        .cwd = "/w",
                                        .output = "/o",
                                        .input = cases[i].input,
                                        .umask = cases[i].umask };
        json_t *template = json("{\"spec\":{\"containers\":[{\"image\":\"i\"}]}}");
        json_t *pod = kube_own_pod(template, "0123456789abcdef", "ml", &launch, NULL, "", false);
        const json_t *containers = kube_at(pod, "spec", "containers", NULL);
        char *command =
            json_dumps(json_object_get(json_array_get(containers, 0), "command"), JSON_COMPACT);
        assert_string_equal(command, cases[i].command);
        free(command);
        json_decref(pod);
        json_decref(template);
    }
}

/* ---- credential plugins ---- */

static void a_plugin_gets_its_environment_and_no_secret_is_on_its_command_line(void **state)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct error err;

    (void)state;
    json_t *exec =
        json("{\"command\":\"sh\",\"args\":[\"-c\",\"cat /proc/$$/cmdline | tr '\\\\0' ' '; "
             "echo; echo $TOKEN; echo $KUBERNETES_EXEC_INFO\",\"it's one\"],"
             "\"env\":[{\"name\":\"TOKEN\",\"value\":\"a 'secret'\"}]}");
    assert_int_equal(kube_plugin_run(exec, &text, &err), 0);
    const char *second = strchr(text_string(&text), '\n');
    assert_non_null(second);
    assert_null(memmem(text.bytes, (size_t)(second - text.bytes), "secret", 6));
    assert_non_null(memmem(text.bytes, (size_t)(second - text.bytes), "it's one", 8));
    assert_string_equal(second, "\na 'secret'\n{\"kind\":\"ExecCredential\",\"apiVersion\":"
                                "\"client.authentication.k8s.io/v1\",\"spec\":{\"interactive\":"
                                "false}}\n");
    json_decref(exec);
}

static void a_plugin_that_fails_is_named(void **state)
{
    static const char *const cases[][2] = {
        { "{\"command\":\"/no/such\"}", "exec: /no/such: No such file or directory" },
        { "{\"command\":\"false\"}", "exec: false ended with status 1" },
        { "{\"command\":\"sh\",\"args\":[\"-c\",\"kill -9 $$\"]}", "exec: sh ended with signal 9" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text text = { 0 };
        struct error err;
        json_t *exec = json(cases[i][0]);

        assert_int_equal(kube_plugin_run(exec, &text, &err), -EACCES);
        assert_string_equal(err.text, cases[i][1]);
        json_decref(exec);
    }
}

/* ---- volumes ---- */

static void see_claims(struct kube_claims *claims, enum kube_claims_kind kind,
                       void *(*read)(const json_t *), const char *objects)
{
    json_t *list = json(objects), *object;
    size_t i;

    kube_claims_see(claims, kind, KUBE_LIST_BEGINS, NULL);
    json_array_foreach(list, i, object) kube_claims_see(claims, kind, KUBE_OBJECT, read(object));
    kube_claims_see(claims, kind, KUBE_LIST_ENDS, NULL);
    json_decref(list);
}

static struct kube_claims *some_claims(void)
{
    struct kube_claims *claims = kube_claims_create();

    see_claims(
        claims, KUBE_CLAIM, kube_claim_read,
        "[{\"metadata\":{\"namespace\":\"ml\",\"name\":\"bound\"},\"spec\":{\"volumeName\":\"v1\"},"
        "\"status\":{\"phase\":\"Bound\"}},"
        "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"free\"},\"spec\":{\"volumeName\":\"v2\"},"
        "\"status\":{\"phase\":\"Bound\"}},"
        "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"pending\"},\"spec\":{\"storageClassName\":"
        "\"now\"}},"
        "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"late\"},\"spec\":{\"storageClassName\":"
        "\"wait\"}},"
        "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"local\"},\"spec\":{\"storageClassName\":"
        "\"no\"}}]");
    see_claims(
        claims, KUBE_VOLUME, kube_volume_read,
        "[{\"metadata\":{\"name\":\"v1\"},\"spec\":{\"nodeAffinity\":{\"required\":{"
        "\"nodeSelectorTerms\":"
        "[{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"a\"]}]}]}}}},"
        "{\"metadata\":{\"name\":\"v2\"},\"spec\":{}}]");
    see_claims(claims, KUBE_STORAGE_CLASS, kube_storage_class_read,
               "[{\"metadata\":{\"name\":\"now\"},\"provisioner\":\"p\",\"volumeBindingMode\":"
               "\"Immediate\"},"
               "{\"metadata\":{\"name\":\"wait\"},\"provisioner\":\"p\","
               "\"volumeBindingMode\":\"WaitForFirstConsumer\"},"
               "{\"metadata\":{\"name\":\"no\"},\"provisioner\":\"kubernetes.io/no-provisioner\","
               "\"volumeBindingMode\":\"WaitForFirstConsumer\"}]");
    return claims;
}

static void a_pod_runs_where_its_volumes_can_be_used(void **state)
{
    static const struct {
        const char *claims; /* of the pod */
        bool fits_a, fits_b, waits;
        const char *refusal;
    } cases[] = {
        { "bound", true, false, false, NULL },
        { "free", true, true, false, NULL },
        { "late", true, true, true, NULL },
        { "pending", false, false, false, "its PersistentVolumeClaim pending is not bound" },
        { "absent", false, false, false, "its PersistentVolumeClaim absent does not exist" },
        { "local", false, false, true,
          "its PersistentVolumeClaim local waits for its first consumer, and storage class no has "
          "no provisioner: tarn binds no claims; bind it with volumeName" },
    };
    (void)state;
    struct kube_claims *claims = some_claims();
    json_t *a = json("{\"zone\":\"a\"}"), *b = json("{\"zone\":\"b\"}");

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { "" };
        AUTO_FREE char *spec = mem_printf(
            "\"volumes\":[{\"name\":\"x\",\"persistentVolumeClaim\":{\"claimName\":\"%s\"}}]",
            cases[i].claims);
        struct kube_pod *pod = pod_of("", spec, "");
        json_t *fits = kube_claims_fits(claims, pod, &err);
        assert_string_equal(err.text, cases[i].refusal ? cases[i].refusal : "");
        assert_int_equal(!fits, cases[i].refusal != NULL);
        if (fits)
            assert_int_equal(kube_fits(fits, "n", a, NULL), cases[i].fits_a);
        if (fits)
            assert_int_equal(kube_fits(fits, "n", b, NULL), cases[i].fits_b);
        assert_int_equal(kube_claims_wait(claims, pod, cases[i].claims), cases[i].waits);
        json_decref(fits);
        kube_pod_destroy(pod);
    }
    json_decref(a);
    json_decref(b);
    kube_claims_destroy(claims);
}

static void volumes_are_part_of_the_words(void **state)
{
    (void)state;
    struct kube_claims *claims = some_claims();
    struct kube_pod *pod = pod_of(
        "", "\"volumes\":[{\"name\":\"x\",\"persistentVolumeClaim\":{\"claimName\":\"bound\"}}]",
        "");
    struct error err = { "" };
    json_t *fits = kube_claims_fits(claims, pod, &err);
    AUTO_FREE char *words = kube_fits_words(fits);

    assert_string_equal(
        words,
        "node affinity of a volume or claim zone In a, or a taint that it does not tolerate");
    json_decref(fits);
    assert_null(kube_claims_fits(NULL, pod, &err));
    assert_non_null(strstr(err.text, "the volumes of the cluster are not known"));
    kube_pod_destroy(pod);
    kube_claims_destroy(claims);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_runs_where_its_volumes_can_be_used),
        cmocka_unit_test(volumes_are_part_of_the_words),
        cmocka_unit_test(managed_fields_are_cut_and_nothing_else),
        cmocka_unit_test(a_plugin_gets_its_environment_and_no_secret_is_on_its_command_line),
        cmocka_unit_test(a_plugin_that_fails_is_named),
        cmocka_unit_test(requests_are_counted_as_the_scheduler_counts_them),
        cmocka_unit_test(what_cannot_be_honoured_is_named),
        cmocka_unit_test(claims_that_tarn_cannot_see_are_explained),
        cmocka_unit_test(a_gang_without_a_number_is_refused),
        cmocka_unit_test(pods_keep_apart_by_ports_and_by_what_they_are),
        cmocka_unit_test(the_end_of_a_pod_is_that_of_its_first_failed_container),
        cmocka_unit_test(what_keeps_a_container_from_starting_is_told),
        cmocka_unit_test(conditions_have_words_for_people),
        cmocka_unit_test(the_mark_of_a_binding_is_read),
        cmocka_unit_test(a_pod_says_which_workload_it_belongs_to),
        cmocka_unit_test(an_object_says_how_many_pods_start_together),
        cmocka_unit_test(a_workload_is_suspended_by_its_own_key),
        cmocka_unit_test(paths_have_the_plurals_of_the_api),
        cmocka_unit_test(selectors_affinity_and_taints_decide),
        cmocka_unit_test(equal_conditions_have_one_label),
        cmocka_unit_test(a_node_has_the_devices_that_its_plugins_offer),
        cmocka_unit_test(a_node_that_is_not_ready_or_cordoned_says_why),
        cmocka_unit_test(priorities_keep_their_order),
        cmocka_unit_test(a_pod_of_tarn_has_the_template_and_the_launch),
        cmocka_unit_test(a_pod_of_tarn_has_the_input_and_the_mask_of_its_submitter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
