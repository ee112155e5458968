/* SPDX-License-Identifier: Apache-2.0 */

/* The brain against EASY as the textbooks have it: one machine of equal GPUs, one queue, one
 * promise, a profile of counts; first come first served, or by turn. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab.h"
#include "sched/brain.h"
#include "textbook.h"

/* Starts of the plain schedule that it shows now. */
static void note_plain(const struct lab *lab, usec_t *starts)
{
    if (lab->brain->plain.queues.count <= QUEUE_DEFAULT)
        return;
    const struct plain_queue *queue = &lab->brain->plain.queues.items[QUEUE_DEFAULT];
    for (struct plain_walk at = plain_running_first(&queue->running); at.job;
         plain_running_next(&at))
        starts[at.job->job.id - 1] = at.job->start;
}

/* The same workload through the brain. Jobs have the numbers 1, 2 ... plain: starts in the plain
 * schedule, as far as they were seen; NULL: in the order of their numbers */
static void run_brain(struct workload *workload, usec_t *plain)
{
    AUTO(lab) struct lab *lab = lab_create();
    uint64_t submitted = 0;

    lab->is_silent = true;
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .backfill_depth = 1,
                                                 .order = plain ? ORDER_DEFAULT : ORDER_FIFO } });
    lab_node(lab, "a", 1000000, 0);
    lab_gpus(lab, "a", "h100", 1024, workload->gpus);
    for (size_t i = 0; i < JOBS; i++)
        workload->works[i].start = USEC_NEVER;
    for (usec_t now = next_time(workload, 0); now != USEC_NEVER; now = next_time(workload, now)) {
        lab->now = now;
        for (uint64_t id = 1; id <= submitted; id++) {
            const struct work *work = &workload->works[id - 1];
            if (job_is_active(lab_job(lab, id)) && work->start + work->runs <= now)
                lab_ended(lab, id, 0);
        }
        for (; submitted < JOBS && workload->works[submitted].submitted <= now; submitted++) {
            char gpus[16];
            snprintf(gpus, sizeof(gpus), "%" PRIu32, workload->works[submitted].gpus);
            assert_int_equal(lab_submit(lab, gpus, workload->works[submitted].limit),
                             submitted + 1);
        }
        lab_settle(lab);
        if (plain)
            note_plain(lab, plain);
        for (uint64_t id = 1; id <= submitted; id++) {
            if (lab_job(lab, id)->state == JOB_GRANTED) {
                workload->works[id - 1].start = now;
                lab_started(lab, id);
            }
        }
    }
}

static void one_promise_is_easy_backfill(void **state)
{
    uint32_t passed = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= WORKLOADS; seed++) {
        struct workload textbook = random_workload(seed), brain = textbook;
        run_textbook(&textbook);
        run_brain(&brain, NULL);
        for (size_t i = 0; i < JOBS; i++) {
            if (textbook.works[i].start != brain.works[i].start)
                fail_msg("seed %" PRIu64 ": job %zu (%" PRIu32 " of %" PRIu32
                         " gpus) starts at %" PRId64 ", by the textbook at %" PRId64,
                         seed, i + 1, brain.works[i].gpus, brain.gpus,
                         (int64_t)brain.works[i].start, (int64_t)textbook.works[i].start);
            passed += i > 0 && textbook.works[i].start < textbook.works[i - 1].start;
        }
    }
    assert_true(passed > WORKLOADS); /* else nothing was filled in */
}

/* Whatever order the jobs really start in. */
static void the_plain_schedule_is_easy_backfill(void **state)
{
    uint32_t seen = 0, elsewhere = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= WORKLOADS; seed++) {
        struct workload textbook = random_workload(seed), brain = textbook;
        usec_t plain[JOBS];
        for (size_t i = 0; i < JOBS; i++) {
            plain[i] = USEC_NEVER;
            textbook.works[i].behind = textbook.works[i].limit / PLAIN_PATIENCE;
        }
        run_textbook(&textbook);
        run_brain(&brain, plain);
        for (size_t i = 0; i < JOBS; i++) {
            if (plain[i] != USEC_NEVER && plain[i] != textbook.works[i].start)
                fail_msg("seed %" PRIu64 ": job %zu (%" PRIu32 " of %" PRIu32
                         " gpus) starts at %" PRId64 " in the plain schedule, by the textbook at "
                         "%" PRId64,
                         seed, i + 1, brain.works[i].gpus, brain.gpus, (int64_t)plain[i],
                         (int64_t)textbook.works[i].start);
            seen += plain[i] != USEC_NEVER;
            elsewhere += plain[i] != USEC_NEVER && plain[i] != brain.works[i].start;
        }
    }
    assert_true(seen > WORKLOADS * JOBS / 2);
    assert_true(elsewhere > WORKLOADS); /* else the real schedule was plain as well */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plain_schedule_is_easy_backfill),
        cmocka_unit_test(one_promise_is_easy_backfill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
