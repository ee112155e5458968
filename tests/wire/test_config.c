/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "config_text.h"
#include "core/cluster/pool.h"
#include "wire/config/config_keys.h"
#include "wire/json.h"

static const char teams[] =
    "pools:\n"
    "  inference: {type: static, queue: prod, gpus: 2, model: H100}\n"
    "  shared: {type: dynamic, min: 2, max: 6, nodes: [a, b], devices: [0, 3], mig: on}\n"
    "queues:\n"
    "  late: {parent: vision}\n"
    "  prod: {}\n"
    "  research: {weight: 3, guarantee: 4, limit: 8.5, parent: root}\n"
    "  vision: {weight: 2, queues: {a: {guarantee: 0.5}, b: {queues: {c: {}}}}}\n"
    "fair_share: {half_life: 36h}\n"
    "placement: first-fit\n"
    "backfill: {depth: 3}\n";

static void nothing_gives_the_defaults(void **state)
{
    (void)state;
    AUTO(config) struct config *config = parsed("");

    assert_int_equal(config->pool_count, 0);
    assert_int_equal(config->queue_count, 0);
    assert_int_equal(config->settings.half_life, 7 * USEC_PER_DAY);
    assert_int_equal(config->settings.placement, PLACEMENT_SFG);
    assert_int_equal(config->settings.backfill_depth, 1);
    assert_int_equal(config->settings.watch.memory_grace, USEC_PER_MIN);
    AUTO(json) json_t *document = config_to_json(config);
    assert_int_equal(json_object_size(document), 2); /* no pools, no queues, and no settings */
}

static void pools_queues_and_settings_are_read(void **state)
{
    (void)state;
    AUTO(config) struct config *config = parsed(teams);
    const struct event_pool *inference = &config->pools[0], *shared = &config->pools[1];

    assert_int_equal(config->pool_count, 2);
    assert_true(inference->is_static);
    assert_string_equal(inference->queue, "prod");
    assert_string_equal(inference->model, "h100");
    assert_int_equal(inference->gpus, 2);
    assert_int_equal(inference->where_count, 0);
    assert_false(shared->is_static);
    assert_int_equal(shared->milli_min, 2000);
    assert_int_equal(shared->milli_max, 6000);
    assert_int_equal(shared->gpus, 0);
    assert_int_equal(shared->where_count, 2);
    assert_string_equal(shared->where[0].key, "node");
    assert_true(shared->where[0].is_or && strcmp(shared->where[1].value, "b") == 0);
    assert_int_equal(shared->devices, 1 << 0 | 1 << 3);
    assert_int_equal(shared->mig, POOL_MIG_ON);
    const struct event_queue *research = &config->queues[config_find_queue(config, "research")];
    assert_int_equal(research->weight, 3);
    assert_int_equal(research->gpus.guarantee, 4000);
    assert_int_equal(research->gpus.limit, 8500);
    assert_string_equal(research->parent, "");
    assert_int_equal(config->settings.half_life, 36 * USEC_PER_HOUR);
    assert_int_equal(config->settings.placement, PLACEMENT_FIRST_FIT);
    assert_int_equal(config->settings.backfill_depth, 3);
}

static void a_parent_stands_before_its_children(void **state)
{
    (void)state;
    AUTO(config) struct config *config = parsed(teams);

    assert_int_equal(config->queue_count, 7);
    for (size_t i = 0; i < config->queue_count; i++)
        assert_true(config_find_queue(config, config->queues[i].parent) < (int32_t)i);
    assert_string_equal(config->queues[config_find_queue(config, "a")].parent, "vision");
    assert_string_equal(config->queues[config_find_queue(config, "late")].parent, "vision");
    assert_string_equal(config->queues[config_find_queue(config, "c")].parent, "b");
    assert_int_equal(config_find_queue(config, "zz"), -1);
    assert_int_equal(config_find_pool(config, "shared"), 1);
}

static void backfill_has_words_too(void **state)
{
    (void)state;
    AUTO(config) struct config *none = parsed("backfill: none\n");
    AUTO(config) struct config *easy = parsed("backfill: easy\n");
    AUTO(config) struct config *all = parsed("backfill: conservative\n");

    assert_int_equal(none->settings.backfill_depth, 0);
    assert_int_equal(easy->settings.backfill_depth, 1);
    assert_int_equal(all->settings.backfill_depth, 10000);
}

static void order_and_prediction_are_settings_too(void **state)
{
    AUTO_RELEASE(text) struct text lines = { 0 };
    (void)state;
    AUTO(config) struct config *plain = parsed("");
    AUTO(config)
    struct config *config = parsed("order: shortest\npredict: true\n"
                                   "placement: dot-product\n");

    assert_int_equal(config->settings.order, ORDER_SHORTEST);
    assert_true(config->settings.predict);
    assert_int_equal(config->settings.placement, PLACEMENT_DOT_PRODUCT);
    assert_int_equal(plain->settings.order, ORDER_DEFAULT);
    assert_int_equal(config_diff(plain, config, &lines), 2); /* both predict */
}

static void what_is_shown_reads_back_the_same(void **state)
{
    AUTO_RELEASE(text) struct text lines = { 0 };
    AUTO(config) struct config *again = NULL;
    struct error err;
    (void)state;
    AUTO(config) struct config *config = parsed(teams);
    AUTO(json) json_t *document = config_to_json(config);

    assert_int_equal(config_parse(document, NULL, NULL, &again, &err), 0);
    assert_int_equal(config_diff(config, again, &lines), 0);
    AUTO_FREE char *shown = json_dumps(json_object_get(document, "fair_share"), JSON_COMPACT);
    assert_string_equal(shown, "{\"half_life\":\"36h\"}");
}

static void a_user_may_be_called_as_a_resource(void **state)
{
    struct error err;
    (void)state;
    AUTO(config) struct config *config = parsed("queues: {q: {users: {gpus: 1}}}\n");
    AUTO(config) struct config *again = NULL;
    AUTO(json) json_t *document = config_to_json(config);

    assert_int_equal(config_parse(document, NULL, NULL, &again, &err), 0);
    assert_string_equal(again->queues[0].subjects[0].name, "gpus");
}

static void differences_are_told_a_line_each(void **state)
{
    AUTO_RELEASE(text) struct text lines = { 0 };
    (void)state;
    AUTO(config)
    struct config *from = parsed("queues: {research: {guarantee: 8, limit: 9}, old: {}}\n"
                                 "pools: {p: {min: 1}, gone: {}}\nbackfill: none\n");
    AUTO(config)
    struct config *to =
        parsed("queues: {research: {guarantee: 12, weight: 2}, vision: {weight: 2}, old: "
               "{parent: vision}}\n"
               "pools: {p: {min: 2, max: 3, model: a100}, q: {type: static, queue: vision}}\n"
               "fair_share: {half_life: 90m}\n");

    assert_int_equal(config_diff(from, to, &lines), 8);
    assert_string_equal(text_string(&lines),
                        "queue research     weight 1 -> 2, guarantee 8 -> 12 gpus, limit 9 gpus -> "
                        "none\n"
                        "queue vision       new, weight 2\n"
                        "queue old          parent root -> vision\n"
                        "pool p             min 1 -> 2 gpus, max none -> 3 gpus, model none -> "
                        "a100\n"
                        "pool q             new, type static, queue vision\n"
                        "pool gone          removed\n"
                        "setting half_life  7d -> 90m\n"
                        "setting backfill   0 -> 1\n");
}

static void nodes_have_properties(void **state)
{
    static const char yaml[] =
        "nodes:\n"
        "  n1: {labels: [zone=a, fast], rack: r7, block: b1, type: big, price: 2.5, spot: true}\n"
        "  n2: {labels: slow, gpu_labels: {0: big, 3: [zone=b, slow]}}\n";
    AUTO_RELEASE(text) struct text lines = { 0 };
    (void)state;
    AUTO(config) struct config *config = parsed(yaml);
    AUTO(config) struct config *other = parsed("nodes: {n1: {rack: r8}, n3: {spot: true}}");
    AUTO(config) struct config *again = NULL;
    struct error err;

    assert_int_equal(config->node_count, 2);
    assert_string_equal(config->nodes[0].labels, "zone=a,fast");
    assert_string_equal(config->nodes[0].rack, "r7");
    assert_int_equal(config->nodes[0].price_micro, 2500000);
    assert_true(config->nodes[0].is_spot && !config->nodes[1].is_spot);
    assert_string_equal(config->nodes[1].labels, "slow");
    assert_string_equal(config->nodes[1].gpu_labels, "0:big,3:zone=b,3:slow");
    AUTO(json) json_t *document = config_to_json(config);
    assert_int_equal(config_parse(document, NULL, NULL, &again, &err), 0);
    assert_int_equal(config_diff(config, again, &lines), 0);
    assert_int_equal(config_diff(config, other, &lines), 3);
    assert_string_equal(text_string(&lines),
                        "node n1  labels zone=a,fast -> none, rack r7 -> r8, block b1 -> none, "
                        "type big -> none, price 2.5 -> none, spot true -> none\n"
                        "node n3  new, labels none, spot true\n"
                        "node n2  removed\n");
}

static void conditions_of_pools_read_back(void **state)
{
    static const char yaml[] = "pools:\n"
                               "  p: {nodes: [n1, n2], labels: [edge, zone=a], where: ['zone in "
                               "(a,b)', '!slow, node!=n3']}\n"
                               "  q: {where: fast|edge}\n";
    AUTO_RELEASE(text) struct text lines = { 0 };
    (void)state;
    AUTO(config) struct config *config = parsed(yaml);
    AUTO(config) struct config *other = parsed("pools: {p: {nodes: [n1]}, q: {where: fast}}");
    AUTO(config) struct config *again = NULL;
    struct error err;

    AUTO(json) json_t *document = config_to_json(config);
    const json_t *pools = json_object_get(document, "pools");
    AUTO_FREE char *p = json_dumps(json_object_get(pools, "p"), JSON_COMPACT);
    AUTO_FREE char *q = json_dumps(json_object_get(pools, "q"), JSON_COMPACT);
    assert_string_equal(p, "{\"type\":\"dynamic\",\"nodes\":[\"n1\",\"n2\"],\"labels\":[\"edge\"],"
                           "\"where\":[\"zone=a\",\"zone in (a,b)\",\"!slow\",\"node!=n3\"]}");
    assert_string_equal(q, "{\"type\":\"dynamic\",\"where\":[\"fast|edge\"]}");
    assert_int_equal(config_parse(document, NULL, NULL, &again, &err), 0);
    assert_int_equal(config_diff(config, again, &lines), 0);
    assert_int_equal(config_diff(config, other, &lines), 2);
    assert_string_equal(text_string(&lines),
                        "pool p  nodes n1 n2 -> n1, labels edge -> none, where zone=a, zone in "
                        "(a,b), !slow, node!=n3 -> none\n"
                        "pool q  labels none -> fast, where fast|edge -> none\n");
}

/* A member as its record has it, other than by default. */
static void put_field(struct watch_rules *rules, const struct field *field, char last)
{
    uint8_t *member = (uint8_t *)rules + field->offset;
    int64_t hours = 7 * USEC_PER_HOUR;

    switch (field->kind) {
    case FIELD_INT:
        assert_int_equal(field->size, sizeof(hours));
        memcpy(member, &hours, sizeof(hours));
        break;
    case FIELD_UINT:
        member[0] = 1;
        break;
    case FIELD_CHARS:
        memset(member, 'x', field->size - 1);
        member[field->size - 2] = (uint8_t)last;
        break;
    default:
        fail_msg("%s: of a kind that is not tested", field->name);
    }
}

static void each_rule_of_watching_is_a_difference_alone(void **state)
{
    (void)state;
    AUTO(config) struct config *plain = config_create();

    for (size_t i = 0; i < watch_rules_record.field_count; i++) {
        const struct field *field = &watch_rules_record.fields[i];
        AUTO(config) struct config *set = config_create();
        AUTO(config) struct config *other = config_create();
        AUTO_RELEASE(text) struct text lines = { 0 };
        put_field(&set->settings.watch, field, 'x');
        put_field(&other->settings.watch, field, 'y');
        if (config_diff(plain, set, &lines) != 1)
            fail_msg("%s: set alone, the difference is '%s'", field->name, text_string(&lines));
        if (field->kind == FIELD_CHARS && config_diff(set, other, &lines) != 1)
            fail_msg("%s: its last letter makes no difference", field->name);
    }
}

#define NAME_EXPECTED "expected 1 to 63 letters, digits and '._-+@'"

static void amounts_of_a_queue_are_read_and_written_back(void **state)
{
    static const char yaml[] = "queues:\n"
                               "  a: {guarantee: {h100: 4, gpus: 6, memory: 512G}, limit: {cpus: "
                               "64}, borrow: 2, lend: 3,\n"
                               "      users: {each: 1, ana: {h100: 2, cpus: 8}}, groups: "
                               "{students: 2}, min_runtime: 10m}\n"
                               "prices: {H100: 2.5, memory: 0.004}\n";
    (void)state;
    AUTO(config) struct config *config = parsed(yaml);
    AUTO(config) struct config *again = NULL;
    AUTO(config) struct config *other = parsed("queues: {a: {guarantee: {h100: 5}, lend: 0}}\n");
    AUTO_RELEASE(text) struct text changes = { 0 };
    struct error err;
    const struct event_queue *a = &config->queues[0];

    assert_int_equal(a->gpus.guarantee, 6000);
    assert_int_equal(a->gpus.borrow, 2000);
    assert_int_equal(a->gpus.lend, 3000);
    assert_int_equal(config_quota(config, &config->queues[0], "h100")->guarantee, 4000);
    assert_int_equal(config_quota(config, &config->queues[0], "memory")->guarantee, 512 * 1024);
    assert_int_equal(config_quota(config, &config->queues[0], "cpus")->limit, 64000);
    assert_int_equal(a->min_runtime, 10 * USEC_PER_MIN);
    assert_int_equal(a->subjects_count, 4);
    assert_int_equal(config->price_count, 2);
    assert_string_equal(config->prices[0].resource, "h100");
    assert_int_equal(config->prices[0].price_micro, 2500000);
    json_t *document = config_to_json(config);
    assert_int_equal(config_parse(document, NULL, NULL, &again, &err), 0);
    assert_int_equal(config_diff(config, again, &changes), 0);
    json_decref(document);
    assert_int_equal(config_diff(config, other, &changes), 3);
    assert_string_equal(
        text_string(&changes),
        "queue a                  guarantee 6 -> 5 gpus, lend 3 -> 0 gpus, guarantee of h100 4 -> "
        "5, "
        "borrow 2 gpus -> none, guarantee of memory 512G -> none, limit of cpus 64 -> none, limit "
        "of each user 1 gpu -> none, limit of ana of h100 2 -> none, limit of ana of cpus 8 -> "
        "none, limit of group students 2 gpus -> none, min_runtime 10m -> none\n"
        "setting price of h100    2.5 -> none\n"
        "setting price of memory  0.004 -> none\n");
}

#define WEBHOOK_EXPECTED "t.yaml:1: alerts: webhook: expected http:// or https://, and a host"
#define MAIL_SERVER_EXPECTED                                                                       \
    "t.yaml:1: alerts: mail_server: expected smtp:// or smtps://, and a host"

static void lists_and_bounds_of_a_queue_are_read_and_written_back(void **state)
{
    static const char yaml[] =
        "queues:\n"
        "  a: {submit: [ana, ben], administer: {groups: staff}, models: H100, preemptible: "
        "always,\n"
        "      default_duration: 1h, longest_duration: 2d, gpus_per_job: 8, max_priority: 50,\n"
        "      retry: {oom: {memory: x1.5, most: 48G}}}\n";
    static const struct {
        const char *yaml, *words;
    } bad[] = {
        { "queues: {a: {submit: []}}",
          "t.yaml:1: queue a: submit: expected at least one name, like {users: [ana], groups: "
          "[students]}" },
        { "queues: {a: {submit: {people: ana}}}",
          "t.yaml:1: queue a: submit: unknown key 'people'" },
        { "queues: {a: {models: {}}}",
          "t.yaml:1: queue a: models: expected a list of names, not a map" },
        { "queues: {a: {retry: {oom: {memory: x0.5}}}}",
          "t.yaml:1: queue a: retry: oom: memory: 'x0.5': expected a factor like x1.5, 1.1 to 10" },
        { "queues: {a: {retry: 3}}",
          "t.yaml:1: queue a: retry: expected {oom: {memory: x1.5, most: 256G}}" },
        { "queues: {a: {retry: {oom: {most: much}}}}",
          "t.yaml:1: queue a: retry: oom: most: 'much': not a size; expected one like 512M, 20G or "
          "1.5T" },
        { "queues: {a: {default_duration: 2h, longest_duration: 1h}}",
          "t.yaml:1: queue a: default_duration: more than longest_duration" },
    };
    (void)state;
    AUTO(config) struct config *config = parsed(yaml);
    AUTO(config) struct config *plain = parsed("queues: {a: {}}");
    AUTO(config) struct config *again = NULL;
    AUTO_RELEASE(text) struct text changes = { 0 };
    json_t *document = config_to_json(config);
    struct error err = { "" };

    assert_int_equal(config->queues[0].names_count, 4);
    assert_string_equal(config->queues[0].names[3].name, "staff");
    assert_int_equal(config_parse(document, NULL, NULL, &again, &err), 0);
    assert_int_equal(config_diff(config, again, &changes), 0);
    json_decref(document);
    assert_int_equal(config_diff(plain, config, &changes), 1);
    assert_string_equal(
        text_string(&changes),
        "queue a  preemptible none -> always, max_priority none -> 50, default_duration none -> "
        "1h, longest_duration none -> 2d, gpus_per_job none -> 8, retry oom memory none -> x1.5, "
        "retry oom most none -> 48G, models none -> h100, submit none "
        "-> ana, ben, administer none -> group staff\n");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct config *refused = NULL;
        assert_true(parse(bad[i].yaml, &refused, &err) < 0);
        assert_string_equal(err.text, bad[i].words);
    }
}

static void places_that_alerts_can_go_to_are_taken(void **state)
{
    static const char *const urls[] = { "http://a",           "https://a.example:8443/x?y=z#w",
                                        "http://[::1]:80/x",  "http://[::1]",
                                        "http://ana:pw@a:80", "http://10.0.0.1/a@b:c" };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        AUTO_FREE char *yaml =
            mem_printf("alerts: {webhook: '%s', mail_server: 'smtps://a:465'}\n", urls[i]);
        AUTO(config) struct config *config = parsed(yaml);
        assert_string_equal(config->settings.watch.alert_webhook, urls[i]);
        assert_string_equal(config->settings.watch.alert_mail_server, "smtps://a:465");
    }
}

static void a_bad_configuration_is_refused_with_line_and_words(void **state)
{
    static const struct {
        const char *yaml;
        const char *text;
    } cases[] = {
        { "5\n", "t.yaml: expected a map of keys, not a number" },
        { "alerts: {webhook: 'http://'}\n", WEBHOOK_EXPECTED },
        { "slurm:\n  mode: allocation\n  partition: gpu\n  adopt: true\n",
          "t.yaml:4: slurm: adopt: no effect with mode: allocation; expected mode: job, or no "
          "adopt" },
        { "slurm: {adopt: true}\n",
          "t.yaml:1: slurm: adopt: no effect without a partition; expected partition: NAME as "
          "well" },
        { "slurm:\n  max: 2\n  min: 5\n",
          "t.yaml:3: slurm: min: 5 is more than max, which is 2; expected at most that" },
        { "slurm: {min: 2}\n",
          "t.yaml:1: slurm: min: 2 is more than max, which is 1; expected at most that" },
        { "alerts: {webhook: 'https:///x'}\n", WEBHOOK_EXPECTED },
        { "alerts: {webhook: 'http://:80/x'}\n", WEBHOOK_EXPECTED },
        { "alerts: {webhook: 'http://a:b/x'}\n", WEBHOOK_EXPECTED },
        { "alerts: {webhook: 'http://[]:80/x'}\n", WEBHOOK_EXPECTED },
        { "alerts: {webhook: 'http://[::1/x'}\n", WEBHOOK_EXPECTED },
        { "alerts: {webhook: 'http://ana@/x'}\n", WEBHOOK_EXPECTED },
        { "alerts: {webhook: 'http://a/b c'}\n", WEBHOOK_EXPECTED },
        { "alerts: {mail_server: foo}\n", MAIL_SERVER_EXPECTED },
        { "alerts: {mail_server: 'http://mail'}\n", MAIL_SERVER_EXPECTED },
        { "alerts: {mail_server: 'smtp://'}\n", MAIL_SERVER_EXPECTED },
        { "queus: {}\n", "t.yaml:1: unknown key 'queus'; did you mean 'queues'?" },
        { "pools: [a]\n", "t.yaml:1: pools: expected a map from name to pool, not a list" },
        { "pools:\n  p: 5\n", "t.yaml: pool p: expected a map of keys, not a number" },
        { "pools:\n  p: {typ: static}\n", "t.yaml:2: pool p: unknown key 'typ'; did you mean "
                                          "'type'?" },
        { "pools:\n  p: {type: fixed}\n", "t.yaml:2: pool p: type: 'fixed', expected dynamic or "
                                          "static" },
        { "pools:\n  a b: {}\n", "t.yaml:2: pool a b: no name; " NAME_EXPECTED },
        { "pools:\n  p: {type: static}\n", "t.yaml: pool p: a static pool belongs to a queue; "
                                           "expected queue: NAME" },
        { "pools:\n  p: {queue: a}\n",
          "t.yaml:2: pool p: queue: a dynamic pool is shared; expected "
          "type: static, or no queue" },
        { "pools:\n  p: {type: static, queue: a, min: 1}\n",
          "t.yaml:2: pool p: min: a static pool has a fixed size; expected gpus: N" },
        { "pools:\n  p: {gpus: 1, max: 1}\n",
          "t.yaml:2: pool p: gpus: a size and min or max at once; expected one of the two" },
        { "pools:\n  p: {min: 2, max: 1}\n", "t.yaml:2: pool p: max: 1 is less than min, 2" },
        { "pools:\n  p: {gpus: -1}\n", "t.yaml:2: pool p: gpus: -1, expected 0 to 1000000" },
        { "pools:\n  p: {gpus: 0.5}\n", "t.yaml:2: pool p: gpus: expected a whole number, not one "
                                        "with decimals" },
        { "nodes:\n  n: {labels: [rack=a]}\n",
          "t.yaml:2: node n: labels: 'rack=a': expected names, or names with values, like "
          "[zone=a, fast]; node, rack, block, type, spot, model and kind are labels already" },
        { "nodes:\n  n: {labels: ['zone=']}\n",
          "t.yaml:2: node n: labels: 'zone=': expected names, or names with values, like "
          "[zone=a, fast]; node, rack, block, type, spot, model and kind are labels already" },
        { "nodes:\n  n: {gpu_labels: {x: big}}\n",
          "t.yaml:2: node n: gpu_labels: 'x': expected numbers of GPUs, and names or names with "
          "values, like {0: [big], 3: [zone=b, slow]}" },
        { "nodes:\n  n: {price: -1}\n",
          "t.yaml:2: node n: price: expected a price per hour, 0 to 1000" },
        { "nodes:\n  n: {spt: true}\n",
          "t.yaml:2: node n: unknown key 'spt'; did you mean 'spot'?" },
        { "pools:\n  p: {where: 'a b'}\n",
          "t.yaml:2: pool p: where: 'a b': expected conditions like zone=a, zone!=b, 'zone in "
          "(a,b)', fast or !fast" },
        { "pools:\n  p: {where: [7]}\n",
          "t.yaml:2: pool p: where: expected a condition like zone=a, or a list of conditions" },
        { "pools:\n  p: {nodes: ['a b']}\n",
          "t.yaml:2: pool p: nodes: expected a name or a list of names, like [n1, n2]" },
        { "pools:\n  p: {labels: [a, 7]}\n",
          "t.yaml:2: pool p: labels: expected a name or a list of names, like [edge, low-power]" },
        { "devices:\n  d: {model: m, labels: 'a,b'}\n",
          "t.yaml:2: device d: labels: 'a,b': expected names, or names with values, like [edge, "
          "low-power]; node, rack, block, type, spot, model and kind are labels already" },
        { "pools:\n  p: {devices: []}\n", "t.yaml:2: pool p: devices: expected a list of "
                                          "numbers of devices" },
        { "pools:\n  p: {mig: maybe}\n",
          "t.yaml:2: pool p: mig: 'maybe', expected any, off or on" },
        { "pools:\n  p: {devices: [a]}\n",
          "t.yaml:2: pool p: devices: expected numbers of devices, "
          "0 to 63" },
        { "pools:\n  p: {devices: [1, 1]}\n", "t.yaml:2: pool p: devices: 1 after 1, expected them "
                                              "ascending, each once" },
        { "pools:\n  p: {model: abcdefghijklmnopqrstuvwxyz0123456}\n",
          "t.yaml:2: pool p: model: 'abcdefghijklmnopqrstuvwxyz0123456': longer than 31 bytes" },
        { "pools:\n  p: {type: static, queue: vison}\nqueues: {vision: {}}\n",
          "t.yaml:2: pool p: queue: no queue 'vison'; did you mean 'vision'?" },
        { "queues: 5\n", "t.yaml:1: queues: expected a map from name to queue, not a number" },
        { "queues:\n  q: {wieght: 1}\n", "t.yaml:2: queue q: unknown key 'wieght'; did you mean "
                                         "'weight'?" },
        { "queues:\n  q: {weight: 0}\n", "t.yaml:2: queue q: weight: 0, expected 1 to 1000000" },
        { "queues:\n  q: {guarantee: x}\n", "t.yaml:2: queue q: guarantee: 'x': not a number with "
                                            "at most three decimals" },
        { "queues:\n  q: {guarantee: 2, limit: 1}\n", "t.yaml:2: queue q: guarantee: more than the "
                                                      "limit" },
        { "queues:\n  q: {lend: 2}\n", "t.yaml:2: queue q: lend: more than the guarantee" },
        { "queues:\n  q: {guarantee: {h100: 2}, limit: {h100: 1}}\n",
          "t.yaml:2: queue q: guarantee: h100: more than the limit" },
        { "queues:\n  q: {limit: {memory: lots}}\n",
          "t.yaml:2: queue q: limit: memory: 'lots': not a size; expected one like 512M, 20G or "
          "1.5T" },
        { "queues:\n  q: {limit: {'a b': 1}}\n",
          "t.yaml:2: queue q: limit: 'a b': expected gpus, cpus, memory or a model of GPUs" },
        { "queues:\n  q: {users: 4}\n",
          "t.yaml:2: queue q: users: expected a map from name to limit, not a number" },
        { "queues:\n  q: {guarantee: 2, limit: 9, queues: {r: {guarantee: {h100: 3}}, s: "
          "{guarantee: 10}}}\n",
          "t.yaml: queue q: its queues are guaranteed 13 gpus together, more than its limit of 9" },
        { "prices: {h100: dear}\n",
          "t.yaml:1: prices: h100: expected a price per hour, 0 to 1000" },
        { "queues:\n  q: {priority: 5}\n", "t.yaml:2: queue q: unknown key 'priority'" },
        { "queues:\n  root: {}\n", "t.yaml:2: queue root: no name; " NAME_EXPECTED ", not root" },
        { "queues:\n  a: {queues: {b: {}}}\n  b: {}\n", "t.yaml:2: queue b: named twice" },
        { "queues:\n  abc: {}\n  d: {parent: abd}\n", "t.yaml:3: queue d: parent: no queue 'abd'; "
                                                      "did you mean 'abc'?" },
        { "queues:\n  a: {queues: {b: {parent: c}}}\n  c: {}\n",
          "t.yaml:2: queue b: parent: 'c', but its parent is already a" },
        { "queues:\n  a: {parent: b}\n  b: {parent: a}\n",
          "t.yaml:2: queue a: parent: it is below itself, or more than 8 levels deep" },
        { "queues: {a: {queues: {b: {queues: {c: {queues: {d: {queues: {e: {queues: {f: {queues: "
          "{g: {queues: {h: {queues: {i: {}}}}}}}}}}}}}}}}}}\n",
          "t.yaml:1: queue i: more than 8 levels deep" },
        { "queues:\n  a: {limit: 3, queues: {b: {guarantee: 2}, c: {guarantee: 1.5}}}\n",
          "t.yaml: queue a: its queues are guaranteed 3.5 gpus together, more than its limit of "
          "3" },
        { "fair_share: {halflife: 7d}\n", "t.yaml:1: fair_share: unknown key 'halflife'; did you "
                                          "mean 'half_life'?" },
        { "fair_share: {half_life: 1s}\n", "t.yaml:1: fair_share: half_life: expected 1m to "
                                           "90d" },
        { "placement: worst\n", "t.yaml:1: placement: 'worst', expected best-fit, first-fit, sfg, "
                                "fgd, dot-product, spread or random" },
        { "order: lifo\n", "t.yaml:1: order: 'lifo', expected default, fifo, shortest, "
                           "least-attained or deadline" },
        { "predict: 1\n", "t.yaml:1: predict: expected true or false, not a number" },
        { "backfill: all\n", "t.yaml:1: backfill: 'all', expected none, easy or conservative" },
        { "backfill: {depth: -1}\n", "t.yaml:1: backfill: depth: -1, expected 0 to 10000" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct config *config = NULL;
        struct error err = { 0 };

        assert_true(parse(cases[i].yaml, &config, &err) < 0);
        assert_string_equal(err.text, cases[i].text);
        assert_null(config);
    }
}

/* A document with many empty maps below a key. */
static int parse_many(const char *key, int count, struct error *err)
{
    AUTO(json) json_t *document = json_object();
    AUTO(config) struct config *config = NULL;
    json_t *map = json_object();
    char name[16];

    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        json_object_set_new(map, name, json_object());
    }
    json_object_set_new(document, key, map);
    return config_parse(document, NULL, NULL, &config, err);
}

static void a_pool_names_so_many_nodes_at_most(void **state)
{
    (void)state;
    AUTO_RELEASE(text) struct text yaml = { 0 };
    struct config *config = NULL;
    struct error err;

    text_add(&yaml, "pools:\n  p: {nodes: [n0");
    for (int i = 1; i <= 4096; i++)
        text_printf(&yaml, ", n%d", i);
    text_add(&yaml, "]}\n");
    assert_int_equal(parse(yaml.bytes, &config, &err), -E2BIG);
    assert_string_equal(err.text, "t.yaml:2: pool p: nodes: more than 4096 names");
}

static void pools_and_queues_have_limits(void **state)
{
    struct error err;
    (void)state;

    assert_int_equal(parse_many("pools", CONFIG_POOLS_MAX, &err), 0);
    assert_int_equal(parse_many("pools", CONFIG_POOLS_MAX + 1, &err), -E2BIG);
    assert_string_equal(err.text, "pools: 257 pools, at most 256 are accepted");
    assert_int_equal(parse_many("nodes", NODE_SETTINGS_MAX, &err), 0);
    assert_int_equal(parse_many("nodes", NODE_SETTINGS_MAX + 1, &err), -E2BIG);
    assert_string_equal(err.text, "nodes: 20001 nodes, at most 20000 are accepted");
    assert_int_equal(parse_many("queues", CONFIG_QUEUES_MAX, &err), 0);
    assert_int_equal(parse_many("queues", CONFIG_QUEUES_MAX + 1, &err), -E2BIG);
    assert_string_equal(err.text, "queue n1000: more than 1000 queues");
}

/* What an example needs beside it. */
static const char *beside(const char *section, const char *key)
{
    static const struct {
        const char *section, *key, *text;
    } needs[] = { { "idle", "stop", "warn: 30m, " },
                  { "idle", "action", "warn: 30m, stop: 2h, " },
                  { "health", "timeout", "before: /bin/true, " },
                  { "slurm", "adopt", "partition: gpu, " },
                  { "pools", "type", "queue: prod, " },
                  { "pools", "queue", "type: static, " },
                  { "pools", "gpus", "type: static, queue: prod, " },
                  { "queues", "lend", "guarantee: 2, " },
                  { "node_types", "gpus", "model: h100, cpus: 1, memory: 1G, " },
                  { "node_types", "cpus", "memory: 1G, " },
                  { "node_types", "memory", "cpus: 1, " },
                  { "node_types", "", "cpus: 1, memory: 1G, " },
                  { "devices", "model", "" },
                  { "devices", "", "model: v5e, " },
                  { "reservations", "for", "when: nights, gpus: 1, " },
                  { "reservations", "when", "for: maintenance, gpus: 1, " },
                  { "reservations", "gpus", "for: maintenance, when: nights, " },
                  { "reservations", "", "for: maintenance, when: nights, gpus: 1, " },
                  { "tariffs", "during", "factor: 2, " },
                  { "tariffs", "factor", "during: nights, " } };

    for (size_t i = 0; i < COUNT_OF(needs); i++) {
        if (strcmp(needs[i].section, section) == 0 &&
            (!needs[i].key[0] || strcmp(needs[i].key, key) == 0))
            return needs[i].text;
    }
    return "";
}

/* Each example of a table is taken as it stands in tarn-config(5); it is under `map`.x, or under
 * its own section. */
static void take_examples(enum setting_table table, const char *map)
{
    const struct setting_rows keys = keys_rows(table);

    for (size_t i = 0; i < keys.count; i++) {
        const struct setting *row = &keys.rows[i];
        const char *section = map ? map : row->section;
        if (row->kind == SETTING_HIDDEN)
            continue;
        assert_true(row->sentence[0] && row->example[0]);
        AUTO_FREE char *inner =
            section && section[0]
                ? mem_printf("%s: {%s%s%s: %s}%s", section, map ? "x: {" : "",
                             beside(section, row->key), row->key, row->example, map ? "}" : "")
                : mem_printf("%s: %s", row->key, row->example);
        bool has_windows = strcmp(inner, "windows") > 0 && string_starts(inner, "windows");
        bool has_queues = string_starts(inner, "queues");
        AUTO_FREE char *yaml =
            mem_printf("%s%s%s\n", has_windows ? "" : "windows: {nights: '22:00-06:00'}\n",
                       has_queues ? "" : "queues: {prod: {}, teaching: {}}\n", inner);
        if (has_queues && strstr(inner, "parent: research")) {
            free(yaml);
            yaml = mem_string("queues: {research: {}, x: {parent: research}}\n");
        }
        struct config *config = NULL;
        struct error err = { "" };
        if (parse(yaml, &config, &err) < 0)
            fail_msg("%s%s", yaml, err.text);
        config_destroy(config);
    }
}

static void each_example_of_the_reference_is_taken(void **state)
{
    (void)state;
    take_examples(KEYS_TOP, NULL);
    take_examples(KEYS_SETTINGS, NULL);
    take_examples(KEYS_POOL, "pools");
    take_examples(KEYS_QUEUE, "queues");
    take_examples(KEYS_NODE_TYPE, "node_types");
    take_examples(KEYS_DEVICE_TYPE, "devices");
    take_examples(KEYS_RESERVATION, "reservations");
    take_examples(KEYS_TARIFF, "tariffs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_gives_the_defaults),
        cmocka_unit_test(pools_queues_and_settings_are_read),
        cmocka_unit_test(a_parent_stands_before_its_children),
        cmocka_unit_test(backfill_has_words_too),
        cmocka_unit_test(order_and_prediction_are_settings_too),
        cmocka_unit_test(what_is_shown_reads_back_the_same),
        cmocka_unit_test(a_user_may_be_called_as_a_resource),
        cmocka_unit_test(differences_are_told_a_line_each),
        cmocka_unit_test(nodes_have_properties),
        cmocka_unit_test(conditions_of_pools_read_back),
        cmocka_unit_test(each_rule_of_watching_is_a_difference_alone),
        cmocka_unit_test(amounts_of_a_queue_are_read_and_written_back),
        cmocka_unit_test(lists_and_bounds_of_a_queue_are_read_and_written_back),
        cmocka_unit_test(places_that_alerts_can_go_to_are_taken),
        cmocka_unit_test(a_bad_configuration_is_refused_with_line_and_words),
        cmocka_unit_test(a_pool_names_so_many_nodes_at_most),
        cmocka_unit_test(pools_and_queues_have_limits),
        cmocka_unit_test(each_example_of_the_reference_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
