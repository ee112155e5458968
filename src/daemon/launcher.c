/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/job/gang_size.h"
#include "core/job/role.h"
#include "core/state/attempt_launch.h"
#include "daemon/clock.h"
#include "daemon/nodes/inventory.h"
#include "daemon/nodes/shortage.h"
#include "io/file.h"
#include "io/free_port.h"
#include "node/job_environment.h"
#include "node/job_folders.h"
#include "node/machine.h"
#include "wire/job/job_launch.h"
#include "wire/reader.h"

#define OUTPUT_BYTES_MAX (INT64_C(256) << 20) /* then rotated */

/* What an engine keeps of members that are over is dropped when there is time: while jobs come and
 * go by the thousand, the file system is spared from removing a file for each that it makes. */
enum { FORGET_LATER_MS = 2000, FORGET_NEXT_MS = 10, FORGET_AT_ONCE = 500, OVER_MAX = 20000 };

/* Where members of gangs on other machines meet: below the ports that kernels hand out. */
enum { PORT_FIRST = 20000, PORT_COUNT = 10000 };

/* Waits for its devices. */
struct waiting {
    uint64_t job;
    uint32_t attempt;
    bool is_checked; /* the health command runs, or has run */
};

struct launcher {
    LIST(struct waiting) waiting;
    struct launcher_options options;
    char *state_dir, *socket;
    mode_t umask;
    LIST(struct member_id) over; /* their ends are durable */
    size_t forgotten;            /* of over: so many from the front */
    uv_timer_t timer;
};

int launcher_create(const struct launcher_options *options, struct launcher **ret,
                    struct error *err)
{
    int code = job_folders_prepare(options->state_dir, err);
    if (code < 0)
        return code;

    struct launcher *launcher = mem_zero(1, sizeof(*launcher));
    launcher->options = *options;
    launcher->state_dir = mem_string(options->state_dir);
    launcher->socket = mem_string(options->socket);
    launcher->umask = umask(0022);
    umask(launcher->umask);
    uv_timer_init(options->loop, &launcher->timer);
    launcher->timer.data = launcher;
    *ret = launcher;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void launcher_destroy(struct launcher *launcher)
{
    if (!launcher)
        return;
    free(launcher->state_dir);
    free(launcher->socket);
    list_release(&launcher->over);
    list_release(&launcher->waiting);
    uv_close((uv_handle_t *)&launcher->timer, on_closed);
}

static struct state *state_of(const struct launcher *launcher)
{
    return hub_state(launcher->options.hub);
}

static int load_launch(struct launcher *launcher, const struct job *job, struct launch **ret,
                       struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };

    int code = journal_blob_get(hub_journal(launcher->options.hub), job->launch, &bytes, err);
    return code < 0 ? code : launch_from_json(text_string(&bytes), bytes.length, ret, err);
}

static struct launch *launch_of(void *user, const struct job *job)
{
    struct launch *launch = NULL;

    return load_launch(user, job, &launch, NULL) == 0 ? launch : NULL;
}

static struct job_folders_query query_of(struct launcher *launcher, const struct job *job,
                                         const struct launch *launch)
{
    return (struct job_folders_query){
        .state_dir = launcher->state_dir,
        .state = state_of(launcher),
        .job = job,
        .launch = launch,
        .is_root = launcher->options.is_root,
        .launch_of = launch_of,
        .user = launcher,
    };
}

/* Whether a member's node is the machine that the daemon looks after. */
static bool is_here(const struct launcher *launcher, uint32_t node)
{
    return machine_is(launcher->options.machine, &state_of(launcher)->nodes.items[node]);
}

static bool is_all_here(const struct launcher *launcher, const struct lease *lease)
{
    for (uint32_t i = 0; i < lease->members_count; i++) {
        if (!is_here(launcher, lease->members[i].node))
            return false;
    }
    return true;
}

/* Which ports are free on other machines is not known: attempts are spread over a range. */
static uint16_t spread_port(uint64_t job, uint32_t attempt)
{
    return (uint16_t)(PORT_FIRST + (job * 31 + attempt) % PORT_COUNT);
}

static char *port_path(const struct launcher *launcher, uint64_t job, uint32_t attempt)
{
    return mem_printf("%s/gangs/%" PRIu64 ".%" PRIu32, launcher->state_dir, job, attempt);
}

/* The port is stored, so that the next daemon can complete a gang whose start was cut off. */
static uint16_t settle_port(const struct launcher *launcher, const struct job *job)
{
    if (!is_all_here(launcher, job->run->lease))
        return spread_port(job->id, job->run->attempt);
    AUTO_FREE char *path = port_path(launcher, job->id, job->run->attempt);
    AUTO_RELEASE(text) struct text kept = { 0 };

    long port = file_read(path, 16, &kept, NULL) == 0 ? strtol(text_string(&kept), NULL, 10) : 0;
    if (port > 0 && port <= UINT16_MAX)
        return (uint16_t)port;
    uint16_t found = free_port_find();
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0) {
        dprintf(fd, "%" PRIu16 "\n", found);
        close(fd);
    }
    return found;
}

static void report_failure(struct launcher *launcher, struct member_id id,
                           enum engine_outcome_kind kind, const char *reason)
{
    struct event event = {
        .kind = EVENT_ENDED,
        .ended = { .job = id.job,
                   .attempt = id.attempt,
                   .rank = id.rank,
                   .kind = (uint8_t)kind,
                   .exit_code = -1,
                   .reason = reason },
    };

    if (kind == ENGINE_RETURNED)
        shortage_note(launcher->options.shortage, reason);
    hub_report(launcher->options.hub, &event);
}

/* A shortage of this machine is no fault of the job. */
static enum engine_outcome_kind kind_of_failure(const struct launcher *launcher, int code)
{
    bool is_here = !launcher->options.engine->abilities.has_own_nodes;

    return is_here && error_is_shortage(code) ? ENGINE_RETURNED : ENGINE_FAILED;
}

/* What all members of a job have in common while they are started. */
struct start {
    struct launcher *launcher;
    struct job *job;
    struct launch *launch;
    struct job_folders folders;
    struct text env; /* packed */
    uint16_t master_port;
    const struct prepared *prepared; /* NULL: nothing had to be */
};

/* The launch of one member, and what its strings live in. */
struct order {
    struct engine_launch launch;
    struct text output, error, input;
    struct machine_bounds bounds;
    char **env;
};

static void order_release(struct order *order)
{
    text_release(&order->output);
    text_release(&order->error);
    text_release(&order->input);
    machine_bounds_release(&order->bounds);
    if (order->env)
        string_list_destroy(order->env);
}

/* Of a job without a time limit there is none. */
static struct engine_warning warning_of(const struct job *job, const struct launch *launch)
{
    const usec_t left = job->max_duration - launch->warn_before;

    if (launch->warn_signal == 0 || job->max_duration == USEC_NEVER)
        return (struct engine_warning){ 0 };
    return (struct engine_warning){ launch->warn_signal, (enum engine_warned)launch->warn_to,
                                    left > 0 ? left : 0 };
}

static int compose(const struct start *start, uint32_t place, struct order *order,
                   struct error *err)
{
    struct launcher *launcher = start->launcher;
    const struct state *state = state_of(launcher);
    const struct job *job = start->job;
    const struct lease *lease = job->run->lease;
    uint32_t rank = lease_rank(lease, place);
    const struct launch *launch = start->launch;
    const struct lease_member *member = &lease->members[place];
    const struct request *part = request_part(state_request(state, job), member->role);
    const struct launch_role *role =
        member->role < launch->role_count ? &launch->roles[member->role] : NULL;
    struct job_folders_query query = query_of(launcher, job, launch);

    int code = job_folders_output(&query, rank, false, &order->output, err);
    if (code == 0 && launch->error)
        code = job_folders_output(&query, rank, true, &order->error, err);
    if (code == 0 && launch->input)
        code = job_folders_input(&query, rank, &order->input, err);
    if (code == 0 && launch->attach && !launcher->options.engine->ops->enter)
        code = error_set(err, -EOPNOTSUPP, "attach: this engine connects no client to a job");
    if (code < 0)
        return code;
    struct engine_launch *to = &order->launch; /* placed already */
    to->argv = (const char *const *)(role && role->argv ? role->argv : launch->argv);
    to->cwd = launch->cwd;
    to->output = order->output.bytes;
    to->error = launch->error ? order->error.bytes : NULL;
    to->input = launch->input ? order->input.bytes : NULL;
    to->attach = rank == 0 ? (enum engine_attach)launch->attach : ENGINE_ATTACH_NONE;
    to->append = launch->append || job->run->attempt > 1;
    to->output_bytes_max = OUTPUT_BYTES_MAX;
    to->umask = launch->has_umask ? launch->umask : launcher->umask;
    to->limits = launch->limits;
    to->limit_count = launch->limit_count;
    to->stop_signal = launch->stop_signal;
    to->warning = warning_of(job, launch);
    to->cpu_milli = part->cpu_given ? part->cpu_milli : 0;
    to->memory_mib = part->memory_given ? part->memory_mib : 0;
    const struct user_account *account = NULL;
    if (is_here(launcher, member->node)) {
        account = machine_account(launcher->options.machine, job);
        if (account) {
            order->launch.groups = account->groups;
            order->launch.group_count = account->group_count;
        }
        machine_bound(launcher->options.machine, job, place, &order->bounds, &order->launch);
    }
    struct job_environment environment = {
        .state = state,
        .job = job,
        .folders = &start->folders,
        .cwd = launch->cwd,
        .socket = launcher->socket,
        .slurm_dir = launcher->options.slurm_dir,
        .wall_ahead = clock_wall_ahead(hub_clock(launcher->options.hub)),
        .script_path = launch->script_path,
        .own = launch->own,
        .role_env = role ? role->env : NULL,
        .slurm = launch->slurm,
        .tasks = launch->tasks,
        .task_gpus = launch->task_gpus,
        .place = place,
        .master_port = start->master_port,
        .is_all_here = is_all_here(launcher, lease),
        .prepared = start->prepared,
        .account = account,
        .is_root = launcher->options.is_root,
        .has_exact_devices = launcher->options.engine->abilities.has_exact_devices,
        .is_fenced = order->launch.is_fenced && launcher->options.engine->abilities.can_fence,
    };
    char **own = environment_unpack(text_string(&start->env), start->env.length);
    order->env = job_environment_make(&environment, environment_over(own, role ? role->env : NULL));
    order->launch.envp = (const char *const *)order->env;
    return 0;
}

/* Members of a job that have not ended, by rank; their places in the lease, too. */
struct unended {
    struct engine_attempt attempt;
    uint32_t *ranks, *places;
};

static struct unended unended_of(const struct job *job)
{
    const struct lease *lease = job->run->lease;
    struct unended all = { .ranks = mem_zero(lease->members_count + 1, sizeof(uint32_t)),
                           .places = mem_zero(lease->members_count + 1, sizeof(uint32_t)) };

    all.attempt = (struct engine_attempt){ .job = job->id, .attempt = job->run->attempt };
    all.attempt.ranks = all.ranks;
    for (uint32_t place = 0; place < lease->members_count; place++) {
        if (job->run->member_states[place] == MEMBER_ENDED)
            continue;
        all.places[all.attempt.count] = place;
        all.ranks[all.attempt.count++] = lease_rank(lease, place);
    }
    return all;
}

static void unended_release(struct unended *all)
{
    free(all->ranks);
    free(all->places);
}

/* All of them, or none where one can't even be asked for. */
static int start_members(const struct start *start, const struct unended *all, struct error *err)
{
    struct engine *engine = start->launcher->options.engine;
    AUTO_FREE struct order *orders = mem_zero(all->attempt.count + 1, sizeof(orders[0]));
    AUTO_FREE struct engine_launch *launches =
        mem_zero(all->attempt.count + 1, sizeof(launches[0]));
    struct attempt_launch placed;
    int code = 0;

    attempt_launch_make(state_of(start->launcher), start->job, &placed);
    for (uint32_t i = 0; i < all->attempt.count && code == 0; i++) {
        orders[i].launch = placed.members[all->places[i]];
        code = compose(start, all->places[i], &orders[i], err);
        launches[i] = orders[i].launch;
    }
    if (code == 0)
        code = engine->ops->start(engine, launches, all->attempt.count, err);
    for (uint32_t i = 0; i < all->attempt.count; i++)
        order_release(&orders[i]);
    attempt_launch_release(&placed);
    return code;
}

static int prepare(struct start *start, struct error *err)
{
    struct launcher *launcher = start->launcher;

    int code = load_launch(launcher, start->job, &start->launch, err);
    if (code == 0)
        code = journal_blob_get(hub_journal(launcher->options.hub), start->launch->environment,
                                &start->env, err);
    if (code < 0)
        return code;
    struct job_folders_query query = query_of(launcher, start->job, start->launch);
    code = job_folders_make(&query, &start->folders, err);
    if (code < 0)
        return code;
    if (start->folders.script) {
        free(start->launch->argv[start->launch->script_at]);
        start->launch->argv[start->launch->script_at] = mem_string(start->folders.script);
    }
    if (request_is_gang(state_request(state_of(launcher), start->job)))
        start->master_port = settle_port(launcher, start->job);
    return 0;
}

static void report_unended(struct launcher *launcher, const struct unended *all,
                           const bool *is_known, enum engine_outcome_kind kind, const char *reason)
{
    for (uint32_t i = 0; i < all->attempt.count; i++) {
        struct member_id id = { all->attempt.job, all->attempt.attempt, all->ranks[i] };
        if (!is_known || !is_known[i])
            report_failure(launcher, id, kind, reason);
    }
}

static void report_all(struct launcher *launcher, const struct job *job,
                       enum engine_outcome_kind kind, const char *reason)
{
    struct unended all = unended_of(job);

    report_unended(launcher, &all, NULL, kind, reason);
    unended_release(&all);
}

/* Which of them the engine has: found again, or started. */
static bool *find_known(struct launcher *launcher, const struct job *job, const struct unended *all)
{
    struct engine *engine = launcher->options.engine;
    AUTO_FREE bool *was_started = mem_zero(all->attempt.count + 1, sizeof(bool));
    bool *known = mem_zero(all->attempt.count + 1, sizeof(bool));

    for (uint32_t i = 0; i < all->attempt.count; i++)
        was_started[i] = job->run->member_states[all->places[i]] == MEMBER_STARTED;
    engine->ops->recover(engine, &all->attempt, was_started, known);
    return known;
}

/* Those that the engine has already are as they are. */
static void start_prepared(struct launcher *launcher, struct job *job,
                           const struct prepared *prepared)
{
    struct start start = { .launcher = launcher, .job = job, .prepared = prepared };
    struct unended all = unended_of(job);
    struct error err = { "" };

    int code = prepare(&start, &err);
    if (code == 0)
        code = start_members(&start, &all, &err);
    if (code < 0) {
        AUTO_FREE bool *known = find_known(launcher, job, &all);
        report_unended(launcher, &all, known, kind_of_failure(launcher, code), err.text);
    }
    unended_release(&all);
    launch_destroy(start.launch);
    job_folders_release(&start.folders);
    text_release(&start.env);
}

static void on_prepared(void *user, struct prepared *prepared, int code, const struct error *err)
{
    struct launcher *launcher = user;
    struct job *job = state_job(state_of(launcher), prepared->job);

    if (!job || !job_is_active(job) || job->run->attempt != prepared->attempt)
        return;
    if (code == 0)
        start_prepared(launcher, job, prepared);
    else /* one that is gone is no fault of the job's: it leaves it, as any sick one (rescue.h) */
        report_all(launcher, job, code == -ENODEV ? ENGINE_LOST : kind_of_failure(launcher, code),
                   err->text);
}

/* What a start tells a job of its nodes is known. */
static bool are_nodes_known(const struct launcher *launcher)
{
    return !launcher->options.engine->abilities.has_own_nodes ||
           inventory_is_complete(launcher->options.inventory);
}

static bool is_to_be_stopped(const struct job *job)
{
    return job->state == JOB_STOPPING || job->run->is_cancel_wanted || job->run->is_requeue_wanted;
}

/* The next step towards the start of a job. False: it has to wait. */
static bool advance(struct launcher *launcher, struct job *job, struct waiting *waiting)
{
    struct machine *machine = launcher->options.machine;

    if (!are_nodes_known(launcher))
        return false;
    machine_expect(machine, job);
    if (!machine_is_ready(machine, job))
        return false;
    if (!waiting->is_checked) {
        waiting->is_checked = true;
        if (machine_check(machine, job))
            return false;
    }
    if (!machine_prepare(machine, job, launcher, on_prepared))
        start_prepared(launcher, job, NULL);
    return true;
}

static void start_job(struct launcher *launcher, struct job *job)
{
    struct waiting waiting = { .job = job->id, .attempt = job->run->attempt };

    if (!advance(launcher, job, &waiting))
        list_add(&launcher->waiting, waiting);
}

static struct waiting *find_waiting(struct launcher *launcher, const struct job *job)
{
    LIST_EACH (struct waiting, waiting, &launcher->waiting) {
        if (waiting->job == job->id && waiting->attempt == job->run->attempt)
            return waiting;
    }
    return NULL;
}

/* An engine that has not reported its nodes yet may have the job since before a restart: it is
 * started, and then stopped. */
static void stop_job(struct launcher *launcher, const struct job *job, usec_t grace)
{
    struct waiting *waiting = find_waiting(launcher, job);

    if (waiting && !are_nodes_known(launcher))
        return;
    if (waiting)
        list_remove(&launcher->waiting, (size_t)(waiting - launcher->waiting.items));
    if (waiting || machine_cancel(launcher->options.machine, job)) {
        report_all(launcher, job, ENGINE_LOST, "stopped before it ran");
        return;
    }
    struct unended all = unended_of(job);
    launcher->options.engine->ops->stop(launcher->options.engine, &all.attempt, grace);
    unended_release(&all);
}

void launcher_look(void *user)
{
    struct launcher *launcher = user;

    for (size_t i = 0; i < launcher->waiting.count;) {
        struct waiting *waiting = &launcher->waiting.items[i];
        struct job *job = state_job(state_of(launcher), waiting->job);
        bool is_over = !job || !job_is_active(job) || job->run->attempt != waiting->attempt;
        if (!is_over && !advance(launcher, job, waiting)) {
            i++;
            continue;
        }
        list_remove(&launcher->waiting, i);
        if (!is_over && is_to_be_stopped(job))
            stop_job(launcher, job, state_grace(state_of(launcher), job));
    }
}

void launcher_decided(struct launcher *launcher, const struct event *decision)
{
    struct job *job = state_job(state_of(launcher), event_job(decision));

    if (!job || !job_is_active(job))
        return;
    if (decision->kind == EVENT_GRANT)
        start_job(launcher, job);
    else if (decision->kind == EVENT_STOP)
        stop_job(launcher, job, state_grace(state_of(launcher), job));
}

static bool is_of_attempt(struct member_id id, const struct engine_attempt *attempt)
{
    return id.job == attempt->job && id.attempt == attempt->attempt;
}

/* Members of one attempt that stand side by side go together. */
static void forget_some(struct launcher *launcher)
{
    struct engine *engine = launcher->options.engine;
    const struct member_id *over = launcher->over.items;
    size_t last = launcher->forgotten + FORGET_AT_ONCE;
    uint32_t ranks[FORGET_AT_ONCE];

    if (last > launcher->over.count)
        last = launcher->over.count;
    while (launcher->forgotten < last) {
        struct engine_attempt attempt = { .job = over[launcher->forgotten].job,
                                          .attempt = over[launcher->forgotten].attempt,
                                          .ranks = ranks };
        while (launcher->forgotten < last && is_of_attempt(over[launcher->forgotten], &attempt))
            ranks[attempt.count++] = over[launcher->forgotten++].rank;
        engine->ops->forget(engine, &attempt);
    }
    if (launcher->forgotten == launcher->over.count)
        launcher->forgotten = launcher->over.count = 0;
}

static void on_timer(uv_timer_t *timer)
{
    struct launcher *launcher = timer->data;

    forget_some(launcher);
    if (launcher->over.count > 0)
        uv_timer_start(timer, on_timer, FORGET_NEXT_MS, 0);
}

void launcher_ended(struct launcher *launcher, struct member_id id)
{
    const struct job *job = state_job(state_of(launcher), id.job);

    if (job && id.rank == 0 && request_most(state_request(state_of(launcher), job)) > 1) {
        AUTO_FREE char *path = port_path(launcher, id.job, id.attempt);
        unlink(path);
    }
    if (!job || !job_is_active(job))
        machine_release(launcher->options.machine);
    list_add(&launcher->over, id);
    if (launcher->over.count >= OVER_MAX)
        forget_some(launcher);
    if (!uv_is_active((const uv_handle_t *)&launcher->timer))
        uv_timer_start(&launcher->timer, on_timer, FORGET_LATER_MS, 0);
}

/* A member of which there is no trace has not run, unless it was seen to: then it is lost. What was
 * not started yet, of a gang perhaps only a part, is started now. */
static void recover_job(struct launcher *launcher, struct job *job)
{
    struct unended all = unended_of(job);
    AUTO_FREE bool *known = find_known(launcher, job, &all);
    bool is_stopping = is_to_be_stopped(job);
    bool is_incomplete = false;

    for (uint32_t i = 0; i < all.attempt.count; i++) {
        struct member_id id = { job->id, job->run->attempt, all.ranks[i] };
        if (known[i])
            continue;
        if (job->run->member_states[all.places[i]] == MEMBER_STARTED)
            report_failure(launcher, id, ENGINE_LOST, "not found after a restart of the daemon");
        else if (is_stopping)
            report_failure(launcher, id, ENGINE_LOST, "stopped before it ran");
        else
            is_incomplete = true;
    }
    unended_release(&all);
    if (is_incomplete)
        start_job(launcher, job);
    else if (is_stopping)
        stop_job(launcher, job, state_grace(state_of(launcher), job));
}

void launcher_recover(struct launcher *launcher)
{
    /* Recover all before one is started: the first start, or the first second, removes the files of
     * members not asked for. */
    for (struct job *job = state_of(launcher)->first_active; job; job = job->run->active_next) {
        struct unended all = unended_of(job);
        free(find_known(launcher, job, &all));
        unended_release(&all);
    }
    for (struct job *job = state_of(launcher)->first_active; job; job = job->run->active_next)
        recover_job(launcher, job);
}

void launcher_kill(void *user, uint64_t id)
{
    struct launcher *launcher = user;
    const struct job *job = state_job(state_of(launcher), id);

    if (job && job_is_active(job))
        stop_job(launcher, job, 0);
}

void launcher_signal(void *user, uint64_t id, int number)
{
    struct launcher *launcher = user;
    const struct job *job = state_job(state_of(launcher), id);

    if (!job || !job_is_active(job))
        return;
    struct unended all = unended_of(job);
    launcher->options.engine->ops->signal(launcher->options.engine, &all.attempt, number);
    unended_release(&all);
}

int launcher_enter(void *user, uint64_t id, uint32_t rank, int *ret_fd, struct error *err)
{
    struct launcher *launcher = user;
    struct engine *engine = launcher->options.engine;
    const struct job *job = state_job(state_of(launcher), id);

    return engine->ops->enter(engine, (struct member_id){ id, job->run->attempt, rank }, ret_fd,
                              err);
}

void launcher_kill_all(struct launcher *launcher)
{
    for (struct job *job = state_of(launcher)->first_active; job; job = job->run->active_next)
        stop_job(launcher, job, 0);
}

const char *launcher_trouble(void *user, const struct job *job)
{
    const struct launcher *launcher = user;
    struct engine *engine = launcher->options.engine;
    bool is_granted = job->state == JOB_GRANTED;

    if (!engine->ops->trouble)
        return NULL;
    return engine->ops->trouble(engine, job->id, is_granted ? job->run->attempt : 0);
}

char *launcher_spell(void *user, const char *words)
{
    const struct launcher *launcher = user;
    struct engine *engine = launcher->options.engine;

    return engine->ops->spell(engine, words);
}

int launcher_output_path(void *user, const struct job *job, uint32_t rank, bool is_error,
                         struct text *ret, struct error *err)
{
    struct launcher *launcher = user;
    AUTO(launch) struct launch *launch = NULL;

    if (!launcher->options.engine->abilities.has_output)
        return error_set(err, -ENOTSUP,
                         "job %" PRIu64 ": engine %s keeps its output where this "
                         "daemon cannot read it",
                         job->id, launcher->options.engine->ops->name);
    int code = load_launch(launcher, job, &launch, err);
    if (code < 0)
        return code;
    struct job_folders_query query = query_of(launcher, job, launch);
    return job_folders_output(&query, rank, is_error, ret, err);
}
