/* SPDX-License-Identifier: Apache-2.0 */
/* tarn --rehearse: what the daemon starts to have the last days of its journal played once more. */
#include "forecast/rehearse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "daemon/daemon.h"
#include "daemon/study/study.h"
#include "io/file.h"
#include "wire/json.h"

struct configs {
    const json_t *old, *new;
    usec_t wall_ahead;
};

/* The door's ports, as far as a configuration needs them. */
struct inside {
    struct forward *forward;
    usec_t wall_ahead;
    struct error err;
    int code;
};

static const struct state *inside_state(void *user)
{
    return ((struct inside *)user)->forward->state;
}

static usec_t inside_now(void *user)
{
    return ((struct inside *)user)->forward->now;
}

static usec_t inside_wall_ahead(void *user)
{
    return ((struct inside *)user)->wall_ahead;
}

static void inside_emit(void *user, struct event *event)
{
    struct inside *inside = user;

    if (inside->code == 0)
        inside->code = forward_tell(inside->forward, event, &inside->err);
}

static int configure(void *user, struct forward *forward, bool is_change, struct error *err)
{
    const struct configs *configs = user;
    struct inside inside = { .forward = forward, .wall_ahead = configs->wall_ahead };
    const struct api_ports ports = { .user = &inside,
                                     .state = inside_state,
                                     .now = inside_now,
                                     .wall_ahead = inside_wall_ahead,
                                     .emit = inside_emit };

    int code = api_impose(&ports, is_change ? configs->new : configs->old, err);
    if (code == 0 && inside.code < 0)
        return error_set(err, inside.code, "%s", inside.err.text);
    return code;
}

static int answer(const json_t *question, json_t **ret, struct error *err)
{
    struct configs configs = { json_object_get(question, "old"), json_object_get(question, "new"),
                               json_integer_value(json_object_get(question, "wall_ahead")) };
    struct rehearsal rehearsal = {
        .dir = json_string_value(json_object_get(question, "dir")),
        .read_journal = daemon_read_records,
        .now = json_integer_value(json_object_get(question, "now")),
        .last = json_integer_value(json_object_get(question, "last")),
        .wall_ahead = json_integer_value(json_object_get(question, "wall_ahead")),
        .processor = json_integer_value(json_object_get(question, "processor")),
        .shown = (uint32_t)json_integer_value(json_object_get(question, "shown")),
        .user = json_string_value(json_object_get(question, "hides_from")),
        .config = &configs,
        .configure = configure,
    };

    if (!rehearsal.dir || !configs.old || !configs.new)
        return error_set(err, -EINVAL, "question: it lacks dir, old or new");
    return rehearse(&rehearsal, ret, err);
}

int run_rehearsal(void)
{
    return study_answer(answer);
}
