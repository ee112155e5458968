/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARN_SCHED_H
#define TARN_SCHED_H

/* tarn/sched.h - the scheduler of tarn as a library: events in, decisions out
 *
 * A scheduler reads no clock, starts nothing and has no threads: the caller says what happened and
 * what time it is, and carries out the decisions. The same calls give the same decisions.
 *
 * Order of calls:  create, configure, set_node; then submit, cancel, started, ended and advance as
 *                  things happen, with next after each advance; destroy
 * Times:           microseconds, from any zero, above 0; they never go back
 * On failure:      a function returns a negative errno and has changed nothing; tarn_sched_error()
 *                  has the words
 * Threads:         one scheduler is used by one thread at a time; several are independent
 * Memory:          running out of it ends the process
 * Versions:        functions are only added. Structs begin with their size, so that they can grow
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TARN_SCHED_NEVER INT64_MAX

struct tarn_sched;

/* A node with equal GPUs. Texts are copied; NULL: not known. */
struct tarn_node {
    size_t size; /* sizeof(struct tarn_node) */
    const char *name;
    const char *rack;
    const char *gpu_model; /* "h100" */
    int64_t cpu_milli;
    int64_t memory_mib;
    int64_t gpu_memory_mib;
    uint32_t gpu_count; /* of a known node: not fewer than before */
    bool is_down;       /* no job starts on it; jobs on it go on until ended() */
};

enum tarn_decision_kind { TARN_START = 1, TARN_STOP = 2 };

/* The part of a job that one node has. */
struct tarn_member {
    const char *node;
    const uint32_t *gpus; /* numbers on the node, from 0 */
    uint32_t gpu_count;
    uint32_t gpu_milli; /* of each of them; 1000: all of it */
    uint32_t rank;
};

/* Start all members of an attempt, or stop the attempt: report each of them by started() and
 * ended(). A job that was stopped for another one, or to move, is started again as a new attempt.
 */
struct tarn_decision {
    size_t size; /* sizeof(struct tarn_decision) */
    enum tarn_decision_kind kind;
    uint32_t attempt;
    uint64_t job;
    const char *cause;                 /* of a stop: "cancelled", "time limit", "preempted" ... */
    const struct tarn_member *members; /* of a start */
    uint32_t member_count;
};

const char *tarn_version(void);

struct tarn_sched *tarn_sched_create(int64_t now);
void tarn_sched_destroy(struct tarn_sched *sched); /* NULL is fine */

/* About the last function that failed; valid until the next call. */
const char *tarn_sched_error(const struct tarn_sched *sched);

/* Replace the configuration (YAML or JSON, tarn-config(5)); "" gives the defaults. */
int tarn_sched_configure(struct tarn_sched *sched, const char *document);

/* Add a node, or change the one with its name. */
int tarn_sched_set_node(struct tarn_sched *sched, const struct tarn_node *node);

/* A job or pipeline (YAML or JSON, tarn-jobfile(5)); what it runs is not used. ret_job: the number
 * of the job, or of the group. Rules for Unix groups do not apply. Fails with -EDOM if it can never
 * run, -EACCES if the user may not.
 */
int tarn_sched_submit(struct tarn_sched *sched, const char *user, const char *document,
                      uint64_t *ret_job);

/* A waiting job is gone at once; a running one is stopped by a decision. */
int tarn_sched_cancel(struct tarn_sched *sched, uint64_t job);

/* What became of a member. exit_code: 0 is success. */
int tarn_sched_started(struct tarn_sched *sched, uint64_t job, uint32_t attempt, uint32_t rank);
int tarn_sched_ended(struct tarn_sched *sched, uint64_t job, uint32_t attempt, uint32_t rank,
                     int exit_code);

/* A job that has ended takes memory until it is forgotten. */
int tarn_sched_forget(struct tarn_sched *sched, uint64_t job);

/* It is `now`: decide. */
int tarn_sched_advance(struct tarn_sched *sched, int64_t now);

/* When to advance next if nothing happens before; TARN_SCHED_NEVER. */
int64_t tarn_sched_wakeup(const struct tarn_sched *sched);

/* The next decision; false: there is none. ret->size is set by the caller. What it points to is
 * valid until the next advance. */
bool tarn_sched_next(struct tarn_sched *sched, struct tarn_decision *ret);

/* "pending", "running", "ended" ...; NULL: there is no such job. */
const char *tarn_sched_job_state(const struct tarn_sched *sched, uint64_t job);

/* Why the job does not run, in words, cut to the size. */
int tarn_sched_why(struct tarn_sched *sched, uint64_t job, char *ret_text, size_t size);

/* When a waiting job starts: with 80 % probability between low and high; TARN_SCHED_NEVER: not
 * known. Fails with -ENODATA if it does not wait, or cannot start. */
int tarn_sched_estimate(struct tarn_sched *sched, uint64_t job, int64_t *ret_low,
                        int64_t *ret_high);

/* Everything as bytes, which free() releases; all decisions must have been taken. A scheduler that
 * loads them decides like this one. */
int tarn_sched_save(struct tarn_sched *sched, void **ret_bytes, size_t *ret_length);
int tarn_sched_load(struct tarn_sched *sched, const void *bytes, size_t length);

#ifdef __cplusplus
}
#endif

#endif
