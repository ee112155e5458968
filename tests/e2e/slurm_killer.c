/* SPDX-License-Identifier: Apache-2.0 */
/* Kills the process that submits a job to Slurm: $TARN_TEST_KILL_AT is "STAGE MICROSECONDS", where
 * STAGE is before (the request), during (so long after it was sent), after (its answer) or later
 * (so long after the answer). Preloaded into the daemon. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct job_descriptor;
struct submit_response;
int slurm_submit_batch_job(struct job_descriptor *job, struct submit_response **answer);

static void die(void)
{
    kill(getpid(), SIGKILL);
}

static void *die_later(void *us)
{
    long left = *(long *)us;

    nanosleep(&(struct timespec){ left / 1000000, left % 1000000 * 1000 }, NULL);
    die();
    return NULL;
}

int slurm_submit_batch_job(struct job_descriptor *job, struct submit_response **answer)
{
    static long us;
    char stage[16] = "";
    const char *at = getenv("TARN_TEST_KILL_AT");
    int (*real)(struct job_descriptor *, struct submit_response **) =
        (int (*)(struct job_descriptor *, struct submit_response **))dlsym(
            dlopen("libslurm.so.38", RTLD_NOW | RTLD_NOLOAD), "slurm_submit_batch_job");
    pthread_t thread;

    if (at && sscanf(at, "%15s %ld", stage, &us) == 2 && strcmp(stage, "before") == 0)
        die();
    if (strcmp(stage, "during") == 0)
        pthread_create(&thread, NULL, die_later, &us);
    int code = real(job, answer);
    if (strcmp(stage, "after") == 0)
        die();
    if (strcmp(stage, "later") == 0)
        pthread_create(&thread, NULL, die_later, &us);
    return code;
}
