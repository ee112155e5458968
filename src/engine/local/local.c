/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/local.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/local/birth.h"
#include "engine/local/cgroup.h"
#include "engine/local/members.h"
#include "engine/local/owner.h"
#include "engine/local/shim_launch.h"
#include "engine/local/status_file.h"
#include "io/child.h"
#include "io/file.h"
#include "shim/shim_order.h"

#define STOP_MARGIN (30 * USEC_PER_SEC)

enum { TIDY_MS = 1000 };

struct local {
    struct engine engine;
    struct local_engine_options options;
    char *shim_path;
    bool has_rebooted; /* since the last start of a member */
    bool has_started;  /* the first start since create has been asked for */
    bool is_delivering;
    struct cgroup cgroup;
    struct members members;
    uv_poll_t *poll;
    uv_timer_t *tidying; /* after a restart, if nothing is started soon */
};

static struct local *local_of(struct engine *engine)
{
    return CONTAINER_OF(engine, struct local, engine);
}

/* The callback may ask for anything but destroy, which adds to the queue while we walk it. */
static void deliver(struct local *local)
{
    if (local->is_delivering)
        return;
    local->is_delivering = true;
    for (size_t i = 0; i < local->members.queue.count; i++) {
        struct engine_outcome outcome = local->members.queue.items[i];

        local->options.engine.reports.outcome(local->options.engine.reports.user, &outcome);
    }
    local->members.queue.count = 0;
    local->is_delivering = false;
}

static void on_poll(uv_poll_t *poll, int failure, int what)
{
    struct local *local = poll->data;

    (void)failure;
    (void)what;
    members_on_ready(&local->members);
    deliver(local);
}

/* The status file, and the door of a shim that was killed. */
static void remove_files(const char *path)
{
    char door[STATUS_FILE_SIZE + 256 + sizeof(DOOR_SUFFIX)];

    snprintf(door, sizeof(door), "%s%s", path, DOOR_SUFFIX);
    unlink(path);
    unlink(door);
}

/* A status file that recover() was not asked for belongs to a job whose end is recorded. */
static void run_sweep(struct local *local)
{
    struct dirent *entry;

    DIR *stream = opendir(local->members.run_dir);
    if (!stream)
        return;
    while ((entry = readdir(stream)) != NULL) {
        char path[STATUS_FILE_SIZE + 256];
        struct member_id id;

        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        size_t length = strlen(entry->d_name), suffix = strlen(DOOR_SUFFIX);
        if (length > suffix && strcmp(entry->d_name + length - suffix, DOOR_SUFFIX) == 0)
            length -= suffix; /* goes with its status file */
        bool is_temporary = strstr(entry->d_name, ".new.") != NULL;
        bool is_member = member_parse(entry->d_name, length, &id);
        if (!is_temporary && (!is_member || member_find(&local->members, id)))
            continue;
        snprintf(path, sizeof(path), "%s/%.*s", local->members.run_dir, (int)length, entry->d_name);
        if (status_holder(path) == 0)
            remove_files(path);
    }
    closedir(stream);
}

static bool member_is_kept(void *user, const char *name)
{
    const struct local *local = user;
    char path[STATUS_FILE_SIZE + 256];

    snprintf(path, sizeof(path), "%s/%s", local->members.run_dir, name);
    return access(path, F_OK) == 0;
}

static void tidy(struct local *local)
{
    run_sweep(local);
    cgroup_sweep(&local->cgroup, member_is_kept, local);
}

static void on_tidying(uv_timer_t *timer)
{
    struct local *local = timer->data;

    if (!local->has_started)
        tidy(local);
}

static void first_start(struct local *local)
{
    AUTO_FREE char *path = mem_printf("%s/boot", local->members.run_dir);
    AUTO_RELEASE(text) struct text before = { 0 };

    local->has_started = true;
    tidy(local);
    if (file_read(path, BOOT_SIZE, &before, NULL) == 0 &&
        string_equal(text_string(&before), local->members.boot))
        return;
    /* Without it only the case of no trace at all after a restart is judged less strictly. */
    file_replace(path, local->members.boot, strlen(local->members.boot), NULL);
}

static int order_fd(const struct text *order, struct error *err)
{
    int fd = fd_raise(memfd_create("tarn-order", MFD_CLOEXEC));
    if (fd < 0)
        return error_set(err, -errno, "cannot pass on the order: %s", strerror(errno));
    for (size_t at = 0; at < order->length;) {
        ssize_t done = write(fd, order->bytes + at, order->length - at);
        if (done <= 0) {
            int code = done < 0 ? -errno : -ENOSPC;
            close(fd);
            return error_set(err, code, "cannot pass on the order: %s", strerror(-code));
        }
        at += (size_t)done;
    }
    return fd;
}

/* Soft limits; the hard ones stay. */
static void order_limit(struct text *order, int resource, int64_t wanted)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return;
    int64_t hard = limit.rlim_max > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_max;
    int64_t soft = wanted >= 0 && wanted < hard ? wanted : hard;
    launch_add(order, ORDER_RLIMIT, "%d:%" PRId64 ":%" PRId64, resource, soft, hard);
}

/* The later one of a resource counts. */
static void order_limits(const struct local *local, const struct engine_launch *launch,
                         struct text *order)
{
    if (local->options.nofile_max > 0)
        order_limit(order, RLIMIT_NOFILE, local->options.nofile_max);
    for (uint32_t i = 0; i < launch->limit_count; i++)
        order_limit(order, launch->limits[i].resource, launch->limits[i].soft);
}

static int order_compose(struct local *local, const struct engine_launch *launch,
                         struct text *order, struct engine_isolation *ret_isolation,
                         struct error *err)
{
    char name[MEMBER_NAME_SIZE], path[STATUS_FILE_SIZE], marker[MARKER_SIZE], isolation[8];
    AUTO_RELEASE(text) struct text note = { 0 };
    unsigned keep = local->options.output_keep;

    member_name(name, launch->id);
    launch_add(order, ORDER_ID, "%s", name);
    launch_add(order, ORDER_STATUS, "%s", member_path(&local->members, launch->id, path));
    launch_add(order, ORDER_KEEP, "%u", keep > 0 ? keep : 1);
    launch_add(order, ORDER_ENV, "%s", member_marker(&local->members, launch->id, marker));
    cgroup_add(&local->cgroup, name, launch, order, &note, ret_isolation);
    status_note_isolation(ret_isolation, isolation);
    launch_add(order, ORDER_NOTE, "boot=%s isolation=%s%s", local->members.boot, isolation,
               text_string(&note));
    order_limits(local, launch, order);
    if (local->options.is_root)
        launch_add_user(order, launch);
    return launch_write(launch, order, err);
}

static int shim_start(const struct local *local, const struct engine_launch *launch, int order,
                      int *ret_pidfd, struct error *err)
{
    char name[MEMBER_NAME_SIZE];
    AUTO_FREE char *title =
        mem_printf("%s %.100s", member_name(name, launch->id), launch->title ? launch->title : "");
    char *argv[] = { (char *)"tarn-shim", title, NULL };
    char *envp[] = { NULL };
    struct child_plan plan = {
        .path = local->shim_path,
        .argv = argv,
        .envp = envp,
        .fds = (int[]){ order, local->members.notify_fd, local->members.birth_fd },
        .fd_count = 3,
    };

    return child_start(&plan, ret_pidfd, err);
}

/* The start failed, but if a shim came as far as its file, there is a member. */
static bool start_left_trace(struct local *local, struct member_id id)
{
    char path[STATUS_FILE_SIZE];

    if (access(member_path(&local->members, id, path), F_OK) < 0)
        return false;
    member_take_up(&local->members, member_add(&local->members, id), true);
    members_wake(&local->members);
    return true;
}

/* It would run as the user of this process, with the rights of that one. */
static int check_user(const struct local *local, const struct engine_launch *launch,
                      struct error *err)
{
    return local->options.is_root || launch->uid == geteuid()
               ? 0
               : error_set(err, -EPERM,
                           "the job is of user %" PRIu32 "; tarn does not run as root here and "
                           "runs jobs of user %" PRIu32 " only",
                           launch->uid, (uint32_t)geteuid());
}

static int start_member(struct local *local, const struct engine_launch *launch, struct error *err)
{
    AUTO_RELEASE(text) struct text order = { 0 };
    struct engine_isolation isolation;
    char name[MEMBER_NAME_SIZE];
    int pidfd = -1;

    if (member_find(&local->members, launch->id))
        return 0;
    int code = check_user(local, launch, err);
    if (code == 0)
        code = order_compose(local, launch, &order, &isolation, err);
    int fd = code == 0 ? order_fd(&order, err) : code;
    if (fd >= 0) {
        code = shim_start(local, launch, fd, &pidfd, err);
        close(fd);
        if (code < 0 && start_left_trace(local, launch->id))
            return 0;
    }
    if (fd < 0 || code < 0)
        return error_prefix(err, fd < 0 ? fd : code, "job %s", member_name(name, launch->id));
    struct member *member = member_add(&local->members, launch->id);
    member->isolation = isolation;
    member_watch(&local->members, member, pidfd);
    return 0;
}

static struct member_id member_at(const struct engine_attempt *attempt, uint32_t i)
{
    return (struct member_id){ attempt->job, attempt->attempt, attempt->ranks[i] };
}

/* A gang is whole or not: after a member that cannot be started no other is. Where some were
 * started before, what became of the rest is an outcome like any other; so is a shortage of the
 * machine. */
static int local_start(struct engine *engine, const struct engine_launch *members, uint32_t count,
                       struct error *err)
{
    struct local *local = local_of(engine);
    bool has_any = false;
    int code = 0;

    if (!local->has_started)
        first_start(local);
    for (uint32_t i = 0; i < count; i++) {
        has_any |= member_find(&local->members, members[i].id) != NULL;
        if (code == 0)
            code = start_member(local, &members[i], err);
        has_any |= code == 0;
    }
    enum engine_outcome_kind kind = error_is_shortage(code) ? ENGINE_RETURNED : ENGINE_FAILED;
    has_any |= kind == ENGINE_RETURNED;
    for (uint32_t i = 0; i < count && code < 0 && has_any; i++) {
        if (!member_find(&local->members, members[i].id))
            members_refuse(&local->members, members[i].id, kind, err->text);
    }
    return has_any ? 0 : code;
}

static void stop_member(struct local *local, struct member_id id, usec_t grace)
{
    usec_t grace_ms = grace > 0 ? (grace + USEC_PER_MS - 1) / USEC_PER_MS : 0;
    struct member *member = member_find(&local->members, id);

    if (!member || member->phase != PHASE_RUNNING)
        return;
    if (grace_ms > INT_MAX)
        grace_ms = INT_MAX;
    child_signal(member->pidfd, SIGTERM, (int)grace_ms);
    usec_t margin = local->options.stop_margin;
    member_expect_end(&local->members, member,
                      grace_ms * USEC_PER_MS + (margin > 0 ? margin : STOP_MARGIN));
}

static void local_stop(struct engine *engine, const struct engine_attempt *attempt, usec_t grace)
{
    for (uint32_t i = 0; i < attempt->count; i++)
        stop_member(local_of(engine), member_at(attempt, i), grace);
}

static void local_signal(struct engine *engine, const struct engine_attempt *attempt, int signal)
{
    for (uint32_t i = 0; i < attempt->count; i++) {
        const struct member *member =
            member_find(&local_of(engine)->members, member_at(attempt, i));
        if (member && member->phase == PHASE_RUNNING)
            child_signal(member->pidfd, SIGINT, signal); /* the shim passes it on */
    }
}

/* No trace of it, but before the restart it may have run: leave one, so that the next engine
 * does not judge otherwise. */
static void recover_rebooted(struct local *local, struct member *member)
{
    char path[STATUS_FILE_SIZE];
    static const char record[] = "member boot=none isolation=0000 .\n";

    file_replace(member_path(&local->members, member->id, path), record, sizeof(record) - 1, NULL);
    member_lose(&local->members, member, "the node restarted");
}

static bool recover_member(struct local *local, struct member_id id, bool was_started)
{
    char path[STATUS_FILE_SIZE];

    if (member_find(&local->members, id))
        return true;
    bool exists = access(member_path(&local->members, id, path), F_OK) == 0;
    if (!exists && !local->has_rebooted)
        return false;
    struct member *member = member_add(&local->members, id);
    member->sent_start = was_started;
    if (exists)
        member_take_up(&local->members, member, false);
    else
        recover_rebooted(local, member);
    members_wake(&local->members);
    return true;
}

static void local_recover(struct engine *engine, const struct engine_attempt *attempt,
                          const bool *was_started, bool *ret_found)
{
    for (uint32_t i = 0; i < attempt->count; i++)
        ret_found[i] = recover_member(local_of(engine), member_at(attempt, i), was_started[i]);
}

static void forget_member(struct local *local, struct member_id id)
{
    struct member *member = member_find(&local->members, id);
    char path[STATUS_FILE_SIZE];

    member_path(&local->members, id, path);
    if (!member) {
        if (status_holder(path) == 0)
            remove_files(path);
        return;
    }
    if (!member->sent_end)
        return;
    remove_files(path);
    member->forgotten = true;
    if (member->phase == PHASE_DONE)
        member_remove(&local->members, member);
}

static void local_forget(struct engine *engine, const struct engine_attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->count; i++)
        forget_member(local_of(engine), member_at(attempt, i));
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void local_release(struct local *local)
{
    AUTO_FREE char *run_dir = mem_string(local->members.run_dir);

    members_release(&local->members);
    int birth = birth_share(run_dir);
    cgroup_release(&local->cgroup, birth >= 0);
    if (birth >= 0)
        close(birth);
    free(local->shim_path);
    free(local);
}

static void local_destroy(struct engine *engine)
{
    struct local *local = local_of(engine);

    assert(!local->is_delivering);
    uv_close((uv_handle_t *)local->poll, on_closed);
    uv_close((uv_handle_t *)local->tidying, on_closed);
    local_release(local);
}

static bool local_owner(struct engine *engine, uint32_t pid, struct member_id *ret,
                        uint32_t *ret_uid)
{
    const struct local *local = local_of(engine);
    const struct cgroup *cgroup = &local->cgroup;

    return owner_find(&(struct owner_ask){ .root = "",
                                           .key = local->members.key,
                                           .pid = pid,
                                           .has_groups = cgroup->tree || cgroup->memory ||
                                                         cgroup->cpu || cgroup->devices },
                      ret, ret_uid);
}

/* The path of a socket is at most 108 bytes long; that of the folder is not. */
static int door_connect(const struct local *local, struct member_id id)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char name[MEMBER_NAME_SIZE];
    int folder = open(local->members.run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = folder < 0 ? -1 : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s%s", folder,
             member_name(name, id), DOOR_SUFFIX);
    int code =
        fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : fd;
    if (code < 0 && fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
    return code;
}

static int local_enter(struct engine *engine, struct member_id id, int *ret_fd, struct error *err)
{
    const struct local *local = local_of(engine);
    const struct member *member = member_find(&local->members, id);

    if (!member || member->phase != PHASE_RUNNING)
        return error_set(err, -ESRCH, "it does not run");
    *ret_fd = door_connect(local, id);
    return *ret_fd < 0 ? error_set(err, *ret_fd, "its supervisor: %s", strerror(-*ret_fd)) : 0;
}

static const struct engine_ops local_ops = {
    .name = "local",
    .start = local_start,
    .stop = local_stop,
    .signal = local_signal,
    .recover = local_recover,
    .forget = local_forget,
    .owner = local_owner,
    .enter = local_enter,
    .destroy = local_destroy,
};

/* The folder's one true name: it is hashed, and another spelling must not be another daemon. */
static int check_options(const struct local_engine_options *options, char state_dir[PATH_MAX],
                         struct error *err)
{
    if (!realpath(options->engine.state_dir, state_dir))
        return error_set(err, -errno, "state folder %s: %s", options->engine.state_dir,
                         strerror(errno));
    if (strlen(state_dir) > LOCAL_STATE_DIR_MAX)
        return error_set(err, -ENAMETOOLONG, "state folder %s: longer than %d characters",
                         state_dir, LOCAL_STATE_DIR_MAX);
    if (access(options->shim_path, X_OK) < 0)
        return error_set(err, -errno, "tarn-shim %s: %s", options->shim_path, strerror(errno));
    return 0;
}

static bool reboot_seen(const struct local *local)
{
    AUTO_FREE char *path = mem_printf("%s/boot", local->members.run_dir);
    AUTO_RELEASE(text) struct text before = { 0 };

    return file_read(path, BOOT_SIZE, &before, NULL) == 0 &&
           !string_equal(text_string(&before), local->members.boot);
}

static int poll_open(struct local *local, struct error *err)
{
    local->poll = mem_zero(1, sizeof(*local->poll));
    local->poll->data = local;
    int code = uv_poll_init(local->options.engine.loop, local->poll, local->members.epoll_fd);
    if (code < 0) {
        free(local->poll);
        return error_set(err, code, "cannot watch jobs: %s", uv_strerror(code));
    }
    code = uv_poll_start(local->poll, UV_READABLE, on_poll);
    assert(code == 0);
    return 0;
}

static struct local *local_alloc(const struct local_engine_options *options, const char *state_dir)
{
    struct local *local = mem_zero(1, sizeof(*local));

    *local = (struct local){
        .engine.ops = &local_ops,
        .options = *options,
        .shim_path = mem_string(options->shim_path),
        .members = { .epoll_fd = -1,
                     .notify_fd = -1,
                     .wake_fd = -1,
                     .timer_fd = -1,
                     .birth_fd = -1 },
    };
    local->options.engine.state_dir = local->options.shim_path = NULL; /* they are the caller's */
    local->members.run_dir = mem_printf("%s/run", state_dir);
    snprintf(local->members.key, sizeof(local->members.key), "%016" PRIx64,
             map_hash(state_dir, strlen(state_dir)));
    return local;
}

static struct engine_abilities abilities_of(const struct cgroup *cgroup)
{
    bool has_cpu = cgroup->has_cpu || cgroup->cpu,
         has_memory = cgroup->has_memory || cgroup->memory;

    return (struct engine_abilities){
        .isolation = { .processes = cgroup->tree ? ISOLATION_ISOLATED : ISOLATION_WATCHED,
                       .cpu = has_cpu ? ISOLATION_ISOLATED : ISOLATION_ACCOUNTED,
                       .memory = has_memory ? ISOLATION_ISOLATED : ISOLATION_ACCOUNTED,
                       .gpu = ISOLATION_ACCOUNTED },
        .can_warn = true,
        .can_fence = cgroup->can_fence || cgroup->devices,
        .has_exact_devices = true,
        .has_fractions = true,
        .has_output = true,
    };
}

int local_engine_create(const struct local_engine_options *options, struct engine **ret,
                        struct error *err)
{
    char state_dir[PATH_MAX];

    int code = check_options(options, state_dir, err);
    if (code < 0)
        return code;
    struct local *local = local_alloc(options, state_dir);
    code = folder_make(local->members.run_dir, 0700, err);
    if (code == 0)
        code = members_init(&local->members, err);
    if (code == 0)
        code = poll_open(local, err);
    if (code < 0) {
        local_release(local);
        return code;
    }
    local->has_rebooted = reboot_seen(local);
    if (!options->without_cgroups)
        cgroup_detect(&local->cgroup, local->members.key, options->is_root);
    local->engine.abilities = abilities_of(&local->cgroup);
    local->tidying = mem_zero(1, sizeof(*local->tidying));
    uv_timer_init(options->engine.loop, local->tidying);
    local->tidying->data = local;
    uv_timer_start(local->tidying, on_tidying, TIDY_MS, 0);
    uv_unref((uv_handle_t *)local->tidying);
    *ret = &local->engine;
    return 0;
}
