/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of a random world, and what people do to them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/group.h"
#include "core/job/need.h"
#include "core/job/own_speed.h"
#include "core/job/role.h"
#include "core/job/where.h"
#include "core/state/state.h"
#include "worlds/fuzz_make.h"

static bool is_obedient(const struct making *making)
{
    return making->world->temper.is_obedient;
}

/* A profile of a board that is there, mostly. */
static const char *random_profile(struct making *making)
{
    const char *model = making_model(making);

    for (size_t i = 0; i < 4; i++) {
        const char *profile = making_kinds[i].profiles[making_below(making, 4)];
        if (strcmp(making_kinds[i].model, model) == 0 && profile)
            return profile;
    }
    return "3g";
}

static uint32_t random_count(struct making *making)
{
    static const uint8_t counts[] = { 1, 1, 1, 1, 2, 2, 3, 4, 8 };
    uint32_t count = counts[making_below(making, COUNT_OF(counts))];

    return making->gpus_most > 0 && count > making->gpus_most && !making_chance(making, 5)
               ? making->gpus_most
               : count;
}

static const char *one_ask(struct making *making)
{
    uint32_t count = random_count(making), tenth = 1 + making_below(making, 9);
    const char *model = making_model(making), *profile = random_profile(making);

    if (making->is_whole)
        return making_chance(making, 30) ? making_text(making, "%s:%u", model, count)
                                         : making_text(making, "%u", count);
    if (making->has_mig && making_chance(making, 40))
        return making_text(making, "mig=%s:%u", profile, making_chance(making, 85) ? 1 : tenth);
    switch (making_below(making, 12)) {
    case 0:
        return making_text(making, "0.%u", tenth);
    case 1:
        return making_text(making, "mem=%uG", 3 * tenth);
    case 2:
        return making_text(making, "0.%u,mem=%uG", tenth, 1 + making_below(making, 20));
    case 3:
        return making_text(making, "mps=%u", 5 + making_below(making, 90));
    case 4:
        return making_text(making, "%s:0.%u", model, tenth);
    case 5:
        return making_text(making, "%uGB..:%u", 20 + making_below(making, 60), count);
    case 6:
    case 7:
        return making_text(making, "%s:%u", model, count);
    case 8:
        return making->has_islands ? making_text(making, "%u,nvlink", count)
                                   : making_text(making, "%u", count);
    default:
        return making_text(making, "%u", count);
    }
}

static void random_gpus(struct making *making, struct request *request)
{
    const char *gpus = one_ask(making);
    struct error err;

    if (making_chance(making, making->gpus > 0 ? 12 : 90))
        return;
    for (int more = 0; more < 2 && making_chance(making, 8); more++)
        gpus = making_text(making, "%s|%s", gpus, one_ask(making));
    if (request_parse_gpus(request, gpus, &err) < 0)
        abort(); /* made above */
}

static void random_gang(struct making *making, struct request *request)
{
    uint32_t nodes = (uint32_t)making->nodes.count;

    request->members = 2 + making_below(making, making_chance(making, 80) ? 4 : 12);
    request->nodes_max = request->members;
    if (making_chance(making, 40)) {
        request->nodes_min = 1 + making_below(making, request->members);
        if (request->nodes_min > nodes && !making_chance(making, 5))
            request->nodes_min = nodes;
    }
    if (making_chance(making, 15))
        request->nodes_max =
            request->nodes_min + making_below(making, request->members - request->nodes_min + 1);
    else if (making_chance(making, 30))
        request->nodes_max = request->nodes_min;
}

/* In some worlds, by dice of their own. Plain asks: what is known to be wrong is so of others. */
static void random_roles(struct making *making, struct request *request)
{
    static const char *const names[] = { "learner", "actor", "replay" };
    static const char *const asks[] = { "0", "0", "1", "1", "2" };
    struct dice dice = dice_of(making->world->temper.seed ^ making->next_id << 20);
    uint32_t count = 1 + (uint32_t)dice_below(&dice, 3);
    struct error err;

    if (is_obedient(making) || making->world->temper.seed % 3 != 0 || dice_below(&dice, 4) > 0)
        return;
    struct role *roles = arena_take(&making->world->strings, count, sizeof(*roles));
    memset(roles, 0, count * sizeof(*roles));
    for (uint32_t i = 0; i < count; i++) {
        struct request *part = &roles[i].request;
        snprintf(roles[i].name, sizeof(roles[i].name), "%s", names[i]);
        request_default(part);
        part->members = 1 + (uint32_t)dice_below(&dice, 3);
        part->cpu_milli = (int64_t)dice_below(&dice, 5) * 500;
        part->memory_mib = (int64_t)dice_below(&dice, 4) * 1024;
        if (making->gpus > 0 &&
            request_parse_gpus(part, asks[dice_below(&dice, COUNT_OF(asks))], &err) < 0)
            abort(); /* said above */
    }
    request->nodes_min = request->nodes_max = 1;
    request_set_roles(request, roles, count);
}

/* Elastic gangs that keep their size, and go on without lost members; in others of these worlds. */
static void random_range(struct making *making, struct request *request)
{
    struct dice dice = dice_of(making->world->temper.seed ^ making->next_id << 20);

    if (is_obedient(making) || making->world->temper.seed % 3 != 1 || dice_below(&dice, 4) > 0)
        return;
    request->members_max = request->members + 1 + (uint32_t)dice_below(&dice, 4);
    request->sizes = (uint8_t)dice_below(&dice, 2);
    request->nodes_min = request->nodes_max = 1;
}

/* Conditions, and anti-affinity: in some worlds each, by dice of their own. */
static void random_where(struct making *making, struct request *request)
{
    struct dice dice = dice_of(making->world->temper.seed ^ making->next_id << 24);
    uint32_t nodes = (uint32_t)making->nodes.count, a = (uint32_t)dice_below(&dice, nodes + 1),
             b = (uint32_t)dice_below(&dice, nodes + 1);
    const char *model = making_kinds[dice_below(&dice, 4)].model;
    const char *const texts[] = {
        making_text(making, "node in (n%u,n%u)", a, b),
        making_text(making, "node!=n%u,node!=n%u", a, b),
        making_text(making, "rack=r%u", a / 4),
        making_text(making, "rack!=r%u", b / 4),
        making_text(making, "model=%s|node=n%u", model, a),
        making_text(making, "!%s", model),
        making_text(making, "%s|node=n%u,node!=n%u", model, a, b),
    };
    where_list terms = { 0 };
    struct error err;

    if (is_obedient(making) || making->world->temper.seed % 5 != 2 || dice_below(&dice, 3) > 0)
        return;
    if (where_parse(&terms, texts[dice_below(&dice, COUNT_OF(texts))], &err) < 0)
        abort(); /* made above */
    struct where_term *where = arena_take(&making->world->strings, terms.count, sizeof(*where));
    mem_copy(where, terms.items, terms.count * sizeof(*where));
    request->where = where;
    request->where_count = (uint32_t)terms.count;
    list_release(&terms);
}

static void random_apart(struct making *making, struct request *request)
{
    static const char *const names[] = { "web", "db", "cache" };
    struct dice dice = dice_of(making->world->temper.seed ^ making->next_id << 28);

    if (is_obedient(making) || making->world->temper.seed % 5 != 4 || request->members_max > 0 ||
        dice_below(&dice, 2) > 0)
        return;
    request->label_count = 1;
    snprintf(request->labels[0].name, sizeof(request->labels[0].name), "%s",
             names[dice_below(&dice, COUNT_OF(names))]);
    request->apart_count = (uint32_t)dice_below(&dice, 2);
    snprintf(request->apart[0].name, sizeof(request->apart[0].name), "%s",
             request->apart_count > 0 ? names[dice_below(&dice, COUNT_OF(names))] : "");
}

/* Speeds on some models, in some worlds. */
static void random_speeds(struct making *making, struct request *request)
{
    static const char *const models[] = { "a100", "a30", "h100", "l4" }; /* sorted */
    struct dice dice = dice_of(making->world->temper.seed ^ making->next_id << 32);
    struct own_speed *speeds;
    uint32_t count = 0;

    if (is_obedient(making) || making->world->temper.seed % 5 != 3 || dice_below(&dice, 2) > 0 ||
        !request_wants_gpus(request))
        return;
    speeds = arena_take(&making->world->strings, COUNT_OF(models), sizeof(*speeds));
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        speeds[count] = (struct own_speed){ .milli = 250 + (uint32_t)dice_below(&dice, 8000) };
        memcpy(speeds[count].model, models[i], strlen(models[i]));
        count += dice_below(&dice, 4) > 0;
    }
    request->speeds = count > 0 ? speeds : NULL;
    request->speeds_count = count;
}

static usec_t random_limit(struct making *making)
{
    usec_t usual = making->world->temper.run_usual;
    usec_t limit = usual / 8 + (usec_t)making_below(making, 2000) * (usual / 500);

    return limit / USEC_PER_SEC * USEC_PER_SEC + USEC_PER_SEC;
}

/* Mostly one that was asked for before: jobs that are alike wait in one line. */
static struct request random_request(struct making *making)
{
    struct request request;

    if (making->shape_count > 0 && making_chance(making, 80))
        return making->shapes[making_below(making, making->shape_count)];
    request_default(&request);
    request.cpu_milli = making_chance(making, 40) ? 0 : (int64_t)making_below(making, 9) * 500;
    request.memory_mib = making_chance(making, 60) ? 0 : (int64_t)making_below(making, 16) * 1024;
    random_gpus(making, &request);
    if (making_chance(making, 20))
        random_gang(making, &request);
    random_roles(making, &request);
    random_range(making, &request);
    random_where(making, &request);
    random_apart(making, &request);
    random_speeds(making, &request);
    if (is_obedient(making) || making_chance(making, 75))
        request.max_duration = random_limit(making);
    if (making->pools > 0 && making_chance(making, 25))
        snprintf(request.pool, sizeof(request.pool), "%s", making_pool(making));
    if (making->shape_count < MAKING_SHAPES)
        making->shapes[making->shape_count++] = request;
    return request;
}

/* An earlier job; mostly a recent one. */
static uint64_t any_job(struct making *making)
{
    uint64_t back =
        making_chance(making, 80) ? 1 + making_below(making, 20) : 1 + making_below(making, 400);

    return making->next_id > back ? making->next_id - back : 1;
}

static void tell_needs(struct making *making, uint64_t job, uint32_t count, uint64_t on)
{
    for (uint32_t i = 0; i < count; i++) {
        struct event need = { .kind = EVENT_NEED, .need = { .job = job } };
        need.need.on = on ? on : any_job(making);
        need.need.kind = (uint8_t)making_below(making, 4);
        if (need.need.on >= job)
            need.need.on = job > 1 ? job - 1 : 1;
        making_tell(making, &need);
    }
}

/* In some worlds with hours, by dice of their own: all jobs wait for cheap ones, until a deadline
 * presses. */
static void be_thrifty(const struct making *making, struct event_submit *submit, usec_t limit)
{
    struct dice dice = dice_of(making->world->temper.seed ^ submit->id << 20);

    if (!making->has_times || making->world->temper.seed % 8 != 5 || dice_below(&dice, 3) == 0)
        return;
    submit->tariff_most = (uint16_t)(800 + dice_below(&dice, 5) * 100);
    submit->deadline = making->now + limit * (usec_t)(2 + dice_below(&dice, 4));
    submit->estimate = 0;
}

/* What only happens in worlds with surprises. */
static void surprise(struct making *making, struct event_submit *submit, usec_t limit)
{
    if (making_chance(making, 15))
        submit->priority = (int32_t)making_below(making, 5) - 2;
    if (making_chance(making, making->has_times ? 15 : 6))
        submit->begin = making->now + ((usec_t)making_below(making, 300) - 60) * USEC_PER_MIN;
    if (making->has_times && making_chance(making, 15))
        submit->tariff_most = (uint16_t)(1 + making_below(making, 13) * 100);
    submit->held = making_chance(making, 3);
    if (making_chance(making, 40))
        submit->retry = making_below(making, 4);
    submit->no_requeue = making_chance(making, 30);
    if (making_chance(making, 40))
        submit->estimate = limit / 4 * (1 + making_below(making, 5)) + 1;
    if (making_chance(making, submit->tariff_most > 0 ? 60 : 15))
        submit->deadline = making->now + limit * (1 + making_below(making, 8));
    if (making->has_preemption || (making->has_times && making_chance(making, 30))) {
        submit->preemptible = making_chance(making, 60);
        submit->restart_cost = (usec_t)making_below(making, 20) * USEC_PER_MIN;
        if (making_chance(making, 40))
            submit->checkpoint_every = limit / (1 + (usec_t)making_below(making, 8)) + 1;
    }
    if (making_chance(making, 12))
        submit->need_count = 1 + making_below(making, 3);
    be_thrifty(making, submit, limit);
}

static void submit(struct making *making, const struct request *request, uint64_t group,
                   const char *queue, uint64_t on)
{
    usec_t limit =
        request->max_duration == USEC_NEVER ? random_limit(making) : request->max_duration;
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = making->next_id++, .queue = queue, .request = *request, .group = group }
    };

    event.submit.name = making_text(making, "job-%u", making_below(making, 5));
    event.submit.user = making_chance(making, 50) ? "ana" : "ben";
    event.submit.gid = 100 + making_below(making, 3);
    event.submit.grace = (usec_t)making_below(making, 60) * USEC_PER_SEC;
    event.submit.resize = request->members_max > 0 ? RESIZE_NEVER : RESIZE_RESTART;
    event.submit.goes_on = request->members_max > 0 && event.submit.id % 4 > 0;
    making->crowd -= request_milli(request, 0, 0) * (limit / 2) / 1000;
    if (!is_obedient(making))
        surprise(making, &event.submit, limit);
    if (on)
        event.submit.need_count = 1;
    making_tell(making, &event);
    tell_needs(making, event.submit.id, event.submit.need_count, on);
}

void making_submit(struct making *making)
{
    struct request request = random_request(making);

    submit(making, &request, 0, making_queue(making), 0);
}

static void tell_group(struct making *making, enum group_kind kind, uint64_t last, uint64_t parent,
                       uint32_t jobs, uint32_t max_running)
{
    making_tell(making, &(struct event){ .kind = EVENT_GROUP,
                                         .group = { .id = making->next_id++,
                                                    .last = last,
                                                    .kind = (uint8_t)kind,
                                                    .name = "group",
                                                    .user = "ana",
                                                    .parent = parent,
                                                    .max_running = max_running,
                                                    .job_count = jobs } });
}

static void tell_array(struct making *making, uint32_t count, uint64_t parent, uint64_t on)
{
    struct request request = random_request(making);
    const char *queue = making_queue(making);
    uint64_t id = making->next_id;
    bool is_bounded = !is_obedient(making) && making_chance(making, 60);

    tell_group(making, parent ? GROUP_STAGE : GROUP_ARRAY, id + count, parent, count,
               is_bounded ? 1 + making_below(making, 5) : 0);
    for (uint32_t i = 0; i < count; i++) {
        if (making_chance(making, 5))
            request = random_request(making);
        submit(making, &request, id, queue, on);
    }
}

void making_array(struct making *making)
{
    tell_array(making, 1 + making_below(making, 12), 0, 0);
}

/* Stages one after another, and sometimes a bound on all of them. */
void making_pipeline(struct making *making)
{
    uint32_t stages = 2 + making_below(making, 3), sizes[4], jobs = 0;
    uint64_t id = making->next_id, before = 0;

    for (uint32_t i = 0; i < stages; i++)
        jobs += sizes[i] = 1 + making_below(making, 4);
    tell_group(making, GROUP_PIPELINE, id + jobs + stages, 0, jobs,
               making_chance(making, 30) ? 1 + making_below(making, 4) : 0);
    for (uint32_t i = 0; i < stages; i++) {
        uint64_t stage = making->next_id;
        tell_array(making, sizes[i], id, before);
        before = stage;
    }
}

/* Many small ones. */
void making_flood(struct making *making)
{
    uint32_t count = 20 + making_below(making, making->has_preemption ? 30
                                               : is_obedient(making)  ? 60
                                                                      : 150);
    struct request request;
    struct error err;

    request_default(&request);
    request.cpu_milli = 500;
    if (making->gpus > 0 && request_parse_gpus(&request, "1", &err) < 0)
        abort();
    request.max_duration = random_limit(making) / 4 + USEC_PER_MIN;
    if (is_obedient(making) && making->order == ORDER_DEFAULT && making->gpus > 0)
        count = making->gpus * 2 < count ? making->gpus * 2 : count;
    const char *queue = making_queue(making);
    for (uint32_t i = 0; i < count; i++)
        submit(making, &request, 0, queue, 0);
}

/* With what others ask for a little more than the GPUs do in this time: without surprises jobs run
 * for half of their limit. Some are so short that they may slip in before a job that has waited
 * beyond its protected start. */
void making_crowd(struct making *making, usec_t passed)
{
    static const uint8_t lengths[] = { 3, 30, 45, 60 };
    usec_t unit = making->world->temper.run_usual / 20;
    struct request request;
    struct error err;

    request_default(&request);
    if (request_parse_gpus(&request, "1", &err) < 0)
        abort();
    making->crowd += making->crowd_gpus * (passed + passed / 20);
    while (making->crowd > 0) {
        request.max_duration = lengths[making_below(making, COUNT_OF(lengths))] * unit;
        submit(making, &request, 0, "default", 0);
    }
}

/* ---- people ---- */

void making_person(struct making *making)
{
    static const enum event_kind kinds[] = { EVENT_CANCEL,  EVENT_CANCEL,  EVENT_HOLD,
                                             EVENT_RELEASE, EVENT_RELEASE, EVENT_REQUEUE,
                                             EVENT_REQUEUE };
    struct event event = { .kind = kinds[making_below(making, COUNT_OF(kinds))] };

    if (event.kind == EVENT_CANCEL)
        event.cancel.user = "ana";
    event.hold.job = any_job(making);
    making_tell(making, &event);
}

void making_update(struct making *making)
{
    struct event event = { .kind = EVENT_UPDATE, .update = { .job = any_job(making) } };

    event.update.has_priority = making_chance(making, 40);
    event.update.priority = (int32_t)making_below(making, 7) - 3;
    event.update.queue = making_chance(making, 30) ? making_queue(making) : "";
    event.update.max_duration = making_chance(making, 40) ? random_limit(making) : 0;
    event.update.has_begin = making_chance(making, 15);
    event.update.begin = making->now + ((usec_t)making_below(making, 100) - 30) * USEC_PER_MIN;
    making_tell(making, &event);
}
