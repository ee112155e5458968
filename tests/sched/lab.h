/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SCHED_LAB_H
#define TESTS_SCHED_LAB_H

/* lab - a state with its brain, short ways to tell it things, and a record of all that was told
 *
 * Every event goes in as the bytes that the journal would keep. What it decides is recorded after
 * the PLAN that it belongs to, as the daemon does it.
 */

#include <stdbool.h>

#include "base/text.h"
#include "sched/sched.h"

struct lab_record {
    char *bytes;
    size_t length;
    bool is_decision;
};

struct lab {
    struct state *state;
    struct brain *brain;
    struct inquiry *inquiry;    /* for questions */
    struct decisions decisions; /* of the last plan */
    struct arena arena;
    usec_t now;
    LIST(struct lab_record) records;
    bool is_silent;    /* records nothing */
    uint64_t *counted; /* events and decisions are added; or NULL */
};

struct lab *lab_create(void);
void lab_destroy(struct lab *lab);
DEFINE_AUTO(lab)

/* Fails as sched_step does. The event's time is the lab's. */
int lab_try(struct lab *lab, const struct event *event, struct error *err);
void lab_tell(struct lab *lab, const struct event *event); /* aborts on failure */
void lab_plan(struct lab *lab);
/* As long as it wants to be asked now. */
void lab_settle(struct lab *lab);

void lab_node(struct lab *lab, const char *name, int64_t cpu_milli, int64_t memory_mib);
void lab_gpus(struct lab *lab, const char *node, const char *model, int64_t memory_mib,
              uint32_t count);
void lab_queue(struct lab *lab, const char *name, const char *parent, uint32_t weight,
               int64_t limit_milli);
/* "" for no GPUs. Returns its number. */
uint64_t lab_submit(struct lab *lab, const char *gpus, usec_t limit);
/* Whole GPUs of any model for each member, no CPUs, an estimate of 100 hours. */
uint64_t lab_submit_to(struct lab *lab, const char *queue, uint16_t gpus, uint32_t members,
                       bool is_preemptible);
void lab_started(struct lab *lab, uint64_t job);
void lab_ended(struct lab *lab, uint64_t job, int exit_code);

struct job *lab_job(const struct lab *lab, uint64_t id);
enum why_kind lab_why(const struct lab *lab, uint64_t id);

/* The state as a snapshot. */
void lab_save(const struct lab *lab, struct text *out);
/* The same lab on a state that was saved and loaded. */
void lab_reload(struct lab *lab);

#endif
