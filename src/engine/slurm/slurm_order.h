/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_ORDER_H
#define ENGINE_SLURM_SLURM_ORDER_H

/* slurm_order - the Slurm job of an attempt, and the mark by which it is found again
 *
 * All members of an attempt are one Slurm job. A single member is the batch script's process; of a
 * gang, each member is a step that the script starts on its node. The comment of the job is
 *
 *   tarn=INSTANCE/JOB.ATTEMPT queue=QUEUE limit=MINUTES+SECONDS ranks=RANK@NODE:GPUS,...
 *
 * (limit: Slurm's, and the grace period in it, or of an adopted job "-60", by which tarn's is
 * later; only if it has one), so that the job of an attempt is found after any crash, and sacct can
 * be joined with tarn.
 */

#include "core/engine.h"
#include "engine/slurm/slurm_api.h"

struct slurm_rank {
    uint32_t rank, gpus;
    char *node;
};

struct slurm_mark {
    uint64_t job;
    uint32_t attempt;
    uint32_t limit_min; /* 0: none */
    int32_t grace_s;    /* negative: tarn's limit is so much later than Slurm's */
    LIST(struct slurm_rank) ranks;
};

/* Fails with -ENOTSUP: Slurm cannot run these members as one job. nodes: as last seen. */
int slurm_order_make(const char *instance, const struct watch_rules *rules,
                     const struct slurm_nodes *nodes, const struct engine_launch *launches,
                     uint32_t count, struct slurm_order **ret, struct error *err);

/* The release of a job that was submitted to Slurm (slurm_adopt.h): its number there. */
struct slurm_order *slurm_order_adopt(const char *instance, const struct engine_launch *launches,
                                      uint32_t count, const char *adopted);

void slurm_order_destroy(struct slurm_order *order); /* NULL is fine */
DEFINE_AUTO(slurm_order)

/* False: it is not a job of this instance. */
bool slurm_mark_read(const char *instance, const char *comment, struct slurm_mark *ret);
void slurm_mark_release(struct slurm_mark *mark);
/* What max_duration would give the job this limit of Slurm. */
usec_t slurm_mark_duration(const struct slurm_mark *mark, uint32_t limit_min);

#endif
