/* SPDX-License-Identifier: Apache-2.0 */
#include "control/slurm_terms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/lookup.h"
#include "control/queue_policy.h"
#include "core/cluster/queue.h"
#include "core/job/role.h"
#include "wire/job/submission.h"

/* The QOS that each job of Slurm has without a word. */
static const char qos_default[] = "normal";

static int64_t find_queue(const struct state *state, const char *name)
{
    int64_t queue = state_find_queue(state, name);

    return queue == QUEUE_ROOT ? -1 : queue;
}

/* ---- partitions ---- */

static void set_partition(const struct state *state, const char *name, struct job_draft *draft)
{
    char *pool = draft->request.pool;

    memset(pool, 0, sizeof(draft->request.pool));
    if (!draft->queue && state_find_pool(state, name) < 0 && find_queue(state, name) > 0)
        draft->queue = mem_string(name);
    else
        snprintf(pool, sizeof(draft->request.pool), "%s", name);
}

/* What the submission checks later, on a copy. */
static int try_partition(const struct control *control, const struct identity *who,
                         const char *name, const struct job_draft *draft, struct error *err)
{
    const struct state *state = control_state(control);
    struct job_draft trial = *draft;
    uint32_t queue;

    set_partition(state, name, &trial);
    int code = admit_find_queue(state, trial.queue ? trial.queue : "default", &queue, err);
    if (code == 0 && draft->role_count == 0)
        code = queue_policy_settle(state, who, queue, &trial, err);
    if (code == 0 && !control->is_blind)
        code = admit_check(state, &trial.request, queue, trial.preemptible, err);
    if (trial.queue != draft->queue)
        free(trial.queue);
    return code;
}

static int check_partitions(const struct state *state, const char *list, struct error *err)
{
    AUTO_FREE char *copy = mem_string(list);
    char *rest = copy;

    while (rest) {
        const char *name = strsep(&rest, ",");
        if (state_find_pool(state, name) < 0 && find_queue(state, name) < 0)
            return error_set(err, REFUSED_NOT_FOUND,
                             "pool %s: no pool or queue is called '%s'; see tarn pools and tarn "
                             "queues",
                             list, name);
    }
    return 0;
}

static int settle_partitions(const struct control *control, const struct identity *who,
                             struct submission *submission, struct job_draft *draft,
                             struct error *err)
{
    AUTO_FREE char *copy = mem_string(draft->pools);
    struct error other;
    char *rest = copy;
    int first = 0;

    int code = check_partitions(control_state(control), draft->pools, err);
    while (code == 0 && rest) {
        const char *name = strsep(&rest, ",");
        int now = try_partition(control, who, name, draft, first == 0 ? err : &other);
        first = first == 0 ? now : first;
        if (now < 0)
            continue;
        AUTO_FREE char *words =
            mem_printf("pool %s: the job waits in %s, the first that can run it, and not in "
                       "several",
                       draft->pools, name);
        submission_note(submission, words);
        set_partition(control_state(control), name, draft);
        return 0;
    }
    return code < 0 ? code
                    : error_prefix(err, first, "pool %s: none can run it: the first", draft->pools);
}

/* ---- QOS ---- */

static bool is_below(const struct state *state, int64_t queue, const char *name)
{
    for (uint32_t at = (uint32_t)queue; at != QUEUE_NONE;
         at = queue_above(state->queues.items, at)) {
        if (strcmp(state->queues.items[at].name, name) == 0)
            return true;
    }
    return false;
}

static int settle_qos(const struct state *state, struct job_draft *draft, struct error *err)
{
    int64_t queue = draft->qos ? find_queue(state, draft->qos) : -1;

    if (!draft->qos || (queue < 0 && strcmp(draft->qos, qos_default) == 0))
        return 0;
    if (queue < 0)
        return error_set(
            err, REFUSED_NOT_FOUND,
            "qos %s: invalid qos specification: no queue is called so; expected %s, or "
            "one of tarn queues, whose limits and priority count",
            draft->qos, qos_default);
    if (draft->queue && !is_below(state, queue, draft->queue))
        return error_set(err, REFUSED_BAD,
                         "qos %s: a queue of its own, and not below queue %s; expected one of them",
                         draft->qos, draft->queue);
    free(draft->queue);
    draft->queue = mem_string(draft->qos);
    return 0;
}

/* ---- whole nodes ---- */

struct whole {
    int64_t cpu_milli, memory_mib;
    uint32_t devices; /* of the model */
};

/* The devices that an alternative could get of a node; without a request, its GPUs. */
static uint32_t devices_of(const struct state *state, uint32_t node, const struct gpu_ask *ask)
{
    uint32_t count = 0;

    LIST_EACH (const struct device, device, &state->devices) {
        bool is_gpu = !device->kind || !device->kind[0];
        bool is_wanted = ask->model[0]         ? strcmp(device->model, ask->model) == 0
                         : ask->accelerator[0] ? string_equal(device->kind, ask->accelerator)
                                               : is_gpu;
        count += device->node == node && !device->is_gone && is_wanted;
    }
    return count;
}

/* The one shape of the nodes that are large enough; *ret_count: of how many shapes. */
static struct whole find_whole(const struct state *state, const struct request *request,
                               unsigned *ret_count)
{
    struct whole found = { 0 };

    *ret_count = 0;
    for (uint32_t i = 0; i < state->nodes.count; i++) {
        const struct node *node = &state->nodes.items[i];
        const struct whole has = { node->cpu_milli, node->memory_mib,
                                   devices_of(state, i, &request->gpus[0]) };
        bool is_same = *ret_count > 0 && has.cpu_milli == found.cpu_milli &&
                       has.memory_mib == found.memory_mib && has.devices == found.devices;
        if (node->state == NODE_DOWN || is_same || has.cpu_milli < request->cpu_milli ||
            has.memory_mib < request->memory_mib ||
            (request->gpu_alternatives > 0 && has.devices < request->gpus[0].count))
            continue;
        found = has;
        ++*ret_count;
    }
    return found;
}

static int fail_whole(const struct job_draft *draft, struct error *err, const char *words)
{
    return error_set(err, REFUSED_NEVER, "%s: %s",
                     draft->exclusive ? "exclusive" : "memory all of a node", words);
}

static void take_devices(struct request *request, uint32_t count)
{
    for (uint32_t i = 0; i < request->gpu_alternatives; i++)
        request->gpus[i].count = (uint16_t)count;
    if (request->gpu_alternatives > 0 || count == 0)
        return;
    request->gpus[0] = (struct gpu_ask){ .kind = SHARE_WHOLE, .count = (uint16_t)count };
    request->gpu_alternatives = 1;
}

static int settle_whole(const struct state *state, struct job_draft *draft, struct error *err)
{
    struct request *request = &draft->request;
    unsigned count;

    if (!draft->exclusive && !draft->all_memory)
        return 0;
    if (request->members > 1 || request->members_max > 0 || draft->role_count > 0)
        return fail_whole(draft, err, "for a gang; expected gpus, cpus and memory of each member");
    if (request->gpu_alternatives > 1 ||
        (request->gpu_alternatives > 0 && request->gpus[0].kind != SHARE_WHOLE))
        return fail_whole(draft, err, "expected a number of whole GPUs of one model, or none");
    const struct whole whole = find_whole(state, request, &count);
    if (count != 1)
        return fail_whole(draft, err,
                          state->nodes.count == 0 ? "no node is known yet; expected it later"
                          : count == 0            ? "no node has what the job requests beside it"
                                       : "the nodes that can run the job are of different sizes; "
                                         "expected the gpus, cpus and memory of the wanted node");
    if (draft->exclusive) {
        request->cpu_milli = whole.cpu_milli;
        request->cpu_given = true;
        take_devices(request, whole.devices);
    }
    if (draft->all_memory) {
        request->memory_mib = whole.memory_mib;
        request->memory_given = whole.memory_mib > 0;
    }
    return 0;
}

int slurm_terms_settle(const struct control *control, const struct identity *who,
                       struct submission *submission, struct job_draft *draft, struct error *err)
{
    const struct state *state = control_state(control);
    int code = settle_qos(state, draft, err);

    if (code == 0)
        code = settle_whole(state, draft, err);
    if (code < 0)
        return code;
    if (draft->pools)
        return settle_partitions(control, who, submission, draft, err);
    if (draft->request.pool[0]) {
        AUTO_FREE char *pool = mem_string(draft->request.pool);
        set_partition(state, pool, draft);
    }
    return 0;
}
