/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/preempt.h"

#include <assert.h>
#include <stdlib.h>

#include "base/wide.h"
#include "sched/job_facts.h"

enum { REVIEW_PART = 64 }; /* a waiting job is looked at again after this part of its rest, */
#define REVIEW_LEAST USEC_PER_MIN  /* but not sooner */
#define REVIEW_MOST  USEC_PER_HOUR /* least attained service: runs at most so long unlooked at */

/* ---- contenders ---- */

/* False: it wants no GPUs. */
static bool add_claim(struct contenders *claims, const struct state *state, struct job *job,
                      bool is_running)
{
    int64_t milli = is_running ? job->run->lease->milli
                               : request_milli(state_request(state, job), 0, GPU_MILLI);

    if (milli == 0)
        return false;
    struct contender claim = {
        .job = job,
        .milli = milli,
        .is_running = is_running,
        .attained = job_attained(job, state->now),
        .left = job_left(job, state->now),
        .due = USEC_NEVER,
    };
    list_add(&claims->items, claim);
    return true;
}

bool contenders_collect(struct contenders *claims, const struct state *state, uint32_t queue,
                        const struct pending *pending, const struct ends *ends)
{
    bool is_any = false;

    claims->items.count = 0;
    claims->review = USEC_NEVER;
    for (struct ends_walk at = ends_first(ends); at.job; ends_next(&at)) {
        struct job *job = at.job;
        if (job->queue != queue || !job->is_preemptible || job->state == JOB_STOPPING ||
            job->run->is_cancel_wanted || job->run->is_requeue_wanted)
            continue;
        is_any |= add_claim(claims, state, job, true);
    }
    if (queue >= pending->queues.count)
        return is_any;
    for (struct job *job = pending->queues.items[queue].first; job; job = job->line_next) {
        if (job->pending_bucket->array != 0 || job->pending_bucket->is_timed_out)
            continue; /* how many of them may run, or when, is not a matter of room */
        is_any |= add_claim(claims, state, job, false) && job->is_preemptible;
    }
    return is_any;
}

static int compare_due(const void *key, const void *item)
{
    const struct job *job = key;
    const struct plain_due *due = item;

    return (job->id > due->job) - (job->id < due->job);
}

void contenders_set_due(struct contenders *claims, const plain_due_list *dues)
{
    LIST_EACH (struct contender, claim, &claims->items) {
        const struct plain_due *due =
            dues->count > 0
                ? bsearch(claim->job, dues->items, dues->count, sizeof(*due), compare_due)
                : NULL;
        claim->due = due ? due->due : USEC_NEVER;
    }
}

/* ---- in which order ---- */

static void review_at(struct contenders *claims, usec_t at)
{
    claims->review = at < claims->review ? at : claims->review;
}

/* What the state counted, and how far those that run have come since. */
static void make_gittins(struct contenders *claims, const struct state *state)
{
    struct residual residual = state->residual;
    uint32_t classes = 0; /* the sizes that are asked for */

    LIST_EACH (const struct contender, claim, &claims->items) {
        classes |= UINT32_C(1) << residual_class(claim->milli);
        if (claim->is_running)
            residual_pass(&residual, residual_class(claim->milli),
                          residual_bin(claim->job->run->attained), residual_bin(claim->attained));
    }
    gittins_make(&claims->gittins, &residual, classes);
}

static int64_t times(usec_t run, int64_t milli)
{
    return (int64_t)(wide_scale((uint64_t)run / 1000, (uint64_t)milli, 1) >> 1); /* of any size */
}

struct load {
    wide_t work;     /* ms x milli-GPU */
    wide_t restarts; /* what there would be more if those that run were stopped */
    uint64_t arrivals[PRESSURE_LEVELS];
    usec_t clock; /* fair time */
};

/* Is it time for it, if it shall be over by then? Notes when it will be. */
static bool is_urgent(struct contenders *claims, const struct contender *claim, usec_t deadline,
                      usec_t margin, usec_t now, bool is_kept)
{
    usec_t slack = deadline - now - claim->left;

    if (slack < 0)
        return false;
    if (slack <= margin || is_kept)
        return true;
    if (!claim->is_running)
        review_at(claims, now + slack - margin);
    return false;
}

static bool is_critical(struct contenders *claims, const struct contender *claim,
                        const struct load *load, usec_t now)
{
    bool is_kept =
        claim->is_running ? claim->job->run->tier == CLAIM_CRITICAL : claim->job->is_awaited;
    usec_t unpaid = job_unpaid(claim->job, now); /* a restart does not make it longer */
    uint64_t left = (uint64_t)(claim->left - (unpaid > 0 ? unpaid : 0)) / 1000;
    wide_t coming =
        (wide_t)CLAIM_ARRIVALS * pressure_lately(load->arrivals, claim->left / CLAIM_LOOK);
    wide_t work = load->work + (claim->is_running ? 0 : load->restarts);
    wide_t bound = (work + coming) * (is_kept ? CLAIM_KEPT : 16);
    wide_t own = (wide_t)(uint64_t)claims->milli * left * 16;

    if (own >= bound)
        return true;
    if (claim->is_running || claims->milli <= 0)
        return false;
    /* The work of the others falls by no more than all GPUs can do. */
    wide_t lead = (work - (wide_t)(uint64_t)claims->milli * left) / (uint64_t)claims->milli;
    usec_t wait = claim->left / REVIEW_PART;
    wait = wait < REVIEW_LEAST ? REVIEW_LEAST : wait;
    if (work > (wide_t)(uint64_t)claims->milli * left && lead * 1000 > (wide_t)wait)
        wait = lead * 1000 < (wide_t)USEC_PER_DAY * 3650 ? (usec_t)(lead * 1000) : USEC_PER_DAY;
    review_at(claims, now + wait);
    return false;
}

/* When a fair share would have brought it to its end, if as much is wanted as now until then; 0:
 * it has a deadline of its own, there is no contention, or that time is over. */
static usec_t fair_deadline(const struct contender *claim, const struct state *state,
                            const struct load *load)
{
    const struct job *job = claim->job;
    usec_t left = job->fair_from + job->estimate + job->estimate / CLAIM_FAIR_PARTS - load->clock;
    int64_t wanted = state->pressure.wanted_milli, capacity = state->capacity.milli;

    if (job->deadline > 0 || left <= 0 || capacity <= 0 || wanted <= capacity)
        return 0;
    return state->now + (usec_t)wide_scale((uint64_t)left, (uint64_t)wanted, (uint64_t)capacity);
}

static void rank_known(struct contenders *claims, struct contender *claim,
                       const struct state *state, const struct load *load)
{
    const struct job *job = claim->job;
    usec_t now = state->now;

    claim->key = times(claim->left, claim->milli);
    if (state->settings.order != ORDER_DEFAULT)
        return;
    if (is_critical(claims, claim, load, now)) {
        claim->tier = CLAIM_CRITICAL;
        claim->key = -claim->left;
    }
    usec_t margin = CLAIM_FAIR_MARGIN * job->restart_cost, fair = fair_deadline(claim, state, load);
    if (fair > 0 && is_urgent(claims, claim, fair, margin, now, false)) {
        claim->tier = CLAIM_FAIR;
        claim->key = times(claim->left, claim->milli);
    }
    margin = claim->left / FACTS_URGENT + CLAIM_MARGIN * job->restart_cost;
    bool is_kept = claim->is_running && job->run->tier == CLAIM_DEADLINE;
    if (job->deadline > 0 && is_urgent(claims, claim, job->deadline, margin, now, is_kept)) {
        claim->tier = CLAIM_DEADLINE;
        claim->key = times(claim->left, claim->milli);
    }
}

static void rank_unknown(struct contenders *claims, struct contender *claim,
                         const struct state *state)
{
    uint32_t bin = residual_bin(claim->attained);
    usec_t run = claims->gittins.ranks[residual_class(claim->milli)][bin];
    usec_t owed = job_unpaid(claim->job, state->now);

    assert(claim->attained >= 0);
    if (!claim->is_running)
        run += job_owed(claim->job);
    claim->key = times(run, claim->milli);
    if (!claim->is_running)
        return;
    claim->key /= CLAIM_HYSTERESIS;
    if (bin + 1 < RESIDUAL_BINS)
        review_at(claims,
                  state->now + residual_start(bin + 1) - claim->attained + (owed > 0 ? owed : 0));
}

static void rank_least_attained(struct contenders *claims, struct contender *claim,
                                const struct state *state)
{
    uint32_t bin = residual_bin(claim->attained);
    usec_t owed = job_unpaid(claim->job, state->now);
    usec_t step = residual_start(bin + 1) - claim->attained;

    claim->key = times(residual_start(bin), claim->milli);
    step = step < REVIEW_LEAST ? REVIEW_LEAST : step;
    step = step > REVIEW_MOST ? REVIEW_MOST : step;
    if (claim->is_running)
        review_at(claims, state->now + (owed > 0 ? owed : 0) + step);
}

void contenders_note_start(struct contenders *claims, const struct contender *claim,
                           const struct state *state)
{
    usec_t owed = job_owed(claim->job);
    bool is_known = claim->left > 0 && state->settings.order != ORDER_LEAST_ATTAINED;
    usec_t step = residual_start(residual_bin(claim->attained) + 1) - claim->attained;

    if (!is_known)
        review_at(claims, state->now + owed + (step < REVIEW_LEAST ? REVIEW_LEAST : step));
    else if (owed > 0)
        review_at(claims, state->now + owed);
}

/* Stopped for a job of another queue, which is not over yet. */
static bool is_patient(const struct state *state, const struct job *job)
{
    const struct job *taker = job->run->stop_rule != STOP_IN_QUEUE && job->run->preemptions > 0
                                  ? state_job(state, job->run->stopped_for)
                                  : NULL;

    return taker && taker->state != JOB_ENDED && taker->queue != job->queue;
}

/* What it does while it is protected: to its end, or a piece of work. Notes when that is done. */
static bool has_piece(struct contenders *claims, const struct contender *claim, usec_t now)
{
    const struct job *job = claim->job;
    usec_t before = job->run->attained, unpaid = job_unpaid(job, now);

    if (!claim->is_running || job->run->tier != CLAIM_PROTECTED)
        return false;
    if (claim->left > 0)
        return true;
    usec_t piece = before / 2, least = CLAIM_PIECE * job_restart_cost(job);
    usec_t rest = (piece > least ? piece : least) - (claim->attained - before);
    if (rest > 0)
        review_at(claims, now + rest + (unpaid > 0 ? unpaid : 0));
    return rest > 0;
}

usec_t contender_line(const struct job *job, usec_t due, usec_t now)
{
    usec_t unpaid = job_unpaid(job, now), estimate = job_left(job, now) > 0 ? job->estimate : 0;
    usec_t line = plain_line(job->is_preemptible, estimate, due, job_attained(job, now));

    return line != USEC_NEVER && unpaid > 0 ? line - unpaid : line;
}

/* Is it on its line? Notes when it will be. */
static bool is_on_line(struct contenders *claims, const struct contender *claim,
                       const struct state *state)
{
    if (claim->due == USEC_NEVER || state->settings.order != ORDER_DEFAULT)
        return false;
    if (has_piece(claims, claim, state->now))
        return true;
    usec_t line = contender_line(claim->job, claim->due, state->now);
    if (line > state->now && !claim->is_running) /* the clock of its queue may be slow */
        review_at(claims, line > state->now + USEC_PER_SEC ? line : state->now + USEC_PER_SEC);
    return line <= state->now;
}

static void rank_claim(struct contenders *claims, struct contender *claim,
                       const struct state *state, const struct load *load)
{
    const struct job *job = claim->job;
    usec_t owed =
        claims->is_guarded && job_has_restarted(job) ? job_restart_cost(job) : job_owed(job);
    usec_t from = job->state == JOB_RUNNING && job->run->started > job->run->granted
                      ? job->run->started
                      : job->run->granted;

    claim->tier = CLAIM_REST;
    if (state->settings.order == ORDER_LEAST_ATTAINED)
        rank_least_attained(claims, claim, state);
    else if (claim->left > 0)
        rank_known(claims, claim, state, load);
    else
        rank_unknown(claims, claim, state);
    if (is_on_line(claims, claim, state)) {
        claim->tier = CLAIM_PROTECTED;
        claim->key = claim->due;
    }
    claim->cause = claim->tier;
    if (!claim->is_running && job->is_awaited)
        claim->tier = CLAIM_AWAITED;
    if (claim->is_running && job->checkpoint_every == USEC_NEVER)
        claim->tier = CLAIM_UNSAVED;
    claim->is_patient = !claim->is_running && !job->is_awaited && is_patient(state, job);
    if (claim->is_running && state->now - from < owed) {
        claim->tier = CLAIM_FIXED;
        review_at(claims, from + owed);
    }
}

static int compare(const void *a, const void *b)
{
    const struct contender *left = a, *right = b;

    if ((left->tier == CLAIM_FIXED) != (right->tier == CLAIM_FIXED))
        return left->tier == CLAIM_FIXED ? -1 : 1;
    if (left->job->priority != right->job->priority)
        return left->job->priority > right->job->priority ? -1 : 1;
    if (left->is_patient != right->is_patient)
        return right->is_patient ? -1 : 1;
    if (left->tier != right->tier)
        return left->tier > right->tier ? -1 : 1;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    if (left->job->submitted != right->job->submitted)
        return left->job->submitted < right->job->submitted ? -1 : 1;
    return left->job->id < right->job->id ? -1 : 1;
}

void contenders_sort(struct contenders *claims, const struct state *state)
{
    struct load load = { 0 };
    bool is_unknown = false, is_known = false;

    LIST_EACH (const struct contender, claim, &claims->items) {
        load.work += (wide_t)((uint64_t)claim->left / 1000) * (uint64_t)claim->milli;
        load.restarts += claim->is_running ? (wide_t)((uint64_t)claim->job->restart_cost / 1000) *
                                                 (uint64_t)claim->milli
                                           : 0;
        is_unknown |= claim->left == 0;
        is_known |= claim->left > 0;
    }
    if (is_unknown && state->settings.order != ORDER_LEAST_ATTAINED)
        make_gittins(claims, state);
    if (is_known) {
        pressure_arrivals(&state->pressure, state->now, load.arrivals);
        load.clock = pressure_clock(&state->pressure, state->now, state->capacity.milli);
    }
    for (size_t i = 0; i < claims->items.count; i++)
        rank_claim(claims, &claims->items.items[i], state, &load);
    list_sort(&claims->items, compare);
}
