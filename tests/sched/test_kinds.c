/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs that state how fast they run on each model, on three models, all submitted at once: the sum
 * of their ends is compared with the least there is. That is an assignment of jobs to places from
 * the end (Horn 1973; Bruno, Coffman and Sethi 1974): the k-th last job on a GPU counts k times. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "chaos.h"
#include "core/job/own_speed.h"
#include "lab.h"

enum { WORLDS = 100, MODELS = 3, GPUS_MOST = 4, KINDS = 5, JOBS = 48 };
enum { PLACES = MODELS * GPUS_MOST * JOBS };

static const char *const models[MODELS] = { "a100", "k80", "v100" }; /* by name, as speeds are */

struct world {
    struct lab *lab;
    struct random random;
    uint32_t gpus[MODELS];
    struct own_speed speeds[KINDS][MODELS];
    uint32_t kinds[JOBS];
    usec_t estimates[JOBS];
};

static usec_t run_on(const struct world *world, uint32_t job, uint32_t model)
{
    return own_speed_run(world->estimates[job], world->speeds[world->kinds[job]][model].milli);
}

/* A K80 has speed 1 for each kind, an A100 1.2 to 6, and a V100 is between. */
static void make_world(struct world *world)
{
    struct random *random = &world->random;
    struct lab *lab = world->lab;

    lab->is_silent = true;
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .backfill_depth = 1, .order = ORDER_DEFAULT } });
    for (uint32_t i = 0; i < MODELS; i++) {
        world->gpus[i] = 1 + random_below(random, GPUS_MOST);
        lab_node(lab, models[i], 1000000, 0);
        lab_gpus(lab, models[i], models[i], 1024, world->gpus[i]);
    }
    for (uint32_t i = 0; i < KINDS; i++) {
        uint32_t fast = 1200 + random_below(random, 4800);
        const uint32_t milli[MODELS] = { fast, 1000, 1000 + random_below(random, fast - 1000) };
        for (uint32_t k = 0; k < MODELS; k++) {
            world->speeds[i][k].milli = milli[k];
            snprintf(world->speeds[i][k].model, REQUEST_MODEL_SIZE, "%s", models[k]);
        }
    }
}

static void submit(struct world *world, uint32_t job)
{
    usec_t run = (usec_t)(1 + random_below(&world->random, 20)) *
                 (1 + random_below(&world->random, 20)) * USEC_PER_MIN;
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = job + 1, .name = "j", .user = "ana", .queue = "default", .estimate = run }
    };

    world->kinds[job] = random_below(&world->random, KINDS);
    world->estimates[job] = run;
    request_default(&event.submit.request);
    event.submit.request.cpu_milli = 0;
    event.submit.request.gpu_alternatives = 1;
    event.submit.request.gpus[0] = (struct gpu_ask){ .count = 1, .milli = GPU_MILLI };
    event.submit.request.max_duration = run;
    event.submit.request.speeds = world->speeds[world->kinds[job]];
    event.submit.request.speeds_count = MODELS;
    lab_tell(world->lab, &event);
}

/* The sum of the ends, in seconds. */
static int64_t run_all(struct world *world)
{
    struct lab *lab = world->lab;
    usec_t ends[JOBS] = { 0 }, sum = 0;

    for (usec_t next = 0; next != USEC_NEVER; lab->now = next != USEC_NEVER ? next : lab->now) {
        for (uint32_t i = 0; i < JOBS; i++) {
            if (job_is_active(lab_job(lab, i + 1)) && ends[i] <= lab->now)
                lab_ended(lab, i + 1, 0);
        }
        lab_settle(lab);
        next = sched_next_wakeup(lab->brain);
        for (uint32_t i = 0; i < JOBS; i++) {
            const struct job *job = lab_job(lab, i + 1);
            if (job->state == JOB_GRANTED) {
                uint32_t node = job->run->lease->members[0].node;
                lab_started(lab, i + 1);
                ends[i] = lab->now + run_on(world, i, node);
            }
            if (job_is_active(job) && ends[i] < next)
                next = ends[i];
        }
    }
    for (uint32_t i = 0; i < JOBS; i++) {
        assert_true(ends[i] > 0);
        sum += ends[i];
    }
    return sum / USEC_PER_SEC;
}

static int64_t costs[JOBS + 1][PLACES + 1];

/* The cheapest assignment of each job to a place of its own: shortest augmenting paths. */
static int64_t least_sum(uint32_t places)
{
    static int64_t of_job[JOBS + 1], of_place[PLACES + 1], slack[PLACES + 1];
    static uint32_t owner[PLACES + 1], before[PLACES + 1];
    static bool is_done[PLACES + 1];
    int64_t sum = 0;

    for (uint32_t k = 0; k <= places; k++)
        owner[k] = 0, of_place[k] = 0;
    for (uint32_t job = 1; job <= JOBS; job++) {
        uint32_t at = 0;
        of_job[job] = 0;
        owner[0] = job;
        for (uint32_t k = 0; k <= places; k++)
            slack[k] = INT64_MAX, is_done[k] = false;
        do {
            int64_t delta = INT64_MAX;
            uint32_t next = 0;
            is_done[at] = true;
            for (uint32_t k = 1; k <= places; k++) {
                int64_t cost = costs[owner[at]][k] - of_job[owner[at]] - of_place[k];
                if (!is_done[k] && cost < slack[k])
                    slack[k] = cost, before[k] = at;
                if (!is_done[k] && slack[k] < delta)
                    delta = slack[k], next = k;
            }
            for (uint32_t k = 0; k <= places; k++) {
                if (is_done[k])
                    of_job[owner[k]] += delta, of_place[k] -= delta;
                else
                    slack[k] -= delta;
            }
            at = next;
        } while (owner[at] != 0);
        for (; at != 0; at = before[at])
            owner[at] = owner[before[at]];
    }
    for (uint32_t k = 1; k <= places; k++)
        sum += owner[k] > 0 ? costs[owner[k]][k] : 0;
    return sum;
}

static int64_t optimum(const struct world *world)
{
    uint32_t places = 0;

    for (uint32_t model = 0; model < MODELS; model++) {
        for (uint32_t i = 0; i < world->gpus[model] * JOBS; i++) {
            places++;
            for (uint32_t job = 0; job < JOBS; job++)
                costs[job + 1][places] = run_on(world, job, model) / USEC_PER_SEC * (1 + i % JOBS);
        }
    }
    return least_sum(places);
}

static void the_mean_end_is_near_the_least(void **state)
{
    int64_t ours = 0, least = 0, worst = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        AUTO(lab) struct lab *lab = lab_create();
        struct world world = { .lab = lab, .random = { .state = seed } };
        make_world(&world);
        for (uint32_t i = 0; i < JOBS; i++)
            submit(&world, i);
        int64_t sum = run_all(&world), best = optimum(&world);
        assert_true(sum >= best - JOBS * JOBS); /* run times are rounded down to seconds there */
        ours += sum;
        least += best;
        worst = sum * 1000 / best > worst ? sum * 1000 / best : worst;
    }
    printf("mean end: %" PRId64 " thousandths of the least, at worst %" PRId64 "\n",
           ours * 1000 / least, worst);
    assert_true(ours * 100 < least * 105);
    assert_true(worst < 1150);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_mean_end_is_near_the_least) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
