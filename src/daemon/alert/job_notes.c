/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/alert/job_notes.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/log.h"
#include "wire/job/job_launch.h"
#include "wire/json.h"

void job_notes_init(struct job_notes *notes, struct hub *hub)
{
    *notes = (struct job_notes){ .hub = hub, .seen = hub_state(hub)->now };
}

static void release_note(struct job_note *note)
{
    free(note->owner);
    free(note->to);
    free(note->sentence);
    free(note->json);
}

void job_notes_release(struct job_notes *notes)
{
    for (size_t i = 0; i < notes->waiting.count; i++)
        release_note(&notes->waiting.items[i]);
    list_release(&notes->waiting);
    list_release(&notes->begun);
}

/* The launch of a job that asks for messages; NULL: it does not, as most. */
static struct launch *find_launch(struct job_notes *notes, const struct job *job)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct launch *launch = NULL;

    if (job->launch == notes->silent ||
        journal_blob_get(hub_journal(notes->hub), job->launch, &bytes, NULL) < 0 ||
        launch_from_json(text_string(&bytes), bytes.length, &launch, NULL) < 0)
        return NULL;
    if (launch->notify != 0)
        return launch;
    notes->silent = job->launch;
    launch_destroy(launch);
    return NULL;
}

/* All that it was submitted with; NULL: it is a job of its own. */
static const struct group *whole_of(const struct state *state, const struct job *job)
{
    const struct group *group = job->group ? state_group(state, job->group) : NULL;

    while (group && group->parent && state_group(state, group->parent))
        group = state_group(state, group->parent);
    return group;
}

/* ---- the message ---- */

static void add_job(const struct job *job, const char *event, struct text *text)
{
    const struct job_end *end = &job->run->end;
    char buffer[UNITS_TEXT_SIZE];

    text_printf(text, "tarn: job %" PRIu64 " %s ", job->id, job->name);
    if (strcmp(event, "end") != 0) {
        text_printf(text, strcmp(event, "requeue") == 0 ? "restarted, attempt %" PRIu32 : "started",
                    job->run->attempt);
        return;
    }
    text_printf(text, "ended: %s", job_result_name(job->result));
    if (end->reason)
        text_printf(text, " (%s)", end->reason);
    else if (end->signal)
        text_printf(text, " (signal %" PRIu32 ")", end->signal);
    else if (end->exit_code > 0)
        text_printf(text, " (exit status %" PRId32 ")", end->exit_code);
    if (job->run->started > 0)
        text_printf(text, ", ran %s",
                    units_format_duration(buffer, job->run->ended - job->run->started));
}

static void add_group(const struct group *group, const char *event, struct text *text)
{
    text_printf(text, "tarn: %s %" PRIu64 " %s ", group_kind_name(group->kind), group->id,
                group->name);
    if (strcmp(event, "begin") == 0)
        text_add(text, "started");
    else if (group->bad_count > 0)
        text_printf(text, "ended: %" PRIu32 " of %" PRIu32 " jobs did not end well",
                    group->bad_count, group->job_count);
    else
        text_printf(text, "ended: ok, %" PRIu32 " jobs", group->job_count);
}

static void add_note(struct job_notes *notes, const struct job *job, const struct group *group,
                     const struct launch *launch, const char *event)
{
    const struct state *state = hub_state(notes->hub);
    const struct clock *clock = hub_clock(notes->hub);
    AUTO_RELEASE(text) struct text sentence = { 0 };

    if (group)
        add_group(group, event, &sentence);
    else
        add_job(job, event, &sentence);
    for (char *at = sentence.bytes; *at; at++)
        *at = iscntrl((unsigned char)*at) ? ' ' : *at; /* it is a line of a mail's head */
    const char *result =
        group ? (group->bad_count > 0 ? "failed" : "ok") : job_result_name(job->result);
    bool is_over = strcmp(event, "end") == 0;
    AUTO(json)
    json_t *view = json_pack(
        "{s:s, s:s, s:I, s:s, s:s, s:s, s:o, s:i, s:o}", "text", sentence.bytes, "event", event,
        "job", (json_int_t)(group ? group->id : job->id), "kind",
        group ? group_kind_name(group->kind) : "job", "name", group ? group->name : job->name,
        "user", state_user(state, job->user), "result", is_over ? json_string(result) : json_null(),
        "attempt", (int)job->run->attempt, "at", json_time(state->now + clock_wall_ahead(clock)));
    char *json = view ? json_dumps(view, JSON_COMPACT) : NULL;
    if (!json || notes->waiting.count >= NOTES_MAX) {
        log_line(LOG_WARNING, "a message about a job is not sent job=%" PRIu64 " reason='%s'",
                 job->id, json ? "too many wait" : "it cannot be written");
        free(json);
        return;
    }
    list_add(&notes->waiting, (struct job_note){ .owner = mem_string(state_user(state, job->user)),
                                                 .to = mem_string(launch->mail),
                                                 .sentence = text_take(&sentence),
                                                 .json = json });
}

/* ---- what happened ---- */

static bool is_wanted(const struct launch *launch, bool is_bad)
{
    return (launch->notify & NOTIFY_END) || (is_bad && (launch->notify & NOTIFY_FAIL));
}

static void look_at_end(struct job_notes *notes, const struct job *job)
{
    const struct group *group = whole_of(hub_state(notes->hub), job);

    if (job->run->ended <= notes->seen ||
        (group && (!group_is_over(group) || group->id == notes->over)))
        return;
    AUTO(launch) struct launch *launch = find_launch(notes, job);
    if (!launch || !is_wanted(launch, group ? group->bad_count > 0 : job->result != RESULT_OK))
        return;
    if (group)
        notes->over = group->id;
    add_note(notes, job, group, launch, "end");
}

/* Whether its first jobs have started in this batch, and that was not told yet. */
static bool is_new_group(struct job_notes *notes, const struct group *group, const uint64_t *jobs,
                         size_t count)
{
    const struct state *state = hub_state(notes->hub);
    uint32_t started = 0;

    for (size_t i = 0; i < notes->begun.count; i++) {
        if (notes->begun.items[i] == group->id)
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct job *job = state_job(state, jobs[i]);
        started += job && job->run->started > notes->seen && job->run->attempt == 1 &&
                   whole_of(state, job) == group;
    }
    if (group->started_count > started)
        return false;
    if (notes->begun.count == NOTES_MAX)
        list_remove(&notes->begun, 0);
    list_add(&notes->begun, group->id);
    return true;
}

static void look_at_start(struct job_notes *notes, const struct job *job, const uint64_t *jobs,
                          size_t count)
{
    bool is_again = job->run->attempt > 1;

    if (job->run->started <= notes->seen)
        return;
    AUTO(launch) struct launch *launch = find_launch(notes, job);
    const struct group *group = launch ? whole_of(hub_state(notes->hub), job) : NULL;
    if (!launch || (launch->notify & (is_again ? NOTIFY_REQUEUE : NOTIFY_BEGIN)) == 0 ||
        (group && (is_again || !is_new_group(notes, group, jobs, count))))
        return;
    add_note(notes, job, group, launch, is_again ? "requeue" : "begin");
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* A job that starts and ends at once is there twice. */
void job_notes_changed(struct job_notes *notes, const uint64_t *jobs, size_t count)
{
    const struct state *state = hub_state(notes->hub);
    uint64_t *each = mem_resize(NULL, count, sizeof(each[0]));
    size_t unique = 0;

    for (size_t i = 0; i < count; i++)
        each[i] = jobs[i];
    if (count > 0)
        qsort(each, count, sizeof(each[0]), compare_numbers);
    for (size_t i = 0; i < count; i++) {
        if (unique == 0 || each[i] != each[unique - 1])
            each[unique++] = each[i];
    }
    for (size_t i = 0; i < unique; i++) {
        const struct job *job = state_job(state, each[i]);

        if (job && (job->state == JOB_RUNNING || job->state == JOB_ENDED))
            look_at_start(notes, job, each, unique);
        if (job && job->state == JOB_ENDED)
            look_at_end(notes, job);
    }
    notes->seen = state->now;
    free(each);
}

void job_notes_send(struct job_notes *notes, struct alert_sender *sender)
{
    const struct watch_rules *rules = &hub_state(notes->hub)->settings.watch;

    while (notes->waiting.count > 0) {
        struct job_note *note = &notes->waiting.items[0];
        bool is_taken =
            note->to
                ? alert_sender_send_mail(sender, rules, note->to, note->sentence, note->json)
                : alert_sender_send_owner(sender, rules, note->owner, note->sentence, note->json);
        if (!is_taken)
            return; /* later */
        release_note(note);
        list_remove(&notes->waiting, 0);
    }
}
