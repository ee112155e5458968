/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bridge/bridge.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_HEAD = 9 }; /* errno, wait status, whether the input comes along */

void bridge_init(struct bridge *bridge, int stream, int door)
{
    *bridge = (struct bridge){ .stream = stream, .door = door };
    for (size_t i = 0; i < FRAME_FLOWS; i++)
        bridge->from[i] = bridge->to[i] = -1;
    fcntl(stream, F_SETFL, fcntl(stream, F_GETFL) | O_NONBLOCK);
}

void bridge_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- what is sent ---- */

void bridge_send(struct bridge *bridge, enum frame_kind kind, const void *bytes, size_t length)
{
    const unsigned char head[FRAME_HEAD] = { (unsigned char)kind, (unsigned char)(length >> 16),
                                             (unsigned char)(length >> 8), (unsigned char)length };

    assert(length <= FRAME_MAX);
    if (bridge->is_mute)
        return;
    text_add_bytes(&bridge->sent, head, sizeof(head));
    text_add_bytes(&bridge->sent, bytes, length);
}

void bridge_end(struct bridge *bridge)
{
    bridge_send(bridge, FRAME_END, "", 0);
    bridge->is_leaving = true;
}

static void put_number(unsigned char *at, int number)
{
    uint32_t value = (uint32_t)number;

    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

static int get_number(const unsigned char *at)
{
    return (int)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
}

void bridge_send_answer(struct bridge *bridge, const struct door_answer *answer, bool has_input)
{
    unsigned char bytes[ANSWER_HEAD + sizeof(answer->text)];
    size_t length = strnlen(answer->text, sizeof(answer->text));

    put_number(bytes, answer->failure);
    put_number(bytes + 4, answer->wait_status);
    bytes[8] = has_input;
    memcpy(bytes + ANSWER_HEAD, answer->text, length);
    bridge_send(bridge, FRAME_ANSWER, bytes, ANSWER_HEAD + length);
}

bool bridge_read_answer(const unsigned char *bytes, size_t length, struct door_answer *ret,
                        bool *ret_has_input)
{
    *ret = (struct door_answer){ 0 };
    if (length < ANSWER_HEAD || length - ANSWER_HEAD >= sizeof(ret->text))
        return false;
    ret->failure = get_number(bytes);
    ret->wait_status = get_number(bytes + 4);
    *ret_has_input = bytes[8] != 0;
    memcpy(ret->text, bytes + ANSWER_HEAD, length - ANSWER_HEAD);
    return true;
}

static bool is_sending(const struct bridge *bridge)
{
    return bridge->sent.length > 0;
}

static bool is_later(void)
{
    return errno == EAGAIN || errno == EINTR;
}

/* What the other side has sent is read to its end, although it does not listen any more. */
static void send_some(struct bridge *bridge)
{
    ssize_t length = write(bridge->stream, bridge->sent.bytes + bridge->sent_done,
                           bridge->sent.length - bridge->sent_done);

    if (length < 0 && is_later())
        return;
    bridge->is_mute = length < 0;
    bridge->sent_done += length > 0 ? (size_t)length : 0;
    if (bridge->is_mute || bridge->sent_done == bridge->sent.length) {
        bridge->sent_done = 0;
        text_clear(&bridge->sent);
    }
}

static void read_flow(struct bridge *bridge, enum frame_kind kind)
{
    char bytes[BRIDGE_CHUNK];

    ssize_t length = read(bridge->from[kind], bytes, sizeof(bytes));
    if (length < 0 && is_later())
        return;
    if (length <= 0)
        bridge_close(&bridge->from[kind]);
    bridge_send(bridge, kind, bytes, length > 0 ? (size_t)length : 0);
}

/* ---- what comes ---- */

static size_t frame_length(const struct bridge *bridge)
{
    const unsigned char *head = bridge->taken;

    return (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
}

static bool has_frame(const struct bridge *bridge)
{
    return bridge->taken_length >= FRAME_HEAD &&
           bridge->taken_length == FRAME_HEAD + frame_length(bridge);
}

/* Who writes to it has to know. */
static void lose_reader(struct bridge *bridge, enum frame_kind kind)
{
    bridge_close(&bridge->to[kind]);
    bridge_send(bridge, kind, "", 0);
}

/* False: its reader takes the rest later. */
static bool deliver_flow(struct bridge *bridge, enum frame_kind kind)
{
    const unsigned char *bytes = bridge->taken + FRAME_HEAD + bridge->taken_done;
    size_t length = frame_length(bridge) - bridge->taken_done;

    if (length == 0) {
        bridge_close(&bridge->to[kind]);
        bridge_close(&bridge->from[kind]);
    }
    if (bridge->to[kind] < 0)
        return true;
    ssize_t done = write(bridge->to[kind], bytes, length);
    if (done < 0 && is_later())
        return false;
    if (done < 0)
        lose_reader(bridge, kind);
    bridge->taken_done += done > 0 ? (size_t)done : 0;
    return done < 0 || (size_t)done == length;
}

/* False: it is no frame that may come here. */
static bool deliver(struct bridge *bridge)
{
    enum frame_kind kind = (enum frame_kind)bridge->taken[0];

    if (kind < FRAME_FLOWS && !deliver_flow(bridge, kind))
        return true;
    size_t length = frame_length(bridge);
    bridge->taken_length = bridge->taken_done = 0;
    return kind < FRAME_FLOWS || bridge->on_frame(bridge, kind, bridge->taken + FRAME_HEAD, length);
}

/* False: the stream is over. */
static bool take_some(struct bridge *bridge)
{
    size_t wanted = FRAME_HEAD;

    if (bridge->taken_length >= FRAME_HEAD)
        wanted += frame_length(bridge);
    ssize_t length =
        read(bridge->stream, bridge->taken + bridge->taken_length, wanted - bridge->taken_length);
    if (length <= 0)
        return length < 0 && is_later();
    bridge->taken_length += (size_t)length;
    if (bridge->taken_length >= FRAME_HEAD && frame_length(bridge) > FRAME_MAX)
        return false;
    return !has_frame(bridge) || deliver(bridge);
}

/* ---- the loop ---- */

enum {
    POLL_STREAM,
    POLL_DOOR,
    POLL_FROM,
    POLL_TO = POLL_FROM + FRAME_FLOWS,
    POLLS = POLL_TO + FRAME_FLOWS
};

static bool has_room(const struct bridge *bridge)
{
    return bridge->sent.length == 0 && !bridge->is_leaving;
}

static void fill_polls(const struct bridge *bridge, struct pollfd polls[POLLS])
{
    bool is_full = has_frame(bridge), reads = has_room(bridge);

    bool is_deaf = is_full && !is_sending(bridge) && !bridge->is_hasty;

    polls[POLL_STREAM] = (struct pollfd){
        .fd = is_deaf ? -1 : bridge->stream,
        .events = (short)((is_full ? POLLRDHUP : POLLIN) | (is_sending(bridge) ? POLLOUT : 0)),
    };
    polls[POLL_DOOR] = (struct pollfd){ .fd = reads ? bridge->door : -1, .events = POLLIN };
    for (size_t i = 0; i < FRAME_FLOWS; i++) {
        bool is_waited_for = is_full && bridge->taken[0] == i;

        polls[POLL_FROM + i] =
            (struct pollfd){ .fd = reads ? bridge->from[i] : -1, .events = POLLIN };
        polls[POLL_TO + i] =
            (struct pollfd){ .fd = bridge->to[i], .events = is_waited_for ? POLLOUT : 0 };
    }
}

/* The door first: a new size of the terminal comes before the keys that were typed after it. */
static void read_sources(struct bridge *bridge, const struct pollfd polls[POLLS])
{
    bool is_quiet = polls[POLL_DOOR].revents == 0;

    if (!is_quiet && bridge->door >= 0)
        bridge->on_door(bridge);
    for (size_t i = 0; i < FRAME_FLOWS && !bridge->is_leaving; i++) {
        if (polls[POLL_FROM + i].revents == 0 || bridge->from[i] != polls[POLL_FROM + i].fd)
            continue;
        read_flow(bridge, (enum frame_kind)i);
        is_quiet = false;
    }
    if (bridge->is_draining && is_quiet)
        bridge->on_quiet(bridge);
}

/* False: the stream is over. A reader that has gone is noticed although nothing is written. */
static bool serve(struct bridge *bridge, const struct pollfd polls[POLLS])
{
    short news = polls[POLL_STREAM].revents;
    bool is_full = has_frame(bridge);

    for (size_t i = 0; i < FRAME_FLOWS; i++) {
        if ((polls[POLL_TO + i].revents & (POLLERR | POLLNVAL)) != 0 && bridge->to[i] >= 0)
            lose_reader(bridge, (enum frame_kind)i);
    }
    if (news & POLLOUT)
        send_some(bridge);
    if (is_full ? !deliver(bridge) : (news & ~POLLOUT) && !take_some(bridge))
        return false;
    bool is_over = bridge->is_hasty && (news & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    return !is_full || !has_frame(bridge) || !is_over;
}

void bridge_run(struct bridge *bridge)
{
    struct pollfd polls[POLLS];

    while (!bridge->is_leaving || is_sending(bridge)) {
        bool reads = has_room(bridge);

        fill_polls(bridge, polls);
        if (poll(polls, POLLS, reads && bridge->is_draining ? 0 : -1) < 0) {
            if (errno == EINTR)
                continue;
            break;
        }
        if (!serve(bridge, polls))
            break;
        if (reads && has_room(bridge))
            read_sources(bridge, polls);
        if (bridge->is_feeding && bridge->on_fed && bridge->to[FRAME_INPUT] < 0 &&
            !bridge->is_leaving)
            bridge->on_fed(bridge);
    }
    text_release(&bridge->sent);
}
