/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes rules of pods about other pods leave: topology spread, affinity, anti-affinity. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/kube_rules.h"
#include "engine/kube/objects/kube_node.h"
#include "engine/kube/objects/kube_pod.h"
#include "engine/kube/objects/kube_rule.h"
#include "quoted.h"

enum { NODES = 5 };

#define LINK "example.com/link"

/* Nodes a1, a2, b1, b2 of zones a and b, and x of none; and what is on them. */
struct world {
    struct kube_node *nodes[NODES];
    LIST(struct kube_pod *) pods;
    struct kube_rules *rules;
};

static const char *const names[NODES] = { "a1", "a2", "b1", "b2", "x" };

static const struct kube_node *about(void *user, size_t node)
{
    return ((struct world *)user)->nodes[node];
}

static size_t number_of(const char *name)
{
    size_t i = 0;

    while (i + 1 < NODES && strcmp(names[i], name) != 0)
        i++;
    return i;
}

static void each(void *user)
{
    struct world *world = user;

    LIST_EACH (struct kube_pod *, pod, &world->pods)
        kube_rules_charge(world->rules, *pod, number_of((*pod)->node), 1);
}

static void begin(struct world *world)
{
    *world = (struct world){ 0 };
    for (size_t i = 0; i < NODES; i++) {
        AUTO_FREE char *zone =
            names[i][1] ? mem_printf(",'zone':'%c'", names[i][0]) : mem_string("");
        AUTO_FREE char *text = mem_printf(
            "{'metadata':{'name':'%s','labels':{'kubernetes.io/hostname':'%s'%s}},'spec':{%s},"
            "'status':{'allocatable':{'" LINK "':'%c'},"
            "'conditions':[{'type':'Ready','status':'True'}]}}",
            names[i], names[i], zone,
            i == 3 ? "'taints':[{'key':'gpu','effect':'NoSchedule'}]" : "",
            names[i][1] ? names[i][1] : '0');
        json_t *object = json(text);
        world->nodes[i] = kube_node_read(object);
        json_decref(object);
        assert_non_null(world->nodes[i]);
    }
    world->rules = kube_rules_create(
        &(struct kube_rules_world){ .about = about, .each = each, .user = world });
    kube_rules_touch(world->rules, NODES);
}

static void end(struct world *world)
{
    kube_rules_destroy(world->rules);
    for (size_t i = 0; i < NODES; i++)
        kube_node_destroy(world->nodes[i]);
    LIST_EACH (struct kube_pod *, pod, &world->pods)
        kube_pod_destroy(*pod);
    list_release(&world->pods);
}

/* node "": it waits. */
static struct kube_pod *pod_of(const char *space, const char *labels, const char *spec,
                               const char *node)
{
    AUTO_FREE char *text =
        mem_printf("{'metadata':{'uid':'u','namespace':'%s','name':'p','labels':{%s}},"
                   "'spec':{'nodeName':'%s'%s%s},'status':{}}",
                   space, labels, node, spec[0] ? "," : "", spec);
    json_t *object = json(text);
    struct kube_pod *pod = kube_pod_read(object);

    json_decref(object);
    assert_non_null(pod);
    assert_null(pod->refused);
    return pod;
}

static void put(struct world *world, const char *space, const char *labels, const char *spec,
                const char *node)
{
    struct kube_pod *pod = pod_of(space, labels, spec, node);

    kube_rules_charge(world->rules, pod, number_of(node), 1);
    list_add(&world->pods, pod);
}

/* "web@a1 web@a1 other/db@b1": pods with the label app, of the namespace ml or another one. */
static void put_all(struct world *world, const char *words, const char *spec)
{
    AUTO_FREE char *copy = mem_string(words);
    char *rest = copy, *word;

    while ((word = strsep(&rest, " ")) != NULL) {
        char *node = strchr(word, '@'), *space = strchr(word, '/');
        if (!node)
            continue;
        *node++ = '\0';
        if (space)
            *space = '\0';
        AUTO_FREE char *labels = mem_printf("'app':'%s'", space ? space + 1 : word);
        put(world, space ? word : "ml", labels, spec, node);
    }
}

static char *allowed_for(struct world *world, const struct kube_pod *pod)
{
    struct text text = { 0 };
    uint64_t added;

    for (size_t i = 0; i < NODES; i++) {
        if (kube_rules_allow(world->rules, pod, i, 1000, &added, NULL))
            text_printf(&text, "%s%s", text.length > 0 ? " " : "", names[i]);
    }
    return text_take(&text);
}

static void check(struct world *world, const char *labels, const char *spec, const char *expected)
{
    struct kube_pod *pod = pod_of("ml", labels, spec, "");
    AUTO_FREE char *allowed = allowed_for(world, pod);

    if (strcmp(allowed, expected) != 0)
        fail_msg("%s: allowed on '%s', expected '%s'", spec, allowed, expected);
    kube_pod_destroy(pod);
}

#define WEB        "'labelSelector':{'matchLabels':{'app':'web'}}"
#define SPREAD(of) "'topologySpreadConstraints':[{'whenUnsatisfiable':'DoNotSchedule'," of "}]"
#define TERM(kind, of)                                                                             \
    "'affinity':{'" kind "':{'requiredDuringSchedulingIgnoredDuringExecution':[{" of "}]}}"
#define NEAR(of)  TERM("podAffinity", of)
#define APART(of) TERM("podAntiAffinity", of)
#define ZONE      "'topologyKey':'zone',"
#define HOST      "'topologyKey':'kubernetes.io/hostname',"

static void pods_are_spread(void **state)
{
    static const struct {
        const char *pods, *spec, *allowed;
    } cases[] = {
        { "", SPREAD(ZONE "'maxSkew':1," WEB), "a1 a2 b1 b2" }, /* without a zone: never */
        { "web@a1", SPREAD(ZONE "'maxSkew':1," WEB), "b1 b2" },
        { "web@a1", SPREAD(ZONE "'maxSkew':2," WEB), "a1 a2 b1 b2" },
        { "web@a1 web@b2", SPREAD(ZONE "'maxSkew':1," WEB), "a1 a2 b1 b2" },
        { "web@x db@a1 other/web@a1", SPREAD(ZONE "'maxSkew':1," WEB), "a1 a2 b1 b2" },
        { "web@a1", SPREAD(HOST "'maxSkew':1," WEB), "a2 b1 b2 x" },
        /* fewer domains than it wants: as if one were empty */
        { "web@a1 web@b1", SPREAD(ZONE "'maxSkew':1,'minDomains':3," WEB), "" },
        { "web@a1 web@b1", SPREAD(ZONE "'maxSkew':2,'minDomains':3," WEB), "a1 a2 b1 b2" },
        { "web@a1 web@b1", SPREAD(ZONE "'maxSkew':1,'minDomains':2," WEB), "a1 a2 b1 b2" },
        /* zone b is no domain of a pod that selects zone a */
        { "web@a1", "'nodeSelector':{'zone':'a'}," SPREAD(ZONE "'maxSkew':1," WEB), "a1 a2 b1 b2" },
        { "web@a1",
          "'nodeSelector':{'zone':'a'}," SPREAD(ZONE
                                                "'maxSkew':1,'nodeAffinityPolicy':'Ignore'," WEB),
          "b1 b2" },
        { "web@b2 web@a1 web@a1", SPREAD(ZONE "'maxSkew':1," WEB), "b1 b2" },
        { "web@b2 web@a1", SPREAD(ZONE "'maxSkew':1,'nodeTaintsPolicy':'Honor'," WEB), "b1 b2" },
        /* a pod that does not count itself */
        { "db@a1", SPREAD(ZONE "'maxSkew':1,'labelSelector':{'matchLabels':{'app':'db'}}"),
          "a1 a2 b1 b2" },
        { "db@a1 db@a1", SPREAD(ZONE "'maxSkew':1,'labelSelector':{'matchLabels':{'app':'db'}}"),
          "b1 b2" },
        /* only pods of this template */
        { "web@a1", SPREAD(ZONE "'maxSkew':1,'matchLabelKeys':['hash']," WEB), "a1 a2 b1 b2" },
        { "web@a1", SPREAD(ZONE "'maxSkew':1,'matchLabelKeys':['app','none']," WEB), "b1 b2" },
        { "web@a1", SPREAD(ZONE "'maxSkew':1"), "a1 a2 b1 b2" }, /* selects none */
        { "web@a1",
          "'topologySpreadConstraints':[{'whenUnsatisfiable':'ScheduleAnyway'," ZONE
          "'maxSkew':1," WEB "}]",
          "a1 a2 b1 b2 x" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world world;
        begin(&world);
        put_all(&world, cases[i].pods, "");
        check(&world, "'app':'web','hash':'1'", cases[i].spec, cases[i].allowed);
        end(&world);
    }
}

static void pods_go_to_others_or_not(void **state)
{
    static const struct {
        const char *pods, *spec, *allowed;
    } cases[] = {
        { "db@a1", NEAR(ZONE "'labelSelector':{'matchLabels':{'app':'db'}}"), "a1 a2" },
        { "db@a1", NEAR(HOST "'labelSelector':{'matchLabels':{'app':'db'}}"), "a1" },
        { "", NEAR(ZONE "'labelSelector':{'matchLabels':{'app':'db'}}"), "" },
        { "other/db@a1", NEAR(ZONE "'labelSelector':{'matchLabels':{'app':'db'}}"), "" },
        { "other/db@a1", NEAR(ZONE "'namespaces':['other'],'labelSelector':{}"), "a1 a2" },
        { "other/db@a1 ml/db@b1", NEAR(ZONE "'namespaces':['other'],'labelSelector':{}"), "a1 a2" },
        { "other/db@b1", NEAR(ZONE "'namespaceSelector':{},'labelSelector':{}"), "b1 b2" },
        { "other/db@b1",
          NEAR(ZONE "'namespaceSelector':{'matchLabels':{'team':'x'}},'labelSelector':{}"),
          "b1 b2" },
        { "other/db@b1",
          NEAR(ZONE "'namespaceSelector':{'matchLabels':{'team':'y'}},'labelSelector':{}"), "" },
        /* the first of those that choose themselves */
        { "", NEAR(ZONE WEB), "a1 a2 b1 b2" },
        { "other/web@a1", NEAR(ZONE WEB), "a1 a2 b1 b2" },
        { "web@b1", NEAR(ZONE WEB), "b1 b2" },
        { "web@x", NEAR(ZONE WEB), "a1 a2 b1 b2" },
        { "web@a1 db@b1",
          NEAR(ZONE "'labelSelector':{'matchExpressions':[{'key':'app','operator':'NotIn',"
                    "'values':['web']}]}"),
          "b1 b2" },
        { "db@a1", NEAR("'topologyKey':'zone'"), "" }, /* selects none */
        { "db@a1", APART(ZONE "'labelSelector':{'matchLabels':{'app':'db'}}"), "b1 b2 x" },
        { "db@a1", APART(HOST "'labelSelector':{'matchLabels':{'app':'db'}}"), "a2 b1 b2 x" },
        { "db@a1 web@b1",
          APART(ZONE "'labelSelector':{'matchExpressions':[{'key':'app',"
                     "'operator':'Exists'}]}"),
          "x" },
        { "db@a1", APART("'topologyKey':'zone'"), "a1 a2 b1 b2 x" },
        { "web@a1", APART(ZONE "'mismatchLabelKeys':['app'],'labelSelector':{}"), "a1 a2 b1 b2 x" },
        { "db@a1", APART(ZONE "'mismatchLabelKeys':['app'],'labelSelector':{}"), "b1 b2 x" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world world;
        json_t *team = json("{'team':'x'}"), *labels = kube_labels_read(team);
        begin(&world);
        kube_rules_see_space(world.rules, "other", labels);
        put_all(&world, cases[i].pods, "");
        check(&world, "'app':'web'", cases[i].spec, cases[i].allowed);
        json_decref(labels);
        json_decref(team);
        end(&world);
    }
}

static void pods_on_nodes_keep_others_away(void **state)
{
    struct world world;

    (void)state;
    begin(&world);
    put_all(&world, "lonely@a1", APART(ZONE WEB));
    put_all(&world, "other/lonely@b1", APART(HOST WEB));
    check(&world, "'app':'web'", "", "b1 b2 x");
    check(&world, "'app':'db'", "", "a1 a2 b1 b2 x");
    put_all(&world, "other/lonely@b1", APART(HOST "'namespaceSelector':{}," WEB));
    check(&world, "'app':'web'", "", "b2 x");
    kube_rules_charge(world.rules, world.pods.items[0], 0, -1);
    check(&world, "'app':'web'", "", "a1 a2 b2 x");
    end(&world);
}

static void pods_that_end_do_not_count_for_spread(void **state)
{
    struct world world;

    (void)state;
    begin(&world);
    put_all(&world, "web@a1", "");
    kube_rules_charge(world.rules, world.pods.items[0], 0, -1);
    world.pods.items[0]->is_deleting = true;
    kube_rules_charge(world.rules, world.pods.items[0], 0, 1);
    check(&world, "'app':'web'", SPREAD(ZONE "'maxSkew':1," WEB), "a1 a2 b1 b2");
    check(&world, "'app':'web'", APART(ZONE WEB), "b1 b2 x");
    end(&world);
}

static void resources_that_tarn_does_not_know_are_counted(void **state)
{
    static const char one[] = "'containers':[{'resources':{'limits':{'" LINK "':'1'}}}]";
    static const char two[] = "'overhead':{'" LINK "':'1'},"
                              "'containers':[{'resources':{'requests':{'" LINK "':'1'}}}],"
                              "'initContainers':[{'resources':{'limits':{'" LINK "':'1'}}}]";
    struct world world;

    (void)state;
    begin(&world);
    check(&world, "", one, "a1 a2 b1 b2");
    check(&world, "", two, "a2 b2");
    put_all(&world, "any@a1 any@a2", one);
    check(&world, "", one, "a2 b1 b2");
    check(&world, "", two, "b2");
    check(&world, "", "'containers':[{'resources':{'limits':{'rdma/hca':'1'}}}]", "");
    end(&world);
}

static void namespaces_may_get_other_labels(void **state)
{
    static const char near_x[] =
        NEAR(ZONE "'namespaceSelector':{'matchLabels':{'team':'x'}},'labelSelector':{}");
    struct world world;
    json_t *labels = json_string("team=x\n");

    (void)state;
    begin(&world);
    put_all(&world, "other/db@b1", "");
    check(&world, "'app':'web'", near_x, "");
    check(&world, "'app':'web'", NEAR(ZONE WEB), "a1 a2 b1 b2");
    kube_rules_see_space(world.rules, "other", labels);
    check(&world, "'app':'web'", near_x, "b1 b2");
    kube_rules_see_space(world.rules, "other", NULL);
    check(&world, "'app':'web'", near_x, "");
    json_decref(labels);
    end(&world);
}

static void note_change(void *user, size_t node)
{
    text_printf(user, "%s ", names[node]);
}

static void nodes_get_the_labels_of_rules_that_are_asked_for(void **state)
{
    struct world world;
    AUTO_RELEASE(text) struct text changed = { 0 }, labels = { 0 }, words = { 0 };
    struct kube_pod *pod = pod_of("ml", "'app':'web'", SPREAD(ZONE "'maxSkew':1," WEB), "");
    size_t length;

    (void)state;
    begin(&world);
    put_all(&world, "web@a1", "");
    put_all(&world, "lonely@b1", APART(HOST WEB));
    kube_rules_settle(world.rules, note_change, &changed);
    assert_int_equal(changed.length, 0);
    json_t *asked = kube_rules_ask(world.rules, pod, 1000, NULL);
    assert_int_equal(json_array_size(asked), 3); /* its own, one against it, and the last */
    kube_rules_settle(world.rules, note_change, &changed);
    assert_string_equal(changed.bytes, "b1 a1 a2 x ");
    kube_rules_label(world.rules, 0, 100, &labels);
    assert_string_equal(labels.bytes, json_string_value(json_array_get(asked, 0)));
    kube_rules_label(world.rules, 3, 100, &labels);
    kube_rules_label(world.rules, 2, 20, &labels); /* there is no room */
    assert_true(strstr(labels.bytes, "," KUBE_RULES_FULL));
    assert_true(kube_rules_spell(world.rules, json_string_value(json_array_get(asked, 0)), &length,
                                 &words));
    assert_string_equal(words.bytes, "topology spread of app=web over zone (maxSkew 1)");
    assert_int_equal(length, strlen(json_string_value(json_array_get(asked, 0))));
    json_decref(asked);

    uint64_t moves = kube_rules_moves(world.rules);
    put_all(&world, "web@b1", "");
    check(&world, "'app':'web'", SPREAD(ZONE "'maxSkew':1," WEB), "a1 a2 b2");
    text_clear(&changed);
    kube_rules_settle(world.rules, note_change, &changed);
    assert_string_equal(changed.bytes, "a1 a2 ");
    assert_true(kube_rules_moves(world.rules) > moves);
    kube_pod_destroy(pod);
    end(&world);
}

static void gangs_may_have_rules_about_themselves_on_nodes_only(void **state)
{
    static const struct {
        const char *spec;
        int code;
        uint32_t nodes;
    } cases[] = {
        { "", 0, 0 },
        { SPREAD(HOST "'maxSkew':1," WEB), 0, 3 },
        { SPREAD(ZONE "'maxSkew':1," WEB), -1, 0 },
        { SPREAD(ZONE "'maxSkew':1,'labelSelector':{'matchLabels':{'app':'db'}}"), 0, 0 },
        { NEAR(HOST WEB), 0, 1 },
        { NEAR(ZONE WEB), -1, 0 },
        { NEAR(ZONE "'labelSelector':{'matchLabels':{'app':'db'}}"), 0, 0 },
        { APART(HOST WEB), 0, 3 },
        { APART(ZONE WEB), -1, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world world;
        struct error err;
        struct kube_pod *pods[3];
        uint32_t nodes;
        begin(&world);
        for (size_t k = 0; k < COUNT_OF(pods); k++)
            pods[k] = pod_of("ml", "'app':'web'", cases[i].spec, "");
        int code = kube_rules_check_gang((const struct kube_pod *const *)pods, COUNT_OF(pods), NULL,
                                         &nodes, &err);
        assert_int_equal(code < 0, cases[i].code < 0);
        assert_int_equal(nodes, cases[i].nodes);
        for (size_t k = 0; k < COUNT_OF(pods); k++)
            kube_pod_destroy(pods[k]);
        end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_are_spread),
        cmocka_unit_test(pods_go_to_others_or_not),
        cmocka_unit_test(pods_on_nodes_keep_others_away),
        cmocka_unit_test(pods_that_end_do_not_count_for_spread),
        cmocka_unit_test(resources_that_tarn_does_not_know_are_counted),
        cmocka_unit_test(namespaces_may_get_other_labels),
        cmocka_unit_test(nodes_get_the_labels_of_rules_that_are_asked_for),
        cmocka_unit_test(gangs_may_have_rules_about_themselves_on_nodes_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
