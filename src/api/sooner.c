/* SPDX-License-Identifier: Apache-2.0 */
#include "api/sooner.h"

#include "api/deferred.h"
#include "api/estimates.h"
#include "api/view/view.h"
#include "base/mem.h"
#include "control/resubmit.h"
#include "sched/explain/advice.h"

enum { MUCH_EARLIER = 2 /* waits at most half as long */ };

struct sooner {
    struct asked asked;
    json_t *view;
    json_t *nodes;   /* advice about nodes */
    uint64_t job;    /* that waits */
    usec_t expected; /* its start; USEC_NEVER: not known */
    struct advice advices[ADVICES_MAX];
    uint64_t id; /* in the copy of a turn: of the changed job */
};

/* ---- in a copy, for each change ---- */

static int resubmit_changed(struct api_study *study, const struct control *copy, struct error *err)
{
    struct sooner *sooner = CONTAINER_OF(study, struct sooner, asked.study);
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
        struct advice *advice = &sooner->advices[i];
        const json_t *at = json_object_get(turn, "start");
        usec_t start = json_integer_value(at);
        advice->is_now = start == 0;
        advice->start = start > now ? start : now;
        if (!at || !is_much_earlier(sooner, now, advice->start) ||
            (advice->kind == ADVICE_QUEUE && has_queue))
            continue;
        has_queue |= advice->kind == ADVICE_QUEUE;
        json_array_append_new(list, view_advice(api, advice));
    }
    json_array_extend(list, sooner->nodes);
    add_line(api, sooner->view);
    return json_incref(sooner->view);
}

/* ---- in the daemon ---- */

static void release_sooner(struct asked *asked)
{
    struct sooner *sooner = CONTAINER_OF(asked, struct sooner, asked);

    json_decref(sooner->view);
    json_decref(sooner->nodes);
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
    sooner->nodes = view_node_advice(api, job);
    sooner->job = job->id;
    sooner->expected = api_start(api, job, &start) ? start.median : USEC_NEVER;
    study->turns = (uint32_t)sched_advise(api_brain(api), api->inquiry, job, sooner->advices);
    study->change = resubmit_changed;
    study->answer = answer_turn;
    study->conclude = conclude;
    study->done = done_sooner;
    if (study->turns > 0 && studies->start && studies->start(studies->user, study, &err) == 0)
        return NULL;
    json_t *answer = conclude(study, NULL);
    asked_destroy(&sooner->asked);
    return answer;
}
