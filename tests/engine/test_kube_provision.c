/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for nodes: which objects are made and removed, when, and what is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/provision/kube_ask.h"
#include "engine/kube/provision/kube_provision.h"
#include "kube_client_fake.h"

#define CLASS    "queued.example.com"
#define ARRIVAL  "kube/a"
#define REQUESTS "/apis/autoscaling.x-k8s.io/v1/namespaces/ns/provisioningrequests"
#define POD                                                                                        \
    "{\"metadata\": {\"name\": \"p0\", \"uid\": \"u0\", \"labels\": {\"app\": \"x\"}},"            \
    "\"spec\": {\"schedulingGates\": [{\"name\": \"tarn.dev/queue\"}], \"nodeName\": \"n\","       \
    "\"containers\": []}}"

static uint64_t now_ms;

/* Instead of that of libuv. */
uint64_t uv_now(const uv_loop_t *loop)
{
    (void)loop;
    return now_ms;
}

static struct watch_rules rules;
static struct engine_options options;
static struct kube_provision *provision;
static char *name;

static struct kube_pod pod_of(char *uid, uint32_t gpus)
{
    return (struct kube_pod){ .uid = uid,
                              .namespace = "ns",
                              .name = uid,
                              .device = "nvidia.com/gpu",
                              .device_count = gpus,
                              .group = { .title = "train", .role = "" } };
}

static bool wish(const char *arrival, uint64_t job, int32_t priority)
{
    struct kube_pod pod = pod_of("p0", 8);

    pod.priority = priority;
    return kube_provision_wish(
        provision, &(struct kube_wish){ .arrival = arrival, .job = job, .first = &pod });
}

static void assert_call(size_t at, const char *method, const char *path)
{
    const struct kube_call *call = fake_call(at);

    assert_non_null(call);
    assert_string_equal(call->method, method);
    assert_string_equal(call->path, path);
}

static void assert_words(const char *words)
{
    AUTO_FREE char *said = kube_provision_words(provision, ARRIVAL);

    if (!words)
        assert_null(said);
    else
        assert_string_equal(said ? said : "", words);
}

/* The class is set, and the cluster has the definition or not. */
static int begin(void **state, long status)
{
    (void)state;
    now_ms = 1000;
    snprintf(rules.kube_provisioning, sizeof(rules.kube_provisioning), CLASS);
    options = (struct engine_options){ .rules = &rules };
    provision = kube_provision_create(&options, NULL);
    name = kube_object_name("train", ARRIVAL);
    kube_provision_tick(provision);
    assert_call(0, "GET", "/apis/autoscaling.x-k8s.io/v1");
    fake_answer(status, "{\"resources\": [{\"name\": \"provisioningrequests\"}]}");
    return 0;
}

static int set_up(void **state)
{
    begin(state, 200);
    fake_event(KUBE_LIST_BEGINS, NULL);
    fake_event(KUBE_LIST_ENDS, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_null(fake_call(0));
    kube_provision_destroy(provision);
    free(name);
    return 0;
}

static void see(enum kube_event event, const char *conditions)
{
    AUTO_FREE char *body =
        mem_printf("{\"metadata\": {\"name\": \"%s\", \"namespace\": \"ns\", \"uid\": \"r0\","
                   "\"annotations\": {\"tarn.dev/arrival\": \"" ARRIVAL "\"}},"
                   "\"spec\": {\"provisioningClassName\": \"" CLASS "\", \"podSets\": [{}]},"
                   "\"status\": {\"conditions\": [%s]}}",
                   name, conditions);

    fake_event(event, body);
}

#define CONDITION(type, status, message)                                                           \
    "{\"type\": \"" type "\", \"status\": \"" status "\", \"message\": \"" message "\"}"

/* Until the objects of ARRIVAL exist, for one pod. */
static void make(void)
{
    struct kube_pod pod = pod_of("p0", 8);
    const struct kube_pod *pods[] = { &pod };

    assert_false(wish(ARRIVAL, 7, 0));
    kube_provision_tick(provision);
    assert_true(wish(ARRIVAL, 7, 0));
    kube_provision_ask(provision, ARRIVAL, pods, 1, "");
    assert_call(0, "GET", "/api/v1/namespaces/ns/pods/p0");
    fake_answer(200, POD);
    assert_call(0, "POST", "/api/v1/namespaces/ns/podtemplates");
    fake_answer(201, NULL);
    assert_call(0, "POST", REQUESTS);
    fake_answer(201, NULL);
    see(KUBE_OBJECT, "");
}

static void expect_removal(void)
{
    AUTO_FREE char *template = mem_printf("/api/v1/namespaces/ns/podtemplates/%s-0", name);
    AUTO_FREE char *request = mem_printf(REQUESTS "/%s", name);

    kube_provision_tick(provision);
    assert_call(0, "DELETE", template);
    fake_answer(200, NULL);
    assert_call(0, "DELETE", request);
    fake_answer(404, NULL);
    see(KUBE_GONE, "");
    assert_null(fake_call(0));
}

static void a_request_names_a_template_for_each_kind_of_pods(void **state)
{
    (void)state;
    struct kube_pod big = pod_of("p0", 8), small = pod_of("p1", 4);
    const struct kube_pod *pods[] = { &big, &small, &big };

    wish(ARRIVAL, 7, 0);
    kube_provision_tick(provision);
    assert_true(wish(ARRIVAL, 7, 0));
    kube_provision_ask(provision, ARRIVAL, pods, 3, "");
    fake_answer(200, POD);
    const json_t *template = fake_call(0)->body,
                 *spec = kube_at(template, "template", "spec", NULL);
    assert_non_null(json_object_get(spec, "containers"));
    assert_null(json_object_get(spec, "schedulingGates"));
    assert_null(json_object_get(spec, "nodeName"));
    assert_string_equal(kube_text(kube_at(template, "template", "metadata", "labels", NULL), "app"),
                        "x");
    fake_answer(201, NULL);
    assert_call(0, "GET", "/api/v1/namespaces/ns/pods/p1");
    fake_answer(200, POD);
    fake_answer(409, NULL); /* an earlier one, perhaps of other pods */
    AUTO_FREE char *stale = mem_printf("/api/v1/namespaces/ns/podtemplates/%s-1", name);
    assert_call(0, "DELETE", stale);
    fake_answer(200, NULL);
    assert_call(0, "GET", "/api/v1/namespaces/ns/pods/p1");
    fake_answer(200, POD);
    fake_answer(201, NULL);
    assert_call(0, "POST", REQUESTS);
    const json_t *request = fake_call(0)->body;
    const json_t *sets = kube_at(request, "spec", "podSets", NULL);
    assert_int_equal(json_array_size(sets), 2);
    assert_int_equal(kube_number(json_array_get(sets, 0), "count", 0), 2);
    assert_string_equal(kube_text(json_object_get(request, "spec"), "provisioningClassName"),
                        CLASS);
    const json_t *owner = json_array_get(kube_at(request, "metadata", "ownerReferences", NULL), 0);
    assert_string_equal(kube_text(owner, "kind"), "Pod");
    fake_answer(201, NULL);
}

static void the_conditions_are_said_and_pods_get_annotations_when_it_is_provisioned(void **state)
{
    static const struct {
        const char *conditions, *words;
        bool is_provisioned;
    } cases[] = {
        { "", "", false },
        { CONDITION("Accepted", "True", "it is tried"), ": Accepted: it is tried", false },
        { CONDITION("Accepted", "True", "it is tried") ", " CONDITION("Provisioned", "False",
                                                                      "in 5 min"),
          ": Provisioned: in 5 min", false },
        { CONDITION("Accepted", "True", "") ", " CONDITION("Provisioned", "False", ""),
          ": Accepted", false },
        { CONDITION("Provisioned", "True", "done"), ": Provisioned: done", true },
        { "1, {\"type\": 3}, " CONDITION("Other", "True", "x"), "", false },
    };
    (void)state;
    make();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *words =
            mem_printf("asked for nodes: ProvisioningRequest %s%s", name, cases[i].words);
        json_t *notes = json_object();

        see(KUBE_OBJECT, cases[i].conditions);
        assert_words(words);
        kube_provision_annotate(provision, ARRIVAL, notes);
        assert_string_equal(kube_text(notes, KUBE_REQUEST_NAME),
                            cases[i].is_provisioned ? name : "");
        assert_string_equal(kube_text(notes, KUBE_REQUEST_CLASS),
                            cases[i].is_provisioned ? CLASS : "");
        json_decref(notes);
    }
}

static void a_failed_request_is_made_again_with_growing_pauses(void **state)
{
    static const char *const ends[] = { "Failed", "CapacityRevoked", "BookingExpired" };
    uint64_t pause = 15000;

    (void)state;
    make();
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        AUTO_FREE char *condition =
            mem_printf("{\"type\": \"%s\", \"status\": \"True\", \"message\": \"no\"}", ends[i]);
        AUTO_FREE char *words = mem_printf("asked for nodes: ProvisioningRequest %s: %s: no; it "
                                           "will be asked again",
                                           name, ends[i]);
        see(KUBE_OBJECT, condition);
        expect_removal();
        assert_words(words);
        now_ms += pause - 1;
        wish(ARRIVAL, 7, 0);
        kube_provision_tick(provision);
        assert_false(wish(ARRIVAL, 7, 0));
        now_ms += 1;
        pause *= 2;
        make();
    }
}

static void what_the_server_refuses_is_said(void **state)
{
    struct kube_pod pod = pod_of("p0", 8);
    const struct kube_pod *pods[] = { &pod };
    AUTO_FREE char *words = mem_printf("asked for nodes: ProvisioningRequest %s: it cannot be "
                                       "made: refused; it will be asked again",
                                       name);

    (void)state;
    wish(ARRIVAL, 7, 0);
    kube_provision_tick(provision);
    kube_provision_ask(provision, ARRIVAL, pods, 1, "");
    fake_answer(404, NULL);
    assert_words(words);
}

static void a_request_without_a_wish_is_removed_after_a_while(void **state)
{
    (void)state;
    make();
    now_ms += 29999;
    kube_provision_tick(provision);
    assert_null(fake_call(0));
    kube_provision_keep(provision, ARRIVAL);
    now_ms += 29999;
    kube_provision_tick(provision);
    assert_null(fake_call(0));
    now_ms += 1;
    expect_removal();
    assert_words(NULL);
}

static void a_request_of_a_former_daemon_is_known(void **state)
{
    (void)state;
    see(KUBE_OBJECT, CONDITION("Provisioned", "True", "done"));
    assert_false(wish(ARRIVAL, 7, 0));
    kube_provision_tick(provision);
    assert_false(wish(ARRIVAL, 7, 0));
    now_ms += 30000;
    expect_removal();
}

static void a_request_of_another_class_is_made_again(void **state)
{
    (void)state;
    make();
    snprintf(rules.kube_provisioning, sizeof(rules.kube_provisioning), "other");
    expect_removal();
    snprintf(rules.kube_provisioning, sizeof(rules.kube_provisioning), CLASS);
    now_ms += 5000;
    make();
    rules.kube_provisioning[0] = '\0';
    assert_false(kube_provision_is_on(provision));
    expect_removal();
}

static void an_object_of_a_user_does_not_take_the_place(void **state)
{
    (void)state;
    fake_event(KUBE_OBJECT, "{\"metadata\": {\"name\": \"x\", \"namespace\": \"other\", "
                            "\"annotations\": {\"tarn.dev/arrival\": \"" ARRIVAL "\"}}}");
    fake_event(KUBE_OBJECT, "{\"metadata\": {\"name\": \"y\", \"namespace\": \"ns\"}}");
    fake_event(KUBE_OBJECT, "[1]");
    make();
}

static void requests_are_few_those_of_high_priority_and_old_jobs_first(void **state)
{
    char arrival[32];

    (void)state;
    for (int i = 0; i < 21; i++) {
        snprintf(arrival, sizeof(arrival), "kube/%d", i);
        wish(arrival, (uint64_t)(100 - i), i == 5);
    }
    kube_provision_tick(provision);
    for (int i = 0; i < 21; i++) {
        snprintf(arrival, sizeof(arrival), "kube/%d", i);
        assert_int_equal(wish(arrival, (uint64_t)(100 - i), i == 5), i > 0);
    }
    AUTO_FREE char *words = kube_provision_words(provision, "kube/0");
    assert_string_equal(words, "waits to ask for nodes: 20 requests are open");
}

static void a_cluster_without_the_definition_is_looked_at_again(void **state)
{
    begin(state, 404);
    assert_false(kube_provision_is_on(provision));
    assert_false(wish(ARRIVAL, 7, 0));
    assert_words("no nodes are asked for: the cluster does not serve provisioningrequests of "
                 "autoscaling.x-k8s.io/v1");
    now_ms += 60000;
    kube_provision_tick(provision);
    fake_answer(200, "{\"resources\": [{\"name\": \"provisioningrequests\"}]}");
    assert_true(kube_provision_is_on(provision));
    fake_event(KUBE_LIST_ENDS, NULL);
    make();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_request_names_a_template_for_each_kind_of_pods),
        TEST(the_conditions_are_said_and_pods_get_annotations_when_it_is_provisioned),
        TEST(a_failed_request_is_made_again_with_growing_pauses),
        TEST(what_the_server_refuses_is_said),
        TEST(a_request_without_a_wish_is_removed_after_a_while),
        TEST(a_request_of_a_former_daemon_is_known),
        TEST(a_request_of_another_class_is_made_again),
        TEST(an_object_of_a_user_does_not_take_the_place),
        TEST(requests_are_few_those_of_high_priority_and_old_jobs_first),
        cmocka_unit_test_teardown(a_cluster_without_the_definition_is_looked_at_again, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
