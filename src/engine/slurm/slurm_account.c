/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/text.h"

/* Slurm's words for ends; a word may be followed by more: "CANCELLED by 1000". */
static bool read_state(const char *word, struct slurm_job *ret)
{
    static const struct {
        const char *word;
        enum slurm_end end;
        const char *reason;
    } ends[] = {
        { "COMPLETED", SLURM_EXITED, NULL },
        { "FAILED", SLURM_EXITED, NULL },
        { "CANCELLED", SLURM_CANCELLED, NULL },
        { "TIMEOUT", SLURM_TIME_LIMIT, NULL },
        { "DEADLINE", SLURM_TIME_LIMIT, NULL },
        { "OUT_OF_MEMORY", SLURM_OUT_OF_MEMORY, NULL },
        { "NODE_FAIL", SLURM_TAKEN_AWAY, "Slurm: its node failed" },
        { "PREEMPTED", SLURM_TAKEN_AWAY, "Slurm preempted it" },
        { "BOOT_FAIL", SLURM_TAKEN_AWAY, "Slurm: its node did not boot" },
        { "LAUNCH_FAILED", SLURM_TAKEN_AWAY, "Slurm could not launch it" },
    };

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (!string_starts(word, ends[i].word))
            continue;
        ret->end = ends[i].end;
        ret->reason = ends[i].reason;
        return true;
    }
    return false;
}

bool slurm_account_read(char *line, struct slurm_job *ret)
{
    char *fields[5], *rest = line;
    unsigned code, signal;

    for (size_t i = 0; i < 5; i++) /* the last one may contain separators */
        fields[i] = i < 4 ? strsep(&rest, "|") : rest;
    *ret = (struct slurm_job){ .phase = SLURM_IS_OVER, .limit_min = UINT32_MAX };
    if (!fields[4] || !read_state(fields[1], ret) ||
        sscanf(fields[2], "%u:%u", &code, &signal) != 2 || code > 255 || signal > 127)
        return false;
    ret->id = (uint32_t)strtoul(fields[0], NULL, 10);
    ret->status = signal > 0 ? (int)signal : (int)(code << 8);
    ret->has_run = fields[3][0] >= '0' && fields[3][0] <= '9';
    fields[4][strcspn(fields[4], "\n")] = '\0';
    ret->comment = mem_string(fields[4]);
    return ret->id > 0;
}

int slurm_account_jobs(int64_t since_s, struct slurm_jobs *ret, struct error *err)
{
    time_t since = (time_t)since_s;
    char start[32], last[160] = "it said nothing", *line = NULL;
    size_t size = 0;
    struct tm civil;

    *ret = (struct slurm_jobs){ 0 };
    localtime_r(&since, &civil);
    strftime(start, sizeof(start), "%Y-%m-%dT%H:%M:%S", &civil);
    AUTO_FREE char *command =
        mem_printf("exec sacct -n -P -X -a -S %s -o " SLURM_ACCOUNT_FIELDS " 2>&1", start);
    FILE *pipe = popen(command, "re");
    if (!pipe)
        return error_set(err, -ENOENT, "sacct: %s", strerror(errno));
    while (getline(&line, &size, pipe) > 0) {
        struct slurm_job job;
        snprintf(last, sizeof(last), "%.*s", (int)strcspn(line, "\n"), line);
        if (slurm_account_read(line, &job))
            list_add(&ret->all, job);
        else
            free(job.comment);
    }
    free(line);
    if (pclose(pipe) == 0)
        return 0;
    LIST_EACH (struct slurm_job, job, &ret->all)
        free(job->comment);
    list_release(&ret->all);
    return error_set(err, -ENOENT, "sacct: %s", last);
}
