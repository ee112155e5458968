/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/fair_share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lab.h"
#include "sched/brain.h"

static struct lab *cluster(uint32_t gpus)
{
    struct lab *lab = lab_create();

    lab_node(lab, "n1", 256000, 1 << 20);
    lab_gpus(lab, "n1", "h100", 81920, gpus);
    return lab;
}

static void queue(struct lab *lab, const char *name, const char *parent, uint32_t weight,
                  int64_t guarantee, int64_t limit)
{
    lab_tell(lab,
             &(struct event){ .kind = EVENT_QUEUE,
                              .queue = { .name = name,
                                         .parent = parent,
                                         .weight = weight,
                                         .gpus = { guarantee * 1000, limit < 0 ? -1 : limit * 1000,
                                                   QUOTA_NONE, QUOTA_NONE } } });
}

static void want(struct lab *lab, const char *queue_name, uint32_t gpus)
{
    for (uint32_t i = 0; i < gpus; i++) {
        struct event event = {
            .kind = EVENT_SUBMIT,
            .submit = { .id = lab->state->next_id, .name = "j", .user = "ana", .queue = queue_name }
        };
        request_default(&event.submit.request);
        event.submit.request.cpu_milli = 0;
        assert_int_equal(request_parse_gpus(&event.submit.request, "1", NULL), 0);
        lab_tell(lab, &event);
    }
}

static void check(struct lab *lab, const char *const *names, const int64_t *gpus, size_t count)
{
    fair_list fair = { 0 };
    int64_t sum = 0;

    fair_divide(&fair, lab->state, &lab->brain->pending);
    for (size_t i = 0; i < count; i++) {
        int64_t number = state_find_queue(lab->state, names[i]);
        assert_int_equal(fair.items[number].fair_milli, gpus[i] * 1000);
    }
    for (size_t i = 1; i < lab->state->queues.count; i++)
        sum += lab->state->queues.items[i].parent == QUEUE_ROOT ? fair.items[i].fair_milli : 0;
    assert_true(sum <= lab->state->capacity.milli);
    list_release(&fair);
}

static void guarantees_come_first_and_weights_divide_the_rest(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(16);

    queue(lab, "a", "", 1, 4, -1);
    queue(lab, "b", "", 3, 0, -1);
    queue(lab, "c", "", 1, 2, -1);
    want(lab, "a", 20);
    want(lab, "b", 20);
    want(lab, "c", 1); /* asks for less than it is owed */
    /* 4 to a, 1 to c; 11 are left: 1 to 3. */
    check(lab, (const char *const[]){ "a", "b", "c" }, (const int64_t[]){ 7, 8, 1 }, 3);
}

static void what_one_does_not_want_goes_to_the_others(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(12);

    queue(lab, "a", "", 1, 0, 3);
    queue(lab, "b", "", 1, 0, -1);
    queue(lab, "c", "", 1, 0, -1);
    want(lab, "a", 20); /* its limit is 3 */
    want(lab, "b", 2);
    want(lab, "c", 20);
    check(lab, (const char *const[]){ "a", "b", "c" }, (const int64_t[]){ 3, 2, 7 }, 3);
}

static void who_used_more_lately_gets_less_of_the_rest(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(12);

    queue(lab, "a", "", 1, 0, -1);
    queue(lab, "b", "", 1, 0, -1);
    want(lab, "a", 20);
    want(lab, "b", 20);
    /* U: 3/4 and 1/4; P: 1/2 + 1/2 - 3/4 and 1/2 + 1/2 - 1/4, so 1 to 3. */
    lab->state->queues.items[2].usage[SHARE_OF_GPUS] = UINT64_C(3) << 40;
    lab->state->queues.items[3].usage[SHARE_OF_GPUS] = UINT64_C(1) << 40;
    check(lab, (const char *const[]){ "a", "b" }, (const int64_t[]){ 3, 9 }, 2);
}

static void more_guarantees_than_gpus_are_cut_in_proportion(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(6);

    queue(lab, "a", "", 1, 8, -1);
    queue(lab, "b", "", 1, 4, -1);
    want(lab, "a", 20);
    want(lab, "b", 20);
    check(lab, (const char *const[]){ "a", "b" }, (const int64_t[]){ 4, 2 }, 2);
}

static void a_tree_divides_what_its_parent_got(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(16);

    queue(lab, "a", "", 1, 0, -1);
    queue(lab, "b", "", 1, 0, -1);
    queue(lab, "a1", "a", 1, 0, -1);
    queue(lab, "a2", "a", 3, 0, -1);
    want(lab, "a1", 20);
    want(lab, "a2", 20);
    want(lab, "b", 20);
    check(lab, (const char *const[]){ "a", "b", "a1", "a2" }, (const int64_t[]){ 8, 8, 2, 6 }, 4);
}

static void nothing_is_left_lying_by_rounding(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(7);

    queue(lab, "a", "", 1, 0, -1);
    queue(lab, "b", "", 1, 0, -1);
    queue(lab, "c", "", 1, 0, -1);
    want(lab, "a", 9);
    want(lab, "b", 9);
    want(lab, "c", 9);
    check(lab, (const char *const[]){ "a", "b", "c" }, (const int64_t[]){ 3, 2, 2 }, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guarantees_come_first_and_weights_divide_the_rest),
        cmocka_unit_test(what_one_does_not_want_goes_to_the_others),
        cmocka_unit_test(who_used_more_lately_gets_less_of_the_rest),
        cmocka_unit_test(more_guarantees_than_gpus_are_cut_in_proportion),
        cmocka_unit_test(a_tree_divides_what_its_parent_got),
        cmocka_unit_test(nothing_is_left_lying_by_rounding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
