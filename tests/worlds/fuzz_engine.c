/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_engine.h"

#include <stdlib.h>

#include "base/map.h"
#include "core/engine.h"
#include "sim/trace/dice.h"

enum { ECHO_DELAY = 600, LATE_DELAY = 3600 }; /* seconds, at most */

struct member {
    uint32_t node;
    bool said_end, is_silent;
    usec_t start, end;
};

/* An attempt that holds something. */
struct attempt {
    uint64_t job;
    uint32_t attempt, count;
    uint32_t generation; /* what was to be said before it was stopped is not said any more */
    bool is_stopping;
    struct member *members;
};

/* How long it runs, and has run so far. */
struct fate {
    uint64_t job;
    usec_t run, attained, restart_cost, limit, grace, checkpoint_every;
};

struct outcome {
    usec_t at;
    uint64_t turn; /* of equal times the first that was added */
    uint32_t generation;
    bool is_echo; /* said whatever happened since */
    struct event event;
};

struct fuzz_engine {
    const struct fuzz_temper *temper;
    LIST(struct fate) fates;
    struct map fate_of; /* job -> number plus one */
    LIST(struct attempt) attempts;
    LIST(struct outcome) heap;
    uint64_t turns;
};

static struct dice dice_for(const struct fuzz_engine *engine, uint64_t job, uint64_t what)
{
    uint64_t key[] = { engine->temper->seed, job, what };

    return dice_of(map_hash(key, sizeof(key)));
}

static bool chance(struct dice *dice, uint32_t percent)
{
    return dice_below(dice, 100) < percent;
}

static usec_t between(struct dice *dice, usec_t from, usec_t to)
{
    return from >= to ? from : from + (usec_t)dice_below(dice, (uint64_t)(to - from));
}

struct fuzz_engine *fuzz_engine_create(const struct fuzz_temper *temper)
{
    struct fuzz_engine *engine = mem_zero(1, sizeof(*engine));

    engine->temper = temper;
    return engine;
}

void fuzz_engine_destroy(struct fuzz_engine *engine)
{
    if (!engine)
        return;
    for (size_t i = 0; i < engine->attempts.count; i++)
        free(engine->attempts.items[i].members);
    list_release(&engine->fates);
    list_release(&engine->attempts);
    list_release(&engine->heap);
    map_release(&engine->fate_of);
    free(engine);
}

/* ---- what is to be said, by time ---- */

static bool is_before(const struct outcome *a, const struct outcome *b)
{
    return a->at != b->at ? a->at < b->at : a->turn < b->turn;
}

static void swap(struct outcome *a, struct outcome *b)
{
    struct outcome kept = *a;

    *a = *b;
    *b = kept;
}

static void say(struct fuzz_engine *engine, struct outcome outcome)
{
    usec_t quantum = engine->temper->quantum;

    if (!engine->temper->is_obedient) /* there all limits are kept to */
        outcome.at = (outcome.at + quantum - 1) / quantum * quantum;
    outcome.turn = engine->turns++;
    list_add(&engine->heap, outcome);
    struct outcome *items = engine->heap.items;
    for (size_t at = engine->heap.count - 1; at > 0; at = (at - 1) / 2) {
        if (!is_before(&items[at], &items[(at - 1) / 2]))
            return;
        swap(&items[at], &items[(at - 1) / 2]);
    }
}

static void drop_first(struct fuzz_engine *engine)
{
    struct outcome *items = engine->heap.items;
    size_t count = --engine->heap.count;

    items[0] = items[count];
    for (size_t at = 0;;) {
        size_t left = 2 * at + 1, first = at;
        if (left < count && is_before(&items[left], &items[first]))
            first = left;
        if (left + 1 < count && is_before(&items[left + 1], &items[first]))
            first = left + 1;
        if (first == at)
            return;
        swap(&items[at], &items[first]);
        at = first;
    }
}

usec_t fuzz_engine_next(const struct fuzz_engine *engine)
{
    return engine->heap.count > 0 ? engine->heap.items[0].at : USEC_NEVER;
}

/* ---- attempts ---- */

static struct fate *fate_of(struct fuzz_engine *engine, uint64_t job)
{
    uint64_t found = 0;

    return map_get(&engine->fate_of, job, &found) ? &engine->fates.items[found - 1] : NULL;
}

static struct attempt *attempt_of(struct fuzz_engine *engine, uint64_t job)
{
    for (size_t i = 0; i < engine->attempts.count; i++) {
        if (engine->attempts.items[i].job == job)
            return &engine->attempts.items[i];
    }
    return NULL;
}

void fuzz_engine_submit(struct fuzz_engine *engine, const struct event_submit *submit)
{
    const struct fuzz_temper *temper = engine->temper;
    struct dice dice = dice_for(engine, submit->id, 0);
    usec_t limit = submit->request.max_duration;
    struct fate fate = { .job = submit->id,
                         .restart_cost = submit->restart_cost,
                         .limit = limit,
                         .checkpoint_every = submit->checkpoint_every,
                         .grace = submit->grace };

    usec_t most = limit != USEC_NEVER ? limit : temper->run_usual;
    fate.run = between(&dice, most / 50 + 1, temper->is_obedient ? most : most / 10 * 12 + 2);
    if (submit->estimate > 0 && chance(&dice, 50)) /* else somebody guessed wrong */
        fate.run = submit->estimate;
    if (temper->is_obedient && fate.run >= limit)
        fate.run = limit - 1;
    list_add(&engine->fates, fate);
    map_set(&engine->fate_of, submit->id, engine->fates.count);
}

static void say_start(struct fuzz_engine *engine, const struct attempt *attempt, uint32_t rank,
                      usec_t at, bool is_echo)
{
    say(engine, (struct outcome){ .at = at,
                                  .generation = attempt->generation,
                                  .is_echo = is_echo,
                                  .event = { .kind = EVENT_STARTED,
                                             .started = { .job = attempt->job,
                                                          .attempt = attempt->attempt,
                                                          .rank = rank,
                                                          .gpu = ISOLATION_ISOLATED } } });
}

static void say_end(struct fuzz_engine *engine, const struct attempt *attempt,
                    struct event_ended ended, usec_t at, bool is_echo)
{
    ended.job = attempt->job;
    ended.attempt = attempt->attempt;
    ended.reason = "";
    say(engine, (struct outcome){ .at = at,
                                  .generation = attempt->generation,
                                  .is_echo = is_echo,
                                  .event = { .kind = EVENT_ENDED, .ended = ended } });
}

/* How a member ends that nobody stops. */
static struct event_ended draw_end(const struct fuzz_engine *engine, struct dice *dice,
                                   uint32_t rank)
{
    struct event_ended ended = { .rank = rank, .kind = ENGINE_ENDED };

    if (!chance(dice, engine->temper->fails))
        return ended;
    switch (dice_below(dice, 6)) {
    case 0:
        ended.kind = ENGINE_LOST;
        break;
    case 1:
        ended.kind = ENGINE_FAILED;
        break;
    case 2:
        ended.exit_code = -1;
        ended.signal = 9;
        ended.was_oom = 1;
        break;
    default:
        ended.exit_code = 1;
    }
    return ended;
}

static void plan_member(struct fuzz_engine *engine, struct attempt *attempt, uint32_t rank,
                        struct dice *dice, usec_t now, usec_t run)
{
    const struct fuzz_temper *temper = engine->temper;
    struct member *member = &attempt->members[rank];
    struct event_ended ended = draw_end(engine, dice, rank);
    bool is_bad = ended.kind != ENGINE_ENDED || ended.exit_code != 0;

    member->start = temper->is_obedient ? now : now + between(dice, 0, 5 * USEC_PER_SEC);
    member->end = member->start + (is_bad ? between(dice, 0, run + 1) : run);
    if (!temper->is_obedient && attempt->count > 1)
        member->end += between(dice, 0, 3 * USEC_PER_SEC);
    member->is_silent = chance(dice, temper->silent);
    if (ended.kind != ENGINE_FAILED) {
        usec_t late = chance(dice, temper->late) ? between(dice, 0, run * 2) : 0;
        say_start(engine, attempt, rank, member->start + late, false);
        if (chance(dice, temper->doubled))
            say_start(engine, attempt, rank, member->start + late + ECHO_DELAY * USEC_PER_SEC,
                      true);
    }
    if (member->is_silent)
        return;
    say_end(engine, attempt, ended, member->end, false);
    if (chance(dice, temper->doubled))
        say_end(engine, attempt, ended, member->end + between(dice, 0, ECHO_DELAY * USEC_PER_SEC),
                true);
}

enum { CHECKPOINTS_MOST = 4 }; /* of an attempt; said by its first member */

static void say_checkpoints(struct fuzz_engine *engine, const struct attempt *attempt,
                            const struct fate *fate, usec_t run)
{
    for (usec_t i = 1; fate->checkpoint_every > 0 && i <= CHECKPOINTS_MOST; i++) {
        if (i * fate->checkpoint_every >= run)
            return;
        say(engine, (struct outcome){ .at = attempt->members[0].start + i * fate->checkpoint_every,
                                      .generation = attempt->generation,
                                      .event = { .kind = EVENT_CHECKPOINT,
                                                 .checkpoint = { .job = attempt->job,
                                                                 .attempt = attempt->attempt } } });
    }
}

void fuzz_engine_grant(struct fuzz_engine *engine, const struct event_grant *grant, usec_t now)
{
    struct dice dice = dice_for(engine, grant->job, grant->attempt);
    const struct fate *fate = fate_of(engine, grant->job);
    struct attempt attempt = { .job = grant->job,
                               .attempt = grant->attempt,
                               .count = grant->lease.members_count };

    if (!fate)
        return;
    attempt.members = mem_zero(attempt.count, sizeof(attempt.members[0]));
    usec_t run = fate->run - fate->attained + (fate->attained > 0 ? fate->restart_cost : 0);
    if (engine->temper->is_obedient && run >= fate->limit)
        run = fate->limit - 1; /* each attempt has its whole limit */
    for (uint32_t rank = 0; rank < attempt.count; rank++) {
        attempt.members[rank].node = grant->lease.members[rank].node;
        plan_member(engine, &attempt, rank, &dice, now, run > 0 ? run : 0);
    }
    say_checkpoints(engine, &attempt, fate, run);
    list_add(&engine->attempts, attempt);
}

static struct event_ended stopped(uint32_t rank, struct dice *dice)
{
    bool is_killed = chance(dice, 20);

    return (struct event_ended){ .rank = rank,
                                 .kind = ENGINE_ENDED,
                                 .exit_code = -1,
                                 .signal = is_killed ? 9 : 15,
                                 .was_stopped = 1,
                                 .was_killed = is_killed };
}

static void plan_stop(struct fuzz_engine *engine, struct attempt *attempt, usec_t now, usec_t grace)
{
    const struct fuzz_temper *temper = engine->temper;
    struct dice dice = dice_for(engine, attempt->job, UINT64_C(1) << 32 | attempt->attempt);

    attempt->generation++;
    attempt->is_stopping = true;
    for (uint32_t rank = 0; rank < attempt->count; rank++) {
        struct member *member = &attempt->members[rank];
        bool is_good = chance(&dice, 10); /* it was at its end anyway */
        struct event_ended ended = stopped(rank, &dice);
        usec_t wait = temper->is_obedient ? 0 : between(&dice, 0, grace + USEC_PER_SEC);
        if (member->said_end || (member->is_silent && chance(&dice, 50)))
            continue;
        member->is_silent = false;
        if (chance(&dice, temper->late))
            wait += between(&dice, 0, LATE_DELAY * USEC_PER_SEC);
        if (is_good && !temper->is_obedient)
            ended = (struct event_ended){ .rank = rank, .kind = ENGINE_ENDED };
        member->end = now + wait;
        say_end(engine, attempt, ended, member->end, false);
        if (chance(&dice, temper->doubled))
            say_end(engine, attempt, ended, member->end + USEC_PER_SEC, true);
    }
}

void fuzz_engine_stop(struct fuzz_engine *engine, uint64_t job, bool is_preempted, usec_t now)
{
    struct attempt *attempt = attempt_of(engine, job);
    struct fate *fate = fate_of(engine, job);

    if (!attempt || !fate)
        return;
    if (is_preempted && attempt->count > 0 && now > attempt->members[0].start) {
        usec_t gained = now - attempt->members[0].start;
        gained -= fate->attained > 0 ? fate->restart_cost : 0;
        fate->attained += gained > 0 ? gained : 0;
        fate->attained = fate->attained < fate->run ? fate->attained : fate->run;
    }
    plan_stop(engine, attempt, now, fate->grace);
}

static void lose(struct fuzz_engine *engine, struct attempt *attempt, uint32_t rank, usec_t at)
{
    struct event_ended ended = { .rank = rank, .kind = ENGINE_LOST };

    attempt->members[rank].is_silent = false;
    say_end(engine, attempt, ended, at, false);
}

void fuzz_engine_node(struct fuzz_engine *engine, uint32_t node, bool is_up, usec_t now)
{
    for (size_t i = 0; i < engine->attempts.count; i++) {
        struct attempt *attempt = &engine->attempts.items[i];
        struct dice dice = dice_for(engine, attempt->job, (uint64_t)now);
        for (uint32_t rank = 0; rank < attempt->count; rank++) {
            struct member *member = &attempt->members[rank];
            if (member->node != node || member->said_end)
                continue;
            if (is_up ? member->is_silent : chance(&dice, 60))
                lose(engine, attempt, rank, now + between(&dice, 0, USEC_PER_MIN));
            else if (!is_up && chance(&dice, 30))
                member->is_silent = true;
        }
    }
}

/* Nothing that was still to be said is; members are found again, or are not. */
void fuzz_engine_restart(struct fuzz_engine *engine, usec_t now)
{
    engine->heap.count = 0;
    for (size_t i = 0; i < engine->attempts.count; i++) {
        struct attempt *attempt = &engine->attempts.items[i];
        struct dice dice = dice_for(engine, attempt->job, (uint64_t)now);
        const struct fate *fate = fate_of(engine, attempt->job);
        if (attempt->is_stopping) {
            plan_stop(engine, attempt, now, fate->grace);
            continue;
        }
        attempt->generation++;
        for (uint32_t rank = 0; rank < attempt->count; rank++) {
            struct member *member = &attempt->members[rank];
            usec_t end = member->end > now ? member->end : now;
            if (member->said_end)
                continue;
            say_start(engine, attempt, rank, now, false); /* perhaps for the second time */
            if (member->is_silent || chance(&dice, 10))
                lose(engine, attempt, rank, now);
            else
                say_end(engine, attempt, (struct event_ended){ .rank = rank, .kind = ENGINE_ENDED },
                        end, false);
        }
    }
}

static bool is_all_said(const struct attempt *attempt)
{
    for (uint32_t rank = 0; rank < attempt->count; rank++) {
        if (!attempt->members[rank].said_end)
            return false;
    }
    return true;
}

/* False: it is not to be said any more. */
static bool note_said(struct fuzz_engine *engine, const struct outcome *outcome)
{
    const struct event *event = &outcome->event;
    bool is_end = event->kind == EVENT_ENDED;
    struct attempt *attempt = attempt_of(engine, event->started.job);
    uint32_t rank = is_end                         ? event->ended.rank
                    : event->kind == EVENT_STARTED ? event->started.rank
                                                   : 0;

    if (outcome->is_echo)
        return true;
    if (!attempt || attempt->attempt != event->started.attempt ||
        (is_end && attempt->generation != outcome->generation) || attempt->members[rank].said_end)
        return false;
    if (!is_end)
        return true;
    if (attempt->members[rank].is_silent)
        return false;
    attempt->members[rank].said_end = true;
    if (is_all_said(attempt)) {
        free(attempt->members);
        *attempt = engine->attempts.items[--engine->attempts.count];
    }
    return true;
}

bool fuzz_engine_take(struct fuzz_engine *engine, usec_t now, struct event *ret)
{
    while (engine->heap.count > 0 && engine->heap.items[0].at <= now) {
        struct outcome outcome = engine->heap.items[0];
        drop_first(engine);
        if (!note_said(engine, &outcome))
            continue;
        *ret = outcome.event;
        return true;
    }
    return false;
}
