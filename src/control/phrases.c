/* SPDX-License-Identifier: Apache-2.0 */
#include "control/phrases.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "core/cluster/label.h"
#include "core/job/role.h"

const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

void say_milli(struct text *text, int64_t milli, const char *unit)
{
    char number[UNITS_TEXT_SIZE];

    text_printf(text, "%s %s%s", units_format_milli(number, milli), unit,
                plural(milli == 1000 ? 1 : 2));
}

void say_mib(struct text *text, int64_t mib)
{
    char number[UNITS_TEXT_SIZE];

    text_add(text, units_format_mib(number, mib));
}

void say_amount(const struct state *state, struct text *text, uint32_t resource, int64_t amount)
{
    char number[UNITS_TEXT_SIZE];

    switch (resource) {
    case RESOURCE_GPUS:
        say_milli(text, amount, "gpu");
        break;
    case RESOURCE_CPUS:
        say_milli(text, amount, "cpu");
        break;
    case RESOURCE_MEMORY:
        say_mib(text, amount);
        text_add(text, " of memory");
        break;
    default:
        text_printf(text, "%s %s", units_format_milli(number, amount),
                    state->resources.items[resource].name);
    }
}

void say_job(const struct state *state, const struct job *job, struct text *text)
{
    const struct group *group = state_group(state, job->group);

    if (group && group->kind == GROUP_ARRAY)
        text_printf(text, "%" PRIu64 "_%" PRIu32, group->id, job->index);
    else
        text_printf(text, "%" PRIu64, job->id);
}

const struct job *find_task(const struct state *state, const struct group *group, uint32_t index)
{
    for (uint64_t id = group->id + 1; id <= group->last; id++) {
        const struct job *job = state_job(state, id);
        if (job && job->group == group->id && job->index == index)
            return job;
    }
    return NULL;
}

const struct request *say_role(const struct request *request, const struct why *why,
                               struct text *text)
{
    if (why->role == 0 || why->role > request->roles_count)
        return request;
    text_printf(text, "role %s: ", request->roles[why->role - 1].name);
    return &request->roles[why->role - 1].request;
}

/* A condition holds somewhere on the machine. */
static bool holds_on(const struct state *state, const struct request *request, uint32_t node,
                     const struct where_term *terms, uint32_t count)
{
    if (!request_wants_gpus(request))
        return where_holds(terms, count, &state->nodes.items[node], NULL);
    LIST_EACH (const struct device, device, &state->devices) {
        if (device->node == node && where_holds(terms, count, &state->nodes.items[node], device))
            return true;
    }
    return false;
}

void where_say(const struct state *state, const struct request *request, struct text *text)
{
    enum { NAMED = 4 };

    for (uint32_t i = 0, end; i < request->where_count; i = end) {
        const struct where_term *terms = &request->where[i];
        size_t count = 0;
        end = where_end(request->where, request->where_count, i);
        text_add(text, i > 0 ? "; " : "");
        where_format(terms, end - i, text);
        text_add(text, " excludes ");
        for (uint32_t node = 0; node < state->nodes.count; node++) {
            if (!holds_on(state, request, node, terms, end - i) && count++ < NAMED)
                text_printf(text, "%s%s", count > 1 ? ", " : "", state->nodes.items[node].name);
        }
        if (count == 0)
            text_add(text, "no node");
        else if (count == state->nodes.count && count > 1)
            text_printf(text, "%s", count > NAMED ? " and all others" : ": all nodes");
        else if (count > NAMED)
            text_printf(text, " and %zu more", count - NAMED);
    }
}

/* Memory of the largest device that an alternative may have; 0: none, or it asks for no memory. */
static int64_t largest_of(const struct state *state, const struct gpu_ask *ask)
{
    int64_t most = 0;

    if (ask->memory_mib == 0 && ask->size_mib_min == 0)
        return 0;
    LIST_EACH (const struct device, device, &state->devices) {
        if ((!ask->model[0] || strcmp(ask->model, device->model) == 0) && device->memory_mib > most)
            most = device->memory_mib;
    }
    return most;
}

/* True when no alternative finds that much memory on a device: says so. */
static bool say_too_large(const struct state *state, const struct request *request,
                          const char *gpus, struct text *text)
{
    int64_t most = 0;

    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        const struct gpu_ask *ask = &request->gpus[i];
        int64_t largest = largest_of(state, ask);

        if (largest == 0 ||
            largest >= (ask->memory_mib > ask->size_mib_min ? ask->memory_mib : ask->size_mib_min))
            return false;
        if (largest > most)
            most = largest;
    }
    if (most == 0)
        return false;
    text_printf(text, "gpus '%s': the largest gpu has ", gpus);
    say_mib(text, most);
    return true;
}

void never_say(const struct state *state, const struct request *whole, const struct why *why,
               struct text *text)
{
    AUTO_RELEASE(text) struct text gpus = { 0 };
    const struct request *request = say_role(whole, why, text);

    request_format_gpus(request, &gpus);
    switch (why->kind) {
    case WHY_NEVER_GPUS:
        text_printf(text, "%" PRId64 " gpus", why->wanted);
        if (request->gpu_alternatives > 1 || request->gpus[0].model[0] ||
            request->gpus[0].kind != SHARE_WHOLE)
            text_printf(text, " (%s)", text_string(&gpus));
        text_printf(text, ": no node has more than %" PRId64, why->most);
        if (why->most > 0 && why->wanted % why->most == 0 && state->nodes.count > 1 &&
            whole->roles_count == 0)
            text_printf(text, "; for more nodes: --nodes %" PRId64 " --gpus %" PRId64,
                        why->wanted / why->most, why->most);
        return;
    case WHY_NEVER_MODEL: {
        if (say_too_large(state, request, text_string(&gpus), text))
            return;
        text_printf(text, "gpus '%s': there is none; there are ", text_string(&gpus));
        size_t named = 0;
        for (size_t i = 0; i < state->devices.count; i++) {
            bool is_new = true;
            for (size_t k = 0; k < i; k++)
                is_new &= strcmp(state->devices.items[k].model, state->devices.items[i].model) != 0;
            if (is_new && named++ < 8)
                text_printf(text, "%s%s", named > 1 ? ", " : "", state->devices.items[i].model);
        }
        text_add(text, named == 0
                           ? "there are no gpus (tarn up --devices synthetic:h100:4 simulates four)"
                           : "");
        return;
    }
    case WHY_NEVER_CPUS:
        say_milli(text, why->wanted, "cpu");
        text_add(text, ": no node has more than ");
        say_milli(text, why->most, "cpu");
        return;
    case WHY_NEVER_MEMORY:
        say_mib(text, why->wanted);
        text_add(text, " of memory: no node has more than ");
        say_mib(text, why->most);
        return;
    case WHY_NEVER_NODES:
        text_printf(text, "%" PRId64 " nodes: there %s only %" PRId64, why->wanted,
                    why->most == 1 ? "is" : "are", why->most);
        return;
    case WHY_NEVER_GANG:
        text_printf(text, "%" PRIu32 " members: each fits, but not all of them at once",
                    request->members);
        return;
    case WHY_NEVER_QUOTA:
        say_amount(state, text, why->resource, why->wanted);
        text_printf(text, ": %s%s never holds more than ",
                    !why->is_of_user ? "queue "
                    : why->is_group  ? "a Unix group in queue "
                                     : "a user in queue ",
                    state->queues.items[why->queue].name);
        say_amount(state, text, why->resource, why->most);
        if (why->is_firm)
            text_add(text, " for jobs that are not preemptible; with --preemptible it could run");
        return;
    case WHY_NEVER_POOL:
        if (whole->pool[0] && state_find_pool(state, whole->pool) < 0)
            text_printf(text, "pool %s: no such pool", whole->pool);
        else
            text_printf(text, "pool %s is too small for it, or belongs to another queue",
                        whole->pool[0] ? whole->pool : "default");
        return;
    case WHY_NEVER_MIG:
        text_printf(text, "gpus '%s': no device supports such MIG instances", text_string(&gpus));
        return;
    case WHY_NEVER_WHERE:
        text_add(text, "where: no node meets its conditions: ");
        where_say(state, whole, text);
        return;
    case WHY_NEVER_LINK:
        text_printf(text, "gpus '%s': no linked GPUs are known", text_string(&gpus));
        return;
    default:
        text_add(text, why_meaning(why->kind));
        return;
    }
}
