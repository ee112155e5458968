/* SPDX-License-Identifier: Apache-2.0 */
#include "api/output_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/concurrency.h"
#include "base/map.h"
#include "base/mem.h"
#include "io/child.h"
#include "io/child_watch.h"

enum { CHUNK = 64 * 1024 };

/* Lives until both the process and its user have ended. */
struct output_reader {
    uv_poll_t poll;
    void *user;
    void (*ready)(void *user);
    struct child_watch *process; /* NULL: it has ended */
    int socket;
    uid_t owner;
    bool has_greeted, is_waiting, is_stopped, is_closed;
    uint64_t since; /* uv_now() */
};

/* Processes that have not ended: of all, and by user. */
static unsigned all_count;
static struct map user_counts;

static void count(uid_t owner, int change)
{
    uint64_t own = 0;

    map_get(&user_counts, owner, &own);
    all_count += (unsigned)change;
    own += (uint64_t)(int64_t)change;
    if (own > 0)
        map_set(&user_counts, owner, own);
    else
        map_remove(&user_counts, owner);
    if (all_count == 0)
        map_release(&user_counts);
}

/* Those whose file system hangs end when it answers. */
static int check_room(const struct output_plan *plan, struct error *err)
{
    static const struct concurrency limits = { .what = "output: processes that read files",
                                               .each = OUTPUT_READERS_USER_MAX,
                                               .users = OUTPUT_READERS_USERS_MAX,
                                               .most = OUTPUT_READERS_MAX };
    uint64_t own = 0;

    map_get(&user_counts, plan->owner, &own);
    return concurrency_check(&limits, plan->is_for_admin, (unsigned)own, all_count, err);
}

static void settle(struct output_reader *reader)
{
    if (reader->is_closed && !reader->process)
        free(reader);
}

static void on_closed(uv_handle_t *handle)
{
    struct output_reader *reader = handle->data;

    close(reader->socket);
    reader->is_closed = true;
    settle(reader);
}

static void on_end(void *user, int status)
{
    struct output_reader *reader = user;

    (void)status;
    reader->process = NULL;
    count(reader->owner, -1);
    settle(reader);
}

static void on_poll(uv_poll_t *poll, int failure, int what)
{
    struct output_reader *reader = poll->data;
    char first;

    (void)failure;
    (void)what;
    if (!reader->has_greeted)
        reader->has_greeted = recv(reader->socket, &first, 1, MSG_DONTWAIT) >= 0;
    if (!reader->has_greeted)
        return;
    uv_poll_stop(poll);
    reader->is_waiting = false;
    reader->ready(reader->user);
}

static void wait_for_it(struct output_reader *reader)
{
    if (!reader->is_waiting)
        reader->since = uv_now(reader->poll.loop);
    reader->is_waiting = true;
    uv_poll_start(&reader->poll, UV_READABLE, on_poll);
}

static int start_process(const struct output_plan *plan, int socket, int *ret_pidfd,
                         struct error *err)
{
    AUTO_FREE char *uid = mem_printf("%u", (unsigned)plan->owner);
    AUTO_FREE char *gid = mem_printf("%u", (unsigned)plan->group);
    AUTO_FREE char *offset = mem_printf("%" PRIu64, plan->offset);
    AUTO_FREE char *tail =
        plan->tail == UINT32_MAX ? mem_string("-") : mem_printf("%" PRIu32, plan->tail);
    AUTO_FREE char *path = mem_printf("TARN_OUTPUT=%s", plan->path);
    const struct child_plan child = {
        .path = "/proc/self/exe",
        .argv = (char *[]){ (char[]){ "tarnd" }, (char[]){ "--read-output" }, uid, gid, offset,
                            tail, plan->is_following ? (char[]){ "1" } : (char[]){ "0" }, NULL },
        .envp = (char *[]){ path, NULL }, /* others can see the words of a process */
        .fds = &socket,
        .fd_count = 1,
    };

    return child_start(&child, ret_pidfd, err);
}

int output_reader_start(const struct output_plan *plan, struct output_reader **ret,
                        struct error *err)
{
    int ends[2], pidfd = -1;

    int code = check_room(plan, err);
    if (code < 0)
        return code;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(err, -errno, "output: no socket: %s", strerror(errno));
    int theirs = fd_raise(ends[1]);
    code = theirs < 0 ? error_set(err, -errno, "output: no socket: %s", strerror(errno))
                      : start_process(plan, theirs, &pidfd, err);
    if (theirs >= 0)
        close(theirs);
    if (code < 0) {
        close(ends[0]);
        return code;
    }
    struct output_reader *reader = mem_zero(1, sizeof(*reader));
    *reader = (struct output_reader){
        .user = plan->user, .ready = plan->ready, .socket = ends[0], .owner = plan->owner
    };
    count(plan->owner, 1);
    reader->process = child_watch_start(plan->loop, pidfd, on_end, reader);
    uv_poll_init(plan->loop, &reader->poll, ends[0]);
    reader->poll.data = reader;
    wait_for_it(reader);
    *ret = reader;
    return 0;
}

bool output_reader_take(struct output_reader *reader, struct text *out)
{
    char bytes[CHUNK];

    if (reader->is_waiting)
        return false;
    ssize_t length = recv(reader->socket, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (length > 0)
        text_add_bytes(out, bytes, (size_t)length);
    if (length >= 0 || errno != EAGAIN)
        return length <= 0;
    wait_for_it(reader);
    return false;
}

void output_reader_finish(struct output_reader *reader)
{
    reader->since = uv_now(reader->poll.loop);
    shutdown(reader->socket, SHUT_WR);
}

/* It has answered, but the loop has not been told yet: the daemon itself was held up. */
static bool has_answered(const struct output_reader *reader)
{
    char first;

    return recv(reader->socket, &first, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

uint64_t output_reader_silent_ms(const struct output_reader *reader)
{
    return reader->is_waiting && !has_answered(reader) ? uv_now(reader->poll.loop) - reader->since
                                                       : 0;
}

void output_reader_stop(struct output_reader *reader)
{
    if (!reader)
        return;
    if (reader->process)
        child_watch_end(reader->process);
    uv_close((uv_handle_t *)&reader->poll, on_closed);
}
