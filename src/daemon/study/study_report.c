/* SPDX-License-Identifier: Apache-2.0 */
/* tarn --report: what the daemon starts to have its journal added up. */
#include "daemon/study/study_report.h"

#include <errno.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/study/study.h"
#include "time/civil.h"

struct folding {
    struct state *state;
    struct ledger *ledger;
    struct arena arena;
    usec_t from, now; /* what came after now is not of the question */
    usec_t step;      /* of its periods; REPORT_MONTHS: calendar months; 0: none */
    usec_t wall_ahead;
    bool counts_queues;
    bool has_begun;
};

/* The next begin of a period after `at`, by the clock, in UTC. */
static usec_t next_period(const struct folding *folding, usec_t at)
{
    usec_t wall = at + folding->wall_ahead;

    if (folding->step != REPORT_MONTHS)
        return (wall / folding->step + 1) * folding->step - folding->wall_ahead;
    struct civil date = civil_of_day(civil_day_of(wall));
    bool is_last = date.month == 12;
    return civil_day(date.year + is_last, is_last ? 1 : date.month + 1, 1) * USEC_PER_DAY -
           folding->wall_ahead;
}

static void begin(struct folding *folding, usec_t from)
{
    ledger_begin(folding->ledger, folding->state, from);
    folding->ledger->counts_queues = folding->counts_queues;
    folding->has_begun = true;
    for (usec_t at = from; folding->step != 0 && at < folding->now; at = next_period(folding, at))
        list_add(&folding->ledger->periods, (struct ledger_period){ .from = at });
}

static int on_record(void *user, const struct journal_record *record, struct error *err)
{
    struct folding *folding = user;
    struct event event;

    arena_clear(&folding->arena);
    int code = event_decode(record->bytes, record->length, &folding->arena, &event, err);
    if (code == 0 && event.at > folding->now)
        return 0;
    if (code == 0 && !folding->has_begun && event.at >= folding->from) {
        /* Of the time before the first record nothing can be said. */
        begin(folding, folding->state->now > 0 ? folding->from : event.at);
    }
    if (code == 0 && folding->has_begun)
        ledger_pass(folding->ledger, event.at);
    if (code == 0)
        code = state_apply(folding->state, &event, err);
    if (code == 0 && folding->has_begun)
        ledger_note(folding->ledger, &event);
    return code < 0 ? error_prefix(err, code, "journal: record %llu",
                                   (unsigned long long)record->sequence)
                    : 0;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What those that run did so far is not in the journal: the daemon says it, as events in
 * hexadecimal. */
static int note_live(struct folding *folding, const char *words, struct error *err)
{
    size_t length = strlen(words) / 2;
    struct event event;

    arena_clear(&folding->arena);
    uint8_t *bytes = arena_take(&folding->arena, length + 1, 1);
    for (size_t i = 0; i < length; i++) {
        int high = digit(words[2 * i]), low = digit(words[2 * i + 1]);
        if (high < 0 || low < 0)
            return error_set(err, -EINVAL, "question: live: expected hexadecimal digits");
        bytes[i] = (uint8_t)(high * 16 + low);
    }
    int code = event_decode(bytes, length, &folding->arena, &event, err);
    if (code == 0)
        ledger_note(folding->ledger, &event);
    return code;
}

static int fold(struct folding *folding, const json_t *question, struct error *err)
{
    const json_t *live = json_object_get(question, "live"), *words;
    usec_t now = json_integer_value(json_object_get(question, "now"));
    size_t i;

    int code = daemon_read_records(json_string_value(json_object_get(question, "dir")), on_record,
                                   folding, err);
    if (code < 0)
        return code;
    if (!folding->has_begun)
        begin(folding, folding->from);
    ledger_finish(folding->ledger, now);
    json_array_foreach(live, i, words)
    {
        if (code == 0)
            code = note_live(folding, json_string_value(words), err);
    }
    return code;
}

static int answer(const json_t *question, json_t **ret, struct error *err)
{
    struct ledger ledger = { 0 };
    usec_t last = json_integer_value(json_object_get(question, "last"));
    struct folding folding = {
        .state = state_create(),
        .ledger = &ledger,
        .from = json_integer_value(json_object_get(question, "now")) - last,
        .now = json_integer_value(json_object_get(question, "now")),
        .step = json_integer_value(json_object_get(question, "step")),
        .wall_ahead = json_integer_value(json_object_get(question, "wall_ahead")),
        .counts_queues = json_integer_value(json_object_get(question, "by")) == REPORT_BY_QUEUE,
    };
    struct report_ask ask = {
        .by = (enum report_by)json_integer_value(json_object_get(question, "by")),
        .shown = (size_t)json_integer_value(json_object_get(question, "shown")),
        .wall_ahead = json_integer_value(json_object_get(question, "wall_ahead")),
        .hides_from = json_string_value(json_object_get(question, "hides_from")),
    };
    int code = json_is_string(json_object_get(question, "dir"))
                   ? fold(&folding, question, err)
                   : error_set(err, -EINVAL, "question: it lacks dir");

    if (code == 0)
        *ret = report_view(&ledger, &ask);
    ledger_release(&ledger);
    arena_release(&folding.arena);
    state_destroy(folding.state);
    return code;
}

static int choose_answer(const json_t *question, json_t **ret, struct error *err)
{
    return json_object_get(question, "audit") ? audit_view(question, ret, err)
           : json_object_get(question, "job") ? timeline_view(question, ret, err)
                                              : answer(question, ret, err);
}

int run_report_study(void)
{
    return study_answer(choose_answer);
}
