/* SPDX-License-Identifier: Apache-2.0 */
#include "io/net/tls_pump.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

enum { CHUNK = 16 * 1024, LINGER_MS = 10000, ROUNDS = 8, HANDLES = 4 };

struct lane {
    char bytes[CHUNK];
    size_t length, done;
    bool is_over; /* nothing more is read */
};

struct tls_pump {
    struct tls_pump_plan plan;
    uv_poll_t peer, local;
    uv_timer_t turn, linger;
    struct lane in, out; /* from the peer, to the peer */
    bool is_broken, is_leaving, is_told;
    unsigned handle_count;
};

static void finish(struct tls_pump *pump)
{
    if (pump->is_told)
        return;
    pump->is_told = true;
    uv_poll_stop(&pump->peer);
    uv_poll_stop(&pump->local);
    uv_timer_stop(&pump->turn);
    uv_timer_stop(&pump->linger);
    pump->plan.on_over(pump->plan.user);
}

static void on_late(uv_timer_t *timer)
{
    finish(timer->data);
}

/* A connection that is closed with something unread in it loses what was sent last, so the peer
 * closes first. */
static void say_goodbye(struct tls_pump *pump)
{
    if (pump->is_leaving)
        return;
    pump->is_leaving = true;
    gnutls_bye(pump->plan.session, GNUTLS_SHUT_WR);
    shutdown(pump->plan.fd, SHUT_WR);
    uv_timer_start(&pump->linger, on_late, LINGER_MS, 0);
}

/* True: something has moved. */
static bool receive(struct tls_pump *pump)
{
    struct lane *lane = &pump->in;

    if (lane->length > 0 || lane->is_over)
        return false;
    ssize_t length = gnutls_record_recv(pump->plan.session, lane->bytes, CHUNK);
    if (length == GNUTLS_E_AGAIN || length == GNUTLS_E_INTERRUPTED)
        return false;
    lane->is_over = length <= 0;
    lane->length = length > 0 ? (size_t)length : 0;
    lane->done = 0;
    if (lane->is_over)
        shutdown(pump->plan.socket, SHUT_WR);
    return true;
}

static bool pass_on(struct tls_pump *pump)
{
    struct lane *lane = &pump->in;

    if (lane->length == 0)
        return false;
    ssize_t done = send(pump->plan.socket, lane->bytes + lane->done, lane->length - lane->done,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    /* Nobody reads it: the rest is thrown away, so that the end of the peer's is found. */
    lane->done = done < 0 ? lane->length : lane->done + (size_t)done;
    if (lane->done == lane->length)
        lane->length = 0;
    return true;
}

static bool fetch(struct tls_pump *pump)
{
    struct lane *lane = &pump->out;

    if (lane->length > 0 || lane->is_over)
        return false;
    ssize_t length = recv(pump->plan.socket, lane->bytes, CHUNK, MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    lane->is_over = length <= 0;
    lane->length = length > 0 ? (size_t)length : 0;
    lane->done = 0;
    return true;
}

static bool transmit(struct tls_pump *pump)
{
    struct lane *lane = &pump->out;

    if (lane->length == 0)
        return false;
    ssize_t done =
        gnutls_record_send(pump->plan.session, lane->bytes + lane->done, lane->length - lane->done);
    if (done == GNUTLS_E_AGAIN || done == GNUTLS_E_INTERRUPTED)
        return false;
    pump->is_broken |= done < 0;
    lane->done += done > 0 ? (size_t)done : 0;
    if (lane->done == lane->length || done < 0)
        lane->length = 0;
    return done > 0;
}

static void on_news(uv_poll_t *poll, int status, int events);
static void on_turn(uv_timer_t *timer);

static void settle(struct tls_pump *pump)
{
    const struct lane *in = &pump->in, *out = &pump->out;
    int peer =
        (in->length == 0 && !in->is_over ? UV_READABLE : 0) | (out->length > 0 ? UV_WRITABLE : 0);
    int local =
        (out->length == 0 && !out->is_over ? UV_READABLE : 0) | (in->length > 0 ? UV_WRITABLE : 0);

    bool is_sent = out->is_over && out->length == 0;

    if (is_sent)
        say_goodbye(pump);
    if (pump->is_broken || (is_sent && in->is_over)) {
        finish(pump);
        return;
    }
    if (peer != 0)
        uv_poll_start(&pump->peer, peer, on_news);
    else
        uv_poll_stop(&pump->peer);
    if (local != 0)
        uv_poll_start(&pump->local, local, on_news);
    else
        uv_poll_stop(&pump->local);
}

/* A few rounds, so that others have their turn; what TLS has decrypted already makes no event. */
static void go(struct tls_pump *pump)
{
    bool has_moved = true;

    for (int i = 0; i < ROUNDS && has_moved && !pump->is_broken; i++) {
        has_moved = receive(pump);
        has_moved |= pass_on(pump);
        has_moved |= fetch(pump);
        has_moved |= transmit(pump);
    }
    settle(pump);
    if (has_moved && !pump->is_told)
        uv_timer_start(&pump->turn, on_turn, 0, 0);
}

static void on_news(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    go(poll->data);
}

static void on_turn(uv_timer_t *timer)
{
    go(timer->data);
}

struct tls_pump *tls_pump_start(const struct tls_pump_plan *plan)
{
    struct tls_pump *pump = mem_zero(1, sizeof(*pump));

    pump->plan = *plan;
    pump->handle_count = HANDLES;
    uv_poll_init(plan->loop, &pump->peer, plan->fd);
    uv_poll_init(plan->loop, &pump->local, plan->socket);
    uv_timer_init(plan->loop, &pump->turn);
    uv_timer_init(plan->loop, &pump->linger);
    pump->peer.data = pump->local.data = pump->turn.data = pump->linger.data = pump;
    uv_timer_start(&pump->turn, on_turn, 0, 0);
    return pump;
}

void tls_pump_end(struct tls_pump *pump)
{
    go(pump);
    if (!pump->is_told && !pump->is_leaving)
        uv_timer_start(&pump->linger, on_late, LINGER_MS, 0);
}

static void on_closed(uv_handle_t *handle)
{
    struct tls_pump *pump = handle->data;

    if (--pump->handle_count == 0)
        free(pump);
}

void tls_pump_stop(struct tls_pump *pump)
{
    if (!pump)
        return;
    uv_close((uv_handle_t *)&pump->peer, on_closed);
    uv_close((uv_handle_t *)&pump->local, on_closed);
    uv_close((uv_handle_t *)&pump->turn, on_closed);
    uv_close((uv_handle_t *)&pump->linger, on_closed);
    close(pump->plan.socket);
}
