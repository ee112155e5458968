/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/members.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/local/birth.h"
#include "engine/local/leftover.h"
#include "engine/local/shim_launch.h"
#include "engine/local/status_file.h"
#include "io/child.h"
#include "io/file.h"
#include "shim/shim_order.h"

enum { EVENTS_MAX = 64, NOTIFY_BYTES = 1024 * 1024, CLEAR_AGAIN_MS = 20 };

static uint64_t id_hash(struct member_id id)
{
    uint64_t words[2] = { id.job, (uint64_t)id.attempt << 32 | id.rank };

    return map_hash(words, sizeof(words));
}

static bool id_equal(struct member_id a, struct member_id b)
{
    return a.job == b.job && a.attempt == b.attempt && a.rank == b.rank;
}

static struct member *chain_of(const struct members *members, uint64_t hash)
{
    uint64_t value = 0;

    return map_get(&members->table, hash, &value) ? (struct member *)(uintptr_t)value : NULL;
}

struct member *member_find(const struct members *members, struct member_id id)
{
    struct member *member = chain_of(members, id_hash(id));

    while (member && !id_equal(member->id, id))
        member = member->next;
    return member;
}

struct member *member_add(struct members *members, struct member_id id)
{
    struct member *member = mem_zero(1, sizeof(*member));
    uint64_t hash = id_hash(id);

    member->id = id;
    member->pidfd = -1;
    member->phase = PHASE_DONE;
    member->next = chain_of(members, hash);
    map_set(&members->table, hash, (uintptr_t)member);
    return member;
}

static void member_free(struct member *member)
{
    if (member->pidfd >= 0)
        close(member->pidfd);
    mem_resize(member, 0, 1);
}

void member_remove(struct members *members, struct member *member)
{
    uint64_t hash = id_hash(member->id);
    struct member *chain = chain_of(members, hash);

    if (chain != member) {
        while (chain->next != member)
            chain = chain->next;
        chain->next = member->next;
    } else if (member->next) {
        map_set(&members->table, hash, (uintptr_t)member->next);
    } else {
        map_remove(&members->table, hash);
    }
    member_free(member);
}

char *member_path(const struct members *members, struct member_id id, char *buffer)
{
    char name[MEMBER_NAME_SIZE];

    snprintf(buffer, STATUS_FILE_SIZE, "%s/%s", members->run_dir, member_name(name, id));
    return buffer;
}

char *member_marker(const struct members *members, struct member_id id, char *buffer)
{
    char name[MEMBER_NAME_SIZE];

    snprintf(buffer, MARKER_SIZE, "TARN_MEMBER=%s/%s", members->key, member_name(name, id));
    return buffer;
}

void members_wake(const struct members *members)
{
    uint64_t one = 1;

    if (write(members->wake_fd, &one, sizeof(one)) < 0)
        assert(errno == EAGAIN);
}

static void queue_started(struct members *members, struct member *member)
{
    if (member->sent_start)
        return;
    member->sent_start = true;
    list_add(&members->queue, (struct engine_outcome){
                                  .id = member->id,
                                  .kind = ENGINE_STARTED,
                                  .isolation = member->isolation,
                              });
}

static void queue_end(struct members *members, struct member *member,
                      const struct engine_outcome *outcome)
{
    if (member->sent_end)
        return;
    member->sent_end = true;
    list_add(&members->queue, *outcome);
    members->queue.items[members->queue.count - 1].id = member->id;
}

void member_lose(struct members *members, struct member *member, const char *reason)
{
    struct engine_outcome outcome = { .kind = ENGINE_LOST, .exit_code = -1 };

    snprintf(outcome.reason, sizeof(outcome.reason), "%s", reason);
    queue_end(members, member, &outcome);
}

void members_refuse(struct members *members, struct member_id id, enum engine_outcome_kind kind,
                    const char *reason)
{
    struct engine_outcome outcome = { .id = id, .kind = kind, .exit_code = -1 };

    snprintf(outcome.reason, sizeof(outcome.reason), "%s", reason);
    list_add(&members->queue, outcome);
    members_wake(members);
}

static void queue_status(struct members *members, struct member *member,
                         const struct status *status)
{
    if (status->has_started)
        queue_started(members, member);
    if (status->has_end)
        queue_end(members, member, &status->end);
}

static int watch(const struct members *members, int fd, void *what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

    return epoll_ctl(members->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static usec_t monotonic_now(void)
{
    return (usec_t)(uv_hrtime() / 1000);
}

/* In a moment while there is something to clear, else for the first deadline. */
static void timer_arm(const struct members *members)
{
    usec_t wait = CLEAR_AGAIN_MS * USEC_PER_MS;

    if (members->clearing.count == 0) {
        wait = members->deadline - monotonic_now();
        if (wait < 1)
            wait = 1; /* 0 would disarm */
    }
    struct itimerspec again = { .it_value = { .tv_sec = wait / USEC_PER_SEC,
                                              .tv_nsec = wait % USEC_PER_SEC * 1000 } };
    timerfd_settime(members->timer_fd, 0, &again, NULL);
}

void member_expect_end(struct members *members, struct member *member, usec_t wait)
{
    usec_t deadline = monotonic_now() + wait;

    if (!member->is_expected)
        list_add(&members->expected, member->id);
    if (!member->is_expected || deadline < member->deadline)
        member->deadline = deadline;
    member->is_expected = true;
    if (members->deadline != 0 && members->deadline <= member->deadline)
        return;
    members->deadline = member->deadline;
    timer_arm(members);
}

void member_watch(struct members *members, struct member *member, int pidfd)
{
    member->pidfd = pidfd;
    member->phase = PHASE_RUNNING;
    if (watch(members, pidfd, member) == 0)
        return;
    /* Without a place in the kernel's table we look ourselves, by the timer. */
    list_add(&members->clearing, member);
    timer_arm(members);
}

/* Closing alone is not enough: a child that is about to exec still has a copy, and with it the
 * event would come again. */
static void member_unwatch(struct members *members, struct member *member)
{
    epoll_ctl(members->epoll_fd, EPOLL_CTL_DEL, member->pidfd, NULL);
    close(member->pidfd);
    member->pidfd = -1;
}

/* The pid may have been reused: adopt it only while it holds the lock. */
static bool adopt(struct members *members, struct member *member, const struct status *status)
{
    char path[STATUS_FILE_SIZE];

    if (status->shim_pid <= 0)
        return false;
    int pidfd = pidfd_open(status->shim_pid, 0);
    if (pidfd < 0)
        return false;
    if (status_holder(member_path(members, member->id, path)) != status->shim_pid) {
        close(pidfd);
        return false;
    }
    member_watch(members, member, pidfd);
    return true;
}

/* Kill what a killed shim left; true when nothing is left and the loss was queued. */
static bool member_clear(struct members *members, struct member *member,
                         const struct status *status, bool was_watched)
{
    char marker[MARKER_SIZE];

    if (!status->same_boot) {
        member_lose(members, member, "the node restarted");
        return true;
    }
    if (!leftover_kill(status, member_marker(members, member->id, marker), was_watched))
        return false;
    leftover_remove(status);
    member_lose(members, member,
                member->was_silent ? "supervisor did not answer" : "supervisor killed");
    return true;
}

/* Drop a member whose end was reported and whose shim has ended, if it was forgotten, too. */
static void member_settle(struct members *members, struct member *member)
{
    member->phase = PHASE_DONE;
    if (member->forgotten)
        member_remove(members, member);
}

/* Act on what the file says about a member whose shim we are not watching. */
void member_take_up(struct members *members, struct member *member, bool was_watched)
{
    char path[STATUS_FILE_SIZE];
    struct status status;

    status_read(member_path(members, member->id, path), members->boot, &status);
    if (status.exists)
        member->isolation = status.isolation;
    queue_status(members, member, &status);
    if (adopt(members, member, &status))
        return;
    /* It may have ended between the look at the lock and now. */
    if (status.shim_pid > 0) {
        status_read(path, members->boot, &status);
        queue_status(members, member, &status);
    }
    if (!member->sent_end && !status.exists)
        member_lose(members, member, "supervisor killed before it could begin");
    if (member->sent_end || member_clear(members, member, &status, was_watched)) {
        member_settle(members, member);
        return;
    }
    member->phase = PHASE_CLEARING;
    list_add(&members->clearing, member);
    timer_arm(members);
}

/* Killed between the end and its last step. */
static void groups_remove(const struct members *members, const struct member *member)
{
    char path[STATUS_FILE_SIZE];
    struct status status;

    status_read(member_path(members, member->id, path), members->boot, &status);
    leftover_remove(&status);
}

static void on_shim_gone(struct members *members, struct member *member)
{
    int status = 0;

    bool is_child = child_reap(member->pidfd, &status);
    member_unwatch(members, member);
    if (member->sent_end) {
        if (is_child && WIFSIGNALED(status))
            groups_remove(members, member);
        member_settle(members, member);
        return;
    }
    if (is_child && WIFEXITED(status) && WEXITSTATUS(status) == SHIM_EXIT_ORDER) {
        struct engine_outcome outcome = { .kind = ENGINE_FAILED, .exit_code = -1 };

        snprintf(outcome.reason, sizeof(outcome.reason),
                 "tarn-shim does not understand its order: it has another version");
        queue_end(members, member, &outcome);
        member_settle(members, member);
        return;
    }
    member_take_up(members, member, true);
}

/* "12.1.0 started pid=7 ." of whatever shim; of members that we do not know it is old. */
static void on_note(struct members *members, const char *line, size_t length)
{
    const char *space = memchr(line, ' ', length);
    struct member_id id;
    struct status status = { 0 };

    if (!space || !member_parse(line, (size_t)(space - line), &id))
        return;
    struct member *member = member_find(members, id);
    if (!member || member->phase != PHASE_RUNNING)
        return;
    status_apply(&status, members->boot, space + 1, length - (size_t)(space + 1 - line));
    queue_status(members, member, &status);
}

static void on_notes(struct members *members)
{
    char chunk[65536];
    ssize_t length;

    while ((length = read(members->notify_fd, chunk, sizeof(chunk))) > 0)
        text_add_bytes(&members->notes, chunk, (size_t)length);
    if (members->notes.length == 0)
        return;
    const char *line = members->notes.bytes;
    const char *end = line + members->notes.length;
    const char *newline;
    while ((newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        on_note(members, line, (size_t)(newline - line));
        line = newline + 1;
    }
    /* Records come whole, so a rest is none of ours; it must not grow. */
    text_clear(&members->notes);
}

static bool is_gone(int pidfd)
{
    return pidfd_send_signal(pidfd, 0, NULL, 0) < 0 && errno == ESRCH;
}

/* Members that the timer looks after: true when this one needs it no more. */
static bool clear_again(struct members *members, struct member *member)
{
    char path[STATUS_FILE_SIZE];
    struct status status;

    if (member->phase == PHASE_RUNNING) {
        siginfo_t info = { .si_pid = 0 };
        bool has_ended =
            waitid(P_PIDFD, (id_t)member->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0
                ? info.si_pid != 0
                : is_gone(member->pidfd);

        if (!has_ended)
            return false;
        on_shim_gone(members, member);
        return true;
    }
    status_read(member_path(members, member->id, path), members->boot, &status);
    if (!member_clear(members, member, &status, false))
        return false;
    member_settle(members, member);
    return true;
}

/* The job first: a shim that hangs in the kernel may take its own kill much later. */
static void silent_kill(const struct members *members, struct member *member)
{
    char path[STATUS_FILE_SIZE], marker[MARKER_SIZE];
    struct status status;

    status_read(member_path(members, member->id, path), members->boot, &status);
    member->was_silent = true;
    leftover_kill(&status, member_marker(members, member->id, marker), false);
    pidfd_send_signal(member->pidfd, SIGKILL, NULL, 0);
}

/* An end that was told is enough: its shim may still wait for room to keep it. */
static void expected_check(struct members *members)
{
    usec_t now = monotonic_now();
    size_t kept = 0;

    if (members->deadline == 0 || members->deadline > now)
        return;
    members->deadline = 0;
    for (size_t i = 0; i < members->expected.count; i++) {
        struct member *member = member_find(members, members->expected.items[i]);

        if (!member || member->phase != PHASE_RUNNING || member->sent_end)
            continue;
        if (member->deadline <= now) {
            member->is_expected = false;
            silent_kill(members, member);
            continue;
        }
        members->expected.items[kept++] = member->id;
        if (members->deadline == 0 || member->deadline < members->deadline)
            members->deadline = member->deadline;
    }
    members->expected.count = kept;
}

static void on_timer(struct members *members)
{
    uint64_t count;
    size_t pending = members->clearing.count;

    if (read(members->timer_fd, &count, sizeof(count)) < 0)
        return;
    for (size_t i = 0; i < pending; i++) {
        struct member *member = members->clearing.items[0];

        list_remove(&members->clearing, 0);
        if (!clear_again(members, member))
            list_add(&members->clearing, member);
    }
    expected_check(members);
    if (members->clearing.count > 0 || members->deadline != 0)
        timer_arm(members);
}

void members_on_ready(struct members *members)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t count;

    int ready = epoll_wait(members->epoll_fd, events, EVENTS_MAX, 0);
    /* Notes first: what a shim sent before it left must be known when its leaving is seen. */
    on_notes(members);
    for (int i = 0; i < ready; i++) {
        void *source = events[i].data.ptr;

        if (source == &members->wake_fd) {
            if (read(members->wake_fd, &count, sizeof(count)) < 0)
                continue;
        } else if (source == &members->timer_fd) {
            on_timer(members);
        } else if (source != &members->notify_fd) {
            on_shim_gone(members, source);
        }
    }
}

/* A FIFO, so that shims of an engine before this one are heard too. */
static int notify_open(struct members *members, struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/notify", members->run_dir);
    char old[4096];

    if (mkfifo(path, 0600) < 0 && errno != EEXIST)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    members->notify_fd = fd_raise(open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (members->notify_fd < 0)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    /* More room when it is given; a full pipe only makes news later. */
    fcntl(members->notify_fd, F_SETPIPE_SZ, NOTIFY_BYTES);
    /* What was said to the engine before: of one that could not keep a status, and is started
     * again, the end must not be taken for the second one's. */
    while (read(members->notify_fd, old, sizeof(old)) > 0)
        ;
    return 0;
}

static int boot_read(struct members *members, struct error *err)
{
    AUTO_RELEASE(text) struct text boot = { 0 };

    int code = file_read("/proc/sys/kernel/random/boot_id", BOOT_SIZE - 1, &boot, err);
    snprintf(members->boot, sizeof(members->boot), "%.*s", (int)strcspn(text_string(&boot), "\n"),
             text_string(&boot));
    return code;
}

static int watches_open(struct members *members)
{
    members->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (members->epoll_fd < 0)
        return -errno;
    members->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (members->wake_fd < 0)
        return -errno;
    members->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (members->timer_fd < 0)
        return -errno;
    int code = watch(members, members->notify_fd, &members->notify_fd);
    if (code == 0)
        code = watch(members, members->wake_fd, &members->wake_fd);
    return code == 0 ? watch(members, members->timer_fd, &members->timer_fd) : code;
}

int members_init(struct members *members, struct error *err)
{
    members->epoll_fd = members->notify_fd = members->wake_fd = members->timer_fd = -1;
    members->birth_fd = -1;
    int code = boot_read(members, err);
    if (code == 0)
        code = birth_take(members->run_dir, &members->birth_fd, err);
    if (code == 0)
        code = notify_open(members, err);
    if (code < 0)
        return code;
    code = watches_open(members);
    return code < 0 ? error_set(err, code, "cannot watch jobs: %s", strerror(-code)) : 0;
}

static void table_release(struct members *members)
{
    struct map_slot slot;

    for (size_t at = 0; map_next(&members->table, &at, &slot);) {
        struct member *member = (struct member *)(uintptr_t)slot.value;
        while (member) {
            struct member *next = member->next;

            member_free(member);
            member = next;
        }
    }
    map_release(&members->table);
}

void members_release(struct members *members)
{
    int fds[] = { members->epoll_fd, members->notify_fd, members->wake_fd, members->timer_fd,
                  members->birth_fd };

    table_release(members);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    list_release(&members->queue);
    list_release(&members->clearing);
    list_release(&members->expected);
    text_release(&members->notes);
    mem_resize(members->run_dir, 0, 1);
}
