/* SPDX-License-Identifier: Apache-2.0 */
#include "core/predict/history.h"

#include <assert.h>
#include <ctype.h>

#include "base/log2.h"

enum {
    NOTHING = INT16_MIN,
    ERROR_ONE = 1 << 4, /* errors have four bits more than logarithms */
    ERRORS_USER = 16,   /* a user's error is a mean over about so many jobs */
    ERRORS_ALL = 64,
    TRUST_ALL = 4, /* as many jobs as the general error counts beside a user's */
    OFFSET_UP = 22,
    OFFSET_DOWN = 2, /* up : down = 90 : 10 keeps 90 % below */
    OFFSET_LEAST = -512,
    OFFSET_MOST = 1536,
    BLENDED_MAX = 2, /* percentages at once */
};

/* 256 * 2^(-i/8) */
static const uint16_t weights[HISTORY_RUNS] = { 256, 235, 215, 197, 181, 166, 152, 140,
                                                128, 117, 108, 99,  91,  83,  76,  70 };

static const usec_t tick = USEC_PER_SEC / 1000;

uint64_t history_name(const char *name)
{
    uint64_t hash = UINT64_C(1469598103934665603);

    for (; name && *name; name++) {
        unsigned char byte = isdigit((unsigned char)*name) ? '#' : (unsigned char)*name;
        if (byte == '#' && isdigit((unsigned char)name[1]))
            continue; /* train-9 and train-10, too */
        hash = (hash ^ byte) * UINT64_C(1099511628211);
    }
    return hash;
}

enum { BY_USER = 1, BY_NAME = 2, BY_QUEUE = 4, BY_SIZE = 8, BY_LIMIT = 16 };

/* The templates, the most particular first. */
static const uint8_t templates[HISTORY_LEVELS] = {
    BY_USER | BY_NAME | BY_QUEUE | BY_SIZE | BY_LIMIT,
    BY_USER | BY_NAME | BY_SIZE,
    BY_USER | BY_SIZE | BY_LIMIT,
    BY_USER | BY_LIMIT,
    BY_USER,
    BY_SIZE | BY_LIMIT,
};

static uint64_t key_of(const struct history_job *job, int level)
{
    const uint8_t by = templates[level];
    const uint64_t key[] = {
        (uint64_t)level + 1,          by & BY_USER ? job->user : 0,
        by & BY_NAME ? job->name : 0, by & BY_QUEUE ? job->queue : 0,
        by & BY_SIZE ? job->size : 0, by & BY_LIMIT ? (uint64_t)job->limit : 0
    };

    return map_hash_words(key, COUNT_OF(key));
}

/* A new ring replaces one that has had no addition since the hand last passed it. */
static struct history_ring *claim(struct history *history, uint64_t key)
{
    uint64_t found = 0;

    if (map_get(&history->by_key, key, &found))
        return &history->rings.items[found - 1];
    uint32_t at = (uint32_t)history->rings.count;
    if (at < HISTORY_RINGS_MAX)
        list_add(&history->rings, (struct history_ring){ .key = key });
    else {
        while (history->rings.items[history->hand].is_used) {
            history->rings.items[history->hand].is_used = false;
            history->hand = (history->hand + 1) % HISTORY_RINGS_MAX;
        }
        at = history->hand;
        history->hand = (at + 1) % HISTORY_RINGS_MAX;
        map_remove(&history->by_key, history->rings.items[at].key);
        history->rings.items[at] = (struct history_ring){ .key = key };
    }
    map_set(&history->by_key, key, (uint64_t)at + 1);
    return &history->rings.items[at];
}

/* The weighted quantile of what is above `above`: the least sample that enough of the weight is not
 * above of; for each percentage. Sixteen by sixteen, in loops that are plain enough for vector
 * code, cost less than to sort them. Returns of how many. */
static uint32_t quantiles_of(const struct history_ring *ring, const int16_t *values, int32_t above,
                             const uint32_t *percents, size_t count, int32_t *ret)
{
    int16_t weight[HISTORY_RUNS], below[HISTORY_RUNS] = { 0 };
    int32_t total = 0;
    uint32_t found = 0;

    for (uint32_t i = 0; i < HISTORY_RUNS; i++) {
        bool counts = i < ring->count && values[i] > above;
        weight[i] = counts ? (int16_t)weights[(ring->count - 1 - i) % HISTORY_RUNS] : 0;
        total += weight[i];
        found += counts;
    }
    for (uint32_t k = 0; k < HISTORY_RUNS; k++) {
        int16_t value = values[k], more = weight[k];
        for (uint32_t i = 0; i < HISTORY_RUNS; i++)
            below[i] = (int16_t)(below[i] + (-(value <= values[i]) & more));
    }
    for (size_t k = 0; k < count && found > 0; k++) {
        int32_t enough = (int32_t)percents[k] * total;
        ret[k] = INT32_MAX;
        for (uint32_t i = 0; i < HISTORY_RUNS; i++) {
            if (weight[i] > 0 && below[i] * 100 >= enough && values[i] < ret[k])
                ret[k] = values[i];
        }
    }
    return found;
}

struct chain {
    const struct history_ring *rings[HISTORY_LEVELS];
    int32_t limit; /* log2; NOTHING: none */
};

static void look_up(const struct history *history, const struct history_job *job, struct chain *ret)
{
    ret->limit = job->limit == USEC_NEVER ? NOTHING : log2_of(job->limit / tick);
    for (int level = 0; level < HISTORY_LEVELS; level++) {
        uint64_t found;
        bool is_known = map_get(&history->by_key, key_of(job, level), &found);
        ret->rings[level] = is_known ? &history->rings.items[found - 1] : NULL;
    }
}

/* From the general to the particular, for each percentage. NOTHING: no samples. */
static void blend(const struct chain *chain, bool by_ratio, const uint32_t *percents, size_t count,
                  int32_t *ret_guesses, int32_t *ret_level)
{
    int32_t values[BLENDED_MAX];

    assert(count <= BLENDED_MAX);
    for (size_t i = 0; i < count; i++)
        ret_guesses[i] = NOTHING;
    for (int level = HISTORY_LEVELS - 1; level >= 0; level--) {
        const struct history_ring *ring = chain->rings[level];
        if (!ring || (by_ratio && chain->limit == NOTHING))
            continue;
        int32_t samples = (int32_t)quantiles_of(ring, by_ratio ? ring->ratios : ring->runs, NOTHING,
                                                percents, count, values);
        for (size_t i = 0; i < count && samples > 0; i++) {
            int32_t value = values[i] + (by_ratio ? chain->limit : 0), *guess = &ret_guesses[i];
            if (chain->limit != NOTHING && value > chain->limit)
                value = chain->limit;
            *guess = *guess == NOTHING ? value : (samples * value + 2 * *guess) / (samples + 2);
        }
        if (samples >= 2 && ret_level)
            *ret_level = level;
    }
}

static const struct history_errors *errors_of(const struct history *history, uint32_t user)
{
    static const struct history_errors none;

    return user < history->users.count ? &history->users.items[user] : &none;
}

uint32_t history_version(const struct history *history, uint32_t user)
{
    return errors_of(history, user)->version;
}

static bool ratios_are_better(const struct history *history, const struct history_job *job)
{
    const struct history_errors *own = errors_of(history, job->user), *all = &history->all;
    int64_t runs = (int64_t)own->runs * own->count + (int64_t)all->runs * TRUST_ALL;
    int64_t ratios = (int64_t)own->ratios * own->count + (int64_t)all->ratios * TRUST_ALL;

    return job->limit != USEC_NEVER && ratios <= runs;
}

static usec_t time_of(const struct history_job *job, int32_t log)
{
    if (log == NOTHING)
        return job->limit;
    usec_t time =
        (log2_power(log) < USEC_NEVER / tick ? log2_power(log) : USEC_NEVER / tick) * tick;
    if (job->limit == USEC_NEVER)
        return time;
    return log >= log2_of(job->limit / tick) || time > job->limit ? job->limit : time;
}

void history_guess(const struct history *history, const struct history_job *job,
                   struct history_guess *ret)
{
    static const uint32_t percents[] = { HISTORY_USUAL, HISTORY_MOST };
    int32_t runs[COUNT_OF(percents)], ratios[COUNT_OF(percents)];
    struct chain chain;
    bool by_ratio = ratios_are_better(history, job);

    look_up(history, job, &chain);
    *ret = (struct history_guess){ .level = HISTORY_LEVELS - 1 };
    blend(&chain, false, percents, by_ratio ? 1 : 2, runs, &ret->level);
    blend(&chain, true, percents, by_ratio ? 2 : 1, ratios, NULL);
    ret->runs = runs[0];
    ret->ratios = ratios[0];
    ret->is_known = ret->runs != NOTHING;
    if (!ret->is_known)
        ret->runs = ret->ratios = chain.limit;
    int32_t usual = by_ratio && ret->ratios != NOTHING ? ret->ratios : ret->runs;
    ret->raw = by_ratio ? ratios[1] : runs[1];
    if (ret->raw == NOTHING)
        ret->raw = chain.limit;
    int32_t most = ret->raw;
    if (most != NOTHING) {
        most += history->offsets[ret->level];
        if (chain.limit != NOTHING && most > chain.limit)
            most = chain.limit;
        most = most < usual ? usual : most;
    }
    ret->usual = time_of(job, usual);
    ret->most = time_of(job, most);
}

usec_t history_quantile(const struct history *history, const struct history_job *job,
                        usec_t elapsed, uint32_t percent)
{
    struct chain chain;
    bool by_ratio = ratios_are_better(history, job);
    int32_t value, above = elapsed > 0 ? log2_of(elapsed / tick) : NOTHING;

    look_up(history, job, &chain);
    if (elapsed <= 0) {
        blend(&chain, by_ratio, &percent, 1, &value, NULL);
        return time_of(job, value);
    }
    for (int level = 0; level < HISTORY_LEVELS; level++) {
        const struct history_ring *ring = chain.rings[level];
        if (!ring)
            continue;
        uint32_t count = quantiles_of(ring, by_ratio ? ring->ratios : ring->runs,
                                      by_ratio ? above - chain.limit : above, &percent, 1, &value);
        if (count >= 2)
            return time_of(job, value + (by_ratio ? chain.limit : 0));
    }
    usec_t twice = elapsed < USEC_NEVER / 2 ? 2 * elapsed : USEC_NEVER;
    return twice < job->limit ? twice : job->limit;
}

uint32_t history_comparable(const struct history *history, const struct history_job *job)
{
    enum { COMPARABLE_LEVELS = 3 }; /* up to: user, size, limit */
    struct chain chain;
    uint32_t most = 0;

    look_up(history, job, &chain);
    for (int level = 0; level < COMPARABLE_LEVELS; level++) {
        const struct history_ring *ring = chain.rings[level];
        most = ring && ring->count > most ? ring->count : most;
    }
    return most;
}

usec_t history_most_after(const struct history *history, const struct history_job *job,
                          usec_t elapsed)
{
    usec_t most = history_quantile(history, job, elapsed > 0 ? elapsed : 1, HISTORY_MOST);
    usec_t least = elapsed + elapsed / 8 + USEC_PER_SEC;

    most = most < least ? least : most;
    return most < job->limit ? most : job->limit;
}

static int32_t distance(int32_t a, int32_t b)
{
    return a < b ? b - a : a - b;
}

static void note_error(struct history_errors *errors, uint32_t most,
                       const struct history_guess *guess, int32_t run)
{
    int32_t count = (int32_t)(errors->count < most ? errors->count + 1 : most);

    errors->runs += (distance(guess->runs, run) * ERROR_ONE - errors->runs) / count;
    errors->ratios += (distance(guess->ratios, run) * ERROR_ONE - errors->ratios) / count;
    errors->count = (uint32_t)count;
}

/* A job without a limit, or cut off at it, carries no information about the upper quantile. */
static void note_offset(struct history *history, const struct history_job *job,
                        const struct history_guess *guess, int32_t run)
{
    int32_t *offset = &history->offsets[guess->level];
    int32_t limit = job->limit == USEC_NEVER ? INT32_MAX : log2_of(job->limit / tick);

    if (guess->raw >= limit && run >= limit)
        return;
    *offset += run > guess->raw + *offset ? OFFSET_UP : -OFFSET_DOWN;
    *offset = *offset < OFFSET_LEAST ? OFFSET_LEAST : *offset > OFFSET_MOST ? OFFSET_MOST : *offset;
}

void history_learn(struct history *history, const struct history_job *job, usec_t run)
{
    int32_t log = log2_of(run / tick);
    int32_t limit = job->limit == USEC_NEVER ? log : log2_of(job->limit / tick);
    struct history_guess guess;

    history_guess(history, job, &guess);
    while (history->users.count <= job->user)
        list_add(&history->users, (struct history_errors){ 0 });
    history->users.items[job->user].version++;
    if (guess.is_known) {
        note_error(&history->users.items[job->user], ERRORS_USER, &guess, log);
        note_error(&history->all, ERRORS_ALL, &guess, log);
        note_offset(history, job, &guess, log);
        history->actual += (uint64_t)(run / USEC_PER_SEC) * job->size;
        history->expected += (uint64_t)(guess.usual / USEC_PER_SEC) * job->size;
        if (history->actual >> 56 || history->expected >> 56) {
            history->actual >>= 1;
            history->expected >>= 1;
        }
    }
    for (int level = 0; level < HISTORY_LEVELS; level++) {
        struct history_ring *ring = claim(history, key_of(job, level));
        ring->runs[ring->count % HISTORY_RUNS] = (int16_t)log;
        ring->ratios[ring->count % HISTORY_RUNS] = (int16_t)(log - limit);
        ring->count = ring->count < UINT32_MAX - HISTORY_RUNS ? ring->count + 1 : HISTORY_RUNS + 1;
        ring->is_used = true;
    }
    history->version++;
}

void history_release(struct history *history)
{
    list_release(&history->rings);
    list_release(&history->users);
    map_release(&history->by_key);
}
