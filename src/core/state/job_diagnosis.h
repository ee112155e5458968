/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_JOB_DIAGNOSIS_H
#define CORE_STATE_JOB_DIAGNOSIS_H

/* job_diagnosis - the facts about a job that a diagnosis needs */

#include "core/health/diagnosis.h"
#include "core/state/state.h"

/* CPU time and run time once it has ended. */
struct diagnosis_ask diagnosis_ask_of(const struct state *state, const struct job *job,
                                      const struct usage *usage);

#endif
