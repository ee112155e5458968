/* SPDX-License-Identifier: Apache-2.0 */
#include "control/admission.h"

#include <stdlib.h>

#include "base/mem.h"
#include "control/control.h"
#include "control/phrases.h"
#include "sched/sched.h"

int admit_find_queue(const struct state *state, const char *name, uint32_t *ret, struct error *err)
{
    int64_t queue = state_find_queue(state, name);

    if (queue == QUEUE_ROOT)
        queue = -1;
    if (queue < 0) {
        const char **names = mem_zero(state->queues.count + 1, sizeof(char *));
        size_t count = 0;
        for (size_t i = QUEUE_DEFAULT; i < state->queues.count; i++) {
            if (!state->queues.items[i].is_removed)
                names[count++] = state->queues.items[i].name;
        }
        const char *nearest = string_nearest(name, names);
        int code = error_set(err, REFUSED_NOT_FOUND, "queue %s: no such queue%s%s%s", name,
                             nearest ? "; did you mean '" : "", nearest ? nearest : "",
                             nearest ? "'?" : "");
        free(names);
        return code;
    }
    if (state->queues.items[queue].child_count > 0)
        return error_set(err, REFUSED_BAD, "queue %s: has queues below it; name one of them", name);
    *ret = (uint32_t)queue;
    return 0;
}

int admit_check(const struct state *state, const struct request *request, uint32_t queue,
                bool is_preemptible, struct error *err)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct why why;

    sched_admit(state, request, queue, is_preemptible, &why);
    if (!why_is_never(why.kind))
        return 0;
    never_say(state, request, &why, &text);
    return error_set(err, REFUSED_NEVER, "%s", text_string(&text));
}
