/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_ORDER_H
#define ENGINE_SLURM_SLURM_ORDER_H

/* slurm_order - the Slurm job of an attempt, and the mark by which it is found again
 *
 * All members of an attempt are one Slurm job. A single member is the batch script's process; of a
 * gang, each member is a step that the script starts on its node. The comment of the job is
 *
 *   tarn=INSTANCE/JOB.ATTEMPT queue=QUEUE ranks=RANK@NODE:GPUS,...
 *
 * so that the job of an attempt is found after any crash, and sacct can be joined with tarn.
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
    LIST(struct slurm_rank) ranks;
};

/* Fails with -ENOTSUP: Slurm cannot run these members as one job. */
int slurm_order_make(const char *instance, const struct watch_rules *rules,
                     const struct engine_launch *launches, uint32_t count, struct slurm_order **ret,
                     struct error *err);

void slurm_order_destroy(struct slurm_order *order); /* NULL is fine */

/* False: it is not a job of this instance. */
bool slurm_mark_read(const char *instance, const char *comment, struct slurm_mark *ret);
void slurm_mark_release(struct slurm_mark *mark);

#endif
