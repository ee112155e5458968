/* SPDX-License-Identifier: Apache-2.0 */
/* Submits trivial jobs with one GPU each through libslurm. Usage: slurm_submit COUNT [GPUS]
 *
 * With GPUS, it does as a scheduler outside of Slurm must: a job is submitted when a GPU is free,
 * and what has ended is seen in a listing of all jobs, 20 times a second. It returns when all have
 * ended. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

enum { LOOK_US = 50000 };

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
static char gres[] = "gres/gpu:1";
#else
static char gres[] = "gres:gpu:1";
#endif

static int fail(void)
{
    fprintf(stderr, "slurm_submit: %s\n", slurm_strerror(slurm_get_errno()));
    return 1;
}

static int submit(void)
{
    char *env[] = { (char[]){ "PATH=/usr/bin:/bin" } };
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
    if (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS)
        return fail();
    slurm_free_submit_response_response_msg(answer);
    return 0;
}

/* Jobs that have a GPU or wait for one; negative: no answer. */
static long count_present(void)
{
    job_info_msg_t *found = NULL;
    long count = 0;

    if (slurm_load_jobs(0, &found, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
        return -1;
    for (uint32_t i = 0; i < found->record_count; i++) {
        uint32_t state = found->job_array[i].job_state;
        count += (state & JOB_STATE_BASE) <= JOB_SUSPENDED || (state & JOB_COMPLETING) != 0;
    }
    slurm_free_job_info_msg(found);
    return count;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    long gpus = argc > 2 ? strtol(argv[2], NULL, 10) : 0, present = 0;

    slurm_init(NULL);
    while (count > 0 || (gpus > 0 && present > 0)) {
        for (; count > 0 && (gpus == 0 || present < gpus); count--, present++) {
            if (submit() != 0)
                return 1;
        }
        if (gpus == 0)
            continue;
        usleep(LOOK_US);
        present = count_present();
        if (present < 0)
            return fail();
    }
    return 0;
}
