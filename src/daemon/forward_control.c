/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/forward_control.h"

static struct state *state_of(const void *user)
{
    return ((const struct forward_control *)user)->forward->state;
}

static usec_t now(const void *user)
{
    return ((const struct forward_control *)user)->forward->now;
}

static usec_t wall_ahead(const void *user)
{
    return ((const struct forward_control *)user)->wall_ahead;
}

static void emit(void *user, struct event *event)
{
    struct forward_control *in = user;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct arena arena = { 0 };
    struct event settled;

    if (in->code < 0)
        return;
    event_settle(event, &bytes, &arena, &settled); /* its texts may be the state's */
    in->code = forward_tell(in->forward, &settled, &in->err);
    arena_release(&arena);
}

void forward_control_init(struct forward_control *in, struct forward *forward, usec_t ahead)
{
    *in = (struct forward_control){
        .control = { .world = { .user = in, .state = state_of, .emit = emit },
                     .clock = { .user = in, .now = now, .wall_ahead = wall_ahead } },
        .forward = forward,
        .wall_ahead = ahead,
    };
}

int forward_control_end(const struct forward_control *in, int code, struct error *err)
{
    if (code == 0 && in->code < 0)
        return error_set(err, in->code, "%s", in->err.text);
    return code;
}
