/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/job_diagnosis.h"

struct diagnosis_ask diagnosis_ask_of(const struct state *state, const struct job *job,
                                      const struct usage *usage)
{
    const struct request *request = state_request(state, job);
    const struct job_end *end = &job->run->end;
    bool is_over = job->state == JOB_ENDED;

    return (struct diagnosis_ask){
        .usage = usage,
        .run_ms = is_over ? (job->run->ended - job->run->started) / USEC_PER_MS : 0,
        .cpu_ms = is_over && end->kind != 0 ? (end->user_us + end->system_us) / USEC_PER_MS : -1,
        .cpu_milli = request->cpu_milli * request->members,
        .is_share = request->gpu_alternatives > 0 && request->gpus[0].kind != SHARE_WHOLE,
        .has_roles = request->roles_count > 0,
    };
}
