/* SPDX-License-Identifier: Apache-2.0 */
/* tarn --rehearse: what the daemon starts to have the last days of its journal played once more. */
#include "forecast/rehearse.h"

#include <errno.h>

#include "control/config/apply.h"
#include "daemon/daemon.h"
#include "daemon/forward_control.h"
#include "daemon/study/study.h"

struct configs {
    const json_t *old, *new;
    usec_t wall_ahead;
};

static int configure(void *user, struct forward *forward, bool is_change, struct error *err)
{
    const struct configs *configs = user;
    struct forward_control in;

    forward_control_init(&in, forward, configs->wall_ahead);
    int code = apply_impose(&in.control, is_change ? configs->new : configs->old, err);
    return forward_control_end(&in, code, err);
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
