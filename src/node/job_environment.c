/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job_environment.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/engine.h"
#include "core/job/gang_size.h"
#include "core/job/role.h"
#include "node/prepare.h"
#include "node/user_account.h"

/* What the job itself sets is never replaced. */
struct variables {
    LIST(char *) all;
    const struct job_environment *of;
};

static bool is_named(const char *variable, const char *name, size_t length)
{
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

static bool is_among(char *const *names, const char *name)
{
    size_t length = strlen(name);

    for (; names && *names; names++) {
        if (strncmp(*names, name, length) == 0 &&
            ((*names)[length] == '\0' || (*names)[length] == '='))
            return true;
    }
    return false;
}

static bool is_own(const struct job_environment *s, const char *name)
{
    return is_among(s->own, name) || is_among(s->role_env, name);
}

static void set(struct variables *env, const char *name, const char *format, ...) PRINTF(3, 4);
static void set(struct variables *env, const char *name, const char *format, ...)
{
    AUTO_RELEASE(text) struct text variable = { 0 };
    char value[512];
    va_list args;

    if (is_own(env->of, name))
        return;
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
    for (size_t i = 0; i < env->all.count; i++) {
        if (is_named(env->all.items[i], name, strlen(name))) {
            free(env->all.items[i]);
            env->all.items[i] = text_take(&variable);
            return;
        }
    }
    list_add(&env->all, text_take(&variable));
}

static bool has(const struct variables *env, const char *name)
{
    for (size_t i = 0; i < env->all.count; i++) {
        if (is_named(env->all.items[i], name, strlen(name)))
            return true;
    }
    return false;
}

static bool is_gang(const struct job_environment *s)
{
    return request_is_gang(state_request(s->state, s->job));
}

/* Slurm's variables are for jobs that came by its commands or options, and for gangs, which are
 * what its steps are: in others, MPI libraries and frameworks would look for its daemons. */
static bool is_slurms(const struct job_environment *s)
{
    return s->slurm || is_gang(s);
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

    if (string_starts(variable, "TARN_") || string_starts(variable, "SLURM_") ||
        string_starts(variable, "SLURMD_"))
        return true;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (is_named(variable, names[i], strlen(names[i])))
            return true;
    }
    return false;
}

/* Root starts jobs of all users: there the account counts, whatever was sent. */
static void set_who(const struct job_environment *s, struct variables *env)
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
    for (size_t i = 0; s->slurm_dir && i < env->all.count; i++) {
        if (is_named(env->all.items[i], "PATH", strlen("PATH"))) {
            AUTO_FREE char *path = env->all.items[i];
            env->all.items[i] = mem_printf("PATH=%s:%s", s->slurm_dir, path + strlen("PATH="));
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
                        struct variables *env)
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
                          struct variables *env)
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
static void set_mps(const struct slice *slice, const char *folder, struct variables *env)
{
    set(env, "CUDA_MPS_PIPE_DIRECTORY", "%s", folder);
    set(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "%" PRIu32, slice->milli / 10);
    if (slice->memory_mib > 0)
        set(env, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=%" PRId64 "M", slice->memory_mib);
}

static void set_gpus(const struct job_environment *s, struct variables *env)
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
    if (count > 0 && is_slurms(s))
        set(env, "SLURM_GPUS_ON_NODE", "%" PRIu32, count);
    if (!s->has_exact_devices) /* the engine names those that it chooses */
        return;
    for (size_t i = 0; i < COUNT_OF(makers); i++)
        set_visible(s, &makers[i], env);
    for (size_t i = 0; i < s->state->device_types.count; i++)
        set_described(s, &s->state->device_types.items[i], env);
    set(env, "TARN_GPUS", "%s", text_string(&indices));
    if (count > 0 && is_slurms(s))
        set(env, "SLURM_JOB_GPUS", "%s", text_string(&indices));
    if (count == 1 && last->kind != SHARE_WHOLE) {
        set(env, "TARN_GPU_MILLI", "%" PRIu32, last->milli);
        set(env, "TARN_GPU_MEMORY_MIB", "%" PRId64, last->memory_mib);
    }
}

/* Where a member is among those of its job, and on which nodes they are. */
struct position {
    uint32_t rank, count, local_rank, local_count;
    uint32_t node, node_count; /* nodes in the order of the members */
    struct text hosts;         /* "a,b" */
    struct text tasks;         /* of each node: "2(x3),1" */
};

/* One more node with so many members, which may be like those before it. */
static void add_tasks(struct text *tasks, uint32_t count, uint32_t repeated, bool is_last)
{
    if (!is_last)
        return;
    text_printf(tasks, "%s%" PRIu32, tasks->length > 0 ? "," : "", count);
    if (repeated > 1)
        text_printf(tasks, "(x%" PRIu32 ")", repeated);
}

static uint32_t members_on(const struct lease *lease, uint32_t node)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < lease->members_count; i++)
        count += lease->members[i].node == node;
    return count;
}

static bool is_first_there(const struct lease *lease, uint32_t place)
{
    for (uint32_t i = 0; i < place; i++) {
        if (lease->members[i].node == lease->members[place].node)
            return false;
    }
    return true;
}

static void find_position(const struct job_environment *s, struct position *ret)
{
    const struct lease *lease = s->job->run->lease;
    const uint32_t own = lease->members[s->place].node;
    uint32_t tasks = 0, repeated = 0;

    *ret = (struct position){ .rank = lease_rank(lease, s->place), .count = lease->members_count };
    for (uint32_t i = 0; i < lease->members_count; i++) {
        const uint32_t node = lease->members[i].node;
        ret->local_count += node == own;
        ret->local_rank += node == own && i < s->place;
        if (!is_first_there(lease, i))
            continue;
        if (node == own)
            ret->node = ret->node_count;
        text_printf(&ret->hosts, "%s%s", ret->node_count++ ? "," : "",
                    s->state->nodes.items[node].name);
        const uint32_t count = members_on(lease, node);
        add_tasks(&ret->tasks, tasks, repeated, repeated > 0 && count != tasks);
        repeated = count == tasks ? repeated + 1 : 1;
        tasks = count;
    }
    add_tasks(&ret->tasks, tasks, repeated, true);
}

static void set_own_gang(const struct job_environment *s, const struct position *at,
                         struct variables *env)
{
    set(env, "TARN_RANK", "%" PRIu32, at->rank);
    set(env, "TARN_WORLD_SIZE", "%" PRIu32, at->count);
    set(env, "TARN_LOCAL_RANK", "%" PRIu32, at->local_rank);
    set(env, "TARN_HOSTS", "%s", text_string(&at->hosts));
    set(env, "TARN_NODE_COUNT", "%" PRIu32, at->node_count);
    set(env, "TARN_NODE_RANK", "%" PRIu32, at->node);
    if (!is_gang(s))
        return;
    set(env, "RANK", "%" PRIu32, at->rank);
    set(env, "WORLD_SIZE", "%" PRIu32, at->count);
    set(env, "LOCAL_RANK", "%" PRIu32, at->local_rank);
    set(env, "LOCAL_WORLD_SIZE", "%" PRIu32, at->local_count);
    if (s->master_port == 0)
        return;
    set(env, "MASTER_ADDR", "%s",
        s->is_all_here ? "127.0.0.1"
                       : s->state->nodes.items[s->job->run->lease->members[0].node].name);
    set(env, "MASTER_PORT", "%" PRIu16, s->master_port);
}

/* A gang is to its members what a step of srun is, but without the number of a step: libraries for
 * MPI take that for a promise that srun serves their PMI. */
static void set_slurm_gang(const struct position *at, struct variables *env)
{
    set(env, "SLURM_NTASKS", "%" PRIu32, at->count);
    set(env, "SLURM_NPROCS", "%" PRIu32, at->count);
    set(env, "SLURM_STEP_NODELIST", "%s", text_string(&at->hosts));
    set(env, "SLURM_STEP_NUM_NODES", "%" PRIu32, at->node_count);
    set(env, "SLURM_STEP_NUM_TASKS", "%" PRIu32, at->count);
    set(env, "SLURM_STEP_TASKS_PER_NODE", "%s", text_string(&at->tasks));
}

static void set_slurm_place(const struct job_environment *s, const struct position *at,
                            int64_t cpus, struct variables *env)
{
    AUTO_RELEASE(text) struct text each = { 0 };

    text_printf(&each, "%" PRId64, cpus * at->local_count);
    if (at->node_count > 1)
        text_printf(&each, "(x%" PRIu32 ")", at->node_count);
    set(env, "SLURM_PROCID", "%" PRIu32, at->rank);
    set(env, "SLURM_LOCALID", "%" PRIu32, at->local_rank);
    set(env, "SLURM_GTIDS", "%" PRIu32, at->rank);
    set(env, "SLURM_NODEID", "%" PRIu32, at->node);
    set(env, "SLURM_TASK_PID", "%s", ""); /* the shim knows it */
    set(env, "SLURM_NNODES", "%" PRIu32, at->node_count);
    set(env, "SLURM_JOB_NUM_NODES", "%" PRIu32, at->node_count);
    set(env, "SLURM_JOB_NODELIST", "%s", text_string(&at->hosts));
    set(env, "SLURM_NODELIST", "%s", text_string(&at->hosts));
    set(env, "SLURMD_NODENAME", "%s",
        s->state->nodes.items[s->job->run->lease->members[s->place].node].name);
    set(env, "SLURM_CPUS_ON_NODE", "%" PRId64, cpus * at->local_count);
    set(env, "SLURM_JOB_CPUS_PER_NODE", "%s", text_string(&each));
    if (is_gang(s))
        set(env, "SLURM_TASKS_PER_NODE", "%s", text_string(&at->tasks));
    else
        set(env, "SLURM_TASKS_PER_NODE", "%" PRIu32, s->tasks > 0 ? s->tasks : 1);
}

static void set_members(const struct job_environment *s, const struct request *part,
                        struct variables *env)
{
    const int64_t cpus = part->cpu_milli < 1000 ? 1 : part->cpu_milli / 1000;
    struct position at;

    find_position(s, &at);
    set_own_gang(s, &at, env);
    set(env, "TARN_CPUS", "%" PRId64, cpus);
    if (is_slurms(s))
        set_slurm_place(s, &at, cpus, env);
    if (is_gang(s))
        set_slurm_gang(&at, env);
    text_release(&at.hosts);
    text_release(&at.tasks);
}

/* A batch script, which runs once: what srun in it needs to know. */
static void set_tasks(const struct job_environment *s, struct variables *env)
{
    if (s->tasks == 0)
        return;
    set(env, "TARN_STEPS", "%s", s->folders->steps);
    set(env, "TARN_TASKS", "%" PRIu32, s->tasks);
    if (s->task_gpus > 0)
        set(env, "TARN_TASK_GPUS", "%" PRIu32, s->task_gpus);
    if (!s->slurm_dir || has(env, "BASH_ENV"))
        return;
    set(env, "TARN_SLURM", "%s", s->slurm_dir);
    set(env, "BASH_ENV", "%s/path.sh", s->slurm_dir);
}

static void set_role(const struct job_environment *s, struct variables *env)
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

/* Its tasks are in the order of their indices. */
static void set_array(const struct job_environment *s, const struct group *group,
                      struct variables *env)
{
    const struct job *first = state_job(s->state, group->id + 1);
    const struct job *second = state_job(s->state, group->id + 2);
    const struct job *last = state_job(s->state, group->last);

    set(env, "TARN_ARRAY_ID", "%" PRIu64, group->id);
    set(env, "TARN_ARRAY_INDEX", "%" PRIu32, s->job->index);
    if (!is_slurms(s))
        return;
    set(env, "SLURM_ARRAY_JOB_ID", "%" PRIu64, group->id);
    set(env, "SLURM_ARRAY_TASK_ID", "%" PRIu32, s->job->index);
    set(env, "SLURM_ARRAY_TASK_COUNT", "%" PRIu32, group->job_count);
    if (first)
        set(env, "SLURM_ARRAY_TASK_MIN", "%" PRIu32, first->index);
    if (last)
        set(env, "SLURM_ARRAY_TASK_MAX", "%" PRIu32, last->index);
    if (first && second && second->id <= group->last)
        set(env, "SLURM_ARRAY_TASK_STEP", "%" PRIu32, second->index - first->index);
}

static void set_job(const struct job_environment *s, struct variables *env)
{
    const struct job *job = s->job;

    set(env, "TARN_JOB_ID", "%" PRIu64, job->id);
    set(env, "TARN_JOB_NAME", "%s", job->name);
    set(env, "TARN_ATTEMPT", "%" PRIu32, job->run->attempt);
    set(env, "TARN_QUEUE", "%s", s->state->queues.items[job->queue].name);
    set(env, "TARN_SOCKET", "%s", s->socket);
    if (s->script_path)
        set(env, "TARN_SCRIPT", "%s", s->script_path);
    if (s->folders->out)
        set(env, "TARN_OUT", "%s", s->folders->out);
    if (s->folders->in)
        set(env, "TARN_IN", "%s", s->folders->in);
    if (s->folders->checkpoint)
        set(env, "TARN_CHECKPOINT", "%s", s->folders->checkpoint);
    if (job_has_interval(job))
        set(env, "TARN_CHECKPOINT_EVERY", "%" PRId64, job->checkpoint_every / USEC_PER_SEC);
}

static void set_slurm_times(const struct job_environment *s, struct variables *env)
{
    const struct job *job = s->job;
    const usec_t start = job->run->granted + s->wall_ahead;

    set(env, "SLURM_JOB_START_TIME", "%" PRId64, start / USEC_PER_SEC);
    if (job->max_duration != USEC_NEVER)
        set(env, "SLURM_JOB_END_TIME", "%" PRId64, (start + job->max_duration) / USEC_PER_SEC);
}

static void set_slurm_job(const struct job_environment *s, struct variables *env)
{
    const struct job *job = s->job;
    const char *pool = state_request(s->state, job)->pool;

    for (char *const *variable = s->slurm; variable && *variable; variable++) {
        AUTO_FREE char *name = mem_string_of(*variable, strcspn(*variable, "="));
        set(env, name, "%s", *variable + strlen(name) + 1);
    }
    set(env, "SLURM_JOB_ID", "%" PRIu64, job->id);
    set(env, "SLURM_JOBID", "%" PRIu64, job->id);
    set(env, "SLURM_JOB_NAME", "%s", job->name);
    set(env, "SLURM_JOB_USER", "%s", state_user(s->state, job->user));
    set(env, "SLURM_JOB_UID", "%" PRIu32, job->uid);
    set(env, "SLURM_JOB_GID", "%" PRIu32, job->gid);
    set(env, "SLURM_JOB_ACCOUNT", "%s", s->state->queues.items[job->queue].name);
    set(env, "SLURM_JOB_PARTITION", "%s", pool[0] ? pool : "default");
    set(env, "SLURM_CLUSTER_NAME", "%s", ENGINE_CLUSTER);
    set(env, "SLURM_PRIO_PROCESS", "0");
    if (!has(env, "SLURM_JOB_QOS"))
        set(env, "SLURM_JOB_QOS", "normal");
    if (!has(env, "SLURM_SUBMIT_DIR"))
        set(env, "SLURM_SUBMIT_DIR", "%s", s->cwd);
    if (job->run->attempt > 1)
        set(env, "SLURM_RESTART_COUNT", "%" PRIu32, job->run->attempt - 1);
    set_slurm_times(s, env);
}

/* Without what an outer job has left, unless the job itself sets it. */
static void take_base(struct variables *env, char **base)
{
    for (size_t i = 0; base[i]; i++) {
        AUTO_FREE char *name = mem_string_of(base[i], strcspn(base[i], "="));
        if (is_left_over(base[i]) && !is_own(env->of, name))
            free(base[i]);
        else
            list_add(&env->all, base[i]);
    }
    free(base);
}

char **job_environment_make(const struct job_environment *environment, char **base)
{
    const struct job *job = environment->job;
    const struct group *group = state_group(environment->state, job->group);
    struct variables env = { .of = environment };

    take_base(&env, base);
    set_who(environment, &env);
    set_job(environment, &env);
    if (group && group->kind == GROUP_ARRAY)
        set_array(environment, group, &env);
    if (is_slurms(environment))
        set_slurm_job(environment, &env);
    set_members(environment,
                request_part(state_request(environment->state, job),
                             job->run->lease->members[environment->place].role),
                &env);
    set_tasks(environment, &env);
    set_role(environment, &env);
    set_gpus(environment, &env);
    list_add(&env.all, NULL);
    return env.all.items;
}
