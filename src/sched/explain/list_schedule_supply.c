/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/own_speed.h"
#include "core/state/job_speed.h"
#include "sched/explain/list_schedule.h"
#include "sched/ordering/quota_check.h"

void estimator_forget(struct estimator *estimator)
{
    for (size_t i = 0; i < SCHEDULE_MODES; i++) {
        if (estimator->is_known[i])
            map_release(&estimator->starts[i]); /* megabytes, where many jobs wait */
        estimator->is_known[i] = false;
    }
    estimator->asked = 0;
}

void estimator_release(struct estimator *estimator)
{
    for (size_t i = 0; i < estimator->lines.count; i++)
        list_release(&estimator->lines.items[i].heap);
    list_release(&estimator->lines);
    list_release(&estimator->needs);
    list_release(&estimator->releases);
    list_release(&estimator->lane_of_kind);
    list_release(&estimator->offers);
    list_release(&estimator->extra_share);
    list_release(&estimator->extra_milli);
    list_release(&estimator->usage);
    profile_release(&estimator->profile);
    for (size_t i = 0; i < SCHEDULE_MODES; i++)
        map_release(&estimator->starts[i]);
}

static void add_lease(const struct estimator *estimator, const struct layout *layout,
                      const struct lease *lease, int64_t sign, int64_t *amounts)
{
    assert(sign != 0);
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        uint32_t slot = layout->slot_of_device.items[lease->slices[i].device];
        uint8_t lane = estimator->lane_of_kind.items[layout->slots.items[slot].kind];
        if (lane != NO_LANE)
            amounts[lane] += sign * (int64_t)lease->slices[i].milli;
    }
    amounts[LANE_CPU] += sign * lease_cpus(lease);
    amounts[LANE_MEMORY] += sign * lease_memory(lease);
}

void estimator_lease(struct estimator *estimator, const struct layout *layout,
                     const struct lease *lease, int sign)
{
    if (estimator->layout == layout->version && estimator->layout != 0)
        add_lease(estimator, layout, lease, sign, estimator->held);
}

/* Kinds in lanes; beyond PROFILE_GPU_LANES kinds the last lane has several. */
void schedule_refresh(struct brain *brain)
{
    struct estimator *estimator = &brain->estimator;
    const struct layout *layout = &brain->layout;
    uint8_t next = 0;

    if (estimator->layout == layout->version)
        return;
    estimator->layout = layout->version;
    estimator->lane_of_kind.count = 0;
    memset(estimator->capacity, 0, sizeof(estimator->capacity));
    memset(estimator->held, 0, sizeof(estimator->held));
    LIST_EACH (const struct layout_kind, kind, &layout->kinds) {
        const struct device *device = &brain->state->devices.items[kind->device];
        uint8_t lane = NO_LANE;
        if (kind->slots > 0 && device_is_usable(brain->state, device)) {
            lane = next;
            if (next < PROFILE_GPU_LANES - 1)
                next++;
            estimator->capacity[lane] += (int64_t)kind->slots * GPU_MILLI;
        }
        list_add(&estimator->lane_of_kind, lane);
    }
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at))
        add_lease(estimator, layout, at.job->run->lease, 1, estimator->held);
}

const struct request *schedule_request(const struct schedule *walk, const struct job *job)
{
    bool is_own = !walk->request || job != walk->wanted;

    return is_own ? state_request(walk->brain->state, job) : walk->request;
}

/* As its user estimates it: half of it to its limit, or twice of it. */
static usec_t run_as_estimated(const struct schedule *walk, usec_t known, usec_t elapsed,
                               usec_t limit)
{
    usec_t run = known;

    if (walk->mode == SCHEDULE_SOON)
        run = known / 2 > elapsed ? known / 2 : elapsed;
    else if (walk->mode == SCHEDULE_LATE)
        run = limit != USEC_NEVER ? limit : usec_after(known, known);
    return run < limit ? run : limit;
}

/* Where little is known, a job may end so early: as the 10 % quantile of run_time.h. */
enum { SOON_OF_LIMIT = 1024, SOON_OF_RUN = 16 };

/* On the devices that it has, or the mean of those that it may have. */
static uint32_t speed_of(const struct schedule *walk, const struct job *job)
{
    const struct request *request = schedule_request(walk, job);
    const struct state *state = walk->brain->state;

    return request->speeds_count == 0 ? 1000
           : job_is_active(job)       ? job_speed_on(state, request, job->run->lease)
                                      : job_speeds_of(state, request).mean;
}

/* Run time from its start on; elapsed: of that. USEC_NEVER: not known. */
usec_t schedule_run_of(const struct schedule *walk, const struct job *job, usec_t elapsed)
{
    static const uint32_t percents[SCHEDULE_MODES] = { 50, 100, 10, 90 };
    const struct state *state = walk->brain->state;
    usec_t limit = job->max_duration;
    struct history_job described;
    struct history_guess guess;

    walk->estimator->is_thin = false;
    if (walk->mode == SCHEDULE_LIMITS)
        return limit;
    usec_t known = job->estimate > 0 ? job->estimate - job->run->attained : 0;
    known += job->run->attained > 0 ? job->restart_cost : 0;
    if (job->estimate > 0 && known > 0)
        known = own_speed_run(known, speed_of(walk, job));
    if (known > elapsed)
        return run_as_estimated(walk, known, elapsed, limit);
    if (!state->settings.predict)
        return limit;
    job_describe(job, schedule_request(walk, job), &described);
    bool is_thin =
        walk->estimator->is_asked && history_comparable(&state->history, &described) < HISTORY_FEW;
    walk->estimator->is_thin = is_thin;
    history_guess(&state->history, &described, &guess);
    bool is_soon = is_thin && walk->mode == SCHEDULE_SOON;
    if (!guess.is_known || (is_thin && walk->mode == SCHEDULE_LATE))
        return is_soon && limit != USEC_NEVER ? limit / SOON_OF_LIMIT : limit;
    usec_t run = history_quantile(&state->history, &described, job->run->attained + elapsed,
                                  percents[walk->mode]);
    if (run == USEC_NEVER || run - job->run->attained > limit)
        return limit;
    run -= job->run->attained;
    return is_soon ? run / SOON_OF_RUN : run;
}

void schedule_weigh(const struct schedule *walk, int64_t milli, usec_t run, bool is_thin)
{
    enum { MINUTES_MAX = 10000, MILLI_MAX = 10000 * GPU_MILLI };
    int64_t minutes = run / USEC_PER_MIN < MINUTES_MAX ? run / USEC_PER_MIN : MINUTES_MAX;
    int64_t work = ((milli < MILLI_MAX ? milli : MILLI_MAX) + 1) * (minutes + 1);

    if (walk->mode != SCHEDULE_EXPECTED)
        return;
    walk->estimator->weighed += work;
    walk->estimator->thin += is_thin ? work : 0;
}

static usec_t end_of(const struct schedule *walk, const struct job *job)
{
    usec_t now = schedule_now(walk);
    usec_t start = job->run->started >= job->run->granted ? job->run->started : job->run->granted;

    walk->estimator->is_thin = false;
    if (job->state == JOB_STOPPING)
        return now + 1;
    usec_t run = schedule_run_of(walk, job, now - start);
    if (run >= USEC_NEVER - start)
        return USEC_NEVER;
    return start + run > now ? start + run : now + 1;
}

bool schedule_is_in_array(const struct state *state, const struct job *job, uint64_t array)
{
    for (const struct group *group = state_group(state, job->group); group;
         group = state_group(state, group->parent)) {
        if (group->id == array)
            return true;
    }
    return false;
}

/* Limited queues that it counts for. */
void schedule_add_queues(const struct schedule *walk, uint32_t queue, int64_t milli,
                         int64_t *amounts)
{
    const struct state *state = walk->brain->state;

    for (uint32_t at = queue; at != QUEUE_ROOT; at = state->queues.items[at].parent) {
        for (size_t lane = LANE_QUEUE; lane < LANE_ARRAY; lane++)
            amounts[lane] += walk->estimator->lane_queues[lane] == at ? milli : 0;
    }
}

static int compare_releases(const void *a, const void *b)
{
    const struct estimate_release *left = a, *right = b;

    return (left->at > right->at) - (left->at < right->at);
}

/* Samples do not add up: the last one gives back what is missing. */
static void add_rest(struct estimator *estimator)
{
    struct estimate_release rest = { 0 };

    memcpy(rest.amounts, estimator->held, sizeof(estimator->held));
    LIST_EACH (const struct estimate_release, release, &estimator->releases) {
        rest.at = release->at != USEC_NEVER && release->at > rest.at ? release->at : rest.at;
        for (size_t lane = 0; lane < PROFILE_LANES; lane++)
            rest.amounts[lane] -= release->amounts[lane];
    }
    for (size_t lane = LANE_QUEUE; lane < PROFILE_LANES; lane++)
        rest.amounts[lane] = 0;
    list_add(&estimator->releases, rest);
}

static void add_running(struct schedule *walk)
{
    struct estimator *estimator = walk->estimator;
    const struct brain *brain = walk->brain;
    size_t most = walk->wanted ? ESTIMATE_RUNNING : RUNNING_WHOLE;
    size_t each = (brain->ends.count + most - 1) / most, number = 0;

    estimator->releases.count = 0;
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        const struct job *job = at.job;
        struct estimate_release release = { 0 };
        if (each > 1 && number++ % each != each / 2)
            continue;
        release.at = end_of(walk, job);
        schedule_weigh(walk, job->run->lease->milli,
                       release.at != USEC_NEVER ? release.at - schedule_now(walk) : USEC_NEVER,
                       estimator->is_thin);
        add_lease(estimator, &brain->layout, job->run->lease, (int64_t)(each > 1 ? each : 1),
                  release.amounts);
        schedule_add_queues(walk, job->queue, job->run->lease->milli, release.amounts);
        if (walk->array != 0 && schedule_is_in_array(brain->state, job, walk->array))
            release.amounts[LANE_ARRAY] = 1;
        list_add(&estimator->releases, release);
    }
    if (each > 1)
        add_rest(estimator);
    list_sort(&estimator->releases, compare_releases);
    for (size_t i = 0; i < estimator->releases.count; i++)
        profile_give_back(&estimator->profile, estimator->releases.items[i].at,
                          estimator->releases.items[i].amounts);
}

enum { SPANS_AHEAD = 8 }; /* of each reservation */

/* What is behind a keepout, in lanes. */
static struct profile_need kept_by(const struct schedule *walk, const struct keepout *keepout)
{
    const struct layout *layout = &walk->brain->layout;
    const struct layout_node *at = &layout->nodes.items[keepout->node];
    struct profile_need need = { 0 };

    for (uint32_t i = 0; i < at->count; i++) {
        uint8_t lane = walk->estimator->lane_of_kind.items[layout->slots.items[at->first + i].kind];
        if (lane == NO_LANE || (keepout->slots != 0 && (i >= 64 || !(keepout->slots >> i & 1))))
            continue;
        need.gpu += GPU_MILLI;
        need.serves |= 1u << lane;
    }
    if (keepout->slots == 0) {
        need.amount[LANE_CPU] = walk->brain->state->nodes.items[keepout->node].cpu_milli;
        need.amount[LANE_MEMORY] = walk->brain->state->nodes.items[keepout->node].memory_mib;
    }
    return need;
}

/* What reservations keep from the one that is wanted is not free then. */
static void add_gates(struct schedule *walk)
{
    const struct state *state = walk->brain->state;

    LIST_EACH (const struct keepout, keepout, &walk->brain->keepouts.items) {
        struct profile_need need = kept_by(walk, keepout);
        struct keepout_ask ask = { walk->wanted ? walk->wanted->queue : QUEUE_ROOT,
                                   walk->wanted ? walk->wanted->user : UINT32_MAX,
                                   schedule_now(walk), USEC_NEVER };
        for (int k = 0; k < SPANS_AHEAD; k++) {
            usec_t from = keepout_shuts_at(keepout, state, &ask), until;
            if (from == USEC_NEVER)
                break;
            until = keepout_opens_at(keepout, state, &ask);
            need.run = until == USEC_NEVER ? until : until - from;
            profile_take(&walk->estimator->profile, &need, from);
            if (until == USEC_NEVER)
                break;
            ask.from = until;
        }
    }
}

void schedule_start_profile(struct schedule *walk)
{
    struct estimator *estimator = walk->estimator;
    const struct state *state = walk->brain->state;
    const struct group *array = walk->array ? state_group(state, walk->array) : NULL;
    int64_t free[PROFILE_LANES] = { 0 };
    size_t lane = LANE_QUEUE;

    assert(estimator->layout == walk->brain->layout.version);
    for (size_t i = 0; i < PROFILE_GPU_LANES; i++)
        free[i] = estimator->capacity[i] - estimator->held[i];
    free[LANE_CPU] = state->capacity.cpu_milli - estimator->held[LANE_CPU];
    free[LANE_MEMORY] = state->capacity.memory_mib - estimator->held[LANE_MEMORY];
    memset(estimator->lane_queues, 0, sizeof(estimator->lane_queues));
    for (uint32_t i = 1; i < state->queues.count && lane < LANE_ARRAY; i++) {
        const struct queue *queue = &state->queues.items[i];
        int64_t most = quota_bound(state, i, RESOURCE_GPUS);
        if (most == QUOTA_NONE || queue->is_removed)
            continue;
        estimator->lane_queues[lane] = i;
        free[lane++] = most - queue->used.of[RESOURCE_GPUS];
    }
    if (array)
        free[LANE_ARRAY] = (int64_t)array->max_running - (int64_t)array->active_count;
    profile_start(&estimator->profile, schedule_now(walk), free);
    add_running(walk);
    add_gates(walk);
}
