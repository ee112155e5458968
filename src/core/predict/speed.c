/* SPDX-License-Identifier: Apache-2.0 */
#include "core/predict/speed.h"

#include <string.h>

#include "base/log2.h"

enum { MEAN_ONE = 1 << 4 }; /* means have four bits more than logarithms */

static const usec_t tick = USEC_PER_SEC / 1000;

static const struct {
    const char *model;
    uint32_t training, inference;
} published[] = {
#define MODEL(name, training, inference) { name, training, inference },
#include "core/predict/published.def"
};

uint32_t speed_published(const char *model, enum gpu_work work)
{
    for (size_t i = 0; i < COUNT_OF(published); i++) {
        if (strcmp(published[i].model, model) == 0)
            return work == WORK_TRAINING ? published[i].training : published[i].inference;
    }
    return 0;
}

static uint64_t key_of(const struct history_job *job, const char *model)
{
    const uint64_t key[] = { job->user, job->name, job->size, map_hash(model, strlen(model)) };

    return map_hash_words(key, COUNT_OF(key));
}

static const struct speed_ring *find(const struct speeds *speeds, uint64_t key)
{
    uint64_t found = 0;

    return map_get(&speeds->by_key, key, &found) ? &speeds->rings.items[found - 1] : NULL;
}

static struct speed_ring *claim(struct speeds *speeds, uint64_t key)
{
    uint64_t found = 0;

    if (map_get(&speeds->by_key, key, &found))
        return &speeds->rings.items[found - 1];
    size_t at = speeds->rings.count;
    if (at < SPEED_RINGS_MAX)
        list_add(&speeds->rings, (struct speed_ring){ 0 });
    else {
        at = key % SPEED_RINGS_MAX;
        map_remove(&speeds->by_key, speeds->rings.items[at].key);
    }
    speeds->rings.items[at] = (struct speed_ring){ .key = key };
    map_set(&speeds->by_key, key, (uint64_t)at + 1);
    return &speeds->rings.items[at];
}

void speed_learn(struct speeds *speeds, const struct history_job *job, const char *model,
                 usec_t run)
{
    if (!speeds->is_learning)
        return;
    struct speed_ring *ring = claim(speeds, key_of(job, model));
    int32_t log = log2_of(run / tick) * MEAN_ONE;

    ring->count += ring->count < UINT32_MAX;
    int32_t over = (int32_t)(ring->count < SPEED_RUNS ? ring->count : SPEED_RUNS);
    ring->mean += (log - ring->mean) / over;
}

bool speed_look(const struct speeds *speeds, const struct history_job *job,
                struct speed_view *views, uint32_t count)
{
    int64_t sum = 0, weights = 0;

    /* What the run times would be on a T4 (plus its logarithm), by each model. */
    for (uint32_t i = 0; i < count; i++) {
        const struct speed_ring *ring = find(speeds, key_of(job, views[i].model));
        int64_t weight = !ring ? 0 : ring->count < SPEED_RUNS ? ring->count : SPEED_RUNS;
        views[i].runs = ring ? ring->count : 0;
        views[i].run = ring ? ring->mean / MEAN_ONE : 0;
        views[i].speed = views[i].published;
        sum += weight * (views[i].run + views[i].published);
        weights += weight;
    }
    if (weights == 0)
        return false;
    int32_t work = (int32_t)(sum / weights);
    for (uint32_t i = 0; i < count; i++) {
        int64_t runs = views[i].runs < SPEED_RUNS ? views[i].runs : SPEED_RUNS;
        int64_t slower = views[i].runs > 0 ? views[i].run + views[i].published - work : 0;
        views[i].speed = views[i].published - (int32_t)(slower * runs / (runs + SPEED_TRUST));
        views[i].run = work - views[i].speed;
    }
    return true;
}

bool speed_restore(struct speeds *speeds, const struct speed_ring *saved)
{
    if (saved->count == 0 || speeds->rings.count == SPEED_RINGS_MAX || find(speeds, saved->key) ||
        saved->mean < 0 || saved->mean > 64 * LOG2_ONE * MEAN_ONE)
        return false;
    list_add(&speeds->rings, *saved);
    map_set(&speeds->by_key, saved->key, speeds->rings.count);
    return true;
}

void speeds_release(struct speeds *speeds)
{
    list_release(&speeds->rings);
    map_release(&speeds->by_key);
}

DEFINE_NAMES(work_name, uint8_t, "any", "training", "inference")
