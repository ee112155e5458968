/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/explain/wanted_nodes.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lab.h"
#include "sched/brain.h"

/* Nodes a, b, ... with two GPUs; each is of its own kind, because its memory differs. */
static struct lab *cluster(uint32_t nodes, uint32_t up)
{
    struct lab *lab = lab_create();

    lab_queue(lab, "default", "", 1, -1);
    for (uint32_t i = 0; i < nodes; i++) {
        const char name[] = { (char)('a' + i), '\0' };
        int64_t memory_mib = 1000 + i;
        lab_node(lab, name, 8000, memory_mib);
        lab_gpus(lab, name, "h100", 81920, 2);
        if (i >= up)
            lab_tell(lab, &(struct event){ .kind = EVENT_NODE,
                                           .node = { .name = name,
                                                     .cpu_milli = 8000,
                                                     .memory_mib = memory_mib,
                                                     .state = NODE_DOWN } });
    }
    return lab;
}

/* How many of each node from the first that is down on. */
static void assert_wanted(struct lab *lab, uint32_t first, uint32_t count, uint32_t most,
                          const uint32_t *expected)
{
    uint32_t nodes[8], wanted[8];

    for (uint32_t i = 0; i < count; i++)
        nodes[i] = first + i;
    lab_plan(lab);
    sched_want_nodes(lab->brain, lab->inquiry, lab->now,
                     &(struct scale_call){ .nodes = nodes, .count = count, .most = most }, wanted);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(wanted[i], expected[i]);
}

static void a_job_wants_one_node(void **state)
{
    (void)state;
    struct lab *lab = cluster(3, 0);

    lab_submit_to(lab, "default", 2, 1, false);
    assert_wanted(lab, 0, 3, 3, (const uint32_t[]){ 1, 0, 0 });
    assert_wanted(lab, 0, 3, 0, (const uint32_t[]){ 0, 0, 0 });
    lab_destroy(lab);
}

static void a_gang_wants_nodes_of_several_kinds(void **state)
{
    (void)state;
    struct lab *lab = cluster(3, 0);

    lab_submit_to(lab, "default", 2, 2, false);
    assert_wanted(lab, 0, 3, 3, (const uint32_t[]){ 1, 1, 0 });
    assert_wanted(lab, 0, 3, 1, (const uint32_t[]){ 0, 0, 0 }); /* all or none */
    lab_submit_to(lab, "default", 2, 4, false);                 /* as many are not there */
    assert_wanted(lab, 0, 3, 3, (const uint32_t[]){ 1, 1, 0 });
    lab_destroy(lab);
}

static void what_is_free_counts_for_a_gang(void **state)
{
    (void)state;
    struct lab *lab = cluster(3, 1);

    lab_submit_to(lab, "default", 2, 2, false);
    assert_wanted(lab, 1, 2, 1, (const uint32_t[]){ 1, 0 });
    lab_destroy(lab);
    lab = cluster(3, 2);
    lab_submit_to(lab, "default", 2, 2, false);
    assert_wanted(lab, 2, 1, 1, (const uint32_t[]){ 0 }); /* it starts */
    lab_submit_to(lab, "default", 2, 2, false);
    assert_wanted(lab, 2, 1, 1, (const uint32_t[]){ 0 }); /* one more is not enough */
    lab_destroy(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_wants_one_node),
        cmocka_unit_test(a_gang_wants_nodes_of_several_kinds),
        cmocka_unit_test(what_is_free_counts_for_a_gang),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
