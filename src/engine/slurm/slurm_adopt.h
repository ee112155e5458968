/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_ADOPT_H
#define ENGINE_SLURM_SLURM_ADOPT_H

/* slurm_adopt - jobs that users submit to Slurm, and that tarn orders, places and releases
 *
 * A held job of tarn's partition is reported as an arrival "slurm/4711", a task of an array as
 * "slurm/4711_3". Until tarn starts it, Slurm's comment has what tarn says about it. If it leaves
 * the hold in any other way than by its release, it is withdrawn; if it ends in tarn, it is
 * cancelled in Slurm.
 *
 * Order of calls:  create, (begin, see*, end | answer | note | release)*, destroy
 */

#include "core/engine.h"
#include "engine/slurm/slurm_document.h"
#include "engine/slurm/slurm_worker.h"

struct slurm_adopt;

struct slurm_adopt *slurm_adopt_create(const struct engine_options *options,
                                       struct slurm_worker *worker);
void slurm_adopt_destroy(struct slurm_adopt *adopt); /* NULL is fine */

/* Whether this name is an arrival of Slurm; its number there, or NULL. */
const char *slurm_adopt_number(const char *name);

/* A listing of all jobs, which stay until its end. */
void slurm_adopt_begin(struct slurm_adopt *adopt, const struct slurm_jobs *jobs);
void slurm_adopt_see(struct slurm_adopt *adopt, const struct slurm_job *job,
                     const struct slurm_largest *largest);
void slurm_adopt_end(struct slurm_adopt *adopt);

/* engine_ops.answer and engine_ops.note. */
void slurm_adopt_answer(struct slurm_adopt *adopt, const char *name, uint64_t job,
                        const struct error *err);
void slurm_adopt_note(struct slurm_adopt *adopt, const char *name, uint64_t job, const char *words,
                      enum engine_fate fate);
/* It is released now: its hold ends. */
void slurm_adopt_release(struct slurm_adopt *adopt, const char *name);

#endif
