/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/alert/job_notes.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/log.h"
#include "wire/job/job_launch.h"
#include "wire/json.h"

enum { SILENT_MAX = 65536 };

void job_notes_init(struct job_notes *notes, struct hub *hub, usec_t seen)
{
    LIST(uint64_t) jobs = { 0 };

    *notes = (struct job_notes){ .hub = hub, .seen = seen };
    for (const struct job *job = hub_state(hub)->first_job; job; job = job->next) {
        if (job->run->started > seen || job->run->ended > seen)
            list_add(&jobs, job->id);
        bool has_begun =
            job->run->attempt > 1 || (job->run->started > 0 && job->run->started <= seen);
        if (has_begun && job->state != JOB_ENDED && !job->group)
            map_set(&notes->begun, job->id, 1);
    }
    job_notes_changed(notes, jobs.items, jobs.count);
    list_release(&jobs);
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
    list_release(&notes->changes);
    map_release(&notes->silent);
    map_release(&notes->told);
    map_release(&notes->begun);
}

static bool is_silent(const struct job_notes *notes, const struct job *job)
{
    return map_get(&notes->silent, job->launch, &(uint64_t){ 0 });
}

/* The launch of a job that asks for messages; NULL: it does not, as most. */
static struct launch *find_launch(struct job_notes *notes, const struct job *job)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct launch *launch = NULL;

    if (journal_blob_get(hub_journal(notes->hub), job->launch, &bytes, NULL) < 0 ||
        launch_from_json(text_string(&bytes), bytes.length, &launch, NULL) < 0)
        return NULL;
    if (launch->notify != 0)
        return launch;
    if (notes->silent.count == SILENT_MAX)
        map_release(&notes->silent);
    map_set(&notes->silent, job->launch, 1);
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

static const char *change_name(unsigned event)
{
    return event == NOTIFY_BEGIN ? "begin" : event == NOTIFY_REQUEUE ? "requeue" : "end";
}

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
                     const struct launch *launch, const struct note_change *change)
{
    const char *event = change_name(change->event);
    const struct state *state = hub_state(notes->hub);
    const struct clock *clock = hub_clock(notes->hub);
    AUTO_RELEASE(text) struct text sentence = { 0 };

    if (group)
        add_group(group, event, &sentence);
    else
        add_job(job, event, &sentence);
    /* It is a line of a mail's head. */
    string_clean(sentence.bytes, sentence.length + 1, sentence.bytes, sentence.length);
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
    if (!json) {
        log_line(LOG_WARNING, "a message about a job cannot be written job=%" PRIu64, job->id);
        return;
    }
    list_add(&notes->waiting, (struct job_note){ .owner = mem_string(state_user(state, job->user)),
                                                 .to = mem_string(launch->mail),
                                                 .sentence = text_take(&sentence),
                                                 .json = json,
                                                 .at = change->at });
}

/* The messages that the changes ask for, as far as there is room. */
static void make_notes(struct job_notes *notes)
{
    const struct state *state = hub_state(notes->hub);
    size_t done = 0, reads = 0;

    for (; done < notes->changes.count && reads < NOTES_READS_MAX; done++) {
        const struct note_change *change = &notes->changes.items[done];
        const struct job *job = state_job(state, change->job);
        const struct group *group = change->group ? state_group(state, change->group) : NULL;
        uint64_t told = map_hash_words((uint64_t[]){ change->group, change->event }, 2);

        if (notes->waiting.count == NOTES_MAX)
            break;
        if (!job || (change->group && !group) || is_silent(notes, job) ||
            (group && map_get(&notes->told, told, &(uint64_t){ 0 })))
            continue;
        reads++;
        AUTO(launch) struct launch *launch = find_launch(notes, job);
        if (!launch || ((launch->notify & change->event) == 0 &&
                        !(change->is_bad && (launch->notify & NOTIFY_FAIL))))
            continue;
        if (group)
            map_set(&notes->told, told, 1);
        add_note(notes, job, group, launch, change);
    }
    list_remove_first(&notes->changes, done);
    if (notes->changes.count == 0) {
        map_release(&notes->told);
        notes->is_dropping = false;
    }
}

/* ---- what happened ---- */

static void add_change(struct job_notes *notes, const struct job *job, const struct group *group,
                       unsigned event, usec_t at)
{
    if (is_silent(notes, job))
        return;
    if (notes->changes.count == NOTES_CHANGES_MAX) {
        if (!notes->is_dropping)
            log_line(LOG_WARNING,
                     "messages about jobs are not sent, more than %d wait job=%" PRIu64,
                     NOTES_CHANGES_MAX, job->id);
        notes->is_dropping = true;
        return;
    }
    bool is_bad = group ? group->bad_count > 0 : job->result != RESULT_OK;
    list_add(&notes->changes, (struct note_change){ .job = job->id,
                                                    .group = group ? group->id : 0,
                                                    .at = at,
                                                    .event = event,
                                                    .is_bad = event == NOTIFY_END && is_bad });
}

/* Whether it started in this batch. */
static bool has_begun(const struct job_notes *notes, const struct job *job)
{
    return (job->state == JOB_RUNNING || job->state == JOB_ENDED) &&
           job->run->started > notes->seen;
}

/* What has begun in this batch, by group: how many jobs, and when the first did. Starts are
 * reported in any order, so the first is not that of the lowest number. */
struct begun {
    struct map count, first;
};

static void count_begun(const struct job_notes *notes, const uint64_t *jobs, size_t count,
                        struct begun *ret)
{
    const struct state *state = hub_state(notes->hub);

    for (size_t i = 0; i < count; i++) {
        const struct job *job = state_job(state, jobs[i]);
        const struct group *group = job ? whole_of(state, job) : NULL;
        uint64_t begun = 0, first = UINT64_MAX;

        if (!group || !has_begun(notes, job) || job->run->attempt != 1)
            continue;
        uint64_t started = (uint64_t)job->run->started;
        map_get(&ret->count, group->id, &begun);
        map_get(&ret->first, group->id, &first);
        map_set(&ret->count, group->id, begun + 1);
        map_set(&ret->first, group->id, started < first ? started : first);
    }
}

/* Of a group the first start and the last end count. A job that failed and started again within one
 * batch has begun, too. */
static void look_at(struct job_notes *notes, const struct job *job, const struct begun *begun)
{
    const struct group *group = whole_of(hub_state(notes->hub), job);
    uint64_t count = 0, first = (uint64_t)job->run->started;

    bool is_alone = !group && has_begun(notes, job) && !is_silent(notes, job);

    if (is_alone && job->run->attempt > 1 && !map_get(&notes->begun, job->id, &(uint64_t){ 0 }))
        add_change(notes, job, NULL, NOTIFY_BEGIN, job->run->started);
    if (is_alone)
        map_set(&notes->begun, job->id, 1);
    if (is_alone && job->run->attempt > 1)
        add_change(notes, job, NULL, NOTIFY_REQUEUE, job->run->started);
    else if (has_begun(notes, job) && job->run->attempt == 1 &&
             (!group ||
              (map_get(&begun->count, group->id, &count) &&
               map_get(&begun->first, group->id, &first) && group->started_count <= count)))
        add_change(notes, job, group, NOTIFY_BEGIN, (usec_t)first);
    if (job->state == JOB_ENDED && job->run->ended > notes->seen &&
        (!group || group_is_over(group)))
        add_change(notes, job, group, NOTIFY_END, job->run->ended);
    if (job->state == JOB_ENDED)
        map_remove(&notes->begun, job->id);
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
    struct begun begun = { 0 };
    size_t unique = 0;

    for (size_t i = 0; i < count; i++)
        each[i] = jobs[i];
    if (count > 0)
        qsort(each, count, sizeof(each[0]), compare_numbers);
    for (size_t i = 0; i < count; i++) {
        if (unique == 0 || each[i] != each[unique - 1])
            each[unique++] = each[i];
    }
    count_begun(notes, each, unique, &begun);
    for (size_t i = 0; i < unique; i++) {
        const struct job *job = state_job(state, each[i]);

        if (job)
            look_at(notes, job, &begun);
    }
    notes->seen = state->now;
    map_release(&begun.count);
    map_release(&begun.first);
    free(each);
}

void job_notes_send(struct job_notes *notes, struct alert_sender *sender)
{
    const struct watch_rules *rules = &hub_state(notes->hub)->settings.watch;
    size_t sent = 0;

    make_notes(notes);
    for (; sent < notes->waiting.count; sent++) {
        struct job_note *note = &notes->waiting.items[sent];
        bool is_taken = note->to ? alert_sender_send_mail(sender, rules, note->to, note->sentence,
                                                          note->json, note->at)
                                 : alert_sender_send_owner(sender, rules, note->owner,
                                                           note->sentence, note->json, note->at);
        if (!is_taken)
            break; /* later */
        release_note(note);
    }
    list_remove_first(&notes->waiting, sent);
}

usec_t job_notes_told_until(const struct job_notes *notes, struct alert_sender *sender)
{
    usec_t first = alert_sender_oldest(sender);

    LIST_EACH (const struct job_note, note, &notes->waiting)
        first = note->at < first ? note->at : first;
    LIST_EACH (const struct note_change, change, &notes->changes)
        first = change->at < first ? change->at : first;
    return first <= notes->seen ? first - 1 : notes->seen;
}
