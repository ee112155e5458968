/* SPDX-License-Identifier: Apache-2.0 */
/* What happened to one job, from the journal. The members of a gang start and end together: of
 * those events, the first of each attempt counts. */
#include <inttypes.h>

#include "base/mem.h"
#include "base/units.h"
#include "core/job/job.h"
#include "daemon/daemon.h"
#include "daemon/study/study_report.h"
#include "wire/json.h"

enum { ENTRIES_MAX = 1000 };

struct timeline {
    uint64_t job;
    usec_t until, wall_ahead;
    uint32_t started, ended; /* the last attempts of which this is known */
    json_t *list;
    struct arena arena;
};

static const char *const stop_causes[] = {
    [STOP_CANCEL] = "it is cancelled",
    [STOP_TIMEOUT] = "its time limit is over",
    [STOP_MEMBER] = "a member of it failed",
    [STOP_REQUEUE] = "it is requeued",
    [STOP_PREEMPT] = "it is preempted",
    [STOP_RESIZE] = "it restarts with another number of members",
    [STOP_HEAL] = "it restarts after the loss of a member",
    [STOP_MOVE] = "it moves, to make room for another job",
    [STOP_RESCUE] = "it leaves a faulty device",
};

static void say_stop(const struct event_stop *stop, struct text *text)
{
    if (stop->cause < COUNT_OF(stop_causes) && stop_causes[stop->cause])
        text_add(text, stop_causes[stop->cause]);
    if (stop->cause == STOP_PREEMPT)
        text_printf(text, ": %s", stop_rule_meaning(stop->rule));
    if (stop->other > 0)
        text_printf(text, ", for job %" PRIu64, stop->other);
    if (stop->lost > 0)
        text_printf(text, "; %" PRId64 " s of work are lost", stop->lost / USEC_PER_SEC);
}

static void say_end(const struct event_ended *ended, struct text *text)
{
    if (ended->kind != ENGINE_ENDED)
        text_add(text, ended->reason);
    else if (ended->signal > 0)
        text_printf(text, "signal %" PRIu32 "%s", ended->signal,
                    ended->was_oom ? ", out of memory" : "");
    else
        text_printf(text, "exit status %" PRId32, ended->exit_code);
}

/* False: it is not for the timeline. */
static bool say(struct timeline *timeline, const struct event *event, struct text *text)
{
    char amount[32];

    switch (event->kind) {
    case EVENT_SUBMIT:
        text_printf(text, "by %s, to queue %s", event->submit.user, event->submit.queue);
        return true;
    case EVENT_HOLD:
    case EVENT_RELEASE:
    case EVENT_REQUEUE:
    case EVENT_CHECKPOINT:
        return true;
    case EVENT_CANCEL:
        text_printf(text, "by %s%s%s", event->cancel.user, event->cancel.reason[0] ? ": " : "",
                    event->cancel.reason);
        return true;
    case EVENT_UPDATE:
        if (event->update.has_priority)
            text_printf(text, "priority %" PRId32 " ", event->update.priority);
        if (event->update.queue[0])
            text_printf(text, "queue %s ", event->update.queue);
        if (event->update.max_duration > 0)
            text_printf(text, "time limit %" PRId64 " s ",
                        event->update.max_duration / USEC_PER_SEC);
        return true;
    case EVENT_GRANT:
        text_printf(text, "attempt %" PRIu32 ", %s GPU%s", event->grant.attempt,
                    units_format_milli(amount, event->grant.lease.milli),
                    event->grant.lease.milli == 1000 ? "" : "s");
        return true;
    case EVENT_STOP:
        say_stop(&event->stop, text);
        return true;
    case EVENT_STARTED:
        if (event->started.attempt <= timeline->started)
            return false;
        timeline->started = event->started.attempt;
        text_printf(text, "attempt %" PRIu32, event->started.attempt);
        return true;
    case EVENT_ENDED:
        if (event->ended.attempt <= timeline->ended)
            return false;
        timeline->ended = event->ended.attempt;
        say_end(&event->ended, text);
        return true;
    case EVENT_WARN:
        text_add(text, event->warn.count == 0  ? "the warning is cleared"
                       : event->warn.kind == 1 ? "its GPUs are idle"
                                               : "it uses more GPU memory than allocated");
        return true;
    default:
        return false;
    }
}

static int on_record(void *user, const struct journal_record *record, struct error *err)
{
    struct timeline *timeline = user;
    AUTO_RELEASE(text) struct text text = { 0 };
    struct event event;

    arena_clear(&timeline->arena);
    int code = event_decode(record->bytes, record->length, &timeline->arena, &event, err);
    if (code < 0)
        return error_prefix(err, code, "journal: record %llu",
                            (unsigned long long)record->sequence);
    if (event_job(&event) != timeline->job || event.at > timeline->until ||
        json_array_size(timeline->list) == ENTRIES_MAX || !say(timeline, &event, &text))
        return 0;
    json_t *words = json_string(text_string(&text));
    json_array_append_new(timeline->list, json_pack("{s:o, s:s, s:o}", "at",
                                                    json_time(event.at + timeline->wall_ahead),
                                                    "what", event_name(event.kind), "text",
                                                    words ? words : json_string("")));
    return 0;
}

int timeline_view(const json_t *question, json_t **ret, struct error *err)
{
    struct timeline timeline = {
        .job = (uint64_t)json_integer_value(json_object_get(question, "job")),
        .until = json_integer_value(json_object_get(question, "now")),
        .wall_ahead = json_integer_value(json_object_get(question, "wall_ahead")),
        .list = json_array(),
    };

    int code = daemon_read_records(json_string_value(json_object_get(question, "dir")), on_record,
                                   &timeline, err);
    if (code == 0)
        *ret = json_pack("{s:I, s:O}", "id", (json_int_t)timeline.job, "events", timeline.list);
    json_decref(timeline.list);
    arena_release(&timeline.arena);
    return code;
}
