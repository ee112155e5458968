/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_DOCUMENT_H
#define ENGINE_SLURM_SLURM_DOCUMENT_H

/* slurm_document - the job document of a job that was submitted to Slurm
 *
 * Amounts are those of a node: a job over several nodes is a gang with a member on each. Its
 * script stays in Slurm, and Slurm enforces its time limit: tarn's is a little later.
 */

#include "engine/slurm/slurm_api.h"

/* The largest node that the job can get, and the fewest parts of a GPU (0: none has parts). */
struct slurm_largest {
    uint32_t gpus, shards, mps;
    int64_t cpu_milli;
};

/* JSON, new; or NULL and the reason: tarn cannot place what this job asks for. */
char *slurm_document(const struct slurm_wish *wish, const struct slurm_largest *largest,
                     struct error *err);

/* Numbers of the tasks of an array, "0-9:3,12%4"; malloc'd. 0: not understood, or too many. */
enum { SLURM_TASKS_MAX = 100000 };
uint32_t slurm_tasks(const char *text, uint32_t **ret);

#endif
