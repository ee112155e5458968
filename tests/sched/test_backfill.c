/* SPDX-License-Identifier: Apache-2.0 */

/* The brain against EASY as the textbooks have it (policies 2.2): one machine of equal GPUs, one
 * queue, first come first served, one promise, a profile of counts. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "sched/brain.h"

enum { WORKLOADS = 300, JOBS = 60 };

struct work {
    usec_t submitted, limit, runs;
    uint32_t gpus;
    usec_t start; /* by the textbook; USEC_NEVER: not yet */
};

struct workload {
    struct work works[JOBS];
    uint32_t gpus;
};

static struct workload random_workload(uint64_t seed)
{
    struct random random = { seed };
    struct workload workload = { .gpus = 2 + random_below(&random, 15) };
    usec_t now = USEC_PER_SEC;

    for (size_t i = 0; i < JOBS; i++) {
        struct work *work = &workload.works[i];
        if (random_chance(&random, 70))
            now += random_below(&random, 600) * USEC_PER_SEC;
        work->submitted = now;
        /* Round figures, so that many end at the same time. */
        work->limit = (1 + random_below(&random, 40)) * USEC_PER_MIN;
        work->runs = random_chance(&random, 40)
                         ? work->limit
                         : (1 + random_below(&random, 60)) * work->limit / 60;
        work->gpus = 1 + random_below(&random, random_chance(&random, 30) ? workload.gpus
                                               : workload.gpus > 4        ? 4
                                                                          : 2);
        work->start = USEC_NEVER;
    }
    return workload;
}

static bool runs_at(const struct work *work, usec_t now)
{
    return work->start != USEC_NEVER && work->start + work->runs > now;
}

static uint32_t free_at(const struct workload *workload, usec_t now)
{
    uint32_t used = 0;

    for (size_t i = 0; i < JOBS; i++)
        used += runs_at(&workload->works[i], now) ? workload->works[i].gpus : 0;
    return workload->gpus - used;
}

/* Free GPUs at `at`, when what runs now ends at its limit. */
static uint32_t expected_free(const struct workload *workload, usec_t now, usec_t at)
{
    uint32_t used = 0;

    for (size_t i = 0; i < JOBS; i++) {
        const struct work *work = &workload->works[i];
        if (runs_at(work, now) && work->start + work->limit > at)
            used += work->gpus;
    }
    return workload->gpus - used;
}

static bool waits(const struct work *work, usec_t now)
{
    return work->start == USEC_NEVER && work->submitted <= now;
}

static usec_t shadow_of(const struct workload *workload, const struct work *head, usec_t now)
{
    usec_t shadow = USEC_NEVER;

    for (size_t i = 0; i < JOBS; i++) {
        usec_t end = workload->works[i].start == USEC_NEVER
                         ? USEC_NEVER
                         : workload->works[i].start + workload->works[i].limit;
        if (runs_at(&workload->works[i], now) && end < shadow &&
            expected_free(workload, now, end) >= head->gpus)
            shadow = end;
    }
    return shadow;
}

static void textbook_schedule(struct workload *workload, usec_t now)
{
    const struct work *head = NULL;
    usec_t shadow = 0;
    uint32_t extra = 0;

    for (size_t i = 0; i < JOBS; i++) {
        struct work *work = &workload->works[i];
        if (!waits(work, now))
            continue;
        bool fits = work->gpus <= free_at(workload, now);
        bool is_short = now + work->limit <= shadow;
        if (!head && fits)
            work->start = now;
        else if (!head) {
            head = work;
            shadow = shadow_of(workload, head, now);
            extra = expected_free(workload, now, shadow) - head->gpus;
        } else if (fits && (is_short || work->gpus <= extra)) {
            work->start = now;
            extra -= is_short ? 0 : work->gpus;
        }
    }
}

static usec_t next_time(const struct workload *workload, usec_t now)
{
    usec_t next = USEC_NEVER;

    for (size_t i = 0; i < JOBS; i++) {
        const struct work *work = &workload->works[i];
        usec_t end = work->start == USEC_NEVER ? USEC_NEVER : work->start + work->runs;
        if (work->submitted > now && work->submitted < next)
            next = work->submitted;
        if (end > now && end < next)
            next = end;
    }
    return next;
}

static void run_textbook(struct workload *workload)
{
    for (usec_t now = next_time(workload, 0); now != USEC_NEVER; now = next_time(workload, now))
        textbook_schedule(workload, now);
}

/* Starts of the plain schedule that it shows now. */
static void note_plain(const struct lab *lab, usec_t *starts)
{
    if (lab->brain->plain.queues.count <= QUEUE_DEFAULT)
        return;
    const struct plain_queue *queue = &lab->brain->plain.queues.items[QUEUE_DEFAULT];
    LIST_EACH (const struct plain_started, started, &queue->running)
        starts[started->job.id - 1] = started->start;
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
        for (size_t i = 0; i < JOBS; i++)
            plain[i] = USEC_NEVER;
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
