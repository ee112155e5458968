/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, resizes, moves and rescues of a job, and moves that would make room for a waiting one. */
#include <inttypes.h>

#include "api/view/view.h"
#include "base/mem.h"
#include "core/job/gang_size.h"

/* "grew from 2 to 4 (idle GPUs)" */
static void say_resized(const struct api *api, const struct job *job, struct text *text)
{
    const struct state *state = api_state(api);
    const struct job_run *run = job->run;
    const struct job *taker = run->resized_for ? state_job(state, run->resized_for) : NULL;
    bool is_done = run->members_next == 0 || run->moved > run->resized;

    if (run->resized_for == 0)
        text_add(text, is_done ? "grew" : "grows");
    else
        text_add(text, is_done ? "shrunk" : "shrinks");
    text_printf(text, " from %" PRIu32 " to %" PRIu32, run->resized_from, run->resized_to);
    if (run->resized_for == 0) {
        text_add(text, " (idle GPUs)");
        return;
    }
    text_printf(text, " for job %" PRIu64, run->resized_for);
    if (taker && taker->queue != job->queue)
        text_printf(text, " of queue %s", state->queues.items[taker->queue].name);
    text_printf(text, " (%s)", stop_rule_meaning(run->resize_rule));
}

json_t *view_resized(const struct api *api, const struct job *job)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    const struct job_run *run = job->run;

    if (run->resized == 0)
        return json_null();
    say_resized(api, job, &text);
    return json_pack("{s:i, s:i, s:o, s:o, s:s, s:s}", "from", (int)run->resized_from, "to",
                     (int)run->resized_to, "at", view_time(api, run->resized), "for",
                     number_or_null((int64_t)run->resized_for), "rule",
                     run->resized_for ? stop_rule_name(run->resize_rule) : "idle", "text",
                     text_string(&text));
}

json_t *view_elastic(const struct api *api, const struct job *job)
{
    const struct request *request = state_request(api_state(api), job);

    if (!request_is_elastic(request))
        return json_null();
    return json_pack("{s:i, s:i, s:o, s:i, s:s, s:s, s:i}", "least", (int)request->members, "most",
                     (int)request_most(request), "now",
                     job->run->lease ? json_integer(job->run->lease->members_count) : json_null(),
                     "lost", (int)(job->run->lease ? job->run->members_lost : 0), "sizes",
                     request->sizes == SIZES_ANY || request->per_node ? "any" : "powers", "resize",
                     job->resize == RESIZE_NEVER ? "never" : "restart", "resizes",
                     (int)job->run->resizes);
}

/* "moved for job 7 of queue vision (from a:0,1 to b:2,3)" */
static void say_moved(const struct api *api, const struct job *job, struct text *text)
{
    const struct state *state = api_state(api);
    const struct job_run *run = job->run;
    const struct job *taker = state_job(state, run->moved_for);

    text_printf(text, "%s for job %" PRIu64, run->moved_to ? "moved" : "is being moved",
                run->moved_for);
    if (taker && taker->queue != job->queue)
        text_printf(text, " of queue %s", state->queues.items[taker->queue].name);
    text_printf(text, " (from %s", run->moved_from ? run->moved_from : "");
    if (run->moved_to)
        text_printf(text, " to %s", run->moved_to);
    text_add_char(text, ')');
}

json_t *view_moved(const struct api *api, const struct job *job)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    const struct job_run *run = job->run;

    if (run->moved == 0)
        return json_null();
    say_moved(api, job, &text);
    return json_pack("{s:I, s:o, s:s?, s:s?, s:i, s:s}", "for", (json_int_t)run->moved_for, "at",
                     view_time(api, run->moved), "from", run->moved_from, "to", run->moved_to,
                     "times", (int)run->moves, "text", text_string(&text));
}

/* "left gpu a:3, which cannot be used (XID 79: fell off the bus; reboot needed); that attempt does
 * not count as a retry"; null: it never did. */
json_t *view_rescued(const struct api *api, const struct job *job)
{
    static const char *const harms[HARMS] = { "none", "leave", "die" };
    const struct job_run *run = job->run;

    if (run->rescued == 0)
        return json_null();
    bool is_leaving = job->state == JOB_STOPPING && run->stop_cause == STOP_RESCUE;
    AUTO_FREE char *text =
        mem_printf("%s gpu %s, which cannot be used (%s); that attempt does not count as a retry",
                   is_leaving ? "leaves" : "left", run->rescued_from,
                   run->rescued_reason ? run->rescued_reason : "");
    return json_pack("{s:s, s:s?, s:s, s:o, s:i, s:s}", "from", run->rescued_from, "reason",
                     run->rescued_reason, "harm",
                     harms[run->rescued_harm < HARMS ? run->rescued_harm : 0], "at",
                     view_time(api, run->rescued), "times", (int)run->rescues, "text", text);
}

static double hours_of(int64_t time)
{
    return (double)time / (double)USEC_PER_HOUR;
}

static void say_moves(const struct api *api, const struct moves_ask *ask, struct text *text)
{
    usec_t left = ask->at - api_now(api);
    char buffer[UNITS_TEXT_SIZE];

    units_format_duration(buffer, left > 0 ? left : 0);
    if (ask->answer == MOVES_UNDER_WAY)
        text_printf(text, "%" PRIu32 " job%s %s being moved to make room for it", ask->jobs,
                    plural(ask->jobs), ask->jobs == 1 ? "is" : "are");
    else if (ask->answer == MOVES_LATER)
        text_printf(text, "no job can be moved for it yet; the first can in %s", buffer);
    else if (ask->at == 0)
        text_printf(
            text,
            "moving other jobs would make room for it, but lose %.3g GPU-hours, more than the "
            "hourly budget for moves",
            hours_of(ask->loss));
    else
        text_printf(text,
                    "moving other jobs would make room for it, but lose %.3g GPU-hours; %.3g are "
                    "left of the budget for moves, for the next %s",
                    hours_of(ask->loss), hours_of(ask->left), buffer);
}

json_t *view_moves(const struct api *api, struct job *job, struct text *ret_text)
{
    static const char *const names[] = { "none", "under_way", "over_budget", "later" };
    struct moves_ask ask;

    sched_moves(api_brain(api), api->inquiry, job, &ask);
    if (ask.answer == MOVES_NONE)
        return json_null();
    say_moves(api, &ask, ret_text);
    return json_pack("{s:s, s:i, s:f, s:f, s:o, s:s}", "answer", names[ask.answer], "jobs",
                     (int)ask.jobs, "loses_gpu_hours", hours_of(ask.loss), "left_gpu_hours",
                     hours_of(ask.left), "at", ask.at > 0 ? view_time(api, ask.at) : json_null(),
                     "text", text_string(ret_text));
}
