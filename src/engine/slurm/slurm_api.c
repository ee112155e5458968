/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "base/map.h"
#include "base/text.h"
#include "engine/slurm/slurm_topology.h"

/* ---- differences between versions ---- */

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "tarn needs the headers of Slurm 22.05 or later"
#endif

/* The prefix of a generic resource in a job description. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
#define GRES_PREFIX "gres/"
#else
#define GRES_PREFIX "gres:"
#endif

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
typedef hostlist_t *host_names;
typedef list_t *job_list;
#else
typedef hostlist_t host_names;
typedef List job_list;
#endif

/* CPUs of a job on a node. From 24.11 on, libslurm has only their sum: nodes count alike. */
static int64_t cpus_on(const slurm_job_info_t *job, const char *node)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
    (void)node;
    return job->num_nodes > 0 ? (job->num_cpus + job->num_nodes - 1) / job->num_nodes : 0;
#else
    return job->job_resrcs ? slurm_job_cpus_allocated_on_node(job->job_resrcs, node) : 0;
#endif
}

static uint32_t submitted_id(const submit_response_msg_t *answer)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
    return answer->step_id.job_id;
#else
    return answer->job_id;
#endif
}

static int kill_job(uint32_t id, uint16_t signal, uint16_t flags)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    const slurm_step_id_t all = { .job_id = id, .step_het_comp = NO_VAL, .step_id = NO_VAL };
    return slurm_kill_job(all, signal, flags);
#else
    return slurm_kill_job(id, signal, flags);
#endif
}

/* Later versions take the user from the credential. */
static void set_author(update_node_msg_t *node)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    (void)node;
#else
    node->reason_uid = (uint32_t)geteuid();
#endif
}

/* Slurm's word for why a job waits, as squeue has it. The function is not declared in the headers,
 * and its name depends on the version. */
static const char *reason_word(uint32_t reason)
{
    static const char *const names[] = { "slurm_job_reason_string",
                                         "slurm_job_state_reason_string" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *(*word)(uint32_t number) =
            (const char *(*)(uint32_t))(uintptr_t)dlsym(RTLD_DEFAULT, names[i]);
        if (word)
            return word(reason);
    }
    return "not known";
}

/* ---- errors ---- */

/* No answer, as opposed to a refusal. */
static bool is_silence(int number)
{
    return number == ETIMEDOUT || number == ECONNREFUSED || number == EINTR ||
           number == ECONNRESET || number == EPIPE || number == EAGAIN ||
           number == SLURM_COMMUNICATIONS_CONNECTION_ERROR ||
           number == SLURM_COMMUNICATIONS_SEND_ERROR ||
           number == SLURM_COMMUNICATIONS_RECEIVE_ERROR ||
           number == SLURM_COMMUNICATIONS_SHUTDOWN_ERROR ||
           number == SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT ||
           number == SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT ||
           number == SLURM_PROTOCOL_AUTHENTICATION_ERROR || number == ESLURM_IN_STANDBY_MODE;
}

static int fail(const char *what, struct error *err)
{
    int number = errno;

    return error_set(err, is_silence(number) ? -EAGAIN : -EINVAL, "Slurm: %s: %s", what,
                     slurm_strerror(number));
}

/* The plugins of libslurm expect its symbols in the global namespace, which a library that is
 * loaded for a module is not part of. */
int slurm_api_open(struct error *err)
{
    Dl_info info;

    if (!dladdr((void *)(uintptr_t)slurm_load_jobs, &info) ||
        !dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD))
        return error_set(err, -ENOENT, "Slurm: libslurm cannot be loaded: %s", dlerror());
    setenv("SLURM_BITSTR_LEN", "0", 1); /* all tasks of an array, not their first 64 characters */
    slurm_init(NULL);
    return 0;
}

/* ---- jobs ---- */

static void read_end(const slurm_job_info_t *from, struct slurm_job *to)
{
    static const struct {
        uint32_t state;
        enum slurm_end end;
        const char *reason;
    } ends[] = {
        { JOB_CANCELLED, SLURM_CANCELLED, NULL },
        { JOB_TIMEOUT, SLURM_TIME_LIMIT, NULL },
        { JOB_DEADLINE, SLURM_TIME_LIMIT, NULL },
        { JOB_OOM, SLURM_OUT_OF_MEMORY, NULL },
        { JOB_NODE_FAIL, SLURM_TAKEN_AWAY, "Slurm: its node failed" },
        { JOB_PREEMPTED, SLURM_TAKEN_AWAY, "Slurm preempted it" },
        { JOB_BOOT_FAIL, SLURM_TAKEN_AWAY, "Slurm: its node did not boot" },
    };

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (ends[i].state != (from->job_state & JOB_STATE_BASE))
            continue;
        to->end = ends[i].end;
        to->reason = ends[i].reason;
    }
    /* A signal that ended its script is FAIL_LAUNCH, too; of a failed launch, the number is no
     * signal. */
    int signal = WIFSIGNALED((int)from->exit_code) ? WTERMSIG((int)from->exit_code) : 0;
    if (from->state_reason == FAIL_LAUNCH && (signal == 0 || signal > SIGSYS)) {
        to->end = SLURM_TAKEN_AWAY;
        to->reason = "Slurm could not launch it; the log of slurmd has the reason";
    }
}

/* As long as nobody changes the partition. */
static const char *read_hindrance(const slurm_job_info_t *from)
{
    if (from->state_reason == WAIT_PART_TIME_LIMIT)
        return "Slurm: its time limit exceeds that of the partition";
    if (from->state_reason == WAIT_DEP_INVALID)
        return "Slurm: its dependency can never be met";
    if (from->state_reason == WAIT_PART_NODE_LIMIT)
        return "Slurm: it needs more nodes than the partition allows for a job";
    return NULL;
}

static void read_parts(const slurm_job_info_t *from, struct slurm_job *to)
{
    host_names hosts = from->nodes ? slurm_hostlist_create(from->nodes) : NULL;

    if (!hosts)
        return;
    for (uint32_t i = 0;; i++) {
        char *name = slurm_hostlist_shift(hosts);
        if (!name)
            break;
        struct slurm_part part = { .node = mem_string(name),
                                   .cpu_milli = 1000 * cpus_on(from, name) };
        if (i < from->gres_detail_cnt)
            part.gres = mem_string(from->gres_detail_str[i]);
        list_add(&to->parts, part);
        free(name);
    }
    slurm_hostlist_destroy(hosts);
}

static struct slurm_wish *read_wish(const slurm_job_info_t *from)
{
    struct slurm_wish *wish = mem_zero(1, sizeof(*wish));
    char output[4096] = "";

    slurm_get_job_stdout(output, sizeof(output), (slurm_job_info_t *)(uintptr_t)from);
    *wish = (struct slurm_wish){
        .name = mem_string(from->name),
        .user = mem_string(from->user_name),
        .account = mem_string(from->account),
        .partition = mem_string(from->partition),
        .comment = mem_string(from->comment),
        .features = mem_string(from->features),
        .req_nodes = mem_string(from->req_nodes),
        .exc_nodes = mem_string(from->exc_nodes),
        .reservation = mem_string(from->resv_name),
        .per_node = mem_string(from->tres_per_node),
        .per_job = mem_string(from->tres_per_job),
        .per_task = mem_string(from->tres_per_task),
        .per_socket = mem_string(from->tres_per_socket),
        .cpus_per_gpu = mem_string(from->cpus_per_tres),
        .mib_per_gpu = mem_string(from->mem_per_tres),
        .cwd = mem_string(from->work_dir),
        .output = mem_string(output),
        .tasks = mem_string(from->array_task_str),
        .array = from->array_job_id,
        .task = from->array_task_id,
        .uid = from->user_id,
        .gid = from->group_id,
        .node_count = from->max_nodes > 0 && from->max_nodes < from->num_nodes ? from->max_nodes
                                                                               : from->num_nodes,
        .task_count = from->num_tasks,
        .cpu_count = from->num_cpus,
        .limit_min = from->time_limit < INFINITE - 1 ? from->time_limit : 0,
        .memory_mib = (int64_t)(from->pn_min_memory & ~MEM_PER_CPU),
        .is_memory_per_cpu = (from->pn_min_memory & MEM_PER_CPU) != 0,
        .is_exclusive = from->shared == JOB_SHARED_NONE,
        .is_component = from->het_job_id > 0,
        .dependency = mem_string(from->dependency),
        .begins_at = (int64_t)from->eligible_time,
    };
    return wish;
}

static void wish_destroy(struct slurm_wish *wish)
{
    if (!wish)
        return;
    char *texts[] = { wish->name,         wish->user,        wish->account,   wish->partition,
                      wish->comment,      wish->features,    wish->req_nodes, wish->exc_nodes,
                      wish->reservation,  wish->per_node,    wish->per_job,   wish->per_task,
                      wish->per_socket,   wish->cwd,         wish->output,    wish->tasks,
                      wish->cpus_per_gpu, wish->mib_per_gpu, wish->dependency };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(texts[i]);
    free(wish);
}

static struct slurm_job read_job(const slurm_job_info_t *from)
{
    uint32_t base = from->job_state & JOB_STATE_BASE;
    struct slurm_job job = {
        .id = from->job_id,
        .uid = from->user_id,
        .array = from->array_job_id,
        .task = from->array_task_id != NO_VAL ? from->array_task_id : SLURM_NO_TASK,
        .array_most = from->array_max_tasks,
        .comment = mem_string(from->comment),
        .status = (int)from->exit_code,
        .limit_min = from->time_limit < INFINITE - 1 ? from->time_limit : UINT32_MAX,
        .restarts = from->restart_cnt,
        .phase = SLURM_IS_OVER
    };

    /* its devices are in use until it is complete */
    if (base == JOB_PENDING)
        job.phase = SLURM_WAITS;
    else if (base == JOB_RUNNING || base == JOB_SUSPENDED || (from->job_state & JOB_COMPLETING))
        job.phase = SLURM_RUNS;
    job.is_completing = (from->job_state & JOB_COMPLETING) != 0;
    job.started_at = (int64_t)from->start_time;
    job.ends_at = from->time_limit == INFINITE ? 0 : (int64_t)from->end_time;
    job.is_booting = (from->job_state & JOB_CONFIGURING) != 0;
    job.has_run = base != JOB_PENDING && !job.is_booting && from->start_time > 0 && from->nodes &&
                  from->nodes[0];
    if (job.phase == SLURM_IS_OVER)
        read_end(from, &job);
    else if (job.phase == SLURM_WAITS)
        job.reason = read_hindrance(from);
    if (job.phase == SLURM_WAITS) {
        job.waits = reason_word(from->state_reason);
        job.is_held = from->priority == 0 || from->state_reason == WAIT_HELD ||
                      from->state_reason == WAIT_HELD_USER;
        if (strncmp(from->comment ? from->comment : "", "tarn=", 5) != 0)
            job.wish = read_wish(from);
    }
    if (!(from->pn_min_memory & MEM_PER_CPU))
        job.memory_mib = (int64_t)from->pn_min_memory;
    if (job.phase != SLURM_IS_OVER) { /* most of a listing after many short jobs */
        job.name = mem_string(from->name);
        read_parts(from, &job);
    }
    return job;
}

static void job_release(struct slurm_job *job)
{
    LIST_EACH (struct slurm_part, part, &job->parts) {
        free(part->node);
        free(part->gres);
    }
    list_release(&job->parts);
    free(job->comment);
    free(job->name);
    wish_destroy(job->wish);
}

void slurm_jobs_release(struct slurm_jobs *jobs)
{
    LIST_EACH (struct slurm_job, job, &jobs->all)
        job_release(job);
    list_release(&jobs->all);
}

/* Components of a job are parts of the first one. */
static void add_job(struct slurm_jobs *jobs, const slurm_job_info_t *from)
{
    struct slurm_job job = read_job(from);

    for (size_t i = jobs->all.count; from->het_job_id > 0 && from->het_job_offset > 0 && i > 0;
         i--) {
        struct slurm_job *first = &jobs->all.items[i - 1];
        if (first->id != from->het_job_id)
            continue;
        LIST_EACH (const struct slurm_part, part, &job.parts)
            list_add(&first->parts, *part);
        job.parts.count = 0;
        job_release(&job);
        return;
    }
    list_add(&jobs->all, job);
}

int slurm_api_jobs(int64_t *since, struct slurm_jobs *ret, struct error *err)
{
    job_info_msg_t *found = NULL;

    *ret = (struct slurm_jobs){ 0 };
    if (slurm_load_jobs((time_t)*since, &found, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS) {
        if (errno == SLURM_NO_CHANGE_IN_DATA)
            return 0;
        fail("jobs", err);
        return -EAGAIN;
    }
    *since = found->last_update;
    for (uint32_t i = 0; i < found->record_count; i++)
        add_job(ret, &found->job_array[i]);
    slurm_free_job_info_msg(found);
    return 1;
}

/* ---- the network ---- */

struct place {
    char *node, *rack, *block; /* rack, block: NULL: none */
};

enum { PLACES_EVERY_S = 300 }; /* they change when slurmctld is reconfigured */

/* Of the worker's thread, and of the engine's creation before that. */
static struct {
    LIST(struct place) all;
    struct map by_node; /* hash of its name -> place, plus one */
    time_t read_at;
} places;

static struct place *find_place(const char *node)
{
    uint64_t found;

    if (!map_get(&places.by_node, map_hash(node, strlen(node)), &found))
        return NULL;
    struct place *place = &places.all.items[found - 1];
    return strcmp(place->node, node) == 0 ? place : NULL;
}

static struct place *add_place(const char *node)
{
    struct place made = { .node = mem_string(node) };

    list_add(&places.all, made);
    map_set(&places.by_node, map_hash(node, strlen(node)), places.all.count);
    return &places.all.items[places.all.count - 1];
}

static void forget_places(void)
{
    LIST_EACH (struct place, place, &places.all) {
        free(place->node);
        free(place->rack);
        free(place->block);
    }
    places.all.count = 0;
    map_release(&places.by_node);
}

static void add_group(const struct slurm_group *group)
{
    host_names hosts = slurm_hostlist_create(group->nodes);
    char *name;

    while (hosts && (name = slurm_hostlist_shift(hosts))) {
        struct place *place = find_place(name);
        place = place ? place : add_place(name);
        char **word = group->kind == SLURM_GROUP_RACK ? &place->rack : &place->block;
        if (!*word)
            *word = mem_string(group->name);
        free(name);
    }
    if (hosts)
        slurm_hostlist_destroy(hosts);
}

/* Without a topology, Slurm has nothing to print. */
static bool has_groups(const topo_info_response_msg_t *found)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    return found != NULL;
#else
    return found && found->record_count > 0;
#endif
}

static char *print_topology(void)
{
    topo_info_response_msg_t *found = NULL;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
    bool is_there = slurm_load_topo(&found, NULL) == SLURM_SUCCESS && has_groups(found);
    if (out && is_there)
        slurm_print_topo_info_msg(out, found, NULL, NULL, 1);
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    bool is_there = slurm_load_topo(&found) == SLURM_SUCCESS && has_groups(found);
    if (out && is_there)
        slurm_print_topo_info_msg(out, found, NULL, 1);
#else
    bool is_there = slurm_load_topo(&found) == SLURM_SUCCESS && has_groups(found);
    if (out && is_there)
        slurm_print_topo_info_msg(out, found, 1);
#endif
    if (found)
        slurm_free_topo_info_msg(found);
    if (out)
        fclose(out);
    return text;
}

static void read_places(void)
{
    struct slurm_topology topology;
    time_t now = time(NULL);

    if (places.read_at > 0 && now >= places.read_at && now < places.read_at + PLACES_EVERY_S)
        return;
    AUTO_FREE char *text = print_topology();
    places.read_at = now;
    forget_places();
    slurm_topology_read(text ? text : "", &topology);
    LIST_EACH (const struct slurm_group, group, &topology.groups)
        add_group(group);
    slurm_topology_release(&topology);
}

/* ---- nodes ---- */

static struct slurm_node read_node(const node_info_t *from)
{
    uint32_t base = from->node_state & NODE_STATE_BASE;
    uint64_t memory = from->real_memory;
    struct slurm_node node = {
        .name = mem_string(from->name),
        .address = mem_string(from->node_addr ? from->node_addr : from->name),
        .gres = mem_string(from->gres),
        .features = mem_string(from->features_act ? from->features_act : from->features),
        .cpu_milli = INT64_C(1000) * (from->cpus_efctv ? from->cpus_efctv : from->cpus),
    };

    if (from->mem_spec_limit < memory)
        memory -= from->mem_spec_limit;
    node.memory_mib = (int64_t)memory;
    /* Slurm starts a node that is powered down when it gets a job, but not while it goes down. */
    bool is_asleep = from->node_state & (NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_UP);
    node.is_down = base == NODE_STATE_DOWN || base == NODE_STATE_FUTURE ||
                   (from->node_state & (NODE_STATE_POWERING_DOWN | NODE_STATE_INVALID_REG));
    node.is_drained = from->node_state & (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_MAINT);
    node.is_closed = (from->node_state & NODE_STATE_RES) != 0;
    node.is_silent = !is_asleep && (base == NODE_STATE_UNKNOWN ||
                                    (from->node_state & NODE_STATE_NO_RESPOND) != 0);
    const struct place *place = find_place(from->name);
    node.rack = place && place->rack ? mem_string(place->rack) : NULL;
    node.block = place && place->block ? mem_string(place->block) : NULL;
    bool is_of_tarn = from->reason && string_starts(from->reason, "tarn=");
    node.reason = mem_printf("%s%s", is_of_tarn ? "" : "Slurm: ",
                             from->reason && from->reason[0] ? from->reason
                             : node.is_down                  ? "down"
                             : node.is_drained               ? "drained"
                             : node.is_closed                ? "reserved"
                                                             : "not responding");
    return node;
}

/* The nodes of the partition, or NULL. */
static host_names find_hosts(const partition_info_msg_t *partitions, const char *name,
                             bool *ret_is_up)
{
    for (uint32_t i = 0; i < partitions->record_count; i++) {
        const partition_info_t *partition = &partitions->partition_array[i];
        bool is_it = name[0] ? strcmp(partition->name, name) == 0
                             : (partition->flags & PART_FLAG_DEFAULT) != 0;
        *ret_is_up = partition->state_up == PARTITION_UP;
        if (is_it)
            return slurm_hostlist_create(partition->nodes ? partition->nodes : "");
    }
    return NULL;
}

int slurm_api_nodes(const char *name, struct slurm_nodes *ret, struct error *err)
{
    partition_info_msg_t *partitions = NULL;
    node_info_msg_t *found = NULL;
    bool is_up = false;

    *ret = (struct slurm_nodes){ 0 };
    if (slurm_load_partitions(0, &partitions, SHOW_ALL) != SLURM_SUCCESS) {
        fail("partitions", err);
        return -EAGAIN;
    }
    host_names hosts = find_hosts(partitions, name, &is_up);
    slurm_free_partition_info_msg(partitions);
    if (!hosts && name[0])
        return error_set(err, -ENOENT, "Slurm: there is no partition '%s' (slurm: partition)",
                         name);
    if (!hosts)
        return error_set(err, -ENOENT,
                         "Slurm: there is no default partition; set one in the "
                         "configuration (slurm: partition)");
    if (slurm_load_node(0, &found, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS) {
        slurm_hostlist_destroy(hosts);
        fail("nodes", err);
        return -EAGAIN;
    }
    read_places();
    for (uint32_t i = 0; i < found->record_count; i++) {
        const node_info_t *node = &found->node_array[i];
        if (!node->name)
            continue;
        struct slurm_node read = read_node(node);
        read.is_outside = slurm_hostlist_find(hosts, node->name) < 0;
        if (!is_up && !read.is_down && !read.is_drained) {
            read.is_closed = true;
            free(read.reason);
            read.reason = mem_string("Slurm: the partition is not up");
        }
        list_add(&ret->all, read);
    }
    slurm_free_node_info_msg(found);
    slurm_hostlist_destroy(hosts);
    return 0;
}

void slurm_nodes_release(struct slurm_nodes *nodes)
{
    LIST_EACH (struct slurm_node, node, &nodes->all) {
        free(node->name);
        free(node->address);
        free(node->gres);
        free(node->rack);
        free(node->block);
        free(node->features);
        free(node->reason);
    }
    list_release(&nodes->all);
}

/* ---- what is asked of it ---- */

/* Components other than the first one have a comment without a mark. */
static void describe(const struct slurm_order *order, uint32_t at, char *gres, job_desc_msg_t *job)
{
    const struct slurm_component *component = &order->components.items[at];

    slurm_init_job_desc_msg(job);
    job->name = order->name;
    job->comment = at == 0 ? order->comment : (char *)"a component of a job of tarn";
    job->partition = order->partition;
    job->account = order->account;
    job->req_nodes = component->nodes;
    job->exc_nodes = component->excluded_nodes;
    job->min_nodes = job->max_nodes = component->node_count;
    job->num_tasks = component->task_count;
    job->ntasks_per_node = (uint16_t)(component->task_count / component->node_count);
    job->min_cpus = component->task_count;
    if (component->cpus_per_task > 0) {
        job->cpus_per_task = (uint16_t)component->cpus_per_task;
        job->min_cpus *= component->cpus_per_task;
    }
    if (component->memory_mib > 0)
        job->pn_min_memory = (uint64_t)component->memory_mib;
    if (order->is_whole) {
        job->shared = JOB_SHARED_NONE;
        job->pn_min_memory = 0; /* all of it */
    }
    if (order->limit_min > 0)
        job->time_limit = order->limit_min;
    job->tres_per_node = gres;
    if (at == 0)
        job->script = order->script;
    job->environment = order->env;
    job->env_size = order->env_count;
    job->work_dir = order->cwd;
    job->std_out = order->output;
    job->std_err = order->error;
    job->std_in = order->input;
    job->open_mode = order->append ? OPEN_MODE_APPEND : OPEN_MODE_TRUNCATE;
    job->user_id = order->uid;
    job->group_id = order->gid;
    job->requeue = 0; /* tarn decides what runs again */
    job->kill_on_node_fail = 1;
}

static int submit(job_desc_msg_t *jobs, uint32_t count, submit_response_msg_t **ret)
{
    if (count == 1)
        return slurm_submit_batch_job(jobs, ret);
    job_list list = slurm_list_create(NULL);
    for (uint32_t i = 0; i < count; i++)
        slurm_list_append(list, &jobs[i]);
    int code = slurm_submit_batch_het_job(list, ret);
    slurm_list_destroy(list);
    return code;
}

/* Of a task of an array, the answer is a list of codes. */
static int send_update(job_desc_msg_t *job)
{
    job_array_resp_msg_t *answer = NULL;
    int code = slurm_update_job2(job, &answer);

    for (uint32_t i = 0; answer && code == SLURM_SUCCESS && i < answer->job_array_count; i++) {
        if (answer->error_code[i] == SLURM_SUCCESS)
            continue;
        errno = (int)answer->error_code[i];
        code = SLURM_ERROR;
    }
    int number = errno;
    if (answer)
        slurm_free_job_array_resp(answer);
    errno = number;
    return code;
}

static int update(job_desc_msg_t *job, const char *what, struct error *err)
{
    if (send_update(job) == SLURM_SUCCESS)
        return 0;
    bool is_gone = errno == ESLURM_JOB_FINISHED || errno == ESLURM_ALREADY_DONE ||
                   errno == ESLURM_INVALID_JOB_ID || errno == ESLURM_JOB_NOT_PENDING;
    int code = fail(what, err);
    return is_gone ? -ESRCH : code;
}

/* As `scontrol release`, to exactly these nodes. */
static int release(const struct slurm_order *order, struct error *err)
{
    const struct slurm_component *component = &order->components.items[0];
    job_desc_msg_t job;

    slurm_init_job_desc_msg(&job);
    job.job_id_str = order->adopted;
    job.comment = order->comment;
    job.req_nodes = component->nodes;
    job.min_nodes = job.max_nodes = component->node_count;
    job.requeue = 0; /* tarn decides what runs again */
    job.priority = INFINITE;
    return update(&job, "the job cannot be released", err);
}

/* With a hold by an administrator, which users cannot release. */
int slurm_api_hold(const char *id, const char *comment, struct error *err)
{
    job_desc_msg_t job;

    slurm_init_job_desc_msg(&job);
    job.job_id_str = (char *)(uintptr_t)id;
    job.comment = (char *)(uintptr_t)comment;
    job.priority = 0;
    return update(&job, "the job cannot be held", err);
}

/* Whether the node is drained, and by whom. */
static int find_drain(const char *name, const char *mark, bool *ret_drained, bool *ret_ours,
                      struct error *err)
{
    node_info_msg_t *found = NULL;

    if (slurm_load_node_single(&found, (char *)(uintptr_t)name, SHOW_ALL) != SLURM_SUCCESS)
        return fail("the node cannot be read", err);
    const node_info_t *node = found->record_count > 0 ? &found->node_array[0] : NULL;
    *ret_drained = node && (node->node_state & NODE_STATE_DRAIN) != 0;
    *ret_ours = node && node->reason && string_starts(node->reason, mark);
    slurm_free_node_info_msg(found);
    return node ? 0 : error_set(err, -EINVAL, "Slurm: there is no node %s", name);
}

int slurm_api_drain(const char *name, const char *mark, const char *reason, struct error *err)
{
    AUTO_FREE char *words = mem_printf("%s%s", mark, reason ? reason : "");
    bool is_drained, is_ours;
    update_node_msg_t node;

    int code = find_drain(name, mark, &is_drained, &is_ours, err);
    if (code < 0 || (is_drained && !is_ours) || (!is_drained && !reason))
        return code;
    slurm_init_update_node_msg(&node);
    node.node_names = (char *)(uintptr_t)name;
    node.node_state = reason ? NODE_STATE_DRAIN : NODE_STATE_UNDRAIN;
    node.reason = reason ? words : NULL;
    set_author(&node);
    if (slurm_update_node(&node) != SLURM_SUCCESS)
        return fail(reason ? "the node cannot be drained" : "the node cannot be resumed", err);
    return 0;
}

int slurm_api_cancel(const char *id, struct error *err)
{
    if (slurm_kill_job2(id, SIGKILL, 0, NULL) == SLURM_SUCCESS)
        return 0;
    int code = fail("the job cannot be cancelled", err);
    return code == -EAGAIN ? code : -ESRCH;
}

/* Of a submission that failed: a wrong configuration is not the job's fault. */
static int refusal_of(const struct slurm_order *order, struct error *err)
{
    int number = slurm_get_errno();

    if (number == ESLURM_INVALID_PARTITION_NAME)
        return error_set(err, -ENODEV, "Slurm: there is no partition '%s' (slurm: partition)",
                         order->partition ? order->partition : "");
    if (number == ESLURM_INVALID_ACCOUNT && order->account)
        return error_set(err, -EACCES,
                         "Slurm: account '%s' (slurm: account) does not exist, or its user may not "
                         "use it in this partition",
                         order->account);
    if (number == ESLURM_INVALID_ACCOUNT)
        return error_set(err, -EACCES,
                         "Slurm: its user has no default account for this partition; expected "
                         "one (sacctmgr), or an account in the configuration (slurm: account)");
    return fail("the job cannot be submitted", err);
}

int slurm_api_submit(const struct slurm_order *order, uint32_t *ret_id, struct error *err)
{
    uint32_t count = (uint32_t)order->components.count;
    AUTO_FREE job_desc_msg_t *jobs = mem_zero(count, sizeof(*jobs));
    AUTO_FREE char **gres = mem_zero(count, sizeof(*gres));
    submit_response_msg_t *answer = NULL;

    *ret_id = 0;
    if (order->adopted)
        return release(order, err);
    for (uint32_t i = 0; i < count; i++) {
        if (order->components.items[i].gres)
            gres[i] = mem_printf(GRES_PREFIX "%s", order->components.items[i].gres);
        describe(order, i, gres[i], &jobs[i]);
    }
    int code = submit(jobs, count, &answer) == SLURM_SUCCESS ? 0 : refusal_of(order, err);
    for (uint32_t i = 0; i < count; i++)
        free(gres[i]);
    if (code < 0)
        return code;
    *ret_id = submitted_id(answer);
    slurm_free_submit_response_response_msg(answer);
    return 0;
}

int slurm_api_signal(uint32_t id, int signal, bool has_steps, struct error *err)
{
    uint16_t flags = signal == SIGKILL || has_steps ? 0 : KILL_FULL_JOB;

    if (kill_job(id, (uint16_t)signal, flags) == SLURM_SUCCESS)
        return 0;
    int code = fail("the job cannot be signalled", err);
    return code == -EAGAIN ? code : -ESRCH;
}
