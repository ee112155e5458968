/* SPDX-License-Identifier: Apache-2.0 */
/* Start estimates with their interval, and changes that would start the job sooner. */
#include <inttypes.h>
#include <string.h>

#include "api/view/view.h"
#include "sched/explain/advice.h"
#include "wire/whatif_request.h"

/* "25s", "12 min", "1 h 10 min", "2 d 3 h": no more digits than an estimate has. */
static void say_wait(struct text *text, usec_t wait)
{
    int64_t seconds = (wait + USEC_PER_SEC / 2) / USEC_PER_SEC, minutes = (seconds + 30) / 60;

    if (seconds < 100)
        text_printf(text, "%" PRId64 " s", seconds);
    else if (minutes < 60)
        text_printf(text, "%" PRId64 " min", minutes);
    else if (minutes < 24 * 60)
        text_printf(text, "%" PRId64 " h %02" PRId64 " min", minutes / 60, minutes % 60);
    else
        text_printf(text, "%" PRId64 " d %" PRId64 " h", minutes / (24 * 60), minutes / 60 % 24);
}

static usec_t from_now(const struct api *api, usec_t at)
{
    return at == USEC_NEVER ? at : at > api_now(api) ? at - api_now(api) : 0;
}

static json_t *view_wait_seconds(usec_t wait)
{
    return wait == USEC_NEVER ? json_null() : json_real((double)(wait / 1000) / 1000);
}

json_t *view_start(const struct api *api, const struct start_estimate *start)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "guaranteed",
                     view_time(api, start->guaranteed), "expected", view_time(api, start->median),
                     "low", view_time(api, start->low), "high", view_time(api, start->high),
                     "limits_only", view_time(api, start->limits_only), "open", start->is_open,
                     "in_seconds", view_wait_seconds(from_now(api, start->median)), "low_seconds",
                     view_wait_seconds(from_now(api, start->low)), "high_seconds",
                     view_wait_seconds(from_now(api, start->high)));
}

/* The first running job without a time limit. */
static const struct job *endless(const struct state *state)
{
    for (const struct job *job = state->first_active; job; job = job->run->active_next) {
        if (job->max_duration == USEC_NEVER)
            return job;
    }
    return NULL;
}

static void say_open(const struct api *api, struct text *text)
{
    const struct job *job = endless(api_state(api));
    AUTO_RELEASE(text) struct text label = { 0 };

    if (!job) {
        text_add(
            text,
            "open-ended: a job in front of it has no time limit, or what it needs is not usable");
        return;
    }
    say_job(api_state(api), job, &label);
    text_printf(text, "open-ended: job %s (%s) has no time limit", label.bytes,
                state_user(api_state(api), job->user));
}

static void say_range(const struct api *api, usec_t low, usec_t median, usec_t high,
                      struct text *text)
{
    text_add(text, "in about ");
    say_wait(text, from_now(api, median));
    if (high <= low)
        return;
    text_add(text, " (between ");
    if (low <= api_now(api))
        text_add(text, "now");
    else
        say_wait(text, from_now(api, low));
    text_add(text, " and ");
    if (high == USEC_NEVER) {
        text_add(text, "an unknown time: too few jobs like those in front of it have ended)");
        return;
    }
    say_wait(text, from_now(api, high));
    text_add(text, ", 8 of 10 times)");
}

json_t *view_end(const struct api *api, const struct end_estimate *end)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "expected", view_time(api, end->median), "low",
                     view_time(api, end->low), "high", view_time(api, end->high), "limits_only",
                     view_time(api, end->limits_only));
}

void say_end(const struct api *api, const struct end_estimate *end, struct text *text)
{
    if (end->median == USEC_NEVER)
        text_add(text,
                 "at an unknown time: too few similar jobs have ended, or it has no time limit");
    else
        say_range(api, end->low, end->median, end->high, text);
}

void say_start(const struct api *api, const struct start_estimate *start, struct text *text)
{
    if (start->known_until > 0) {
        text_add(text, "not within ");
        say_wait(text, from_now(api, start->known_until));
        text_add(text, ", up to which its windows and reservations are known");
        return;
    }
    if (start->median == USEC_NEVER) {
        say_open(api, text);
        return;
    }
    say_range(api, start->low, start->median, start->high, text);
    if (start->guaranteed != 0 && start->guaranteed != USEC_NEVER) {
        text_add(text, "; promised within ");
        say_wait(text, from_now(api, start->guaranteed));
    }
    if (start->is_open) {
        text_add(text, "; ");
        say_open(api, text);
    }
}

/* ---- what would make it start sooner ---- */

static void say_gpus_option(const struct advice *advice, struct text *text)
{
    AUTO_RELEASE(text) struct text gpus = { 0 };

    request_format_gpus(&advice->request, &gpus);
    text_printf(text, strchr(text_string(&gpus), '|') ? "--gpus '%s'" : "--gpus %s",
                text_string(&gpus));
}

static void say_change(const struct state *state, const struct advice *advice, struct text *text)
{
    char number[UNITS_TEXT_SIZE];

    switch (advice->kind) {
    case ADVICE_GPUS:
    case ADVICE_MODEL:
        say_gpus_option(advice, text);
        break;
    case ADVICE_LIMIT:
        text_printf(text, "--max-duration %" PRId64 "s", advice->max_duration / USEC_PER_SEC);
        break;
    case ADVICE_NODES:
        text_printf(text, "--nodes %" PRIu32, advice->request.nodes_min);
        if (advice->request.members != advice->request.nodes_min)
            text_printf(text, " --ranks %" PRIu32, advice->request.members);
        break;
    case ADVICE_CPUS:
        text_printf(text, "--cpus %s", units_format_milli(number, advice->request.cpu_milli));
        break;
    case ADVICE_MEMORY:
        text_printf(text, "--memory %" PRId64 "M", advice->request.memory_mib);
        break;
    case ADVICE_POOL:
        if (advice->request.pool[0])
            text_printf(text, "--pool %s", advice->request.pool);
        else
            text_add(text, "no --pool");
        break;
    case ADVICE_QUEUE:
        text_printf(text, "--queue %s", state->queues.items[advice->queue].name);
        break;
    }
}

static const char *advice_name(enum advice_kind kind)
{
    static const char *const names[] = { "gpus", "limit",  "model", "nodes",
                                         "cpus", "memory", "pool",  "queue" };

    return names[kind];
}

static void say_change_start(const struct api *api, bool is_now, usec_t start, struct text *text)
{
    text_add(text, is_now ? " it would start now" : " it would start in about ");
    if (!is_now)
        say_wait(text, from_now(api, start));
}

static void say_advice(const struct api *api, const struct advice *advice, struct text *text)
{
    text_add(text, "with ");
    say_change(api_state(api), advice, text);
    say_change_start(api, advice->is_now, advice->start, text);
}

json_t *view_advice(const struct api *api, const struct advice *advice)
{
    AUTO_RELEASE(text) struct text text = { 0 }, change = { 0 };

    say_advice(api, advice, &text);
    say_change(api_state(api), advice, &change);
    return json_pack("{s:s, s:s, s:b, s:o, s:s}", "kind", advice_name(advice->kind), "change",
                     text_string(&change), "now", advice->is_now, "start",
                     view_time(api, advice->start), "text", text_string(&text));
}

/* "one more spot h100x8 (8.00 per hour)" */
static void say_nodes(const struct whatif_nodes *nodes, int64_t rate, struct text *text)
{
    if (nodes->count == 1)
        text_add(text, "one");
    else
        text_printf(text, "%" PRIu32, nodes->count);
    text_printf(text, " more %s%s (%.2f per hour)", nodes->is_spot ? "spot " : "", nodes->type,
                (double)rate / 1e6);
}

json_t *view_node_advice(const struct api *api, const struct whatif_nodes *nodes, int64_t rate,
                         usec_t start)
{
    AUTO_RELEASE(text) struct text text = { 0 }, change = { 0 };
    bool is_now = start <= api_now(api);

    say_nodes(nodes, rate, &change);
    text_printf(&text, "with %s", text_string(&change));
    say_change_start(api, is_now, start, &text);
    return json_pack("{s:s, s:s, s:b, s:o, s:s}", "kind", "node_type", "change",
                     text_string(&change), "now", is_now, "start", view_time(api, start), "text",
                     text_string(&text));
}
