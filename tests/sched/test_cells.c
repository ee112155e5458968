/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/cells.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lab.h"
#include "sched/brain.h"

static void add_node(struct lab *lab, int number, uint32_t gpus, const char *rack, uint32_t island)
{
    AUTO_FREE char *name = mem_printf("n%02d", number);

    lab_tell(
        lab,
        &(struct event){
            .kind = EVENT_NODE,
            .node = { .name = name, .cpu_milli = 64000, .memory_mib = 1 << 20, .rack = rack } });
    for (uint32_t i = 0; i < gpus; i++) {
        AUTO_FREE char *uuid = mem_printf("%s:%" PRIu32, name, i);
        lab_tell(lab, &(struct event){ .kind = EVENT_DEVICE,
                                       .device = { .node = name,
                                                   .uuid = uuid,
                                                   .model = "h100",
                                                   .index = i,
                                                   .memory_mib = 81920,
                                                   .island = island ? 1 + i / island : 0 } });
    }
}

static struct lab *cluster(int nodes, uint32_t gpus)
{
    struct lab *lab = lab_create();

    lab->is_silent = true;
    for (int i = 0; i < nodes; i++)
        add_node(lab, i, gpus, "", gpus / 2);
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .half_life = QUEUE_HALF_LIFE_DEFAULT,
                                                 .placement = PLACEMENT_SFG,
                                                 .backfill_depth = 1 } });
    return lab;
}

static struct cell_quota cell(enum cell_level level, uint32_t gpus, uint32_t count)
{
    return (struct cell_quota){
        .model = "h100", .level = (uint8_t)level, .gpus = gpus, .count = count
    };
}

static void queue(struct lab *lab, const char *name, struct cell_quota *cells, uint32_t count)
{
    struct event_quota quota = { "h100", QUOTA_OPEN };

    for (uint32_t i = 0; i < count; i++)
        quota.quota.guarantee += (int64_t)cells[i].gpus * cells[i].count * GPU_MILLI;
    lab_tell(lab, &(struct event){
                      .kind = EVENT_QUEUE,
                      .queue = { .name = name,
                                 .weight = 1,
                                 .gpus = { quota.quota.guarantee, -1, QUOTA_NONE, QUOTA_NONE },
                                 .quotas = &quota,
                                 .quotas_count = 1,
                                 .cells = cells,
                                 .cells_count = count } });
}

/* What was granted runs, and what is stopped ends. */
static void settle(struct lab *lab)
{
    for (bool is_new = true; is_new;) {
        is_new = false;
        lab_settle(lab);
        for (struct job *job = lab->state->first_job, *next; job; job = next) {
            next = job->next;
            if (job->state == JOB_GRANTED)
                lab_started(lab, job->id);
            else if (job->state == JOB_STOPPING)
                lab_tell(lab, &(struct event){ .kind = EVENT_ENDED,
                                               .ended = { .job = job->id,
                                                          .attempt = job->run->attempt,
                                                          .kind = 1,
                                                          .exit_code = -1,
                                                          .signal = 15,
                                                          .was_stopped = 1 } });
            else
                continue;
            is_new = true;
        }
    }
}

static bool runs(const struct lab *lab, uint64_t id)
{
    return lab_job(lab, id)->state == JOB_RUNNING;
}

static int64_t owed(const struct lab *lab, size_t kind, const char *name)
{
    return cells_owed(&lab->brain->cells, kind, (uint32_t)state_find_queue(lab->state, name));
}

static void a_whole_machine_is_kept_from_what_may_not_be_stopped(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(2, 4);
    struct cell_quota one = cell(CELL_NODE, 4, 1);

    queue(lab, "research", &one, 1);
    queue(lab, "vision", NULL, 0);
    uint64_t first = lab_submit_to(lab, "vision", 1, 1, false);
    settle(lab);
    uint64_t second = lab_submit_to(lab, "vision", 4, 1, false);
    settle(lab);
    assert_true(runs(lab, first));
    assert_false(runs(lab, second));
    assert_int_equal(lab_why(lab, second), WHY_SHAPE);
    uint64_t third = lab_submit_to(lab, "vision", 4, 1, true);
    settle(lab);
    assert_true(runs(lab, third)); /* it can be stopped at once */
    lab->now += USEC_PER_HOUR;
    uint64_t own = lab_submit_to(lab, "research", 4, 1, false);
    settle(lab);
    assert_true(runs(lab, own));
    assert_false(runs(lab, third));
    assert_int_equal(owed(lab, 0, "research"), 0);
}

static void without_a_shape_the_same_job_breaks_it(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(2, 4);

    queue(lab, "research", NULL, 0);
    queue(lab, "vision", NULL, 0);
    lab_submit_to(lab, "vision", 1, 1, false);
    uint64_t second = lab_submit_to(lab, "vision", 4, 1, false);
    settle(lab);
    assert_true(runs(lab, second));
}

static void what_its_queue_holds_of_a_cell_is_its_own(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(2, 4);
    struct cell_quota one = cell(CELL_NODE, 4, 1);

    queue(lab, "research", &one, 1);
    queue(lab, "vision", NULL, 0);
    lab_submit_to(lab, "research", 1, 1, false);
    settle(lab);
    assert_int_equal(owed(lab, 0, "research"), 0); /* a part of it is in use */
    uint64_t other = lab_submit_to(lab, "vision", 4, 1, false);
    settle(lab);
    uint64_t third = lab_submit_to(lab, "vision", 1, 1, false);
    settle(lab);
    assert_true(runs(lab, other));
    assert_false(runs(lab, third)); /* the rest of the open machine is kept */
    assert_int_equal(lab_why(lab, third), WHY_SHAPE);
}

static void no_cell_counts_twice(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(2, 8);
    struct cell_quota both[] = { cell(CELL_NODE, 8, 1), cell(CELL_ISLAND, 4, 1) };
    struct cell_quota pairs = cell(CELL_PAIR, 2, 2);
    int64_t slacks[CELLS_KINDS_MAX];

    queue(lab, "research", both, 2);
    queue(lab, "vision", &pairs, 1);
    settle(lab);
    lab_plan(lab);
    cells_slacks(&lab->brain->cells, slacks);
    assert_int_equal(slacks[0], 1); /* nodes: two, one owed */
    assert_int_equal(slacks[1], 1); /* islands: four, two in the node, one owed */
    assert_int_equal(slacks[2],
                     0); /* pairs: eight, four in the node, two in the island, two owed */
    uint64_t single = lab_submit_to(lab, "default", 1, 1, false);
    settle(lab);
    assert_int_equal(lab_why(lab, single), WHY_SHAPE);
}

static void shapes_must_be_there(void **state)
{
    (void)state;
    AUTO(lab) struct lab *lab = cluster(2, 8);
    struct cell_quota nodes = cell(CELL_NODE, 8, 1), islands = cell(CELL_ISLAND, 4, 3);
    struct cell_quota odd = cell(CELL_NODE, 4, 1);
    struct cells_wanted wanted[] = { { "a", &nodes, 1 }, { "b", &islands, 1 } };
    struct error err;

    assert_int_equal(cells_check(lab->state, wanted, 1, &err), 0);
    assert_int_equal(cells_check(lab->state, wanted, 2, &err), -EINVAL);
    assert_string_equal(err.text, "queue b: shape: 3 of cell island of 4 h100 wanted, with those "
                                  "of other queues; expected at most 2, as many as are there "
                                  "beside larger ones");
    wanted[0].cells = &odd;
    assert_int_equal(cells_check(lab->state, wanted, 1, &err), -EINVAL);
    assert_string_equal(err.text, "queue a: shape: 1 of cell node of 4 h100 wanted, with those of "
                                  "other queues; expected at most 0, as many as are there");
}

/* ---- random worlds ---- */

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % below;
}

/* Counted anew from the jobs that are there. */
static void check_counts(const struct lab *lab)
{
    const struct brain *brain = lab->brain;
    struct cells fresh = { 0 };

    cells_make(&fresh, &brain->layout, lab->state);
    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        if (job_is_active(job))
            cells_take(&fresh, &brain->layout, job->run->lease,
                       cells_guest_of(&fresh, job->queue, job->is_preemptible), 1);
    }
    int64_t now[CELLS_KINDS_MAX], anew[CELLS_KINDS_MAX];
    cells_slacks(&brain->cells, now);
    cells_slacks(&fresh, anew);
    for (size_t i = 0; i < fresh.kinds.count; i++) {
        assert_int_equal(now[i], anew[i]);
        assert_true(now[i] >= 0);
        assert_int_equal(brain->cells.kinds.items[i].whole, fresh.kinds.items[i].whole);
        assert_int_equal(brain->cells.kinds.items[i].idle, fresh.kinds.items[i].idle);
    }
    cells_release(&fresh);
}

static void end_one(struct lab *lab, uint64_t *seed)
{
    uint64_t left = draw(seed, 6);

    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        if (job->state == JOB_RUNNING && left-- == 0) {
            lab_ended(lab, job->id, 0);
            return;
        }
    }
}

/* What a queue's own jobs keep from it is its own affair. */
static void cancel_its_own(struct lab *lab, const char *name)
{
    int64_t number = state_find_queue(lab->state, name);

    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        bool is_in_the_way = job->state == JOB_QUEUED || job->is_preemptible;
        if (job->queue == number && job->state != JOB_ENDED && is_in_the_way)
            lab_tell(lab, &(struct event){ .kind = EVENT_CANCEL,
                                           .cancel = { .job = job->id, .user = "ana" } });
    }
    settle(lab);
}

/* Each queue that is owed a cell asks for one: it runs after what is stopped for it has ended. */
static int check_owners(struct lab *lab, const struct cell_quota *cells)
{
    static const char *const names[] = { "a", "b" };
    int asked = 0;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t kind = 0;
        for (size_t k = 0; k < lab->brain->cells.kinds.count; k++)
            kind = lab->brain->cells.kinds.items[k].of.level == cells[i].level ? k : kind;
        if (owed(lab, kind, names[i]) == 0)
            continue;
        cancel_its_own(lab, names[i]);
        lab->now += USEC_PER_HOUR;
        uint64_t id = lab_submit_to(lab, names[i], (uint16_t)cells[i].gpus, 1, false);
        struct job *job = lab_job(lab, id);
        struct event first = { .kind = EVENT_UPDATE,
                               .update = {
                                   .job = id, .queue = "", .has_priority = 1, .priority = 100 } };
        lab_tell(lab, &first);
        settle(lab);
        lab->now += 2 * USEC_PER_MIN; /* what was about to start can be stopped now */
        lab_plan(lab);
        settle(lab);
        if (job->state != JOB_RUNNING)
            fail_msg("job %" PRIu64 " of queue %s: no cell, why %s", id, names[i],
                     why_name(lab_why(lab, id)));
        lab_ended(lab, id, 0);
        settle(lab);
        asked++;
    }
    return asked;
}

static void an_owner_always_finds_its_cell(void **state)
{
    int asked = 0;

    (void)state;
    for (uint64_t world = 1; world <= 290; world++) {
        uint64_t seed = world;
        AUTO(lab) struct lab *lab = cluster(3 + (int)draw(&seed, 3), 8);
        static const char *const names[] = { "a", "b", "c" };
        uint32_t machines = 1 + (uint32_t)draw(&seed, 2);
        bool has_islands = draw(&seed, 2) != 0;
        struct cell_quota cells[] = { cell(CELL_NODE, 8, machines), has_islands
                                                                        ? cell(CELL_ISLAND, 4, 2)
                                                                        : cell(CELL_PAIR, 2, 3) };

        print_message("world %" PRIu64 "\r", world);
        queue(lab, "a", &cells[0], 1);
        queue(lab, "b", &cells[1], 1);
        queue(lab, "c", NULL, 0);
        for (int step = 0; step < 60; step++) {
            static const uint16_t sizes[] = { 1, 1, 2, 3, 4, 8 };
            lab->now += 10 * USEC_PER_MIN;
            if (draw(&seed, 3) > 0) {
                uint64_t queue = draw(&seed, 3), size = draw(&seed, 6);
                lab_submit_to(lab, names[queue], sizes[size], 1, draw(&seed, 2));
            } else
                end_one(lab, &seed);
            settle(lab);
            check_counts(lab);
        }
        lab->now += USEC_PER_HOUR;
        asked += check_owners(lab, cells);
        check_counts(lab);
    }
    assert_true(asked > 80); /* the worlds are such that there is something to ask for */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_machine_is_kept_from_what_may_not_be_stopped),
        cmocka_unit_test(without_a_shape_the_same_job_breaks_it),
        cmocka_unit_test(what_its_queue_holds_of_a_cell_is_its_own),
        cmocka_unit_test(no_cell_counts_twice),
        cmocka_unit_test(shapes_must_be_there),
        cmocka_unit_test(an_owner_always_finds_its_cell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
