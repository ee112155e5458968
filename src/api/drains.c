/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/nodes/NAME/drain, /undrain; POST /v1/gpus/NAME/drain, /undrain */
#include <stdio.h>
#include <string.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "control/drain.h"
#include "control/lookup.h"
#include "wire/reader.h"

struct draining {
    struct deferred deferred;
    char reason[DRAIN_REASON_SIZE];
    bool is_gpu, is_over;
};

static int run_draining(struct deferred *deferred, struct error *err)
{
    const struct draining *asked = CONTAINER_OF(deferred, struct draining, deferred);
    const struct control *control = api_control(deferred->api);
    const char *reason = asked->is_over ? NULL : asked->reason;

    return asked->is_gpu ? drain_device(control, deferred->name, reason, err)
                         : drain_node(control, deferred->name, reason, err);
}

static bool is_there(const struct lease *lease, bool is_gpu, uint32_t number)
{
    for (uint32_t i = 0; is_gpu && i < lease->slices_count; i++) {
        if (lease->slices[i].device == number)
            return true;
    }
    for (uint32_t i = 0; !is_gpu && i < lease->members_count; i++) {
        if (lease->members[i].node == number)
            return true;
    }
    return false;
}

/* Running jobs on that node or device. */
static int count_jobs(const struct state *state, bool is_gpu, uint32_t number)
{
    int count = 0;

    for (const struct job *job = state->first_active; job; job = job->run->active_next)
        count += is_there(job->run->lease, is_gpu, number);
    return count;
}

static json_t *answer_draining(struct deferred *deferred)
{
    const struct draining *asked = CONTAINER_OF(deferred, struct draining, deferred);
    const struct state *state = api_state(deferred->api);
    uint32_t number = (uint32_t)state_find_node(state, deferred->name);

    if (asked->is_gpu)
        device_find(state, deferred->name, &number, NULL);
    return json_pack("{s:s, s:b, s:o, s:i}", asked->is_gpu ? "gpu" : "node", deferred->name,
                     "drained", !asked->is_over, "reason",
                     asked->is_over ? json_null() : json_string(asked->reason), "jobs",
                     count_jobs(state, asked->is_gpu, number));
}

/* {"reason": "fan replaced on Monday"}; default: "by NAME" */
static int read_reason(struct call *call, struct draining *asked)
{
    static const char *const keys[] = { "reason", NULL };
    struct reader reader = { .where = "drain", .err = &call->err };
    const char *reason = NULL;

    int code = call->request->body.length > 0 ? read_body(call) : 0;
    if (code == 0 && call->body)
        code = reader_check_keys(&reader, call->body, keys);
    if (code == 0)
        code = reader_line(&reader, call->body, "reason", DRAIN_REASON_SIZE - 1, &reason);
    if (code == 0 && reason && !reason[0])
        code = error_set(&call->err, REFUSED_BAD, "drain: reason: expected one line");
    if (code == 0 && reason)
        snprintf(asked->reason, sizeof(asked->reason), "%s", reason);
    else if (code == 0)
        snprintf(asked->reason, sizeof(asked->reason), "by %s", call->request->who->name);
    return code;
}

json_t *handle_drain(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_draining, .answer = answer_draining };
    const char *verb = strrchr(call->request->path, '/') + 1;

    struct draining *asked = deferred_create(call, sizeof(*asked), &ops);
    asked->is_gpu = string_starts(call->request->path, "/v1/gpus/");
    asked->is_over = strcmp(verb, "undrain") == 0;
    return deferred_begin(call, &asked->deferred, read_reason(call, asked));
}
