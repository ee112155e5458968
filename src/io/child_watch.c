/* SPDX-License-Identifier: Apache-2.0 */
#include "io/child_watch.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/child.h"

enum {
    BEAT_MS = 100, /* where the loop cannot poll the pidfd, and after a kill */
    DRAIN_BEATS = 20,
};

struct child_watch {
    uv_poll_t poll;
    uv_timer_t timer;
    unsigned handle_count;
    int pidfd;
    child_end_fn *on_end;
    void *user;
};

static LIST(struct child_watch *) killed; /* and not yet ended */

static void on_closed(uv_handle_t *handle)
{
    struct child_watch *watch = handle->data;

    if (--watch->handle_count == 0)
        free(watch);
}

static void forget_killed(const struct child_watch *watch)
{
    for (size_t i = killed.count; i-- > 0;) {
        if (killed.items[i] == watch)
            list_remove(&killed, i);
    }
    if (killed.count == 0)
        list_release(&killed);
}

static void finish(struct child_watch *watch, int status)
{
    forget_killed(watch);
    if (watch->on_end)
        watch->on_end(watch->user, status);
    if (watch->handle_count == 2)
        uv_close((uv_handle_t *)&watch->poll, on_closed);
    uv_close((uv_handle_t *)&watch->timer, on_closed);
    close(watch->pidfd);
}

static void look(struct child_watch *watch)
{
    int status = -1;

    if (uv_is_closing((uv_handle_t *)&watch->timer))
        return;
    if (child_reap(watch->pidfd, &status) || child_signal(watch->pidfd, 0, 0) < 0)
        finish(watch, status);
}

static void on_poll(uv_poll_t *poll, int failure, int what)
{
    (void)failure;
    (void)what;
    look(poll->data);
}

static void on_beat(uv_timer_t *timer)
{
    look(timer->data);
}

struct child_watch *child_watch_start(uv_loop_t *loop, int pidfd, child_end_fn *on_end, void *user)
{
    struct child_watch *watch = mem_zero(1, sizeof(*watch));

    *watch =
        (struct child_watch){ .handle_count = 1, .pidfd = pidfd, .on_end = on_end, .user = user };
    uv_timer_init(loop, &watch->timer);
    watch->timer.data = watch->poll.data = watch;
    if (uv_poll_init(loop, &watch->poll, pidfd) == 0)
        watch->handle_count = 2;
    if (watch->handle_count == 1 || uv_poll_start(&watch->poll, UV_READABLE, on_poll) < 0)
        uv_timer_start(&watch->timer, on_beat, BEAT_MS, BEAT_MS);
    return watch;
}

void child_watch_signal(const struct child_watch *watch, int signal)
{
    child_signal(watch->pidfd, signal, 0);
}

void child_watch_end(struct child_watch *watch)
{
    forget_killed(watch);
    list_add(&killed, watch);
    child_signal(watch->pidfd, SIGKILL, 0);
    uv_timer_start(&watch->timer, on_beat, BEAT_MS, BEAT_MS);
}

void child_watch_kill(struct child_watch *watch)
{
    watch->on_end = NULL;
    child_watch_end(watch);
}

void child_watch_drain(uv_loop_t *loop)
{
    for (unsigned i = 0; i < DRAIN_BEATS && killed.count > 0; i++)
        uv_run(loop, UV_RUN_ONCE);
    while (killed.count > 0)
        finish(killed.items[0], -1);
}
