/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job waits, as a sentence and as JSON: "4 gpus wanted, 2 free". */
#include <inttypes.h>
#include <string.h>

#include "api/estimates.h"
#include "api/view/view.h"

/* "job 12", "job 12_3", "array 12", "stage prepare", "pipeline digits" */
static void say_target(const struct state *state, uint64_t id, struct text *text)
{
    const struct group *group = state_group(state, id);
    const struct job *job = state_job(state, id);

    if (job) {
        text_add(text, "job ");
        say_job(state, job, text);
    } else if (!group || group->kind == GROUP_ARRAY) {
        text_printf(text, "%s %" PRIu64, group ? "array" : "job", id);
    } else {
        text_printf(text, "%s %s", group_kind_name(group->kind), group->name);
    }
}

static void say_needs(const struct state *state, const struct why *why, struct text *text)
{
    static const char *const ends[] = { "to succeed", "to end", "to fail", "to start" };

    text_add(text, "waits for ");
    say_target(state, why->job, text);
    text_printf(text, " %s", ends[(size_t)why->wanted < COUNT_OF(ends) ? why->wanted : 0]);
}

static void say_gpus(const struct request *request, const struct why *why, struct text *text)
{
    bool is_part = request->gpu_alternatives > 0 && request->gpus[0].kind != SHARE_WHOLE;
    const char *model = request->gpu_alternatives == 1 ? request->gpus[0].model : "";

    if (is_part) {
        text_add(text, "a share of a gpu (");
        request_format_gpus(request, text);
        text_add(text, ") wanted, no device has that much free");
        return;
    }
    text_printf(text, "%" PRId64 " %s%sgpu%s wanted, %" PRId64 " free", why->wanted, model,
                model[0] ? " " : "", plural(why->wanted), why->free);
}

static void say_quota(const struct state *state, const struct why *why, struct text *text)
{
    text_printf(text, "queue %s holds ", state->queues.items[why->queue].name);
    say_amount(state, text, why->resource, why->most - why->free);
    text_add(text, " of at most ");
    say_amount(state, text, why->resource, why->most);
    text_add(text, ", ");
    say_amount(state, text, why->resource, why->wanted);
    text_add(text,
             why->is_firm ? " more wanted; above that only preemptible jobs run" : " more wanted");
}

static void say_user_limit(const struct state *state, const struct job *job, const struct why *why,
                           struct text *text)
{
    if (why->is_group)
        text_printf(text, "group %" PRIu32, job->gid);
    else
        text_printf(text, "user %s", state_user(state, job->user));
    text_add(text, " holds ");
    say_amount(state, text, why->resource, why->most - why->free);
    text_add(text, " of at most ");
    say_amount(state, text, why->resource, why->most);
    text_printf(text, " in queue %s", state->queues.items[why->queue].name);
}

static void say_lent(const struct state *state, const struct why *why, struct text *text)
{
    say_amount(state, text, why->resource, why->wanted);
    text_add(text, " wanted, ");
    say_amount(state, text, why->resource, why->free);
    text_printf(text, " free for others: queue %s does not lend ",
                state->queues.items[why->queue].name);
    say_amount(state, text, why->resource, why->most);
    text_add(text, " of its guarantee");
}

/* "would split a whole h100 node that is guaranteed to queue research" */
static void say_shape(const struct state *state, const struct why *why, struct text *text)
{
    static const char *const words[CELL_LEVELS] = { "pair", "NVLink island", "node", "rack" };

    text_printf(text, "would split a whole %s %s that is guaranteed to queue %s",
                why->resource > 0 ? state->resources.items[why->resource].name : "gpu",
                words[why->level], state->queues.items[why->queue].name);
}

static void say_pool(const struct state *state, const struct why *why, struct text *text)
{
    const struct pool *pool = &state->pools.items[why->pool];
    char most[UNITS_TEXT_SIZE];

    if (why->kind == WHY_POOL_MAX && why->wanted > why->most)
        text_printf(text, "pool %s has at most %s gpus at this hour, fewer than the job needs",
                    pool->name, units_format_milli(most, why->most));
    else if (why->kind == WHY_POOL_MAX)
        text_printf(text, "pool %s is at its maximum of %s gpus", pool->name,
                    units_format_milli(most, why->most));
    else
        text_printf(text, "the free gpus are kept for pool %s", pool->name);
}

static void say_spot(const struct why *why, struct text *text)
{
    if (why->wanted == SPOT_ONLY)
        text_add(text, "only on-demand nodes have room, and its spot rule is only");
    else
        text_add(text,
                 "only spot nodes have room, and its spot rule excludes them; with --preemptible "
                 "or --spot allow it would start");
}

/* "; node a is taken away in 2m": capacity that is about to be lost. */
static void say_going(const struct api *api, struct text *text)
{
    const struct state *state = api_state(api);
    usec_t now = api_now(api);
    char buffer[UNITS_TEXT_SIZE];

    for (size_t i = 0; i < state->nodes.count; i++) {
        const struct node *node = &state->nodes.items[i];
        if (node->going_at == 0 || node->state == NODE_DOWN)
            continue;
        if (node->going_at <= now) {
            text_printf(text, "; node %s is taken away", node->name);
            continue;
        }
        usec_t left = (node->going_at - now + USEC_PER_SEC - 1) / USEC_PER_SEC * USEC_PER_SEC;
        text_printf(text, "; node %s is taken away in %s", node->name,
                    units_format_duration(buffer, left));
    }
}

/* An engine that cannot be reached has not reported its nodes: what they lack is not known. */
static void say_never_or_meaning(const struct api *api, const struct job *job,
                                 const struct why *why, struct text *text)
{
    const struct state *state = api_state(api);
    const struct api_attempts *attempts = &api->ports.attempts;
    const char *trouble = state->nodes.count == 0 ? attempts->trouble(attempts->user, job) : NULL;

    if (!why_is_never(why->kind)) {
        text_add(text, why_meaning(why->kind));
    } else if (trouble) {
        text_printf(text, "no node is known yet: %s", trouble);
    } else {
        text_add(text, "can never run: ");
        never_say(state, state_request(state, job), why, text);
    }
}

/* What is in its way comes again and again. */
static void say_for_ever(const struct job *job, struct text *text)
{
    char limit[UNITS_TEXT_SIZE];

    text_add(text, "; it repeats, and the job, ");
    if (job->max_duration == USEC_NEVER)
        text_add(text, "which has no time limit,");
    else
        text_printf(text, "with its time limit of %s,",
                    units_format_duration(limit, job->max_duration));
    text_add(text, " fits between no two of them: it never starts");
}

static void say(const struct api *api, const struct job *job, const struct why *why, uint32_t ahead,
                struct text *text)
{
    const struct state *state = api_state(api);
    const struct request *request = state_request(state, job);

    switch (why->kind) {
    case WHY_HELD:
        text_add(text, "held; tarn release ");
        say_job(state, job, text);
        break;
    case WHY_NEEDS:
        say_needs(state, why, text);
        break;
    case WHY_BEGIN: {
        char left[UNITS_TEXT_SIZE];
        usec_t now = api_now(api);
        text_printf(text, "begins in %s",
                    units_format_duration(left, why->at > now ? why->at - now : 0));
        break;
    }
    case WHY_GPUS:
        say_gpus(say_role(request, why, text), why, text);
        break;
    case WHY_CPUS:
        say_role(request, why, text);
        say_milli(text, why->wanted, "cpu");
        text_add(text, " wanted, ");
        say_milli(text, why->free > 0 ? why->free : 0, "cpu");
        text_add(text, " free");
        break;
    case WHY_MEMORY:
        say_role(request, why, text);
        say_mib(text, why->wanted);
        text_add(text, " of memory wanted, ");
        say_mib(text, why->free > 0 ? why->free : 0);
        text_add(text, " free");
        break;
    case WHY_QUOTA:
        say_quota(state, why, text);
        break;
    case WHY_USER_LIMIT:
        say_user_limit(state, job, why, text);
        break;
    case WHY_LENT:
        say_lent(state, why, text);
        break;
    case WHY_POOL_MAX:
    case WHY_POOL_MIN:
        say_pool(state, why, text);
        if (why->is_forever)
            text_add(text, "; so it is at every hour, and the job never starts");
        break;
    case WHY_SHAPE:
        say_shape(state, why, text);
        break;
    case WHY_SPOT:
        say_spot(why, text);
        break;
    case WHY_WHERE:
        text_add(text, "there is room only on nodes or devices that its conditions exclude: ");
        where_say(state, state_request(state, job), text);
        break;
    case WHY_APART:
        text_printf(text,
                    "there is room only on nodes of job %" PRIu64 " and others like it, which "
                    "its anti-affinity excludes",
                    why->job);
        break;
    case WHY_ARRAY:
        text_printf(text, "array %" PRIu64 " runs %" PRId64 " task%s, its maximum", why->job,
                    why->most, plural(why->most));
        break;
    case WHY_RESERVED:
        text_printf(text, "would delay job %" PRIu64 ", which is first in line", why->job);
        break;
    case WHY_TURN:
        text_printf(text,
                    "the rest of the limit of queue %s is kept for job %" PRIu64
                    ", which is first in line",
                    state->queues.items[why->queue].name, why->job);
        break;
    case WHY_BEHIND:
        text_printf(text, "behind job %" PRIu64, why->job);
        break;
    case WHY_FASTER:
        text_printf(text,
                    "ends sooner on a faster model that is busy, after job %" PRIu64
                    ", than on one that is free",
                    why->job);
        break;
    case WHY_RESERVATION:
    case WHY_WINDOW:
    case WHY_TARIFF:
    case WHY_BUDGET:
        why_say_time(api, why, text);
        if (why->is_forever)
            say_for_ever(job, text);
        break;
    case WHY_NONE:
    case WHY_NEW:
        text_add(text, why_meaning(why->kind));
        break;
    default:
        say_never_or_meaning(api, job, why, text);
        break;
    }
    if (ahead > 0)
        text_printf(text, "; %" PRIu32 " job%s like it %s in front of it", ahead, plural(ahead),
                    ahead == 1 ? "is" : "are");
    if (why->kind == WHY_UNUSABLE || (why->kind >= WHY_GPUS && why->kind <= WHY_MEMORY)) {
        say_going(api, text);
        say_unusable(state, text);
        say_occupied(state, OCCUPIED_ANYWHERE, text);
    }
}

void why_say(const struct api *api, const struct job *job, const struct why *why, uint32_t ahead,
             struct text *text)
{
    AUTO_RELEASE(text) struct text words = { 0 };

    say(api, job, why, ahead, &words);
    AUTO_FREE char *spelled = view_words(api, text_string(&words));
    text_add(text, spelled);
}

json_t *view_why(const struct api *api, const struct job *job, const struct why *why,
                 uint32_t ahead)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    why_say(api, job, why, ahead, &text);
    struct start_estimate start;
    usec_t at = why->kind == WHY_BEGIN || ahead == 0 ? why_start_at(why) : 0;
    bool is_known = api_start_beside(api, job, why, &start);
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "kind", why_name(why->kind), "text",
                     text_string(&text), "expected_start",
                     view_time(api, is_known ? start.median : at), "low",
                     view_time(api, is_known ? start.low : 0), "high",
                     view_time(api, is_known ? start.high : 0));
}
