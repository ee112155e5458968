/* SPDX-License-Identifier: Apache-2.0 */
/* tarn replay: read the whole journal again; with --verify decide again, and compare. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "core/snapshot/snapshot.h"
#include "io/paths.h"
#include "sched/sched.h"
#include "store/journal.h"

enum { VERIFY, PRINT, STATE };

const struct option_entry options_replay[] = {
    [VERIFY] = { "verify", 0, NULL,
                 "repeat the decisions of every plan, and compare them with the records and the "
                 "snapshot" },
    [PRINT] = { "print", 0, NULL, "print the records, one per line" },
    [STATE] = { "state", 0, "DIR",
                "state directory with the journal (default: as for tarn serve)" },
    { 0 },
};

struct replay {
    struct state *state;
    struct brain *brain;
    struct arena arena;
    struct decisions decisions;
    size_t compared; /* of decisions: how many have been met in the journal */
    struct text scratch;
    uint64_t records, plans, decided;
    bool is_verifying, is_printing;
    bool is_other_brain; /* other rules made these decisions: they are folded, not compared */
    uint64_t other_decisions;
    uint64_t snapshot_at; /* the record that the snapshot follows; 0: none, or not compared */
    struct text snapshot; /* what it says */
};

static void print_fields(const struct record_type *type, const char *object);

static void print_number(const struct field *field, const char *at)
{
    uint64_t value = 0;

    memcpy(&value, at, field->size); /* little-endian, as all machines we run on */
    if (field->kind == FIELD_INT) {
        unsigned shift = 64 - 8u * field->size;
        printf(" %s=%" PRId64, field->name, (int64_t)(value << shift) >> shift);
    } else
        printf(" %s=%" PRIu64, field->name, value);
}

static void print_records(const struct field *field, const char *object, const char *at)
{
    const char *items = at;
    uint32_t count;

    memcpy(&count, object + field->count_offset, sizeof(count));
    if (!field->is_inside)
        memcpy(&items, at, sizeof(items));
    printf(" %s=[", field->name);
    for (uint32_t i = 0; i < count; i++) {
        printf("%s{", i ? "," : "");
        print_fields(field->type, items + i * field->type->size);
        printf(" }");
    }
    printf("]");
}

static void print_fields(const struct record_type *type, const char *object)
{
    for (size_t i = 0; i < type->field_count; i++) {
        const struct field *field = &type->fields[i];
        const char *at = object + field->offset, *string;
        switch ((enum field_kind)field->kind) {
        case FIELD_UINT:
        case FIELD_INT:
            if (memcmp(at, &field->missing, field->size) != 0) /* little-endian */
                print_number(field, at);
            break;
        case FIELD_TEXT:
            memcpy(&string, at, sizeof(string));
            if (string && string[0])
                printf(" %s='%s'", field->name, string);
            break;
        case FIELD_CHARS:
            if (at[0])
                printf(" %s='%s'", field->name, at);
            break;
        case FIELD_RECORD:
            printf(" %s={", field->name);
            print_fields(field->type, at);
            printf(" }");
            break;
        case FIELD_RECORDS:
            print_records(field, object, at);
            break;
        }
    }
}

static void print_event(uint64_t sequence, const struct event *event)
{
    printf("%" PRIu64 " %" PRId64 ".%06" PRId64 " %s", sequence, event->at / USEC_PER_SEC,
           event->at % USEC_PER_SEC, event_name(event->kind));
    print_fields(event_type(event->kind), event_body(event));
    printf("\n");
}

/* The journal's next decision must be the brain's next one, byte for byte. */
static int compare(struct replay *replay, const struct journal_record *record,
                   const struct event *recorded, struct error *err)
{
    if (replay->compared == replay->decisions.events.count)
        return error_set(err, -EBADMSG,
                         "record %" PRIu64 ": %s of job %" PRIu64 " was decided then, but not now",
                         record->sequence, event_name(recorded->kind), event_job(recorded));

    const struct event *decided = &replay->decisions.events.items[replay->compared++];
    text_clear(&replay->scratch);
    event_encode(decided, &replay->scratch);
    if (replay->scratch.length != record->length ||
        memcmp(replay->scratch.bytes, record->bytes, record->length) != 0)
        return error_set(err, -EBADMSG,
                         "record %" PRIu64 ": %s of job %" PRIu64
                         " then, another %s of job %" PRIu64 " now",
                         record->sequence, event_name(recorded->kind), event_job(recorded),
                         event_name(decided->kind), event_job(decided));
    replay->decided++;
    return 0;
}

static int check_all_met(const struct replay *replay, uint64_t sequence, struct error *err)
{
    if (replay->compared == replay->decisions.events.count)
        return 0;
    const struct event *decided = &replay->decisions.events.items[replay->compared];
    return error_set(err, -EBADMSG,
                     "before record %" PRIu64 ": %s of job %" PRIu64
                     " is decided now, but not then",
                     sequence, event_name(decided->kind), event_job(decided));
}

static int verify(struct replay *replay, const struct journal_record *record,
                  const struct event *event, struct error *err)
{
    bool is_decision = event_is_decision(event->kind);

    if (event->kind == EVENT_BOOT)
        replay->is_other_brain = event->boot.brain != SCHED_VERSION;
    if (replay->is_other_brain || !replay->is_verifying) {
        replay->other_decisions += is_decision;
        return sched_fold(replay->brain, event, err);
    }
    if (is_decision) /* stepping the plan has folded it in */
        return compare(replay, record, event, err);
    int code = check_all_met(replay, record->sequence, err);
    if (code < 0)
        return code;
    replay->decisions.events.count = replay->compared = 0;
    return sched_step(replay->brain, event, &replay->decisions, err);
}

/* The snapshot of the daemon must be what the records up to it give. */
static int compare_snapshot(struct replay *replay, struct error *err)
{
    text_clear(&replay->scratch);
    snapshot_save(replay->state, &replay->scratch);
    if (replay->scratch.length != replay->snapshot.length ||
        memcmp(replay->scratch.bytes, replay->snapshot.bytes, replay->scratch.length) != 0)
        return error_set(err, -EBADMSG,
                         "snapshot of record %" PRIu64
                         ": differs from the state that the records give",
                         replay->snapshot_at);
    replay->snapshot_at = 0;
    return 0;
}

static int on_record(void *user, const struct journal_record *record, struct error *err)
{
    struct replay *replay = user;
    struct event event;

    arena_clear(&replay->arena);
    int code = event_decode(record->bytes, record->length, &replay->arena, &event, err);
    if (code < 0)
        return error_prefix(err, code, "record %" PRIu64, record->sequence);
    replay->records++;
    replay->plans += event.kind == EVENT_PLAN;
    if (replay->is_printing) {
        print_event(record->sequence, &event);
        return 0;
    }
    code = verify(replay, record, &event, err);
    if (code == 0 && replay->snapshot_at == record->sequence)
        code = compare_snapshot(replay, err);
    return code;
}

/* Load the snapshot, and keep what it says: as bytes of this version, which may write more. */
static int read_snapshot(struct replay *replay, struct journal *journal, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO(state) struct state *state = NULL;
    uint64_t sequence = 0;

    int code = journal_snapshot_load(journal, &bytes, &sequence, err);
    if (code == 0 && sequence > 0)
        code = snapshot_load(bytes.bytes, bytes.length, &state, err);
    if (code < 0)
        return error_prefix(err, code, "snapshot");
    if (state && replay->is_verifying) {
        snapshot_save(state, &replay->snapshot);
        replay->snapshot_at = sequence;
    }
    return 0;
}

static int replay_all(struct replay *replay, const char *state_dir, struct error *err)
{
    __attribute__((cleanup(journal_auto_destroy))) struct journal *journal = NULL;

    int code = journal_open(state_dir, JOURNAL_READ, &journal, err);
    if (code == 0)
        code = read_snapshot(replay, journal, err);
    if (code == 0)
        code = journal_read(journal, 1, on_record, replay, err);
    if (code == 0 && replay->is_verifying)
        code = check_all_met(replay, replay->records + 1, err);
    return code;
}

static void say(const struct replay *replay, bool is_json)
{
    if (is_json)
        printf("{\"records\": %" PRIu64 ", \"plans\": %" PRIu64 ", \"decisions\": %" PRIu64
               ", \"same\": true, \"by_other_rules\": %" PRIu64 "}\n",
               replay->records, replay->plans, replay->decided, replay->other_decisions);
    else if (replay->is_verifying)
        printf("%" PRIu64 " records, %" PRIu64 " plans, %" PRIu64 " decisions: all the same%s\n",
               replay->records, replay->plans, replay->decided,
               replay->other_decisions ? " (some were made by other rules and not compared)" : "");
    else
        printf("%" PRIu64 " records, %" PRIu64 " plans, %" PRIu64 " decisions\n", replay->records,
               replay->plans, replay->other_decisions);
}

int run_replay(const struct options *options)
{
    struct replay replay = { 0 };
    struct paths paths = { 0 };
    struct error err;

    const char *state_dir = options->values[STATE];
    if (options->values[VERIFY] && options->values[PRINT])
        return usage_wrong("replay", "--verify and --print: expected one of them");
    if (state_dir && !state_dir[0])
        return usage_wrong("replay", "--state: expected a folder");
    replay.is_verifying = options->values[VERIFY] != NULL;
    replay.is_printing = options->values[PRINT] != NULL;
    replay.state = state_create();
    replay.brain = brain_create(replay.state);
    int code = state_dir ? 0 : paths_find(&paths, &err);
    if (code == 0)
        code = replay_all(&replay, state_dir ? state_dir : paths.state, &err);
    if (code < 0)
        fprintf(stderr, "tarn: %s\n", err.text);
    else if (!replay.is_printing)
        say(&replay, options->is_json);
    brain_destroy(replay.brain);
    state_destroy(replay.state);
    arena_release(&replay.arena);
    list_release(&replay.decisions.events);
    text_release(&replay.scratch);
    text_release(&replay.snapshot);
    paths_release(&paths);
    return code < 0 ? 1 : 0;
}
