/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/surroundings.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/role.h"
#include "daemon/prepare.h"

typedef LIST(char *) string_list;

static bool is_named(const char *variable, const char *name, size_t length)
{
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

static void set(string_list *env, const char *name, const char *format, ...) PRINTF(3, 4);
static void set(string_list *env, const char *name, const char *format, ...)
{
    AUTO_RELEASE(text) struct text variable = { 0 };
    char value[512];
    va_list args;

    va_start(args, format);
    int length = vsnprintf(value, sizeof(value), format, args);
    va_end(args);
    text_printf(&variable, "%s=", name);
    if ((size_t)length < sizeof(value))
        text_add(&variable, value);
    else {
        AUTO_FREE char *whole = mem_zero(1, (size_t)length + 1);
        va_start(args, format);
        vsnprintf(whole, (size_t)length + 1, format, args);
        va_end(args);
        text_add(&variable, whole);
    }
    for (size_t i = 0; i < env->count; i++) {
        if (is_named(env->items[i], name, strlen(name))) {
            free(env->items[i]);
            env->items[i] = text_take(&variable);
            return;
        }
    }
    list_add(env, text_take(&variable));
}

static bool has(const string_list *env, const char *name)
{
    for (size_t i = 0; i < env->count; i++) {
        if (is_named(env->items[i], name, strlen(name)))
            return true;
    }
    return false;
}

/* A job that was sent from inside another job is not that other one. */
static bool is_left_over(const char *variable)
{
    static const char *const names[] = { "RANK",
                                         "WORLD_SIZE",
                                         "LOCAL_RANK",
                                         "LOCAL_WORLD_SIZE",
                                         "MASTER_ADDR",
                                         "MASTER_PORT",
                                         "CUDA_VISIBLE_DEVICES",
                                         "CUDA_MPS_PIPE_DIRECTORY",
                                         "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                                         "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT" };

    if (string_starts(variable, "TARN_") || string_starts(variable, "SLURM_"))
        return true;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (is_named(variable, names[i], strlen(names[i])))
            return true;
    }
    return false;
}

static void set_who(const struct surroundings *s, string_list *env)
{
    const struct passwd *user = s->is_root || !has(env, "HOME") ? getpwuid(s->job->uid) : NULL;

    if (user && (s->is_root || !has(env, "HOME")))
        set(env, "HOME", "%s", user->pw_dir);
    if (user && (s->is_root || !has(env, "USER"))) {
        set(env, "USER", "%s", user->pw_name);
        set(env, "LOGNAME", "%s", user->pw_name);
        set(env, "SHELL", "%s", user->pw_shell[0] ? user->pw_shell : "/bin/sh");
    }
    if (!has(env, "PATH"))
        set(env, "PATH", "/usr/local/bin:/usr/bin:/bin");
}

/* To which server it belongs, and how much of the device that lets it have. */
static void set_mps(const struct slice *slice, const char *folder, string_list *env)
{
    set(env, "CUDA_MPS_PIPE_DIRECTORY", "%s", folder);
    set(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "%" PRIu32, slice->milli / 10);
    if (slice->memory_mib > 0)
        set(env, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=%" PRId64 "M", slice->memory_mib);
}

static void set_gpus(const struct surroundings *s, string_list *env)
{
    AUTO_RELEASE(text) struct text uuids = { 0 }, indices = { 0 };
    const struct lease *lease = s->job->run->lease;
    const struct slice *last = NULL;
    uint32_t count = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (lease->slices[i].rank != s->place)
            continue;
        last = &lease->slices[i];
        if (s->prepared && s->prepared->mps[i])
            set_mps(last, s->prepared->mps[i], env);
        const struct device *device = &s->state->devices.items[lease->slices[i].device];
        text_printf(&uuids, "%s%s", count ? "," : "",
                    s->prepared ? s->prepared->visible[i] : device->uuid);
        text_printf(&indices, "%s%" PRIu32, count ? "," : "", device->index);
        count++;
    }
    set(env, "CUDA_VISIBLE_DEVICES", "%s", text_string(&uuids));
    set(env, "TARN_GPUS", "%s", text_string(&indices));
    set(env, "TARN_GPU_COUNT", "%" PRIu32, count);
    if (count > 0) {
        set(env, "SLURM_JOB_GPUS", "%s", text_string(&indices));
        set(env, "SLURM_GPUS_ON_NODE", "%" PRIu32, count);
    }
    if (count == 1 && last->kind != SHARE_WHOLE) {
        set(env, "TARN_GPU_MILLI", "%" PRIu32, last->milli);
        set(env, "TARN_GPU_MEMORY_MIB", "%" PRId64, last->memory_mib);
    }
}

static void set_gang(const struct surroundings *s, string_list *env)
{
    const struct lease *lease = s->job->run->lease;
    AUTO_RELEASE(text) struct text hosts = { 0 };
    uint32_t rank = lease_rank(lease, s->place), count = lease->members_count;
    uint32_t local_rank = 0, local_count = 0, node_count = 0;

    for (uint32_t i = 0; i < lease->members_count; i++) {
        bool is_here = lease->members[i].node == lease->members[s->place].node;
        local_count += is_here;
        local_rank += is_here && i < s->place;
        bool is_new = true;
        for (uint32_t k = 0; k < i; k++)
            is_new &= lease->members[k].node != lease->members[i].node;
        if (is_new)
            text_printf(&hosts, "%s%s", node_count++ ? "," : "",
                        s->state->nodes.items[lease->members[i].node].name);
    }
    set(env, "TARN_RANK", "%" PRIu32, rank);
    set(env, "TARN_WORLD_SIZE", "%" PRIu32, count);
    set(env, "TARN_LOCAL_RANK", "%" PRIu32, local_rank);
    set(env, "TARN_HOSTS", "%s", text_string(&hosts));
    set(env, "RANK", "%" PRIu32, rank);
    set(env, "WORLD_SIZE", "%" PRIu32, count);
    set(env, "LOCAL_RANK", "%" PRIu32, local_rank);
    set(env, "LOCAL_WORLD_SIZE", "%" PRIu32, local_count);
    if (s->master_port != 0) {
        set(env, "MASTER_ADDR", "127.0.0.1");
        set(env, "MASTER_PORT", "%" PRIu16, s->master_port);
    }
    set(env, "SLURM_PROCID", "%" PRIu32, rank);
    set(env, "SLURM_LOCALID", "%" PRIu32, local_rank);
    set(env, "SLURM_NTASKS", "%" PRIu32, count);
    set(env, "SLURM_NPROCS", "%" PRIu32, count);
    set(env, "SLURM_NNODES", "%" PRIu32, node_count);
    set(env, "SLURM_JOB_NUM_NODES", "%" PRIu32, node_count);
    set(env, "SLURM_JOB_NODELIST", "%s", text_string(&hosts));
    set(env, "SLURM_NODELIST", "%s", text_string(&hosts));
}

static void set_role(const struct surroundings *s, string_list *env)
{
    const struct request *request = state_request(s->state, s->job);
    uint32_t number, part;

    if (request->roles_count == 0)
        return;
    part = request_part_of(request, lease_rank(s->job->run->lease, s->place), &number);
    set(env, "TARN_ROLE", "%s", request->roles[part].name);
    set(env, "TARN_ROLE_RANK", "%" PRIu32, number);
    set(env, "TARN_ROLE_SIZE", "%" PRIu32, request->roles[part].request.members);
}

static void set_job(const struct surroundings *s, string_list *env)
{
    const struct job *job = s->job;
    const struct request *request =
        request_part(state_request(s->state, job), job->run->lease->members[s->place].role);
    const struct group *group = state_group(s->state, job->group);

    set(env, "TARN_JOB_ID", "%" PRIu64, job->id);
    set(env, "TARN_JOB_NAME", "%s", job->name);
    set(env, "TARN_ATTEMPT", "%" PRIu32, job->run->attempt);
    set(env, "TARN_QUEUE", "%s", s->state->queues.items[job->queue].name);
    set(env, "TARN_SOCKET", "%s", s->socket);
    set(env, "SLURM_JOB_ID", "%" PRIu64, job->id);
    set(env, "SLURM_JOBID", "%" PRIu64, job->id);
    set(env, "SLURM_JOB_NAME", "%s", job->name);
    set(env, "SLURM_JOB_USER", "%s", state_user(s->state, job->user));
    set(env, "SLURM_JOB_PARTITION", "%s", s->state->queues.items[job->queue].name);
    set(env, "SLURM_SUBMIT_DIR", "%s", s->cwd);
    set(env, "SLURM_RESTART_COUNT", "%" PRIu32, job->run->attempt - 1);
    set(env, "SLURM_CPUS_PER_TASK", "%" PRId64,
        request->cpu_milli < 1000 ? 1 : request->cpu_milli / 1000);
    if (group && group->kind == GROUP_ARRAY) {
        set(env, "TARN_ARRAY_ID", "%" PRIu64, group->id);
        set(env, "TARN_ARRAY_INDEX", "%" PRIu32, job->index);
        set(env, "SLURM_ARRAY_JOB_ID", "%" PRIu64, group->id);
        set(env, "SLURM_ARRAY_TASK_ID", "%" PRIu32, job->index);
        set(env, "SLURM_ARRAY_TASK_COUNT", "%" PRIu32, group->job_count);
    }
    if (s->folders->out)
        set(env, "TARN_OUT", "%s", s->folders->out);
    if (s->folders->in)
        set(env, "TARN_IN", "%s", s->folders->in);
    if (s->folders->checkpoint)
        set(env, "TARN_CHECKPOINT", "%s", s->folders->checkpoint);
    if (job->checkpoint_every > 0)
        set(env, "TARN_CHECKPOINT_EVERY", "%" PRId64, job->checkpoint_every / USEC_PER_SEC);
}

char **surroundings_make(const struct surroundings *surroundings, char **base)
{
    string_list env = { 0 };

    for (size_t i = 0; base[i]; i++) {
        if (is_left_over(base[i]))
            free(base[i]);
        else
            list_add(&env, base[i]);
    }
    free(base);
    set_who(surroundings, &env);
    set_job(surroundings, &env);
    set_gang(surroundings, &env);
    set_role(surroundings, &env);
    set_gpus(surroundings, &env);
    list_add(&env, NULL);
    return env.items;
}
