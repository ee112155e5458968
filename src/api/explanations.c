/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/jobs/ID/why: why a job waits, with the details that explain it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/estimates.h"
#include "api/routes.h"
#include "api/sooner.h"
#include "api/view/view.h"
#include "base/mem.h"
#include "core/job/gang_size.h"
#include "core/job/role.h"

enum { HOLDERS_NAMED = 6, LINES_MAX = 20 };

static void add_line(json_t *lines, const char *label, const char *text)
{
    json_array_append_new(lines, json_sprintf("%-9s %s", label, text));
}

/* " of n1", " of 2 nodes"; "" where there is one node only. */
static char *place_of(const struct state *state, const struct lease *lease)
{
    uint32_t nodes = 0;

    for (uint32_t i = 0; i < lease->members_count; i++) {
        bool is_new = true;
        for (uint32_t k = 0; k < i; k++)
            is_new &= lease->members[k].node != lease->members[i].node;
        nodes += is_new;
    }
    if (state->nodes.count < 2)
        return mem_string("");
    return nodes == 1 ? mem_printf(" of %s", state->nodes.items[lease->members[0].node].name)
                      : mem_printf(" of %" PRIu32 " nodes", nodes);
}

/* Jobs that hold what this job could use: those with devices if it wants some, else all. */
static void add_holders(const struct api *api, bool wants_gpus, json_t *held_by, json_t *lines)
{
    const struct state *state = api_state(api);
    AUTO_RELEASE(text) struct text text = { 0 };
    size_t named = 0;

    for (const struct job *other = state->first_active; other; other = other->run->active_next) {
        AUTO_RELEASE(text) struct text label = { 0 };
        if (wants_gpus && other->run->lease->slices_count == 0)
            continue;
        usec_t limit = other->max_duration;
        usec_t start = other->state == JOB_GRANTED ? other->run->granted : other->run->started;
        usec_t end = limit == USEC_NEVER ? USEC_NEVER : start + limit;
        say_job(api_state(api), other, &label);
        json_array_append_new(
            held_by,
            json_pack("{s:I, s:s, s:s, s:s, s:o, s:o, s:o}", "id", (json_int_t)other->id, "label",
                      label.bytes, "name", other->name, "user", state_user(state, other->user),
                      "gpus", view_milli(other->run->lease->milli), "cpus",
                      view_milli(lease_cpus(other->run->lease)), "ends", view_time(api, end)));
        if (named++ >= HOLDERS_NAMED)
            continue;
        char amount[UNITS_TEXT_SIZE], left[UNITS_TEXT_SIZE];
        usec_t now = api_now(api);
        int64_t held = wants_gpus ? other->run->lease->milli : lease_cpus(other->run->lease);
        AUTO_FREE char *place = place_of(state, other->run->lease);
        text_printf(&text, "%sjob %s (%s, %s %s%s%s, %s%s)", named > 1 ? ", " : "", label.bytes,
                    state_user(state, other->user), units_format_milli(amount, held),
                    wants_gpus ? "gpu" : "cpu", plural(held == 1000 ? 1 : 2), place,
                    end == USEC_NEVER ? "no time limit" : "ends in at most ",
                    end == USEC_NEVER ? ""
                                      : units_format_duration(left, end > now ? end - now : 0));
    }
    if (named > HOLDERS_NAMED)
        text_printf(&text, " and %zu more", named - HOLDERS_NAMED);
    if (named > 0)
        add_line(lines, "held by", text.bytes);
}

static void add_free(const struct api *api, const struct why *why, bool wants_gpus,
                     json_t *free_devices, json_t *lines)
{
    const struct state *state = api_state(api);
    AUTO_RELEASE(text) struct text text = { 0 };
    size_t count = 0, usable = 0;

    if (!wants_gpus) {
        for (size_t i = 0; i < state->nodes.count; i++) {
            int64_t left = state->room.nodes.items[i].cpu_milli;
            int64_t left_mib = state->room.nodes.items[i].memory_mib;
            if (state->nodes.items[i].state != NODE_UP)
                continue;
            text_printf(&text, "%s%s: ", text.length ? ", " : "", state->nodes.items[i].name);
            if (why->kind == WHY_MEMORY)
                say_mib(&text, left_mib > 0 ? left_mib : 0);
            else
                say_milli(&text, left > 0 ? left : 0, "cpu");
        }
        add_line(lines, "free", text_string(&text));
        return;
    }
    for (size_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        if (!device_is_usable(state, device))
            continue;
        usable++;
        if (state->room.devices.items[i].milli < GPU_MILLI)
            continue;
        json_array_append_new(free_devices, json_integer(device->index));
        text_add(&text, count++ ? ", " : "");
        if (state->nodes.count > 1)
            text_printf(&text, "%s/%" PRIu32, state->nodes.items[device->node].name, device->index);
        else
            text_printf(&text, "gpu %" PRIu32, device->index);
    }
    AUTO_FREE char *line = mem_printf("%zu of %zu%s%s%s", count, usable, count > 0 ? " (" : "",
                                      text_string(&text), count > 0 ? ")" : "");
    add_line(lines, "free", line);
}

/* Why the others are not among those that could be free. */
static void add_unusable(const struct state *state, json_t *lines)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    size_t count = 0, unusable = 0;

    LIST_EACH (const struct device, device, &state->devices) {
        if (is_no_more(device))
            continue;
        count++;
        unusable += !device_is_usable(state, device);
    }
    say_unusable(state, &text);
    say_occupied(state, OCCUPIED_ANYWHERE, &text);
    if (unusable == 0 || text.length == 0)
        return;
    const char *causes = text.bytes + (string_starts(text.bytes, "; ") ? strlen("; ") : 0);
    AUTO_FREE char *line = mem_printf("%zu of %zu: %s", unusable, count, causes);
    add_line(lines, "unusable", line);
}

/* What the queue can reclaim, and what delays that. */
static json_t *add_give_back(const struct api *api, const struct job *job, json_t *lines)
{
    const struct state *state = api_state(api);
    AUTO_RELEASE(text) struct text text = { 0 };
    struct give_back back;

    sched_give_back(api_brain(api), api->inquiry, job, &back);
    if (back.rule == STOP_IN_QUEUE)
        return json_null();
    text_printf(&text, "queue %s borrows %s: ", state->queues.items[back.queue].name,
                back.rule == STOP_FOR_GUARANTEE ? "part of this queue's guarantee"
                                                : "more than this queue would borrow");
    size_t start = text.length;
    if (back.could > 0) {
        say_milli(&text, back.could, "gpu");
        text_printf(
            &text, " can be reclaimed%s",
            job->is_awaited
                ? ", and tarn is doing so"
                : ", but not yet: the job starts soon without that, or would still not fit");
    }
    if (back.firm > 0) {
        text_add(&text, text.length > start ? "; " : "");
        say_milli(&text, back.firm, "gpu");
        text_add(&text, " are held by jobs that are not preemptible");
    }
    if (back.young > 0) {
        usec_t left = back.young_until - api_now(api);
        char buffer[UNITS_TEXT_SIZE];
        text_add(&text, text.length > start ? "; " : "");
        say_milli(&text, back.young, "gpu");
        if (back.young_until > 0)
            text_printf(&text, " can be reclaimed in %s, after the minimum run time of their jobs",
                        units_format_duration(buffer, left > 0 ? left : 0));
        else
            text_add(&text, " will soon be free because their jobs end");
    }
    add_line(lines, "owed", text.bytes);
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "rule", stop_rule_name((uint8_t)back.rule),
                     "queue", state->queues.items[back.queue].name, "could", view_milli(back.could),
                     "firm", view_milli(back.firm), "young", view_milli(back.young), "young_until",
                     view_time(api, back.young_until));
}

/* Jobs that are moved to make room, or could be. */
static json_t *add_moves(const struct api *api, struct job *job, json_t *lines)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    json_t *view = view_moves(api, job, &text);

    if (text.length > 0)
        add_line(lines, "moves", text.bytes);
    return view;
}

/* "12 GiB of gpu 3 on n1 are used by a process that tarn did not start (pid 4242, python)" */
static void say_foreign(const struct state *state, const struct device *device,
                        const struct watch_device *watched, struct text *text)
{
    say_mib(text, device->foreign_mib);
    text_printf(text, " of gpu %" PRIu32 " on %s are used by ", device->index,
                state->nodes.items[device->node].name);
    if (watched->foreign_count == 1)
        text_add(text, "a process that tarn did not start");
    else
        text_printf(text, "%" PRIu32 " processes that tarn did not start", watched->foreign_count);
    for (uint32_t i = 0; i < watched->foreign_count && i < WATCH_FOREIGN_MAX; i++) {
        const struct watch_foreign *foreign = &watched->foreign[i];
        text_printf(text, "%spid %" PRIu32, i == 0 ? " (" : "; ", foreign->pid);
        if (foreign->name[0])
            text_printf(text, ", %s", foreign->name);
    }
    if (watched->foreign_count > WATCH_FOREIGN_MAX)
        text_add(text, "; ...");
    text_add(text, watched->foreign_count > 0 ? ")" : "");
}

/* Device memory that foreign processes use. */
static json_t *add_foreign(const struct api *api, json_t *lines)
{
    const struct state *state = api_state(api);
    json_t *list = json_array();

    for (uint32_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        struct watch_device watched = { 0 };
        AUTO_RELEASE(text) struct text text = { 0 };
        if (device->foreign_mib == 0 || !device_is_usable(state, device) ||
            !api_watch(api, i, &watched))
            continue;
        say_foreign(state, device, &watched, &text);
        if (json_array_size(list) < HOLDERS_NAMED)
            add_line(lines, "foreign", text_string(&text));
        json_array_append_new(
            list,
            json_pack("{s:s, s:i, s:I, s:i, s:s}", "node", state->nodes.items[device->node].name,
                      "index", (int)device->index, "memory", (json_int_t)device->foreign_mib,
                      "processes", (int)watched.foreign_count, "text", text_string(&text)));
    }
    return list;
}

/* Whether jobs wait in other queues than this one, too: each queue has a first job. */
static bool others_wait(const struct state *state, uint32_t queue)
{
    for (const struct job *job = state->first_job; job; job = job->next) {
        if (job->state == JOB_QUEUED && job->queue != queue)
            return true;
    }
    return false;
}

/* "At most" comes from time limits only, not from predicted run times. */
static void add_promise(const struct api *api, const struct job *job, const struct why *why,
                        bool is_first, json_t *lines)
{
    usec_t now = api_now(api);
    struct start_estimate start;

    if (!is_first || why->at == 0)
        return;
    bool is_open = why->at == USEC_NEVER || (api_start(api, job, &start) && start.is_open);
    usec_t guaranteed = sched_guaranteed_start(api_brain(api), job);
    bool is_guaranteed = guaranteed != USEC_NEVER;
    char left[UNITS_TEXT_SIZE];
    AUTO_RELEASE(text) struct text line = { 0 };
    text_add(&line, "first in line");
    if (others_wait(api_state(api), job->queue))
        text_printf(&line, " of queue %s", api_state(api)->queues.items[job->queue].name);
    text_add(&line, ": no job that would delay it starts before it");
    if (is_open)
        text_add(&line, "; the jobs that it waits for have no time limit");
    else if (is_guaranteed)
        text_printf(&line, "; starts within %s",
                    units_format_duration(left, guaranteed > now ? guaranteed - now : 0));
    add_line(lines, is_guaranteed ? "promised" : "in line", line.bytes);
}

/* How long others may pass it. The forecast knows of this rule, of the nodes, and of how long jobs
 * run: what is expected is its word alone. What the plain schedule says beside it is said only
 * where that is earlier. */
static void add_protected(const struct api *api, const struct job *job, const struct why *why,
                          json_t *lines)
{
    AUTO_RELEASE(text) struct text line = { 0 };
    struct protected_start start;
    struct start_estimate expected = { .median = USEC_NEVER };
    usec_t now = api_now(api);
    char left[UNITS_TEXT_SIZE], in_order[UNITS_TEXT_SIZE];

    if (!sched_protected_start(api_brain(api), job, &start) || start.at == USEC_NEVER)
        return;
    bool is_known = api_start_beside(api, job, why, &expected) && expected.median != USEC_NEVER;
    units_format_duration(left, start.at > now ? start.at - now : 0);
    units_format_duration(in_order, start.plain > now ? start.plain - now : now - start.plain);
    if (start.at <= now)
        text_add(&line, "its protected start has passed: it is served in order");
    else
        text_printf(&line,
                    start.is_preemptive ? "other jobs may run instead of it for %s at most"
                                        : "other jobs may pass it for %s at most",
                    left);
    if (start.at > now && (!is_known || expected.median > start.at))
        text_add(&line, "; then it is next, and starts when there is room");
    if (is_known && start.plain + USEC_PER_MIN < expected.median)
        text_printf(&line,
                    start.plain > now ? "; in the plain schedule, it would start in %s"
                                      : "; in the plain schedule, it would have started %s ago",
                    in_order);
    add_line(lines, "protected", line.bytes);
}

/* The slack of protected starts, where looking ahead chose it. */
static void add_slack(const struct api *api, const struct job *job, json_t *lines)
{
    const struct state *state = api_state(api);
    const struct slack_choice *slack = &state->slack;
    struct queue_rules rules = queue_rules_of(state->queues.items, job->queue);
    struct protected_start start;
    char least[UNITS_TEXT_SIZE], age[UNITS_TEXT_SIZE], mean[UNITS_TEXT_SIZE],
        mean_other[UNITS_TEXT_SIZE], longest[UNITS_TEXT_SIZE], longest_other[UNITS_TEXT_SIZE];

    if (state_chosen_slack(state) == 0 || queue_sets_slack(&rules) ||
        !sched_protected_start(api_brain(api), job, &start) || start.at == USEC_NEVER)
        return;
    AUTO_FREE char *line = mem_printf(
        "%s, chosen %s ago by a look ahead: with it, %" PRIu32 " waiting jobs and those to come "
        "would have waited %s on average and %s at most, else %s and %s",
        units_format_duration(least, slack->least),
        units_format_duration(age, api_now(api) - slack->at), slack->waited,
        units_format_duration(mean, slack->mean), units_format_duration(longest, slack->longest),
        units_format_duration(mean_other, slack->mean_other),
        units_format_duration(longest_other, slack->longest_other));
    add_line(lines, "slack", line);
}

/* A reservation whose end is the expected start keeps what will be free before. */
static void add_kept(const struct api *api, usec_t start, json_t *lines)
{
    const struct agenda *agenda = &api_state(api)->agenda;
    const usec_t tick = 2 * USEC_PER_SEC;

    LIST_EACH (const struct reservation, reservation, &agenda->reservations) {
        const struct window *window = agenda->windows.items[reservation->window];
        AUTO_RELEASE(text) struct text text = { 0 };
        usec_t until;
        if (start == USEC_NEVER || !window_at(window, start - tick, &until) || until > start + tick)
            continue;
        say_reservation_name(reservation, &text);
        text_add(&text, " ends then; before it begins, the job might run into it");
        add_line(lines, "kept", text.bytes);
    }
}

/* NULL: not known. */
static json_t *add_expected(const struct api *api, const struct job *job, const struct why *why,
                            json_t *lines)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct start_estimate start;

    if (!api_start_beside(api, job, why, &start))
        return NULL;
    say_start(api, &start, &text);
    add_line(lines, "starts", text.bytes);
    if (why->kind != WHY_RESERVATION)
        add_kept(api, start.median, lines);
    return view_start(api, &start);
}

/* CPUs and memory of each member, or of all roles together. */
static void add_beside(const struct request *request, struct text *text)
{
    bool is_alike = request->roles_count == 0;
    int64_t memory_mib = is_alike ? request->memory_mib : request_memory(request);

    text_add(text, text->length > 0 ? is_alike ? ", " : ", together " : "");
    say_milli(text, is_alike ? request->cpu_milli : request_cpus(request), "cpu");
    if (memory_mib > 0) {
        text_add(text, ", ");
        say_mib(text, memory_mib);
    }
}

static void add_wants(const struct api *api, const struct job *job, json_t *lines)
{
    const struct state *state = api_state(api);
    const struct request *request = state_request(state, job);
    AUTO_RELEASE(text) struct text text = { 0 };

    if (request_wants_gpus(request) || request->roles_count > 0)
        request_describe(request, &text); /* of a job without GPUs it names the CPUs */
    add_beside(request, &text);
    if (request_is_elastic(request))
        text_add(&text, " each");
    else if (request->roles_count > 0)
        text_printf(&text, ", all %" PRIu32 " members at once", request->members);
    else if (request->members > 1)
        text_add(&text, " each, all at once");
    text_printf(&text, ", queue %s", state->queues.items[job->queue].name);
    if (request->pool[0])
        text_printf(&text, ", pool %s", request->pool);
    add_line(lines, "wants", text.bytes);
}

/* Unless the reason names them already. */
static void add_conditions(const struct state *state, const struct request *request,
                           const struct why *why, json_t *lines)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    if (request->where_count == 0 || why->kind == WHY_WHERE || why->kind == WHY_NEVER_WHERE)
        return;
    where_say(state, request, &text);
    add_line(lines, "where", text.bytes);
}

/* One line for consecutive jobs with the same reason, with the start of the first. */
static void add_waiting(const struct api *api, const struct group *group, json_t *lines)
{
    AUTO_RELEASE(text) struct text last = { 0 };
    struct start_estimate start;
    size_t more = 0;

    for (uint64_t id = group->id + 1; id <= group->last; id++) {
        const struct job *job = state_job(api_state(api), id);
        AUTO_RELEASE(text) struct text text = { 0 }, label = { 0 };
        struct why why;
        if (!job || job->state >= JOB_GRANTED)
            continue;
        sched_why(api_brain(api), api->inquiry, job, &why, NULL);
        why_say(api, job, &why, 0, &text);
        if (string_equal(text.bytes, last.bytes)) {
            more++;
            continue;
        }
        if (json_array_size(lines) == LINES_MAX)
            return;
        text_clear(&last);
        text_add(&last, text.bytes);
        if (job->run->restarted)
            text_printf(&text, "; restarts: %s", job->run->restarted);
        if (api_start_beside(api, job, &why, &start)) {
            text_add(&text, "; starts ");
            say_start(api, &start, &text);
        }
        say_job(api_state(api), job, &label);
        json_array_append_new(lines,
                              json_sprintf("job %s %s: %s", label.bytes, job->name, text.bytes));
    }
    if (more > 0)
        json_array_append_new(lines, json_sprintf("%zu more jobs for the same reason", more));
}

static json_t *why_of_group(struct call *call, const struct group *group)
{
    json_t *lines = json_array();
    json_t *text = json_sprintf("%s %" PRIu64 " %s: %" PRIu32 " of %" PRIu32
                                " jobs have ended, %" PRIu32 " running",
                                group_kind_name(group->kind), group->id, group->name,
                                group->ended_count, group->job_count, group->active_count);

    add_waiting(call->api, group, lines);
    return json_pack("{s:I, s:o, s:s, s:s, s:s, s:o, s:o}", "id", (json_int_t)group->id, "label",
                     json_sprintf("%" PRIu64, group->id), "state",
                     group_is_over(group) ? "ended" : "running", "kind", "group", "meaning",
                     "several jobs, each with a reason of its own", "text", text, "lines", lines);
}

bool api_say_waiting(const struct api *api, const struct job *job, struct text *text,
                     char ret_start[API_START_SIZE])
{
    struct start_estimate start;
    struct why why;
    uint32_t ahead;

    sched_why(api_brain(api), api->inquiry, job, &why, &ahead);
    why_say(api, job, &why, ahead, text);
    ret_start[0] = '\0';
    bool lacks_room = sched_lacks_room(api_brain(api), job, &why);
    if (!api_start_beside(api, job, &why, &start))
        return lacks_room;
    json_t *at = view_time(api, start.median);
    if (json_is_string(at)) { /* to the minute */
        snprintf(ret_start, API_START_SIZE, "%.16sZ", json_string_value(at));
        text_printf(text, "; expected start %s", ret_start);
    }
    json_decref(at);
    return lacks_room;
}

json_t *handle_why(struct call *call)
{
    const struct api *api = call->api;
    const struct group *group = call_group(call);

    if (group)
        return why_of_group(call, group);
    const struct job *job = call_job(call);
    const struct state *state = api_state(api);
    AUTO_RELEASE(text) struct text text = { 0 }, label = { 0 };
    struct why why;
    uint32_t ahead;

    if (!job)
        return NULL;
    sched_why(api_brain(api), api->inquiry, job, &why, &ahead);
    why_say(api, job, &why, ahead, &text);
    say_job(api_state(api), job, &label);
    json_t *lines = json_array(), *held_by = json_array(), *free_devices = json_array();
    json_t *start = NULL, *owed = NULL, *moves = NULL, *foreign = NULL;
    bool is_queued = job->state == JOB_QUEUED;
    bool wants_gpus = state_request(state, job)->gpu_alternatives > 0 && why.kind != WHY_CPUS &&
                      why.kind != WHY_MEMORY;
    bool is_promised =
        is_queued && ahead == 0 && why.at != 0 && !why_is_of_time(why.kind) && !why.is_forever;
    const struct api_attempts *attempts = &api->ports.attempts;
    const char *trouble =
        is_queued || job->state == JOB_GRANTED ? attempts->trouble(attempts->user, job) : NULL;
    if (trouble)
        add_line(lines, "engine", trouble);
    json_t *rescued = view_rescued(api, job), *choice = view_model_choice(api, job);
    if (json_is_object(choice))
        add_line(lines, "model", json_string_value(json_object_get(choice, "text")));
    json_decref(choice);
    if (is_queued && job->run->restarted)
        add_line(lines, "restarts", job->run->restarted);
    if (is_queued) {
        add_wants(api, job, lines);
        add_conditions(state, state_request(state, job), &why, lines);
        if (json_is_object(rescued))
            add_line(lines, "rescued", json_string_value(json_object_get(rescued, "text")));
        if (why.kind != WHY_GPUS && why.kind != WHY_CPUS && why.kind != WHY_MEMORY)
            add_line(lines, "because", text_string(&text));
        if (!why_is_never(why.kind)) {
            add_free(api, &why, wants_gpus, free_devices, lines);
            if (wants_gpus && why.kind != WHY_UNUSABLE) /* whose reason names them */
                add_unusable(state, lines);
            add_holders(api, wants_gpus, held_by, lines);
            foreign = wants_gpus ? add_foreign(api, lines) : NULL;
            owed = add_give_back(api, job, lines);
            moves = add_moves(api, state_job(state, job->id), lines);
            add_promise(api, job, &why, is_promised, lines);
            if (why_lacks_room(why.kind) || why.kind == WHY_RESERVED) {
                add_protected(api, job, &why, lines);
                add_slack(api, job, lines);
            }
            start = add_expected(api, job, &why, lines);
        }
    } else if (job->state == JOB_WAITING) {
        add_line(lines, "because", text_string(&text));
        start = add_expected(api, job, &why, lines);
    }
    view_spell(api, lines);
    bool has_most = why_is_of_quota(why.kind) || why_is_of_time(why.kind) ||
                    why.kind == WHY_ARRAY || why.kind == WHY_POOL_MAX || why_is_never(why.kind);
    json_t *view = json_pack(
        "{s:I, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:s, s:o, s:o, s:i, s:b, s:o, s:o?, s:o, "
        "s:o, s:o, s:o?, s:o, s:o?, s:o, s:o, s:o}",
        "id", (json_int_t)job->id, "label", label.bytes, "state", job_state_name(job->state),
        "kind", why_name(why.kind), "meaning", why_meaning(why.kind), "text", text_string(&text),
        "wanted", (json_int_t)why.wanted, "free", (json_int_t)why.free, "most",
        has_most ? json_integer(why.most) : json_null(), "queue",
        state->queues.items[job->queue].name, "pool",
        why.kind == WHY_POOL_MAX || why.kind == WHY_POOL_MIN
            ? json_string(state->pools.items[why.pool].name)
            : json_null(),
        "on", number_or_null((int64_t)why.job), "ahead", (int)ahead, "promised", is_promised,
        "expected_start",
        json_is_object(start) ? json_incref(json_object_get(start, "expected"))
                              : view_time(api, why_start_at(&why)),
        "start", start, "sooner", json_array(), "free_devices", free_devices, "held_by", held_by,
        "owed", owed, "lines", lines, "moves", moves, "foreign", foreign ? foreign : json_array(),
        "rescued", rescued, "engine", text_or_null(trouble));
    view_why_time(api, &why, view);
    return why_is_beyond_budget(&why) ? view : sooner_answer(call, job, view);
}
