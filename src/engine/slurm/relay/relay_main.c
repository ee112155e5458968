/* SPDX-License-Identifier: Apache-2.0 */
/* tarn-relay: runs jobs on a node that the daemon holds with a Slurm allocation.
 *
 *   tarn-relay serve INSTANCE SHIM   the allocation's own process: the local engine, in a folder of
 *                                    this node
 *   tarn-relay join INSTANCE         a step: gives its standard input and output, which lead to the
 *                                    daemon, to the one that serves, and stays while they are used
 *
 * The relay outlives the daemon and its connection. Of several connections the last counts. When
 * the allocation ends, Slurm sends SIGTERM: the relay stops its jobs, reports and exits. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "engine/local/local.h"
#include "engine/local/shim_launch.h"
#include "engine/slurm/relay/relay_message.h"
#include "io/file.h"
#include "io/log.h"

enum {
    JOIN_FDS = 2,
    GROUPS_MAX = 1024,
    LAST_WORDS_MS = 5000,
    END_DELAY_MS = 3,
    JOIN_TRIES = 200,
    JOIN_AGAIN_US = 20000
};

struct member {
    struct member_id id;
    int64_t grace;
    bool is_started, is_over;
    bool is_stopping; /* the daemon asked for it */
    struct engine_outcome started, end;
};

struct relay {
    uv_loop_t loop;
    uv_signal_t term;
    uv_timer_t last_words, ending;
    LIST(struct engine_outcome) ends; /* that are not reported yet */
    uv_poll_t door;
    int door_fd, peer_fd; /* peer: of the process that gave us the link; -1: no link */
    uv_pipe_t *in, *out;  /* the link; NULL: none */
    struct text bytes;
    struct arena arena;
    struct engine *engine;
    LIST(struct member) members; /* ascending */
    char folder[256];
    bool is_ending;
};

static struct relay relay = { .door_fd = -1, .peer_fd = -1 };

/* ---- members ---- */

static int compare_ids(struct member_id a, struct member_id b)
{
    if (a.job != b.job)
        return a.job < b.job ? -1 : 1;
    if (a.attempt != b.attempt)
        return a.attempt < b.attempt ? -1 : 1;
    return (a.rank > b.rank) - (a.rank < b.rank);
}

static size_t place_of(struct member_id id)
{
    size_t first = 0, last = relay.members.count;

    while (first < last) {
        size_t middle = (first + last) / 2;
        if (compare_ids(relay.members.items[middle].id, id) < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

static struct member *find_member(struct member_id id)
{
    size_t place = place_of(id);

    if (place == relay.members.count || compare_ids(relay.members.items[place].id, id) != 0)
        return NULL;
    return &relay.members.items[place];
}

static struct member *add_member(struct member_id id)
{
    size_t place = place_of(id);
    struct member made = { .id = id };

    list_insert(&relay.members, place, made);
    return &relay.members.items[place];
}

static struct engine_attempt attempt_of(const struct member *member)
{
    return (struct engine_attempt){ member->id.job, member->id.attempt, &member->id.rank, 1 };
}

/* ---- the link ---- */

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void drop_link(void)
{
    if (!relay.in)
        return;
    uv_close((uv_handle_t *)relay.in, on_closed);
    uv_close((uv_handle_t *)relay.out, on_closed);
    close(relay.peer_fd); /* its step ends */
    relay.in = relay.out = NULL;
    relay.peer_fd = -1;
    text_clear(&relay.bytes);
}

struct written {
    uv_write_t request;
    char *bytes;
};

static void on_written(uv_write_t *request, int status)
{
    struct written *written = (struct written *)request;

    (void)status; /* the link is then at its end, too */
    free(written->bytes);
    free(written);
    if (uv_is_active((uv_handle_t *)&relay.last_words) &&
        (!relay.out || uv_stream_get_write_queue_size((uv_stream_t *)relay.out) == 0))
        uv_stop(&relay.loop);
}

static void send_text(struct text *text)
{
    if (!relay.out) {
        text_release(text);
        return;
    }
    struct written *written = mem_zero(1, sizeof(*written));
    uv_buf_t buffer = uv_buf_init(NULL, (unsigned)text->length);
    buffer.base = written->bytes = text_take(text);
    if (uv_write(&written->request, (uv_stream_t *)relay.out, &buffer, 1, on_written) < 0)
        on_written(&written->request, -1);
}

static void send_kind(enum relay_kind kind, struct member_id id)
{
    struct text text = { 0 };

    relay_put(&text,
              &(struct relay_message){ .kind = (uint8_t)kind, .version = RELAY_VERSION, .id = id });
    send_text(&text);
}

static void send_outcome(const struct engine_outcome *outcome)
{
    struct text text = { 0 };

    relay_put_outcome(&text, outcome);
    send_text(&text);
}

static void send_all(void)
{
    send_kind(RELAY_HELLO, (struct member_id){ 0 });
    for (size_t i = 0; i < relay.members.count; i++) {
        const struct member *member = &relay.members.items[i];
        send_kind(RELAY_KNOWN, member->id);
        if (member->is_started)
            send_outcome(&member->started);
        if (member->is_over)
            send_outcome(&member->end);
    }
    send_kind(RELAY_READY, (struct member_id){ 0 });
}

/* ---- the end ---- */

static bool is_any_running(void)
{
    for (size_t i = 0; i < relay.members.count; i++) {
        if (!relay.members.items[i].is_over)
            return true;
    }
    return false;
}

static void leave(uv_timer_t *timer)
{
    (void)timer;
    uv_stop(&relay.loop);
}

/* What was said must arrive: the loop runs until all of it is written. */
static void check_end(void)
{
    if (!relay.is_ending || is_any_running() || uv_is_active((uv_handle_t *)&relay.last_words))
        return;
    bool has_words = relay.out && uv_stream_get_write_queue_size((uv_stream_t *)relay.out) > 0;
    uv_timer_start(&relay.last_words, leave, has_words ? LAST_WORDS_MS : 0, 0);
}

static void on_term(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
    relay.is_ending = true;
    for (size_t i = 0; i < relay.members.count; i++) {
        struct member *member = &relay.members.items[i];
        struct engine_attempt attempt = attempt_of(member);
        if (!member->is_over)
            relay.engine->ops->stop(relay.engine, &attempt, member->grace);
    }
    check_end();
}

/* ---- what the engine reports ---- */

/* At the end of an allocation, Slurm sends SIGTERM to all of its processes. So a job that has ended
 * may be the first sign of it, and only a moment later it is known whether tarn's job has ended or
 * was ended. */
static void report_ends(uv_timer_t *timer)
{
    (void)timer;
    for (size_t i = 0; i < relay.ends.count; i++) {
        struct engine_outcome *end = &relay.ends.items[i];
        struct member *member = find_member(end->id);
        if (!member || member->is_over)
            continue;
        end->was_stopped |= relay.is_ending && !member->is_stopping;
        member->is_over = true;
        member->end = *end;
        send_outcome(end);
    }
    relay.ends.count = 0;
    check_end();
}

static void on_outcome(void *user, const struct engine_outcome *outcome)
{
    struct member *member = find_member(outcome->id);

    (void)user;
    if (!member || member->is_over)
        return;
    if (outcome->kind == ENGINE_STARTED) {
        member->is_started = true;
        member->started = *outcome;
        send_outcome(outcome);
        return;
    }
    list_add(&relay.ends, *outcome);
    if (!uv_is_active((uv_handle_t *)&relay.ending))
        uv_timer_start(&relay.ending, report_ends, END_DELAY_MS, 0);
}

/* ---- what the daemon says ---- */

/* What a program sees are the devices that Slurm lets it see: the nth of the node is the nth of
 * ours. */
static char *visible_devices(const struct relay_message *message)
{
    struct text names = { 0 };
    AUTO_FREE char *ours = mem_string(getenv("CUDA_VISIBLE_DEVICES"));

    text_add(&names, "CUDA_VISIBLE_DEVICES=");
    for (uint32_t i = 0; i < message->devices_count; i++) {
        const char *at = ours;
        size_t length = 0;
        for (uint32_t k = 0; at && k < message->devices[i].number; k++) {
            at = strchr(at, ',');
            at = at ? at + 1 : NULL;
        }
        length = at ? strcspn(at, ",") : 0;
        text_add(&names, i > 0 ? "," : "");
        if (length > 0)
            text_add_bytes(&names, at, length);
        else
            text_printf(&names, "%" PRIu32, message->devices[i].number);
    }
    return text_take(&names);
}

/* The numbers of tarn's jobs would mislead the commands of Slurm. */
static bool is_passed(const char *variable)
{
    return !string_starts(variable, "SLURM_JOB_ID=") && !string_starts(variable, "SLURM_JOBID=");
}

static void set_variables(struct engine_launch *launch, char *visible)
{
    const char **envp = (const char **)(uintptr_t)launch->envp;
    size_t kept = 0;

    for (size_t i = 0; envp[i]; i++) {
        if (string_starts(envp[i], "CUDA_VISIBLE_DEVICES="))
            envp[kept++] = visible;
        else if (is_passed(envp[i]))
            envp[kept++] = envp[i];
    }
    envp[kept] = NULL;
}

/* All groups of the user, as this node knows them. */
static void set_groups(struct engine_launch *launch, gid_t *groups)
{
    const struct passwd *user = getpwuid(launch->uid);
    int count = GROUPS_MAX;

    if (geteuid() != 0 || launch->groups || !user ||
        getgrouplist(user->pw_name, launch->gid, groups, &count) < 0)
        return;
    launch->groups = groups;
    launch->group_count = (uint32_t)count;
}

static void fail_start(struct member *member, enum engine_outcome_kind kind, const char *reason)
{
    struct engine_outcome outcome = { .id = member->id, .kind = kind, .exit_code = -1 };

    snprintf(outcome.reason, sizeof(outcome.reason), "%.159s", reason);
    on_outcome(NULL, &outcome);
}

static void start_member(const struct relay_message *message)
{
    AUTO_FREE char *visible = visible_devices(message);
    AUTO_FREE gid_t *groups = mem_zero(GROUPS_MAX, sizeof(*groups));
    struct engine_launch launch = relay_launch(message, &relay.arena);
    struct error err;

    if (find_member(launch.id))
        return; /* what became of it was or will be said */
    struct member *member = add_member(launch.id);
    member->grace = launch.grace;
    if (relay.is_ending) {
        fail_start(member, ENGINE_LOST, "the Slurm allocation of its node ends");
        return;
    }
    set_variables(&launch, visible);
    set_groups(&launch, groups);
    if (relay.engine->ops->start(relay.engine, &launch, 1, &err) < 0)
        fail_start(member, ENGINE_FAILED, err.text);
}

static void take_message(const struct relay_message *message)
{
    struct member *member = find_member(message->id);
    struct engine_attempt attempt = { 0 };

    if (message->kind == RELAY_START) {
        start_member(message);
        return;
    }
    if (!member)
        return;
    attempt = attempt_of(member);
    member->is_stopping |= message->kind == RELAY_STOP;
    if (message->kind == RELAY_STOP)
        relay.engine->ops->stop(relay.engine, &attempt, message->grace);
    else if (message->kind == RELAY_SIGNAL)
        relay.engine->ops->signal(relay.engine, &attempt, message->signal);
    if (message->kind != RELAY_FORGET || !member->is_over)
        return;
    relay.engine->ops->forget(relay.engine, &attempt);
    list_remove(&relay.members, (size_t)(member - relay.members.items));
}

static void on_bytes(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct relay_message message;
    struct error err;
    int code = 1;

    (void)stream;
    if (length > 0)
        text_add_bytes(&relay.bytes, buffer->base, (size_t)length);
    free(buffer->base);
    if (length < 0) {
        drop_link();
        return;
    }
    while (code > 0) {
        arena_clear(&relay.arena);
        code = relay_take(&relay.bytes, &relay.arena, &message, &err);
        if (code > 0)
            take_message(&message);
    }
    if (code < 0) {
        log_line(LOG_ERR, "drops its connection reason='%s'", err.text);
        drop_link();
    }
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *ret)
{
    (void)handle;
    *ret = uv_buf_init(mem_zero(1, size), (unsigned)size);
}

static uv_pipe_t *open_pipe(int fd)
{
    uv_pipe_t *pipe = mem_zero(1, sizeof(*pipe));

    uv_pipe_init(&relay.loop, pipe, 0);
    if (uv_pipe_open(pipe, fd) < 0)
        close(fd);
    return pipe;
}

static void take_link(int peer_fd, const int fds[JOIN_FDS])
{
    drop_link();
    relay.peer_fd = peer_fd;
    relay.in = open_pipe(fds[0]);
    relay.out = open_pipe(fds[1]);
    send_all();
    uv_read_start((uv_stream_t *)relay.in, on_room, on_bytes);
}

/* ---- the door ---- */

/* The two descriptors, from a process of our user. */
static bool receive_fds(int peer_fd, int fds[JOIN_FDS])
{
    struct ucred who = { .uid = (uid_t)-1 };
    socklen_t length = sizeof(who);
    char byte, control[CMSG_SPACE(JOIN_FDS * sizeof(int))];
    struct iovec part = { &byte, 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    struct timeval patience = { .tv_sec = 2 };

    if (getsockopt(peer_fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0 || who.uid != geteuid())
        return false;
    setsockopt(peer_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (recvmsg(peer_fd, &message, MSG_CMSG_CLOEXEC) != 1)
        return false;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(JOIN_FDS * sizeof(int)))
        return false;
    memcpy(fds, CMSG_DATA(header), JOIN_FDS * sizeof(int));
    return true;
}

static void on_door(uv_poll_t *poll, int status, int events)
{
    int fds[JOIN_FDS];
    int peer_fd = accept4(relay.door_fd, NULL, NULL, SOCK_CLOEXEC);

    (void)poll;
    (void)status;
    (void)events;
    if (peer_fd < 0)
        return;
    if (receive_fds(peer_fd, fds))
        take_link(peer_fd, fds);
    else
        close(peer_fd);
}

static int door_address(struct sockaddr_un *ret, struct error *err)
{
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int length = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/door", relay.folder);

    if (length >= (int)sizeof(ret->sun_path))
        return error_set(err, -ENAMETOOLONG, "%s/door: too long for a socket", relay.folder);
    return 0;
}

static int open_door(struct error *err)
{
    struct sockaddr_un address;

    int code = door_address(&address, err);
    if (code < 0)
        return code;
    unlink(address.sun_path);
    relay.door_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (relay.door_fd < 0 ||
        bind(relay.door_fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(relay.door_fd, 4) < 0)
        return error_set(err, -errno, "%s: %s", address.sun_path, strerror(errno));
    uv_poll_init(&relay.loop, &relay.door, relay.door_fd);
    uv_poll_start(&relay.door, UV_READABLE, on_door);
    return 0;
}

/* ---- serve ---- */

/* A relay before this one may have been killed: its members are found by their files. */
static void recover_members(void)
{
    AUTO_FREE char *path = mem_printf("%s/run", relay.folder);
    DIR *stream = opendir(path);
    const struct dirent *entry;

    while (stream && (entry = readdir(stream)) != NULL) {
        struct member_id id;
        bool was_started = false, is_found = false;
        if (!member_parse(entry->d_name, strlen(entry->d_name), &id))
            continue;
        struct engine_attempt attempt = attempt_of(add_member(id));
        relay.engine->ops->recover(relay.engine, &attempt, &was_started, &is_found);
        if (!is_found)
            list_remove(&relay.members, place_of(id));
    }
    if (stream)
        closedir(stream);
}

static int open_engine(const char *shim, struct error *err)
{
    struct rlimit limit = { 0 };

    getrlimit(RLIMIT_NOFILE, &limit);
    struct local_engine_options options = {
        .engine = { .loop = &relay.loop,
                    .state_dir = relay.folder,
                    .reports = { .outcome = on_outcome } },
        .shim_path = shim,
        .is_root = geteuid() == 0,
        .nofile_max = limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur,
    };
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int code = local_engine_create(&options, &relay.engine, err);
    if (code == 0)
        recover_members();
    return code;
}

/* In a folder that anybody may write to: it must be ours. */
static int open_folder(struct error *err)
{
    struct stat found;

    int code = folder_make(relay.folder, 0700, err);
    if (code < 0)
        return code;
    if (lstat(relay.folder, &found) < 0 || !S_ISDIR(found.st_mode) || found.st_uid != geteuid() ||
        (found.st_mode & 0077) != 0)
        return error_set(err, -EPERM, "%s: not a folder of this user alone", relay.folder);
    return 0;
}

static void remove_folder(const char *path)
{
    DIR *stream = opendir(path);
    const struct dirent *entry;

    while (stream && (entry = readdir(stream)) != NULL) {
        AUTO_FREE char *inner = mem_printf("%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (entry->d_type == DT_DIR)
            remove_folder(inner);
        else
            unlink(inner);
    }
    if (stream)
        closedir(stream);
    rmdir(path);
}

static int serve(const char *shim, struct error *err)
{
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&relay.loop);
    uv_signal_init(&relay.loop, &relay.term);
    uv_timer_init(&relay.loop, &relay.last_words);
    uv_timer_init(&relay.loop, &relay.ending);
    uv_signal_start(&relay.term, on_term, SIGTERM);
    int code = open_folder(err);
    if (code == 0)
        code = open_engine(shim, err);
    if (code == 0)
        code = open_door(err);
    if (code < 0)
        return code;
    uv_run(&relay.loop, UV_RUN_DEFAULT);
    drop_link();
    relay.engine->ops->destroy(relay.engine);
    uv_run(&relay.loop, UV_RUN_NOWAIT);
    remove_folder(relay.folder);
    return 0;
}

/* ---- join ---- */

static int join(struct error *err)
{
    struct sockaddr_un address;
    int fds[JOIN_FDS] = { STDIN_FILENO, STDOUT_FILENO };
    char byte = 0, control[CMSG_SPACE(sizeof(fds))] = { 0 };
    struct iovec part = { &byte, 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    int code = door_address(&address, err);
    if (code < 0)
        return code;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(header), fds, sizeof(fds));
    bool is_connected = false;
    for (int tries = 0; fd >= 0 && tries < JOIN_TRIES && !is_connected; tries++) {
        if (tries > 0)
            usleep(JOIN_AGAIN_US); /* the relay is about to start */
        is_connected = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    }
    if (!is_connected || sendmsg(fd, &message, MSG_NOSIGNAL) != 1)
        return error_set(err, -errno, "%s: %s", address.sun_path, strerror(errno));
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    while (read(fd, &byte, 1) > 0)
        ;
    return 0;
}

/* After a restart of the machine there is no allocation any more, so that memory is durable enough,
 * and a job does not wait for a disk. */
static const char *place_for_folders(void)
{
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

int main(int argc, char **argv)
{
    const char *job = getenv("SLURM_JOB_ID"), *node = getenv("SLURMD_NODENAME");
    struct error err;
    int code;

    if (argc < 3 || !job || !node) {
        fprintf(stderr, "tarn-relay: tarn starts it in a Slurm job; it is not for people\n");
        return 2;
    }
    snprintf(relay.folder, sizeof(relay.folder), "%s/tarn-%s-%s-%s", place_for_folders(), argv[2],
             job, node);
    if (strcmp(argv[1], "serve") == 0 && argc == 4)
        code = serve(argv[3], &err);
    else if (strcmp(argv[1], "join") == 0 && argc == 3)
        code = join(&err);
    else
        code = error_set(&err, -EINVAL, "expected serve INSTANCE SHIM or join INSTANCE");
    if (code < 0)
        fprintf(stderr, "tarn-relay: %s\n", err.text);
    return code < 0 ? 1 : 0;
}
