/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BRIDGE_BRIDGE_H
#define CLI_BRIDGE_BRIDGE_H

/* bridge - a connection to a job's supervisor, over a stream of bytes
 *
 * A client beside the job passes its pipes to the supervisor (shim/shim_order.h, "door"). A client
 * on another machine cannot, so two processes stand between: bridge_far passes pipes of its own to
 * the supervisor; bridge_near gets those of the client, as the supervisor would; and frames carry
 * what is written to them. Each end reads only while the other one takes what it has read.
 *
 * Limits:  FRAME_MAX bytes of one frame
 * Spec:    doc/spec/06-shim.md, "The bridge"
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "shim/shim_order.h"

enum frame_kind {
    FRAME_INPUT, /* to the command; no bytes: its end, or its reader is gone */
    FRAME_OUTPUT,
    FRAME_ERRORS,
    FRAME_FLOWS,
    FRAME_REQUEST = FRAME_FLOWS, /* size of the terminal, then a request as of the door */
    FRAME_SIZE,
    FRAME_ANSWER, /* struct door_answer, portable */
    FRAME_END,    /* nothing follows: the connection was not cut */
    FRAME_KINDS,
};

enum {
    FRAME_HEAD = 4, /* kind; length in three bytes, the highest one first */
    FRAME_SIZE_BYTES = 4,
    FRAME_MAX = FRAME_SIZE_BYTES + DOOR_BYTES_MAX,
    BRIDGE_CHUNK = 16384,
};

struct bridge {
    int stream, door; /* -1: closed */
    int from[FRAME_FLOWS], to[FRAME_FLOWS];
    bool is_feeding;  /* the supervisor has given us the job's input: only that is passed on */
    bool is_mute;     /* the other side takes nothing more */
    bool is_hasty;    /* it does not wait for a reader when the stream is over */
    bool is_leaving;  /* the loop ends when what is to be sent was sent */
    bool is_draining; /* on_quiet comes as soon as no flow has anything to read */
    void (*on_quiet)(struct bridge *bridge);
    void (*on_fed)(struct bridge *bridge);  /* the input is complete, or not read; NULL: none */
    void (*on_door)(struct bridge *bridge); /* the door has something to read, or is closed */
    bool (*on_frame)(struct bridge *bridge, enum frame_kind kind, const unsigned char *bytes,
                     size_t length); /* other than of flows; false: it is none that may come */
    struct text sent;
    size_t sent_done;
    unsigned char taken[FRAME_HEAD + FRAME_MAX];
    size_t taken_length, taken_done;
};

void bridge_init(struct bridge *bridge, int stream, int door);
/* Until the stream or the bridge is over. */
void bridge_run(struct bridge *bridge);
void bridge_send(struct bridge *bridge, enum frame_kind kind, const void *bytes, size_t length);
/* How a command or an attachment went; may come with the job's input. */
void bridge_send_answer(struct bridge *bridge, const struct door_answer *answer, bool has_input);
bool bridge_read_answer(const unsigned char *bytes, size_t length, struct door_answer *ret,
                        bool *ret_has_input);
/* Send FRAME_END, and leave. */
void bridge_end(struct bridge *bridge);
void bridge_close(int *fd);

#endif
