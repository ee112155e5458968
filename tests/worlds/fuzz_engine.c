/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "sim/trace/dice.h"

enum { ECHO_DELAY = 600, LATE_DELAY = 3600 }; /* seconds, at most */

struct member {
    char *node;
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

/* Is said at its time. */
struct news {
    usec_t at;
    uint64_t turn; /* of equal times the first that was added */
    uint32_t generation;
    bool is_echo; /* said whatever happened since */
    bool is_checkpoint;
    struct engine_outcome outcome;
};

struct fuzz_engine {
    struct engine base;
    struct fuzz_engine_options options;
    const struct fuzz_temper *temper;
    usec_t now;
    LIST(struct fate) fates;
    struct map fate_of; /* job -> number plus one */
    LIST(struct attempt) attempts;
    LIST(struct news) heap;
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

static struct fuzz_engine *engine_of(struct engine *base)
{
    return CONTAINER_OF(base, struct fuzz_engine, base);
}

static void attempt_release(struct attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->count; i++)
        free(attempt->members[i].node);
    free(attempt->members);
}

void fuzz_engine_destroy(struct fuzz_engine *engine)
{
    if (!engine)
        return;
    for (size_t i = 0; i < engine->attempts.count; i++)
        attempt_release(&engine->attempts.items[i]);
    list_release(&engine->fates);
    list_release(&engine->attempts);
    list_release(&engine->heap);
    map_release(&engine->fate_of);
    free(engine);
}

/* ---- what is to be said, by time ---- */

static bool is_before(const struct news *a, const struct news *b)
{
    return a->at != b->at ? a->at < b->at : a->turn < b->turn;
}

static void swap(struct news *a, struct news *b)
{
    struct news kept = *a;

    *a = *b;
    *b = kept;
}

static void say(struct fuzz_engine *engine, struct news news)
{
    usec_t quantum = engine->temper->quantum;

    if (!engine->temper->is_obedient) /* there all limits are kept to */
        news.at = (news.at + quantum - 1) / quantum * quantum;
    news.turn = engine->turns++;
    list_add(&engine->heap, news);
    struct news *items = engine->heap.items;
    for (size_t at = engine->heap.count - 1; at > 0; at = (at - 1) / 2) {
        if (!is_before(&items[at], &items[(at - 1) / 2]))
            return;
        swap(&items[at], &items[(at - 1) / 2]);
    }
}

static void drop_first(struct fuzz_engine *engine)
{
    struct news *items = engine->heap.items;
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
    if (submit->estimate > 0 && chance(&dice, 50)) /* else the estimate is wrong */
        fate.run = submit->estimate;
    if (temper->is_obedient && fate.run >= limit)
        fate.run = limit - 1;
    list_add(&engine->fates, fate);
    map_set(&engine->fate_of, submit->id, engine->fates.count);
}

static void say_outcome(struct fuzz_engine *engine, const struct attempt *attempt,
                        struct engine_outcome outcome, usec_t at, bool is_echo)
{
    outcome.id.job = attempt->job;
    outcome.id.attempt = attempt->attempt;
    say(engine,
        (struct news){
            .at = at, .generation = attempt->generation, .is_echo = is_echo, .outcome = outcome });
}

static void say_start(struct fuzz_engine *engine, const struct attempt *attempt, uint32_t rank,
                      usec_t at, bool is_echo)
{
    struct engine_outcome started = { .id.rank = rank,
                                      .kind = ENGINE_STARTED,
                                      .isolation.gpu = ISOLATION_ISOLATED };

    say_outcome(engine, attempt, started, at, is_echo);
}

/* How a member ends if it is not stopped. */
static struct engine_outcome draw_end(const struct fuzz_engine *engine, struct dice *dice,
                                      uint32_t rank)
{
    struct engine_outcome ended = { .id.rank = rank, .kind = ENGINE_ENDED };

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
        ended.was_oom = true;
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
    struct engine_outcome ended = draw_end(engine, dice, rank);
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
    say_outcome(engine, attempt, ended, member->end, false);
    if (chance(dice, temper->doubled))
        say_outcome(engine, attempt, ended,
                    member->end + between(dice, 0, ECHO_DELAY * USEC_PER_SEC), true);
}

enum { CHECKPOINTS_MOST = 4 }; /* of an attempt; said by its first member */

static void say_checkpoints(struct fuzz_engine *engine, const struct attempt *attempt,
                            const struct fate *fate, usec_t run)
{
    for (usec_t i = 1; fate->checkpoint_every > 0 && i <= CHECKPOINTS_MOST; i++) {
        if (i * fate->checkpoint_every >= run)
            return;
        say(engine, (struct news){ .at = attempt->members[0].start + i * fate->checkpoint_every,
                                   .generation = attempt->generation,
                                   .is_checkpoint = true,
                                   .outcome.id = { attempt->job, attempt->attempt, 0 } });
    }
}

static int start(struct engine *base, const struct engine_launch *launches, uint32_t count,
                 struct error *err)
{
    struct fuzz_engine *engine = engine_of(base);
    struct member_id id = launches[0].id;
    struct dice dice = dice_for(engine, id.job, id.attempt);
    const struct fate *fate = fate_of(engine, id.job);
    struct attempt attempt = { .job = id.job, .attempt = id.attempt, .count = count };

    (void)err;
    if (!fate)
        return 0;
    attempt.members = mem_zero(attempt.count, sizeof(attempt.members[0]));
    usec_t run = fate->run - fate->attained + (fate->attained > 0 ? fate->restart_cost : 0);
    if (engine->temper->is_obedient && run >= fate->limit)
        run = fate->limit - 1; /* each attempt has its whole limit */
    for (uint32_t rank = 0; rank < attempt.count; rank++) {
        attempt.members[rank].node = mem_string(launches[rank].node);
        plan_member(engine, &attempt, rank, &dice, engine->now, run > 0 ? run : 0);
    }
    say_checkpoints(engine, &attempt, fate, run);
    list_add(&engine->attempts, attempt);
    return 0;
}

static struct engine_outcome stopped(uint32_t rank, struct dice *dice)
{
    bool is_killed = chance(dice, 20);

    return (struct engine_outcome){ .id.rank = rank,
                                    .kind = ENGINE_ENDED,
                                    .exit_code = -1,
                                    .signal = is_killed ? 9 : 15,
                                    .was_stopped = true,
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
        struct engine_outcome ended = stopped(rank, &dice);
        usec_t wait = temper->is_obedient ? 0 : between(&dice, 0, grace + USEC_PER_SEC);
        if (member->said_end || (member->is_silent && chance(&dice, 50)))
            continue;
        member->is_silent = false;
        if (chance(&dice, temper->late))
            wait += between(&dice, 0, LATE_DELAY * USEC_PER_SEC);
        if (is_good && !temper->is_obedient)
            ended = (struct engine_outcome){ .id.rank = rank, .kind = ENGINE_ENDED };
        member->end = now + wait;
        say_outcome(engine, attempt, ended, member->end, false);
        if (chance(&dice, temper->doubled))
            say_outcome(engine, attempt, ended, member->end + USEC_PER_SEC, true);
    }
}

static void stop(struct engine *base, const struct engine_attempt *stopped, usec_t grace)
{
    struct fuzz_engine *engine = engine_of(base);
    struct attempt *attempt = attempt_of(engine, stopped->job);

    if (attempt)
        plan_stop(engine, attempt, engine->now, grace);
}

void fuzz_engine_keep(struct fuzz_engine *engine, uint64_t job)
{
    const struct attempt *attempt = attempt_of(engine, job);
    struct fate *fate = fate_of(engine, job);

    if (!attempt || !fate || engine->now <= attempt->members[0].start)
        return;
    usec_t gained = engine->now - attempt->members[0].start;
    gained -= fate->attained > 0 ? fate->restart_cost : 0;
    fate->attained += gained > 0 ? gained : 0;
    fate->attained = fate->attained < fate->run ? fate->attained : fate->run;
}

static void lose(struct fuzz_engine *engine, struct attempt *attempt, uint32_t rank, usec_t at)
{
    struct engine_outcome ended = { .id.rank = rank, .kind = ENGINE_LOST };

    attempt->members[rank].is_silent = false;
    say_outcome(engine, attempt, ended, at, false);
}

void fuzz_engine_node(struct fuzz_engine *engine, const char *node, bool is_up)
{
    usec_t now = engine->now;

    for (size_t i = 0; i < engine->attempts.count; i++) {
        struct attempt *attempt = &engine->attempts.items[i];
        struct dice dice = dice_for(engine, attempt->job, (uint64_t)now);
        for (uint32_t rank = 0; rank < attempt->count; rank++) {
            struct member *member = &attempt->members[rank];
            if (strcmp(member->node, node) != 0 || member->said_end)
                continue;
            if (is_up ? member->is_silent : chance(&dice, 60))
                lose(engine, attempt, rank, now + between(&dice, 0, USEC_PER_MIN));
            else if (!is_up && chance(&dice, 30))
                member->is_silent = true;
        }
    }
}

/* Nothing that was still to be said is; members are found again, or are not. */
void fuzz_engine_restart(struct fuzz_engine *engine)
{
    usec_t now = engine->now;

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
                say_outcome(engine, attempt,
                            (struct engine_outcome){ .id.rank = rank, .kind = ENGINE_ENDED }, end,
                            false);
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
static bool note_said(struct fuzz_engine *engine, const struct news *news)
{
    const struct engine_outcome *outcome = &news->outcome;
    bool is_end = !news->is_checkpoint && outcome->kind != ENGINE_STARTED;
    struct attempt *attempt = attempt_of(engine, outcome->id.job);
    uint32_t rank = outcome->id.rank;

    if (news->is_echo)
        return true;
    if (!attempt || attempt->attempt != outcome->id.attempt ||
        (is_end && attempt->generation != news->generation) || attempt->members[rank].said_end)
        return false;
    if (!is_end)
        return true;
    if (attempt->members[rank].is_silent)
        return false;
    attempt->members[rank].said_end = true;
    if (is_all_said(attempt)) {
        attempt_release(attempt);
        *attempt = engine->attempts.items[--engine->attempts.count];
    }
    return true;
}

bool fuzz_engine_say(struct fuzz_engine *engine)
{
    while (engine->heap.count > 0 && engine->heap.items[0].at <= engine->now) {
        struct news news = engine->heap.items[0];
        drop_first(engine);
        if (!note_said(engine, &news))
            continue;
        if (news.is_checkpoint)
            engine->options.checkpoint(engine->options.reports.user, news.outcome.id);
        else
            engine->options.reports.outcome(engine->options.reports.user, &news.outcome);
        return true;
    }
    return false;
}

struct fuzz_engine *fuzz_engine_create(const struct fuzz_engine_options *options)
{
    static const struct engine_ops ops = { .name = "fuzz", .start = start, .stop = stop };
    struct fuzz_engine *engine = mem_zero(1, sizeof(*engine));

    engine->base = (struct engine){ &ops, { .has_exact_devices = true, .has_fractions = true } };
    engine->options = *options;
    engine->temper = options->temper;
    return engine;
}

struct engine *fuzz_engine_port(struct fuzz_engine *engine)
{
    return &engine->base;
}

void fuzz_engine_set_time(struct fuzz_engine *engine, usec_t now)
{
    engine->now = now;
}
