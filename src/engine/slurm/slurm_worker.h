/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_WORKER_H
#define ENGINE_SLURM_SLURM_WORKER_H

/* slurm_worker - the thread that talks to slurmctld
 *
 * Calls of libslurm block, so they all happen here, one after the other: requests in their order,
 * and between them the jobs once a second (more often after a submission) and the nodes every few
 * seconds. The news come in the order in which they happened: a listing that follows the answer to
 * a submission has that job.
 *
 * A submission without an answer may have arrived. It is repeated only after a listing of all jobs
 * that does not have it. The same holds for one that an earlier daemon may have sent. One that
 * Slurm refuses because of the configuration (partition, account) is barred: it is repeated when
 * that changes, and every few seconds, for Slurm may change, too.
 */

#include <uv.h>

#include "core/health/watch_rules.h"
#include "engine/slurm/slurm_api.h"

enum slurm_news_kind {
    SLURM_NEWS_SUBMITTED, /* id */
    SLURM_NEWS_REFUSED,   /* words, is_gone */
    SLURM_NEWS_BARRED,    /* words */
    SLURM_NEWS_JOBS,
    SLURM_NEWS_NODES,
    SLURM_NEWS_ENDED,   /* what Slurm's accounting knows; words: why it knows nothing */
    SLURM_NEWS_PROBLEM, /* words; "": it is over */
    SLURM_NEWS_NODES_PROBLEM,
};

struct slurm_news {
    enum slurm_news_kind kind;
    uint64_t job; /* with SUBMITTED, REFUSED and BARRED */
    uint32_t attempt, id;
    char words[ERROR_TEXT_SIZE];
    bool is_gone;          /* an adopted job, which was cancelled or released in Slurm */
    bool has_no_partition; /* with NODES_PROBLEM: it does not exist */
    struct slurm_jobs jobs;
    struct slurm_nodes nodes;
};

struct slurm_worker;

/* Why nothing happens meanwhile; the number is that of slurm_worker_silence(). */
#define SLURM_SILENCE "Slurm: slurmctld has not answered for %u s"

/* on_news is called in the thread of the loop. */
int slurm_worker_create(uv_loop_t *loop, const struct watch_rules *rules,
                        void (*on_news)(void *user, struct slurm_news *news), void *user,
                        struct slurm_worker **ret, struct error *err);
/* Waits for the call in progress. Orders that were not submitted are dropped. */
void slurm_worker_destroy(struct slurm_worker *worker);

void slurm_worker_submit(struct slurm_worker *worker, uint64_t job, uint32_t attempt,
                         struct slurm_order *order, /* which it owns from now on */
                         bool is_unsure);           /* it may have been submitted before */
/* Do not submit this attempt any more: REFUSED follows if it was not. If Slurm may have it, this is
 * known after the next listing. */
void slurm_worker_withdraw(struct slurm_worker *worker, uint64_t job, uint32_t attempt);
/* Ask Slurm's accounting for jobs that were there after this time (since 1970). */
void slurm_worker_look_up(struct slurm_worker *worker, int64_t since_s);
void slurm_worker_signal(struct slurm_worker *worker, uint32_t id, int signal, bool has_steps);
/* As slurm_api_hold(). Without an answer, a hold is dropped, and a cancellation repeated. */
void slurm_worker_hold(struct slurm_worker *worker, const char *adopted, const char *comment);
void slurm_worker_cancel(struct slurm_worker *worker, const char *adopted);
/* Whether to look at the jobs more often than once a second. */
void slurm_worker_hasten(struct slurm_worker *worker, bool is_hasty);
/* As slurm_api_drain(). Without an answer, it is repeated. A refusal is logged. */
void slurm_worker_drain(struct slurm_worker *worker, const char *node, const char *mark,
                        const char *reason);
/* Use partition and account of these settings from now on. */
void slurm_worker_settings(struct slurm_worker *worker, const struct watch_rules *rules);
/* For so many seconds slurmctld has not answered the request in progress; 0: it is not late. */
unsigned slurm_worker_silence(struct slurm_worker *worker);

#endif
