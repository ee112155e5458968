/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

/* control - the ports of the use cases in this room
 *
 * A use case checks a request against the state and emits events; it uses no HTTP and no JSON
 * views. It runs inside a change: the daemon runs changes in the order of arrival, each against
 * the state of that moment, and answers when the emitted events are durable. A what-if and a
 * rehearsal run the same use cases in a copy of the state.
 *
 * On failure: a use case that fails has emitted nothing; its code is a refusal
 */

#include <errno.h>

#include "base/error.h"
#include "base/identity.h"
#include "base/text.h"
#include "core/change.h"
#include "core/journal/event.h"
#include "core/state/state.h"

/* Why a request is refused. The values are those of errno, because codes of a parser, the store or
 * the system (-EINVAL, -ENOSPC, ...) are passed on unchanged; api/call.c has the one table from
 * codes to HTTP. */
enum refusal {
    REFUSED_BAD = -EINVAL,           /* the request is wrong in every state */
    REFUSED_UNKNOWN = -EKEYREJECTED, /* the requester is not known */
    REFUSED_FORBIDDEN = -EACCES,     /* the requester may not do it */
    REFUSED_NOT_FOUND = -ENOENT,     /* it names an object that does not exist */
    REFUSED_CONFLICT = -EALREADY,    /* the present state does not allow it */
    REFUSED_NEVER = -EDOM,           /* this cluster can never do it */
    REFUSED_TOO_MANY = -EDQUOT,      /* a limit is reached */
    REFUSED_METHOD = -ENOTSUP,       /* the path exists, but not with this method */
    REFUSED_STOPPING = -ESHUTDOWN,   /* the daemon is stopping */
    REFUSED_SHORTAGE = -EAGAIN,   /* as error_is_shortage(): the same request may succeed later */
    REFUSED_TIMEOUT = -ETIMEDOUT, /* the answer takes too long */
    REFUSED_DISK_FULL = -ENOSPC,  /* nothing can be made durable */
};

/* The state, and the functions that change it. */
struct control_world {
    void *user;
    /* Valid until the next turn of the loop: a failed commit replaces it. */
    struct state *(*state)(const void *user);
    /* Only inside run; sets `at`. Texts of the event may belong to the state that it changes. */
    void (*emit)(void *user, struct event *event);
    void (*enqueue)(void *user, struct change *change); /* NULL in a copy */
    /* Bytes of the records that were emitted so far; NULL: they are not stored. */
    uint64_t (*written)(const void *user);
};

struct control_clock {
    const void *user;
    usec_t (*now)(const void *user);        /* journal time */
    usec_t (*wall_ahead)(const void *user); /* offset to wall time */
    /* The offset that the times in the state are right for. NULL in a copy: the current one. */
    usec_t (*noted_ahead)(const void *user);
    void (*note_ahead)(void *noter, usec_t ahead); /* inside run */
    void *noter;
};

/* Blobs, stored once per content. NULL in a copy of the state: nothing is stored. */
struct control_blobs {
    void *user;
    uint64_t (*add)(void *user, const void *bytes, size_t length);
    int (*get)(void *user, uint64_t id, struct text *ret, struct error *err);
    uint64_t (*last)(void *user); /* the largest id; NULL: what users add is not limited */
};

/* The listener after a change; NULL: none. */
struct control_watchers {
    void *user;
    void (*tend_soon)(void *user); /* call tend() soon */
    void (*describe)(void *user);  /* device_types changed; inside run only */
};

struct control {
    struct control_world world;
    struct control_clock clock;
    struct control_blobs blobs;
    struct control_watchers watchers;
    bool is_whole_only;   /* the engine cannot share a device between jobs */
    bool has_parts;       /* it shares only devices with labels for it (core/engine.h) */
    bool has_fixed_gangs; /* the engine cannot add members to a running gang, or remove them */
    bool has_fixed_nodes; /* the cluster is this node: no other node can be added */
    bool lacks_mps;       /* no node starts MPS servers */
    bool lacks_warnings;  /* the engine sends no signal before a time limit */
    bool is_blind;        /* no node was ever reported yet: whether a job can run is not known */
    usec_t grace;         /* default grace period of a job */
    uid_t owner;          /* the user of the daemon */
};

static inline const struct state *control_state(const struct control *control)
{
    return control->world.state(control->world.user);
}

static inline usec_t control_now(const struct control *control)
{
    return control->clock.now(control->clock.user);
}

static inline usec_t control_wall_ahead(const struct control *control)
{
    return control->clock.wall_ahead(control->clock.user);
}

static inline usec_t control_wall(const struct control *control)
{
    return control_now(control) + control_wall_ahead(control);
}

static inline void control_emit(const struct control *control, struct event event)
{
    control->world.emit(control->world.user, &event);
}

static inline uint64_t control_written(const struct control *control)
{
    return control->world.written ? control->world.written(control->world.user) : 0;
}

static inline void control_enqueue(const struct control *control, struct change *change)
{
    control->world.enqueue(control->world.user, change);
}

static inline void control_tend_soon(const struct control *control)
{
    if (control->watchers.tend_soon)
        control->watchers.tend_soon(control->watchers.user);
}

/* The id of these bytes; 0 in a copy. */
static inline uint64_t control_blob_add(const struct control *control, const void *bytes,
                                        size_t length)
{
    return control->blobs.add ? control->blobs.add(control->blobs.user, bytes, length) : 0;
}

#endif
