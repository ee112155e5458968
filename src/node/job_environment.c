/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job_environment.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/job/role.h"
#include "node/prepare.h"
#include "node/user_account.h"

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
                                         "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                                         "ROCR_VISIBLE_DEVICES",
                                         "ZE_AFFINITY_MASK" };

    if (string_starts(variable, "TARN_") || string_starts(variable, "SLURM_"))
        return true;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (is_named(variable, names[i], strlen(names[i])))
            return true;
    }
    return false;
}

/* Root starts jobs of all users: there the account counts, whatever was sent. */
static void set_who(const struct job_environment *s, string_list *env)
{
    const struct user_account *user = s->account && s->account->name ? s->account : NULL;

    if (user && (s->is_root || !has(env, "HOME"))) {
        set(env, "HOME", "%s", user->home);
        if (s->is_root || !has(env, "USER")) {
            set(env, "USER", "%s", user->name);
            set(env, "LOGNAME", "%s", user->name);
            set(env, "SHELL", "%s", user->shell);
        }
    }
    if (!has(env, "PATH"))
        set(env, "PATH", "/usr/local/bin:/usr/bin:/bin");
    for (size_t i = 0; s->slurm_dir && i < env->count; i++) {
        if (is_named(env->items[i], "PATH", strlen("PATH"))) {
            AUTO_FREE char *path = mem_string(env->items[i] + strlen("PATH="));
            set(env, "PATH", "%s:%s", s->slurm_dir, path);
        }
    }
}

/* ---- which devices a program sees, as each maker's runtime is told ---- */

static bool is_of(const struct device *device, const char *vendor)
{
    return strcmp(device->vendor && device->vendor[0] ? device->vendor : "nvidia", vendor) == 0;
}

static bool is_here(const struct job_environment *s, const struct device *device)
{
    return !device->is_gone && device->node == s->job->run->lease->members[s->place].node;
}

static bool machine_has(const struct job_environment *s, const char *vendor)
{
    for (size_t i = 0; i < s->state->devices.count; i++) {
        const struct device *device = &s->state->devices.items[i];
        if (is_here(s, device) && is_of(device, vendor))
            return true;
    }
    return false;
}

/* Its number among its maker's devices on its machine. */
static uint32_t number_among(const struct job_environment *s, const struct device *device)
{
    uint32_t number = 0;

    for (size_t i = 0; i < s->state->devices.count; i++) {
        const struct device *other = &s->state->devices.items[i];
        number += is_here(s, other) && other->index < device->index &&
                  is_of(other, device->vendor ? device->vendor : "");
    }
    return number;
}

/* The nth of the maker's that it holds, slice i of its lease. */
typedef void name_fn(const struct job_environment *s, uint32_t i, uint32_t nth, struct text *ret);

static const struct device *device_of(const struct job_environment *s, uint32_t i)
{
    return &s->state->devices.items[s->job->run->lease->slices[i].device];
}

static void name_cuda(const struct job_environment *s, uint32_t i, uint32_t nth, struct text *ret)
{
    (void)nth;
    text_add(ret, s->prepared ? s->prepared->visible[i] : device_of(s, i)->uuid);
}

/* Its own number where the board has one: that is the same whatever else the program may open. */
static void name_rocr(const struct job_environment *s, uint32_t i, uint32_t nth, struct text *ret)
{
    const struct device *device = device_of(s, i);
    bool has_number = string_starts(device->uuid, "AMD-") && !strchr(device->uuid, ':');

    (void)nth;
    if (has_number)
        text_printf(ret, "GPU-%s", device->uuid + strlen("AMD-"));
    else
        text_printf(ret, "%" PRIu32, number_among(s, device));
}

/* Level Zero counts those that the program may open. */
static void name_ze(const struct job_environment *s, uint32_t i, uint32_t nth, struct text *ret)
{
    text_printf(ret, "%" PRIu32, s->is_fenced ? nth : number_among(s, device_of(s, i)));
}

static const struct maker {
    const char *vendor, *variable;
    name_fn *name;
} makers[] = {
    { "nvidia", "CUDA_VISIBLE_DEVICES", name_cuda },
    { "amd", "ROCR_VISIBLE_DEVICES", name_rocr },
    { "intel", "ZE_AFFINITY_MASK", name_ze },
};

/* Empty for a maker whose devices are there and not the job's. AMD's libraries look at CUDA's
 * variable too, so that is not set where there is nothing of NVIDIA's to keep a job from. */
static void set_visible(const struct job_environment *s, const struct maker *maker,
                        string_list *env)
{
    AUTO_RELEASE(text) struct text names = { 0 };
    const struct lease *lease = s->job->run->lease;
    bool is_cuda = maker->name == name_cuda;
    uint32_t count = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (lease->slices[i].rank != s->place || !is_of(device_of(s, i), maker->vendor))
            continue;
        text_add(&names, count > 0 ? "," : "");
        maker->name(s, i, count, &names);
        count++;
    }
    if (count > 0 || machine_has(s, maker->vendor) || (is_cuda && !machine_has(s, "amd")))
        set(env, maker->variable, "%s", text_string(&names));
    if (count > 0 && maker->name == name_ze && !has(env, "ZE_ENABLE_PCI_ID_DEVICE_ORDER"))
        set(env, "ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1");
}

/* What a job holds of one described type. */
static uint32_t list_held(const struct job_environment *s, const struct device_type *type,
                          struct text *indices, struct text *uuids)
{
    const struct lease *lease = s->job->run->lease;
    uint32_t count = 0, number;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const char *uuid = s->state->devices.items[lease->slices[i].device].uuid;
        if (lease->slices[i].rank != s->place || !device_type_is(type, uuid, &number))
            continue;
        text_printf(indices, "%s%" PRIu32, count > 0 ? "," : "", number);
        text_printf(uuids, "%s%s", count > 0 ? "," : "", uuid);
        count++;
    }
    return count;
}

/* A job without any is told so where the variable is a list of them. */
static void set_described(const struct job_environment *s, const struct device_type *type,
                          string_list *env)
{
    AUTO_RELEASE(text) struct text indices = { 0 }, uuids = { 0 };
    AUTO_FREE char *lines = mem_string(type->env);
    char count[16], *rest = lines;

    uint32_t held = list_held(s, type, &indices, &uuids);
    snprintf(count, sizeof(count), "%" PRIu32, held);
    struct device_words words = { .indices = text_string(&indices),
                                  .uuids = text_string(&uuids),
                                  .count = count };
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        AUTO_RELEASE(text) struct text value = { 0 };
        char *template = strchr(line, '=');
        if (!template)
            continue;
        *template ++ = '\0';
        if (held > 0 && device_type_expand(template, &words, &value))
            set(env, line, "%s", text_string(&value));
        else if (held == 0 && (strstr(template, "${indices}") || strstr(template, "${uuids}")))
            set(env, line, "%s", "");
    }
}

/* To which server it belongs, and how much of the device that lets it have. */
static void set_mps(const struct slice *slice, const char *folder, string_list *env)
{
    set(env, "CUDA_MPS_PIPE_DIRECTORY", "%s", folder);
    set(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "%" PRIu32, slice->milli / 10);
    if (slice->memory_mib > 0)
        set(env, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=%" PRId64 "M", slice->memory_mib);
}

static void set_gpus(const struct job_environment *s, string_list *env)
{
    AUTO_RELEASE(text) struct text indices = { 0 };
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
        text_printf(&indices, "%s%" PRIu32, count ? "," : "", device->index);
        count++;
    }
    set(env, "TARN_GPU_COUNT", "%" PRIu32, count);
    if (count > 0)
        set(env, "SLURM_GPUS_ON_NODE", "%" PRIu32, count);
    if (!s->has_exact_devices) /* the engine names those that it chooses */
        return;
    for (size_t i = 0; i < COUNT_OF(makers); i++)
        set_visible(s, &makers[i], env);
    for (size_t i = 0; i < s->state->device_types.count; i++)
        set_described(s, &s->state->device_types.items[i], env);
    set(env, "TARN_GPUS", "%s", text_string(&indices));
    if (count > 0)
        set(env, "SLURM_JOB_GPUS", "%s", text_string(&indices));
    if (count == 1 && last->kind != SHARE_WHOLE) {
        set(env, "TARN_GPU_MILLI", "%" PRIu32, last->milli);
        set(env, "TARN_GPU_MEMORY_MIB", "%" PRId64, last->memory_mib);
    }
}

static void set_gang(const struct job_environment *s, string_list *env)
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
        set(env, "MASTER_ADDR", "%s",
            s->is_all_here ? "127.0.0.1" : s->state->nodes.items[lease->members[0].node].name);
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
    set(env, "SLURMD_NODENAME", "%s", s->state->nodes.items[lease->members[s->place].node].name);
    set(env, "SLURM_NODEID", "0");
}

/* A batch script, which runs once: what srun starts in it. */
static void set_tasks(const struct job_environment *s, const struct request *request,
                      string_list *env)
{
    int64_t cpus = request->cpu_milli < 1000 ? 1 : request->cpu_milli / 1000;
    int64_t each = s->tasks > 0 ? cpus / s->tasks : cpus;

    set(env, "SLURM_CPUS_ON_NODE", "%" PRId64, cpus);
    set(env, "SLURM_JOB_CPUS_PER_NODE", "%" PRId64, cpus);
    set(env, "SLURM_CPUS_PER_TASK", "%" PRId64, each > 0 ? each : 1);
    if (s->tasks == 0)
        return;
    set(env, "SLURM_NTASKS", "%" PRIu32, s->tasks);
    set(env, "SLURM_NPROCS", "%" PRIu32, s->tasks);
    set(env, "SLURM_NTASKS_PER_NODE", "%" PRIu32, s->tasks);
    set(env, "SLURM_TASKS_PER_NODE", "%" PRIu32, s->tasks);
    if (s->task_gpus > 0)
        set(env, "SLURM_GPUS_PER_TASK", "%" PRIu32, s->task_gpus);
    if (request->memory_mib > 0)
        set(env, "SLURM_MEM_PER_NODE", "%" PRId64, request->memory_mib);
    set(env, "TARN_STEPS", "%s", s->folders->steps);
    if (!s->slurm_dir || has(env, "BASH_ENV"))
        return;
    set(env, "TARN_SLURM", "%s", s->slurm_dir);
    set(env, "BASH_ENV", "%s/path.sh", s->slurm_dir);
}

static void set_role(const struct job_environment *s, string_list *env)
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

/* The least and the greatest index: its tasks are in their order. */
static void set_array(const struct job_environment *s, const struct group *group, string_list *env)
{
    const struct job *first = state_job(s->state, group->id + 1);
    const struct job *last = state_job(s->state, group->last);

    if (first)
        set(env, "SLURM_ARRAY_TASK_MIN", "%" PRIu32, first->index);
    if (last)
        set(env, "SLURM_ARRAY_TASK_MAX", "%" PRIu32, last->index);
}

static void set_job(const struct job_environment *s, string_list *env)
{
    const struct job *job = s->job;
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
    if (group && group->kind == GROUP_ARRAY) {
        set(env, "TARN_ARRAY_ID", "%" PRIu64, group->id);
        set(env, "TARN_ARRAY_INDEX", "%" PRIu32, job->index);
        set(env, "SLURM_ARRAY_JOB_ID", "%" PRIu64, group->id);
        set(env, "SLURM_ARRAY_TASK_ID", "%" PRIu32, job->index);
        set(env, "SLURM_ARRAY_TASK_COUNT", "%" PRIu32, group->job_count);
        set_array(s, group, env);
    }
    if (s->folders->out)
        set(env, "TARN_OUT", "%s", s->folders->out);
    if (s->folders->in)
        set(env, "TARN_IN", "%s", s->folders->in);
    if (s->folders->checkpoint)
        set(env, "TARN_CHECKPOINT", "%s", s->folders->checkpoint);
    if (job_has_interval(job))
        set(env, "TARN_CHECKPOINT_EVERY", "%" PRId64, job->checkpoint_every / USEC_PER_SEC);
}

char **job_environment_make(const struct job_environment *environment, char **base)
{
    string_list env = { 0 };

    for (size_t i = 0; base[i]; i++) {
        if (is_left_over(base[i]))
            free(base[i]);
        else
            list_add(&env, base[i]);
    }
    free(base);
    set_who(environment, &env);
    set_job(environment, &env);
    set_gang(environment, &env);
    set_tasks(environment,
              request_part(state_request(environment->state, environment->job),
                           environment->job->run->lease->members[environment->place].role),
              &env);
    set_role(environment, &env);
    set_gpus(environment, &env);
    list_add(&env, NULL);
    return env.items;
}
