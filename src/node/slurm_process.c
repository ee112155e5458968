/* SPDX-License-Identifier: Apache-2.0 */
#include "node/slurm_process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"

enum { GROUPS_BYTES_MAX = 16384, ENVIRON_BYTES_MAX = 1 << 20 };

static bool read_number(const char *text, const char *ends, uint32_t *ret)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (end == text || !strchr(ends, *end) || number == 0 || number >= UINT32_MAX)
        return false;
    *ret = (uint32_t)number;
    return true;
}

static void keep_step(const char *text, size_t length, struct watch_slurm *ret)
{
    if (length > 0 && length < sizeof(ret->step))
        snprintf(ret->step, sizeof(ret->step), "%.*s", (int)length, text);
}

/* "4:memory:/slurm/uid_0/job_12/step_0/task_0", "0::/system.slice/slurmstepd.scope/job_12/..." */
static bool read_group(const char *line, size_t length, struct watch_slurm *ret)
{
    AUTO_FREE char *group = strndup(line, length);
    const char *slurm = strstr(group, "slurm");
    const char *job = slurm ? strstr(slurm, "/job_") : NULL;

    *ret = (struct watch_slurm){ 0 };
    if (!job || !read_number(job + strlen("/job_"), "/", &ret->job))
        return false;
    const char *step = strstr(job, "/step_");
    if (step)
        keep_step(step + strlen("/step_"), strcspn(step + strlen("/step_"), "/"), ret);
    return true;
}

bool slurm_process_of_groups(const char *groups, struct watch_slurm *ret)
{
    for (const char *line = groups; *line;) {
        size_t length = strcspn(line, "\n");
        if (read_group(line, length, ret))
            return true;
        line += length + (line[length] == '\n');
    }
    return false;
}

static const char *variable(const struct text *environment, const char *name)
{
    const char *at = environment->bytes, *end = at + environment->length;

    for (; at && at < end; at += strlen(at) + 1) {
        if (string_starts(at, name) && at[strlen(name)] == '=')
            return at + strlen(name) + 1;
    }
    return NULL;
}

bool slurm_process_find(const char *root, uint32_t pid, struct watch_slurm *ret)
{
    AUTO_RELEASE(text) struct text groups = { 0 }, environment = { 0 };
    AUTO_FREE char *groups_path = mem_printf("%s/proc/%" PRIu32 "/cgroup", root, pid);
    AUTO_FREE char *environment_path = mem_printf("%s/proc/%" PRIu32 "/environ", root, pid);

    if (file_read(groups_path, GROUPS_BYTES_MAX, &groups, NULL) == 0 &&
        slurm_process_of_groups(text_string(&groups), ret))
        return true;
    if (file_read(environment_path, ENVIRON_BYTES_MAX, &environment, NULL) < 0)
        return false;
    const char *job = variable(&environment, "SLURM_JOB_ID");
    *ret = (struct watch_slurm){ 0 };
    if (!job || !read_number(job, "", &ret->job))
        return false;
    const char *step = variable(&environment, "SLURM_STEP_ID");
    step = step ? step : "batch";
    keep_step(step, strlen(step), ret);
    return true;
}
