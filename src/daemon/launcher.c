/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/launcher.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/job/gang_size.h"
#include "core/job/role.h"
#include "daemon/fence.h"
#include "daemon/folders.h"
#include "daemon/locality.h"
#include "daemon/log.h"
#include "daemon/prepare.h"
#include "daemon/surroundings.h"
#include "io/file.h"
#include "wire/job/job_launch.h"

#define OUTPUT_BYTES_MAX (INT64_C(256) << 20) /* then rotated */

/* What an engine keeps of members that are over is dropped when there is time: while jobs come and
 * go by the thousand, the file system is spared from removing a file for each that it makes. */
enum { FORGET_LATER_MS = 2000, FORGET_NEXT_MS = 10, FORGET_AT_ONCE = 500, OVER_MAX = 20000 };

/* Waits for its devices. */
struct waiting {
    uint64_t job;
    uint32_t attempt;
    bool is_checked; /* or is being checked */
};

struct launcher {
    LIST(struct waiting) waiting;
    struct launcher_options options;
    char *state_dir, *socket;
    struct preparer *preparer;
    mode_t umask;
    LIST(struct member_id) over; /* their ends are durable */
    size_t forgotten;            /* of over: so many from the front */
    uv_timer_t timer;
};

static void on_prepared(void *user, struct prepared *prepared, int code, const struct error *err);

int launcher_create(const struct launcher_options *options, struct launcher **ret,
                    struct error *err)
{
    int code = folders_prepare(options->state_dir, err);
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
    launcher->preparer = preparer_create(&(struct prepare_options){ .loop = options->loop,
                                                                    .state_dir = options->state_dir,
                                                                    .probe = options->probe,
                                                                    .devices = options->devices,
                                                                    .user = launcher,
                                                                    .done = on_prepared });
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
    preparer_destroy(launcher->preparer);
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

static struct folders_query query_of(struct launcher *launcher, const struct job *job,
                                     const struct launch *launch)
{
    return (struct folders_query){
        .state_dir = launcher->state_dir,
        .state = state_of(launcher),
        .job = job,
        .launch = launch,
        .is_root = launcher->options.is_root,
        .launch_of = launch_of,
        .user = launcher,
    };
}

/* A port that nobody listens on now, for the members of a gang to meet at. */
static uint16_t find_free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return 29500;
    bool is_bound = bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
                    getsockname(fd, (struct sockaddr *)&address, &length) == 0;
    close(fd);
    return is_bound ? ntohs(address.sin_port) : 29500;
}

static char *port_path(const struct launcher *launcher, uint64_t job, uint32_t attempt)
{
    return mem_printf("%s/gangs/%" PRIu64 ".%" PRIu32, launcher->state_dir, job, attempt);
}

/* The port is kept, so that a gang whose start was cut off can be completed by the next daemon. */
static uint16_t settle_port(const struct launcher *launcher, const struct job *job)
{
    AUTO_FREE char *path = port_path(launcher, job->id, job->run->attempt);
    AUTO_RELEASE(text) struct text kept = { 0 };

    long port = file_read(path, 16, &kept, NULL) == 0 ? strtol(text_string(&kept), NULL, 10) : 0;
    if (port > 0 && port <= UINT16_MAX)
        return (uint16_t)port;
    uint16_t found = find_free_port();
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

    hub_report(launcher->options.hub, &event);
}

/* What all members of a job have in common while they are started. */
struct start {
    struct launcher *launcher;
    struct job *job;
    struct launch *launch;
    struct folders folders;
    struct text env; /* packed */
    uint16_t master_port;
    const struct prepared *prepared; /* NULL: nothing had to be */
};

static int start_member(struct start *start, uint32_t place, struct error *err)
{
    struct launcher *launcher = start->launcher;
    const struct job *job = start->job;
    uint32_t rank = lease_rank(job->run->lease, place);
    const struct launch *launch = start->launch;
    const struct lease_member *member = &job->run->lease->members[place];
    const struct request *part = request_part(state_request(state_of(launcher), job), member->role);
    const struct launch_role *role =
        member->role < launch->role_count ? &launch->roles[member->role] : NULL;
    AUTO_RELEASE(text) struct text output = { 0 }, error = { 0 };
    struct folders_query query = query_of(launcher, job, launch);

    int code = folders_output(&query, rank, false, &output, err);
    if (code == 0 && launch->error)
        code = folders_output(&query, rank, true, &error, err);
    if (code < 0)
        return code;

    AUTO_FREE struct engine_device *denied = NULL;
    uint32_t denied_count = 0;
    bool is_fenced = false;
    if (launcher->options.fence)
        fence_denied(launcher->options.fence, state_of(launcher), job, place, &denied,
                     &denied_count, &is_fenced);
    struct locality locality;
    bool is_near = locality_find(state_of(launcher), job, place, &locality);
    struct surroundings surroundings = {
        .state = state_of(launcher),
        .job = job,
        .folders = &start->folders,
        .cwd = launch->cwd,
        .socket = launcher->socket,
        .place = place,
        .master_port = start->master_port,
        .prepared = start->prepared,
        .is_root = launcher->options.is_root,
        .is_fenced = is_fenced && launcher->options.can_fence,
    };
    char **own = environment_unpack(text_string(&start->env), start->env.length);
    char **env = surroundings_make(&surroundings, environment_over(own, role ? role->env : NULL));
    struct engine_launch order = {
        .id = { job->id, job->run->attempt, rank },
        .title = job->name,
        .argv = (const char *const *)(role && role->argv ? role->argv : launch->argv),
        .envp = (const char *const *)env,
        .cwd = launch->cwd,
        .output = output.bytes,
        .error = launch->error ? error.bytes : NULL,
        .input = launch->input,
        .append = launch->append || job->run->attempt > 1,
        .output_bytes_max = OUTPUT_BYTES_MAX,
        .umask = launcher->umask,
        .uid = job->uid,
        .gid = job->gid,
        .grace = job->grace,
        .stop_signal = launch->stop_signal,
        .cpu_milli = part->cpu_given ? part->cpu_milli : 0,
        .memory_mib = part->memory_given ? part->memory_mib : 0,
        .cpus = is_near ? locality.cpus : NULL,
        .memory_node = is_near ? locality.memory_node : -1,
        .denied = denied,
        .denied_count = denied_count,
        .is_fenced = is_fenced,
    };
    code = launcher->options.engine->ops->start(launcher->options.engine, &order, err);
    strings_destroy(env);
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
    struct folders_query query = query_of(launcher, start->job, start->launch);
    code = folders_make(&query, &start->folders, err);
    if (code < 0)
        return code;
    if (start->folders.script) {
        free(start->launch->argv[start->launch->script_at]);
        start->launch->argv[start->launch->script_at] = mem_string(start->folders.script);
    }
    if (start->job->run->lease->members_count > 1)
        start->master_port = settle_port(launcher, start->job);
    return 0;
}

static struct member_id member_at(const struct job *job, uint32_t place)
{
    return (struct member_id){ job->id, job->run->attempt, lease_rank(job->run->lease, place) };
}

/* Whether the engine has this member: found again, or started. */
static bool is_known(struct launcher *launcher, const struct job *job, uint32_t place)
{
    struct engine *engine = launcher->options.engine;

    return engine->ops->recover(engine, member_at(job, place),
                                job->run->member_states[place] == MEMBER_STARTED);
}

/* Those that the engine has already are as they are. */
static void start_prepared(struct launcher *launcher, struct job *job,
                           const struct prepared *prepared)
{
    struct start start = { .launcher = launcher, .job = job, .prepared = prepared };
    struct error err = { "" };

    int code = prepare(&start, &err);
    for (uint32_t place = 0; place < job->run->lease->members_count; place++) {
        if (job->run->member_states[place] == MEMBER_ENDED)
            continue;
        if (code == 0)
            code = start_member(&start, place, &err);
        /* After one that could not be started, no other is: a gang is whole or not. */
        if (code < 0 && !is_known(launcher, job, place))
            report_failure(launcher, member_at(job, place), ENGINE_FAILED, err.text);
    }
    launch_destroy(start.launch);
    folders_release(&start.folders);
    text_release(&start.env);
}

static void report_all(struct launcher *launcher, const struct job *job,
                       enum engine_outcome_kind kind, const char *reason)
{
    for (uint32_t place = 0; place < job->run->lease->members_count; place++) {
        if (job->run->member_states[place] != MEMBER_ENDED)
            report_failure(launcher, member_at(job, place), kind, reason);
    }
}

static void start_ready(struct launcher *launcher, struct job *job)
{
    if (preparer_is_needed(launcher->preparer, state_of(launcher), job))
        preparer_start(launcher->preparer, state_of(launcher), job);
    else
        start_prepared(launcher, job, NULL);
}

/* Whether it may start now. */
static bool is_ready(struct launcher *launcher, const struct job *job, struct waiting *waiting)
{
    const struct launcher_options *options = &launcher->options;

    if (job->run->lease->slices_count == 0)
        return true;
    if (!options->is_ready(options->user, job))
        return false;
    if (waiting->is_checked)
        return true;
    waiting->is_checked = true;
    return !options->check(options->user, job);
}

static void start_job(struct launcher *launcher, struct job *job)
{
    struct waiting waiting = { .job = job->id, .attempt = job->run->attempt };

    if (is_ready(launcher, job, &waiting))
        start_ready(launcher, job);
    else
        list_add(&launcher->waiting, waiting);
}

void launcher_look(void *user)
{
    struct launcher *launcher = user;

    for (size_t i = 0; i < launcher->waiting.count;) {
        struct waiting *waiting = &launcher->waiting.items[i];
        struct job *job = state_job(state_of(launcher), waiting->job);
        bool is_over = !job || !job_is_active(job) || job->run->attempt != waiting->attempt;
        if (!is_over && !is_ready(launcher, job, waiting)) {
            i++;
            continue;
        }
        list_remove(&launcher->waiting, i);
        if (!is_over)
            start_ready(launcher, job);
    }
}

static bool cancel_waiting(struct launcher *launcher, const struct job *job)
{
    for (size_t i = 0; i < launcher->waiting.count; i++) {
        const struct waiting *waiting = &launcher->waiting.items[i];
        if (waiting->job != job->id || waiting->attempt != job->run->attempt)
            continue;
        list_remove(&launcher->waiting, i);
        return true;
    }
    return false;
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
        report_all(launcher, job, code == -ENODEV ? ENGINE_LOST : ENGINE_FAILED, err->text);
}

static void stop_job(struct launcher *launcher, const struct job *job, usec_t grace)
{
    if (cancel_waiting(launcher, job) ||
        preparer_cancel(launcher->preparer, job->id, job->run->attempt)) {
        report_all(launcher, job, ENGINE_LOST, "stopped before it ran");
        return;
    }
    for (uint32_t place = 0; place < job->run->lease->members_count; place++) {
        if (job->run->member_states[place] != MEMBER_ENDED)
            launcher->options.engine->ops->stop(launcher->options.engine, member_at(job, place),
                                                grace);
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

static void forget_some(struct launcher *launcher)
{
    struct engine *engine = launcher->options.engine;

    for (size_t i = 0; i < FORGET_AT_ONCE && launcher->forgotten < launcher->over.count; i++)
        engine->ops->forget(engine, launcher->over.items[launcher->forgotten++]);
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
        preparer_release(launcher->preparer, state_of(launcher));
    list_add(&launcher->over, id);
    if (launcher->over.count >= OVER_MAX)
        forget_some(launcher);
    if (!uv_is_active((const uv_handle_t *)&launcher->timer))
        uv_timer_start(&launcher->timer, on_timer, FORGET_LATER_MS, 0);
}

void launcher_outcome(struct launcher *launcher, const struct engine_outcome *outcome)
{
    struct event event = { .kind = EVENT_NONE };

    if (outcome->kind == ENGINE_STARTED) {
        event.kind = EVENT_STARTED;
        event.started = (struct event_started){
            .job = outcome->id.job,
            .attempt = outcome->id.attempt,
            .rank = outcome->id.rank,
            .processes = (uint8_t)outcome->isolation.processes,
            .cpu = (uint8_t)outcome->isolation.cpu,
            .memory = (uint8_t)outcome->isolation.memory,
            .gpu = (uint8_t)outcome->isolation.gpu,
        };
    } else {
        event.kind = EVENT_ENDED;
        event.ended = (struct event_ended){
            .job = outcome->id.job,
            .attempt = outcome->id.attempt,
            .rank = outcome->id.rank,
            .kind = (uint8_t)outcome->kind,
            .exit_code = outcome->exit_code,
            .signal = (uint32_t)outcome->signal,
            .was_stopped = outcome->was_stopped,
            .was_oom = outcome->was_oom,
            .was_killed = outcome->was_killed,
            .user_us = outcome->user_us,
            .system_us = outcome->system_us,
            .memory_kib_max = outcome->memory_kib_max,
            .reason = outcome->reason,
        };
    }
    hub_report(launcher->options.hub, &event);
}

/* A member of which there is no trace has not run, unless it was seen to: then it is lost. What was
 * not started yet, of a gang perhaps only a part, is started now. */
static void recover_job(struct launcher *launcher, struct job *job)
{
    bool is_stopping =
        job->state == JOB_STOPPING || job->run->is_cancel_wanted || job->run->is_requeue_wanted;
    bool is_incomplete = false;

    for (uint32_t place = 0; place < job->run->lease->members_count; place++) {
        struct member_id id = member_at(job, place);
        if (job->run->member_states[place] == MEMBER_ENDED || is_known(launcher, job, place))
            continue;
        if (job->run->member_states[place] == MEMBER_STARTED)
            report_failure(launcher, id, ENGINE_LOST, "no trace of it after the daemon's restart");
        else if (is_stopping)
            report_failure(launcher, id, ENGINE_LOST, "stopped before it ran");
        else
            is_incomplete = true;
    }
    if (is_incomplete)
        start_job(launcher, job);
    else if (is_stopping)
        stop_job(launcher, job, state_grace(state_of(launcher), job));
}

void launcher_recover(struct launcher *launcher)
{
    /* All are asked for before one is started: then the engine clears away what nobody wants. */
    for (struct job *job = state_of(launcher)->first_job; job; job = job->next) {
        for (uint32_t place = 0; job_is_active(job) && place < job->run->lease->members_count;
             place++) {
            if (job->run->member_states[place] != MEMBER_ENDED)
                is_known(launcher, job, place);
        }
    }
    for (struct job *job = state_of(launcher)->first_job; job; job = job->next) {
        if (job_is_active(job))
            recover_job(launcher, job);
    }
}

void launcher_kill(void *user, uint64_t id)
{
    struct launcher *launcher = user;
    const struct job *job = state_job(state_of(launcher), id);

    if (job && job_is_active(job))
        stop_job(launcher, job, 0);
}

void launcher_kill_all(struct launcher *launcher)
{
    for (struct job *job = state_of(launcher)->first_job; job; job = job->next) {
        if (job_is_active(job))
            stop_job(launcher, job, 0);
    }
}

void launcher_reset(void *user, uint32_t device, int mode)
{
    struct launcher *launcher = user;

    preparer_reset(launcher->preparer, device, mode);
}

int launcher_output_path(void *user, const struct job *job, uint32_t rank, bool is_error,
                         struct text *ret, struct error *err)
{
    struct launcher *launcher = user;
    AUTO(launch) struct launch *launch = NULL;

    int code = load_launch(launcher, job, &launch, err);
    if (code < 0)
        return code;
    struct folders_query query = query_of(launcher, job, launch);
    return folders_output(&query, rank, is_error, ret, err);
}
