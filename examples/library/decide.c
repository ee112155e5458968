/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler of tarn in a program of one's own: a day of jobs on two nodes, in virtual time.
 *
 *   cc decide.c $(pkg-config --cflags --libs tarn) -o decide && ./decide
 *
 * Here every job runs for an hour. A real program starts and stops processes where this one prints,
 * and takes the time from a clock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tarn/sched.h>

enum { JOBS = 6 };
#define SECOND INT64_C(1000000)
#define HOUR   (3600 * SECOND)

struct running {
    int64_t until; /* 0: it does not run */
    uint32_t attempt;
};

static void check(const struct tarn_sched *sched, int code)
{
    if (code < 0) {
        fprintf(stderr, "decide: %s\n", tarn_sched_error(sched));
        exit(1);
    }
}

static void add_node(struct tarn_sched *sched, const char *name)
{
    struct tarn_node node = { .size = sizeof(node),
                              .name = name,
                              .gpu_model = "h100",
                              .cpu_milli = 64000,
                              .memory_mib = 524288,
                              .gpu_memory_mib = 81920,
                              .gpu_count = 4 };

    check(sched, tarn_sched_set_node(sched, &node));
}

/* Carry out what was decided at this time. */
static void carry_out(struct tarn_sched *sched, struct running *running, int64_t now)
{
    struct tarn_decision decision = { .size = sizeof(decision) };

    check(sched, tarn_sched_advance(sched, now));
    while (tarn_sched_next(sched, &decision)) {
        if (decision.kind != TARN_START)
            continue; /* nothing is stopped here: no job has a limit */
        printf("%4" PRId64 " min  job %" PRIu64 " starts on", now / SECOND / 60, decision.job);
        for (uint32_t i = 0; i < decision.member_count; i++) {
            const struct tarn_member *member = &decision.members[i];
            printf(" %s:", member->node);
            for (uint32_t k = 0; k < member->gpu_count; k++)
                printf("%s%" PRIu32, k > 0 ? "," : "", member->gpus[k]);
            check(sched, tarn_sched_started(sched, decision.job, decision.attempt, member->rank));
        }
        printf("\n");
        running[decision.job] = (struct running){ now + HOUR, decision.attempt };
    }
}

/* The job that ends first; 0: none runs. */
static uint64_t first_to_end(const struct running *running)
{
    uint64_t first = 0;

    for (uint64_t job = 1; job <= JOBS; job++) {
        if (running[job].until > 0 && (first == 0 || running[job].until < running[first].until))
            first = job;
    }
    return first;
}

int main(void)
{
    struct tarn_sched *sched = tarn_sched_create(SECOND);
    struct running running[JOBS + 1] = { { 0 } };
    char why[128];

    add_node(sched, "a");
    add_node(sched, "b");
    for (int i = 0; i < JOBS; i++) {
        uint64_t job;
        check(sched,
              tarn_sched_submit(sched, i % 2 ? "ana" : "ben", "{run: train, gpus: 3}", &job));
    }
    carry_out(sched, running, SECOND);
    check(sched, tarn_sched_why(sched, JOBS, why, sizeof(why)));
    printf("          job %d waits: %s\n", JOBS, why);
    for (uint64_t job; (job = first_to_end(running)) > 0;) {
        int64_t now = running[job].until;
        check(sched, tarn_sched_advance(sched, now));
        check(sched, tarn_sched_ended(sched, job, running[job].attempt, 0, 0));
        running[job].until = 0;
        carry_out(sched, running, now);
    }
    tarn_sched_destroy(sched);
    return 0;
}
