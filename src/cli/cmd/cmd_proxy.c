/* SPDX-License-Identifier: Apache-2.0 */
/* proxy: one connection to the daemon, over standard input and output */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/screen.h"
#include "cli/session.h"

enum { START, DEVICES };
enum { COPY_BYTES = 64 * 1024 };

const struct option_entry options_proxy[] = {
    [START] = { "start", 0, NULL, "start a daemon if none runs" },
    [DEVICES] = { "devices", 0, "DEVICES", "devices of a new daemon: synthetic:h100:4" },
    { 0 },
};

/* One direction. */
struct lane {
    int from, to;
    char bytes[COPY_BYTES];
    size_t length, done;
    bool is_over;
};

/* One read or one write, of what is ready. */
static void lane_go(struct lane *lane)
{
    ssize_t moved;

    if (lane->length == 0) {
        moved = read(lane->from, lane->bytes, sizeof(lane->bytes));
        lane->length = moved > 0 ? (size_t)moved : 0;
    } else {
        moved = write(lane->to, lane->bytes + lane->done, lane->length - lane->done);
        lane->done += moved > 0 ? (size_t)moved : 0;
        if (lane->done == lane->length)
            lane->length = lane->done = 0;
    }
    lane->is_over = moved == 0 || (moved < 0 && errno != EINTR && errno != EAGAIN);
}

static struct pollfd lane_news(const struct lane *lane)
{
    return lane->length > 0 ? (struct pollfd){ .fd = lane->to, .events = POLLOUT }
                            : (struct pollfd){ .fd = lane->from, .events = POLLIN };
}

/* The client ends its input when it needs nothing more; the daemon, when it closes. */
static void copy(int fd)
{
    static struct lane lanes[2];

    lanes[0] = (struct lane){ .from = STDIN_FILENO, .to = fd };
    lanes[1] = (struct lane){ .from = fd, .to = STDOUT_FILENO };
    while (!lanes[0].is_over && !lanes[1].is_over) {
        struct pollfd news[] = { lane_news(&lanes[0]), lane_news(&lanes[1]) };

        if (poll(news, 2, -1) < 0 && errno != EINTR)
            return;
        for (size_t i = 0; i < 2; i++) {
            if (news[i].revents)
                lane_go(&lanes[i]);
        }
    }
}

/* The client reads HTTP, and tells its user what this says. */
static int refuse_all(int code, const struct error *err)
{
    bool is_none = code == -ENOENT || code == -ECONNREFUSED;
    AUTO(json)
    json_t *body =
        json_pack("{s:{s:s, s:s}}", "error", "code", "no_daemon", "message",
                  is_none ? "no daemon is running there; tarn up starts one" : err->text);
    AUTO_FREE char *bytes = json_dumps(body, JSON_COMPACT);

    printf("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
           "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
           strlen(bytes), bytes);
    fflush(stdout);
    return 1;
}

int run_proxy(const struct options *options)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    struct error err;
    int fd = -1;

    unsetenv("TARN_HOST"); /* it leads here */
    int code = session_open(&session, &err);
    if (code == 0 && options->values[START])
        code = session_start(&session, options->values[DEVICES], &err);
    if (code == 0)
        code = client_dial(session.client, &fd, &err);
    if (code < 0)
        return refuse_all(code, &err);
    copy(fd);
    close(fd);
    return 0;
}
