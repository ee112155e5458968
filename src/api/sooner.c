/* SPDX-License-Identifier: Apache-2.0 */
#include "api/sooner.h"

#include <stdio.h>

#include "api/deferred.h"
#include "api/estimates.h"
#include "api/view/view.h"
#include "base/mem.h"
#include "control/config/scenario.h"
#include "control/resubmit.h"
#include "sched/explain/advice.h"
#include "sched/explain/wanted_nodes.h"
#include "wire/whatif_request.h"

enum { MUCH_EARLIER = 2 /* waits at most half as long */ };

struct sooner {
    struct asked asked;
    json_t *view;
    uint64_t job;    /* that waits */
    usec_t expected; /* its start; USEC_NEVER: not known */
    struct advice advices[ADVICES_MAX];
    size_t count;
    struct whatif *nodes; /* the last turn adds them; NULL: none */
    usec_t boot;          /* how long they take to be there */
    uint64_t id;          /* in the copy of a turn: of the changed job */
};

/* ---- in a copy, for each change ---- */

static int make_change(struct api_study *study, const struct control *copy, struct error *err)
{
    struct sooner *sooner = CONTAINER_OF(study, struct sooner, asked.study);

    if (study->turn == sooner->count) {
        sooner->id = sooner->job;
        return scenario_apply(copy, sooner->nodes, study->who, err);
    }
    const struct advice *advice = &sooner->advices[study->turn];
    struct resubmission wish = { .job = state_job(control_state(copy), sooner->job),
                                 .request = &advice->request,
                                 .queue = advice->queue,
                                 .max_duration = advice->max_duration };

    return resubmit(copy, &wish, &sooner->id, err);
}

/* {start}: when; nothing: not known. */
static json_t *answer_turn(struct api_study *study)
{
    const struct sooner *sooner = CONTAINER_OF(study, struct sooner, asked.study);
    const struct api *api = sooner->asked.api;
    const struct job *job = state_job(api_state(api), sooner->id);
    struct start_estimate start;

    if (!job || !api_start(api, job, &start) || start.median == USEC_NEVER)
        return json_object();
    return json_pack("{s:I}", "start",
                     (json_int_t)(start.median > api_now(api) ? start.median : 0));
}

/* ---- in the end ---- */

static bool is_much_earlier(const struct sooner *sooner, usec_t now, usec_t start)
{
    return sooner->expected == USEC_NEVER || (start - now) * MUCH_EARLIER <= sooner->expected - now;
}

static void add_line(const struct api *api, json_t *view)
{
    json_t *lines = json_object_get(view, "lines"), *advice;
    AUTO_RELEASE(text) struct text text = { 0 };
    size_t i;

    json_array_foreach(json_object_get(view, "sooner"), i, advice) text_printf(
        &text, "%s%s", i > 0 ? "; " : "", json_string_value(json_object_get(advice, "text")));
    if (!lines || text.length == 0)
        return;
    AUTO_FREE char *words = view_words(api, text.bytes);
    json_array_append_new(lines, json_sprintf("%-9s %s", "sooner", words));
}

/* Its view, if it is good; NULL. */
static json_t *conclude_turn(const struct sooner *sooner, size_t turn, usec_t now, usec_t start,
                             bool has_queue)
{
    const struct api *api = sooner->asked.api;

    if (turn == sooner->count) {
        usec_t there = usec_after(now, sooner->boot);
        start = start > there ? start : there;
        return is_much_earlier(sooner, now, start)
                   ? view_node_advice(api, sooner->nodes->nodes,
                                      scenario_rate(api_state(api), sooner->nodes), start)
                   : NULL;
    }
    struct advice advice = sooner->advices[turn];
    advice.is_now = start <= now;
    advice.start = start;
    bool is_good =
        is_much_earlier(sooner, now, start) && !(advice.kind == ADVICE_QUEUE && has_queue);
    return is_good ? view_advice(api, &advice) : NULL;
}

static json_t *conclude(struct api_study *study, const json_t *turns)
{
    struct sooner *sooner = CONTAINER_OF(study, struct sooner, asked.study);
    const struct api *api = sooner->asked.api;
    json_t *list = json_object_get(sooner->view, "sooner"), *turn;
    usec_t now = api_now(api);
    bool has_queue = false;
    size_t i;

    json_array_foreach(turns, i, turn)
    {
        const json_t *at = json_object_get(turn, "start");
        usec_t start = json_integer_value(at);
        json_t *advice =
            at ? conclude_turn(sooner, i, now, start > now ? start : now, has_queue) : NULL;
        has_queue |= advice && i < sooner->count && sooner->advices[i].kind == ADVICE_QUEUE;
        if (advice)
            json_array_append_new(list, advice);
    }
    add_line(api, sooner->view);
    return json_incref(sooner->view);
}

/* ---- in the daemon ---- */

/* Nodes that could be had, as `tarn scale` advises them for the job; NULL: none. */
static void find_nodes(struct sooner *sooner, const struct api *api)
{
    const struct state *state = api_state(api);
    struct scale_plan plan;

    if (state->node_types.count == 0)
        return;
    sched_scale(api_brain(api), api->inquiry, api_now(api), &plan);
    for (size_t i = 0; i < plan.unblocked.count && !sooner->nodes; i++) {
        const struct scale_wish *wish = &plan.wishes.items[plan.unblocked_by.items[i]];
        const struct node_type *type = &state->node_types.items[wish->type];
        if (plan.unblocked.items[i] != sooner->job)
            continue;
        sooner->nodes = mem_zero(1, sizeof(*sooner->nodes));
        sooner->nodes->node_count = 1;
        struct whatif_nodes *nodes = &sooner->nodes->nodes[0];
        *nodes = (struct whatif_nodes){ .count = wish->count,
                                        .gpus = type->gpus,
                                        .is_spot = wish->is_spot };
        snprintf(nodes->model, sizeof(nodes->model), "%s", type->model);
        snprintf(nodes->type, sizeof(nodes->type), "%s", type->name);
        sooner->boot = type->boot;
    }
    scale_release(&plan);
}

static void release_sooner(struct asked *asked)
{
    struct sooner *sooner = CONTAINER_OF(asked, struct sooner, asked);

    json_decref(sooner->view);
    whatif_destroy(sooner->nodes);
}

/* An answer without advice is better than none. */
static void done_sooner(struct api_study *study, int code, struct text *answer,
                        const struct error *err)
{
    struct sooner *sooner = CONTAINER_OF(study, struct sooner, asked.study);

    (void)err;
    if (code < 0) {
        reply_json(sooner->asked.request, 200, conclude(study, NULL));
    } else {
        size_t length = answer->length;
        http_reply(sooner->asked.request, 200, "application/json", text_take(answer), length);
    }
    asked_destroy(&sooner->asked);
}

json_t *sooner_answer(struct call *call, const struct job *job, json_t *view)
{
    const struct api *api = call->api;
    const struct api_studies *studies = &api->ports.studies;
    struct sooner *sooner = asked_create(call, sizeof(*sooner), release_sooner);
    struct api_study *study = &sooner->asked.study;
    struct start_estimate start;
    struct error err;

    sooner->view = view;
    sooner->job = job->id;
    sooner->expected = api_start(api, job, &start) ? start.median : USEC_NEVER;
    sooner->count = sched_advise(api_brain(api), api->inquiry, job, sooner->advices);
    find_nodes(sooner, api);
    study->turns = (uint32_t)sooner->count + (sooner->nodes ? 1 : 0);
    study->change = make_change;
    study->answer = answer_turn;
    study->conclude = conclude;
    study->done = done_sooner;
    if (study->turns > 0 && studies->start && studies->start(studies->user, study, &err) == 0)
        return NULL;
    json_t *answer = conclude(study, NULL);
    asked_destroy(&sooner->asked);
    return answer;
}
