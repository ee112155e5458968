/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_DEPENDENCY_H
#define ENGINE_SLURM_SLURM_DEPENDENCY_H

/* slurm_dependency - whether a held job waits for other jobs of Slurm
 *
 * slurmctld looks at the dependencies of a job when it may start, so those of a held job stay
 * "unfulfilled" for ever. This is the same question, about one listing of the jobs. Of a job that
 * Slurm has forgotten nothing is expected: slurmctld decides when the job is released.
 */

#include "engine/slurm/slurm_api.h"

enum slurm_dependency {
    SLURM_DEPENDENCY_MET,
    SLURM_DEPENDENCY_WAITS,
    SLURM_DEPENDENCY_BROKEN, /* it cannot be met any more */
};

/* The jobs of a listing by number, those of an array by the number of the array. */
struct slurm_index {
    LIST(const struct slurm_job *) all;
};

void slurm_index_make(const struct slurm_jobs *jobs, struct slurm_index *ret);
void slurm_index_release(struct slurm_index *index);
uint32_t slurm_index_number(const struct slurm_job *job);
/* The place of the first job with this number, or where it would be. */
size_t slurm_index_first(const struct slurm_index *index, uint32_t number);

/* now: seconds since 1970. A kind of dependency that is not known WAITS. */
enum slurm_dependency slurm_dependency_of(const struct slurm_index *index,
                                          const struct slurm_job *job, int64_t now);

#endif
