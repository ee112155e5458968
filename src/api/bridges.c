/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to the supervisors of jobs, over the network: each has a process that copies between
 * the two (tarnd --bridge), so that a slow client or a lot of output delays nobody else. It ends
 * with the connection, and within a second after its token was revoked or has expired. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/concurrency.h"
#include "api/routes.h"
#include "base/mem.h"
#include "io/child.h"
#include "io/child_watch.h"
#include "io/log.h"
#include "io/net/client.h"

enum { BEAT_MS = 1000 };

static const struct concurrency limits = {
    .what = "exec: connections to jobs", .each = 32, .users = 112, .most = 128
};

struct bridge {
    struct http_tunnel tunnel;
    struct api *api;
    struct bridge *next;
    uint64_t token, job;
    uid_t uid;
    gid_t gid;
    int door;                    /* -1: the process has it */
    struct child_watch *process; /* NULL: none */
    bool is_gone, is_closed;
    uv_timer_t timer;
};

static void settle(struct bridge *bridge)
{
    if (bridge->is_gone && bridge->is_closed)
        free(bridge);
}

static void on_closed(uv_handle_t *handle)
{
    struct bridge *bridge = handle->data;

    bridge->is_closed = true;
    settle(bridge);
}

static void on_end_of_process(void *user, int status)
{
    struct bridge *bridge = user;

    (void)status;
    bridge->process = NULL;
    uv_close((uv_handle_t *)&bridge->timer, on_closed);
    http_tunnel_close(&bridge->tunnel);
}

static void on_beat(uv_timer_t *timer)
{
    struct bridge *bridge = timer->data;

    if (!token_has_access(bridge->api, bridge->token))
        child_watch_signal(bridge->process, SIGKILL);
}

static void watch(struct bridge *bridge, int pidfd)
{
    bridge->process = child_watch_start(bridge->api->loop, pidfd, on_end_of_process, bridge);
    bridge->is_closed = false;
    uv_timer_init(bridge->api->loop, &bridge->timer);
    bridge->timer.data = bridge;
    uv_timer_start(&bridge->timer, on_beat, BEAT_MS, BEAT_MS);
}

static void on_open(struct http_tunnel *tunnel, int socket)
{
    struct bridge *bridge = CONTAINER_OF(tunnel, struct bridge, tunnel);
    AUTO_FREE char *uid = mem_printf("%u", bridge->uid);
    AUTO_FREE char *gid = mem_printf("%u", bridge->gid);
    const int fds[] = { fd_raise(dup(socket)), fd_raise(bridge->door) };
    const struct child_plan plan = {
        .path = "/proc/self/exe",
        .argv = (char *[]){ (char[]){ "tarnd" }, (char[]){ "--bridge" }, uid, gid, NULL },
        .envp = (char *[]){ NULL },
        .fds = fds,
        .fd_count = COUNT_OF(fds),
    };
    struct error err;
    int pidfd = -1;

    bridge->door = -1;
    int code = fds[0] < 0 || fds[1] < 0 ? error_set(&err, -EMFILE, "too many open files")
                                        : child_start(&plan, &pidfd, &err);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    if (code == 0) {
        watch(bridge, pidfd);
        return;
    }
    log_line(LOG_WARNING, "a connection to job %" PRIu64 " failed: %s", bridge->job, err.text);
    http_tunnel_close(tunnel);
}

static void on_gone(struct http_tunnel *tunnel)
{
    struct bridge *bridge = CONTAINER_OF(tunnel, struct bridge, tunnel);
    struct bridge **at = &bridge->api->bridges;

    bridge->is_gone = true;
    while (*at != bridge)
        at = &(*at)->next;
    *at = bridge->next;
    if (bridge->door >= 0)
        close(bridge->door);
    if (bridge->process) {
        child_watch_kill(bridge->process);
        uv_close((uv_handle_t *)&bridge->timer, on_closed);
    }
    settle(bridge);
}

/* ---- who may have one more ---- */

static int check_room(const struct api *api, const struct identity *who, struct error *err)
{
    unsigned count = 0, own = 0;

    for (const struct bridge *at = api->bridges; at; at = at->next) {
        count++;
        own += at->uid == who->uid;
    }
    return concurrency_check(&limits, who->is_admin, who->is_admin ? 0 : own, count, err);
}

static void tell(const struct call *call)
{
    const struct identity *who = call->request->who;
    char address[HTTP_ADDRESS_SIZE];

    log_line(LOG_INFO,
             "connection to a job job=%" PRIu64 " user=%s by=%s token=%" PRIu64 " from=%s",
             call->id, who->name, identity_source_name(who->source), who->token,
             http_address(call->request, address));
}

int bridge_open(struct call *call, int door, struct error *err)
{
    const struct identity *who = call->request->who;

    int code = check_room(call->api, who, err);
    if (code < 0)
        return code;
    struct bridge *bridge = mem_zero(1, sizeof(*bridge));
    *bridge = (struct bridge){ .tunnel = { .on_open = on_open, .on_gone = on_gone },
                               .api = call->api,
                               .next = call->api->bridges,
                               .token = who->token,
                               .job = call->id,
                               .uid = who->uid,
                               .gid = who->gid,
                               .door = door,
                               .is_closed = true };
    call->api->bridges = bridge;
    tell(call);
    http_tunnel(call->request, BRIDGE_PROTOCOL, &bridge->tunnel);
    return 0;
}
