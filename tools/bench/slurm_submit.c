/* SPDX-License-Identifier: Apache-2.0 */
/* Submits trivial jobs with one GPU each through libslurm, one after the other. Usage: slurm_submit
 * COUNT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
static char gres[] = "gres/gpu:1";
#else
static char gres[] = "gres:gpu:1";
#endif

int main(int argc, char **argv)
{
    char *env[] = { (char[]){ "PATH=/usr/bin:/bin" } };
    long count = argc == 2 ? strtol(argv[1], NULL, 10) : 0;

    slurm_init(NULL);
    for (long i = 0; i < count; i++) {
        submit_response_msg_t *answer = NULL;
        job_desc_msg_t job;
        slurm_init_job_desc_msg(&job);
        job.name = (char[]){ "true" };
        job.script = (char[]){ "#!/bin/sh\nexec true\n" };
        job.tres_per_node = gres;
        job.min_nodes = job.max_nodes = job.num_tasks = job.min_cpus = 1;
        job.environment = env;
        job.env_size = 1;
        job.work_dir = (char[]){ "/" };
        job.std_out = job.std_in = (char[]){ "/dev/null" };
        job.user_id = getuid();
        job.group_id = getgid();
        if (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS) {
            fprintf(stderr, "slurm_submit: %s\n", slurm_strerror(slurm_get_errno()));
            return 1;
        }
        slurm_free_submit_response_response_msg(answer);
    }
    return 0;
}
