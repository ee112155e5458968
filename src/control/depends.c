/* SPDX-License-Identifier: Apache-2.0 */
#include "control/depends.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "control/lookup.h"
#include "control/phrases.h"
#include "core/state/state.h"
#include "wire/job/submission.h"

/* The array whose tasks are meant. */
static int find_array(const struct state *state, const struct draft_depend *depend,
                      const struct group **ret, struct error *err)
{
    *ret = state_group(state, depend->on);
    if (*ret && (*ret)->kind == GROUP_ARRAY)
        return 0;
    return error_set(err, REFUSED_NOT_FOUND,
                     "depends: job %" PRIu64 ": no array, so it has no tasks", depend->on);
}

static int no_task(uint64_t array, uint32_t index, struct error *err)
{
    return error_set(err, REFUSED_NOT_FOUND, "depends: job %" PRIu64 ": it has no task %" PRIu32,
                     array, index);
}

static int settle_task(const struct state *state, struct draft_depend *depend, struct error *err)
{
    const struct group *array;

    int code = find_array(state, depend, &array, err);
    if (code < 0)
        return code;
    const struct job *task = find_task(state, array, depend->task);
    if (!task)
        return no_task(depend->on, depend->task, err);
    depend->on = task->id;
    return 0;
}

/* The tasks of an array have ascending numbers and indices, so both arrays are walked once. */
static int settle_own_tasks(const struct state *state, const struct job_draft *draft,
                            struct draft_depend *depend, struct error *err)
{
    const struct group *array;

    if (draft->array_count == 0)
        return error_set(err, REFUSED_BAD, "depends: task: own: expected a job with an array");
    int code = find_array(state, depend, &array, err);
    if (code < 0)
        return code;
    depend->tasks = mem_zero(draft->array_count, sizeof(depend->tasks[0]));
    uint64_t id = array->id + 1;
    for (uint32_t i = 0; i < draft->array_count; i++) {
        const uint32_t index = draft->array_indices[i];
        const struct job *job = state_job(state, id);
        while (id <= array->last && (!job || job->group != array->id || job->index < index))
            job = state_job(state, ++id);
        if (id > array->last || job->index != index)
            return no_task(depend->on, index, err);
        depend->tasks[i] = id;
    }
    return 0;
}

static int settle_one(const struct state *state, const struct job_draft *draft,
                      struct draft_depend *depend, struct error *err)
{
    if (depend->of == DEPEND_TASK)
        return settle_task(state, depend, err);
    if (depend->of == DEPEND_OWN_TASK)
        return settle_own_tasks(state, draft, depend, err);
    return 0;
}

static int check_one(const struct state *state, const struct draft_depend *depend,
                     struct error *err)
{
    if (!state_job(state, depend->on) && !state_group(state, depend->on))
        return error_set(err, REFUSED_NOT_FOUND, "depends: job %" PRIu64 ": no such job",
                         depend->on);
    if (!depend->tasks && state_need_answer(state, depend->on, depend->when) == NEED_BROKEN)
        return error_set(err, REFUSED_NEVER,
                         "depends: %" PRIu64
                         " has ended, and will not be '%s' any more: this could never run",
                         depend->on, need_kind_name(depend->when));
    return 0;
}

static int add_singleton(const struct state *state, const struct identity *who,
                         struct job_draft *draft, struct error *err)
{
    const uint32_t user = user_find(state, who->name);
    uint32_t left = user < state->unfinished.count ? state->unfinished.items[user] : 0;

    if (draft->array_count > 0 || draft->combination)
        return error_set(err, REFUSED_BAD,
                         "singleton: not with an array or a matrix; expected array: 0-9%%1, whose "
                         "tasks run one after the other");
    for (const struct job *job = state->first_job; job && left > 0; job = job->next) {
        if (job->state == JOB_ENDED || job->user != user)
            continue;
        left--;
        if (strcmp(job->name, draft->name) != 0)
            continue;
        if (draft->depend_count >= SUBMISSION_DEPENDS_MAX)
            return error_set(err, REFUSED_TOO_MANY,
                             "singleton: more than %d jobs called '%.60s' have not ended",
                             SUBMISSION_DEPENDS_MAX, draft->name);
        draft->depends =
            mem_resize(draft->depends, draft->depend_count + 1, sizeof(draft->depends[0]));
        draft->depends[draft->depend_count++] =
            (struct draft_depend){ .on = job->id, .when = NEED_ENDED };
    }
    return 0;
}

int depends_settle(const struct control *control, const struct identity *who,
                   struct job_draft *draft, struct error *err)
{
    const struct state *state = control_state(control);
    int code = 0;

    for (size_t i = 0; i < draft->depend_count && code == 0; i++) {
        code = settle_one(state, draft, &draft->depends[i], err);
        if (code == 0)
            code = check_one(state, &draft->depends[i], err);
    }
    return code == 0 && draft->singleton ? add_singleton(state, who, draft, err) : code;
}

uint64_t depends_on(const struct job_draft *draft, size_t number, uint32_t place)
{
    const struct draft_depend *depend = &draft->depends[number];

    return depend->tasks ? depend->tasks[place] : depend->on;
}
