/* SPDX-License-Identifier: Apache-2.0 */

/* gen_spec - makes those parts of doc/spec that stand in tables of the code
 *
 *     gen_spec FOLDER             write 02-job.md and the last section of 01-journal.md anew
 *     gen_spec --check FOLDER     fail when what lies there is not what would be written
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/job/job.h"
#include "core/job/why.h"
#include "core/journal/event.h"
#include "core/snapshot/snapshot.h"

enum { DOCUMENT_MAX = 1 << 20, TYPES_MAX = 32 };

static const char records_mark[] = "\n## Records\n";

static const char records_intro[] =
    "\n"
    "*Made by `tools/gen_spec` from `core/journal/event.def` and the field tables of the code.*\n"
    "\n"
    "    record := (key value)*       key := tag << 2 | form\n"
    "    event  := kind time record   a row of the table `record`: its `bytes`\n"
    "    snapshot := (kind length record)*\n"
    "\n"
    "Kinds, times, keys, lengths and numbers are varints: seven bits a byte, the lowest first, "
    "the\n"
    "top bit set in all but the last. Time is journal time in microseconds.\n"
    "\n"
    "| form | value |\n"
    "|---|---|\n"
    "| 0 | an unsigned number |\n"
    "| 1 | a signed number, zigzag: 0, -1, 1, -2 ... are 0, 1, 2, 3 ... |\n"
    "| 2 | a length and as many bytes: a text in UTF-8 |\n"
    "| 3 | a length and a record; in a list the tag repeats, once for each item |\n"
    "\n"
    "What is zero or empty is not written, and what is missing reads as zero or empty; only an\n"
    "empty item of a list is written, with length 0. A number whose row says what a missing one\n"
    "means has that meaning instead, and a constant is added to the others. A reader passes over\n"
    "tags that it does not know. Fields may be added at any time; a tag, a kind and their "
    "meanings\n"
    "are never reused. A kind of event or snapshot record that is not known is refused.\n";

static const char job_intro[] =
    "# Jobs\n"
    "\n"
    "*Made by `tools/gen_spec` from `core/job/job_state.def`, `core/job/why.def` and "
    "`core/journal/event.def`.*\n"
    "\n"
    "A job has one state at a time. Events change it; `state = fold(events)`. An attempt begins\n"
    "with a grant and ends when all members of the job have ended. Late or repeated\n"
    "reports of an engine, and those about another attempt, change nothing.\n"
    "\n"
    "## States\n"
    "\n"
    "| state | meaning |\n"
    "|---|---|\n";

static const char *form_of(const struct field *field)
{
    switch ((enum field_kind)field->kind) {
    case FIELD_UINT:
        return "0";
    case FIELD_INT:
        return "1";
    case FIELD_TEXT:
    case FIELD_CHARS:
        return "2";
    case FIELD_RECORD:
    case FIELD_RECORDS:
        return "3";
    }
    return "";
}

static void add_fields(struct text *out, const struct record_type *type)
{
    if (type->field_count == 0) {
        text_add(out, "\nNo fields.\n");
        return;
    }
    text_add(out, "\n| tag | form | name | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < type->field_count; i++) {
        const struct field *field = &type->fields[i];
        text_printf(out, "| %u | %s | `%s` | ", (unsigned)field->tag, form_of(field), field->name);
        if (field->type)
            text_printf(out, "%s`%s`%s", field->kind == FIELD_RECORDS ? "list of " : "",
                        field->type->name, field->meaning[0] ? ": " : "");
        text_add(out, field->meaning);
        if (field->plus > 0)
            text_printf(out, " (the bytes have %u more)", (unsigned)field->plus);
        text_add(out, " |\n");
    }
}

/* The records that are used inside others, each once, in the order in which they are met. */
struct inner_types {
    const struct record_type *types[TYPES_MAX];
    size_t count;
};

static void collect(struct inner_types *inner, const struct record_type *type)
{
    for (size_t i = 0; i < type->field_count; i++) {
        const struct record_type *used = type->fields[i].type;
        bool is_known = !used;
        for (size_t k = 0; k < inner->count; k++)
            is_known |= inner->types[k] == used;
        if (!is_known && inner->count < TYPES_MAX) {
            inner->types[inner->count++] = used;
            collect(inner, used);
        }
    }
}

static void add_records(struct text *out)
{
    struct inner_types inner = { .count = 0 };

    text_add(out, records_intro);
    text_add(out, "\n### Events\n");
    for (unsigned kind = 1; kind < EVENT_KIND_MAX; kind++) {
        const struct record_type *type = event_type((enum event_kind)kind);
        if (!type)
            continue;
        text_printf(out, "\n#### %u `%s`\n\n%s.\n", kind, type->name,
                    event_meaning((enum event_kind)kind));
        add_fields(out, type);
        collect(&inner, type);
    }
    text_add(out,
             "\n### Records of a snapshot\n\n"
             "In the order of their kinds; the first is the one `world`. What follows from them is "
             "counted anew.\n");
    for (unsigned kind = 1; kind < SNAPSHOT_KINDS_MAX; kind++) {
        if (!snapshot_type(kind))
            continue;
        text_printf(out, "\n#### %u `%s`\n", kind, snapshot_type(kind)->name);
        add_fields(out, snapshot_type(kind));
        collect(&inner, snapshot_type(kind));
    }
    text_add(out, "\n### Records inside\n");
    for (size_t i = 0; i < inner.count; i++) {
        text_printf(out, "\n#### `%s`\n", inner.types[i]->name);
        add_fields(out, inner.types[i]);
    }
}

#define TRANSITION(FROM, TO, event, meaning) { JOB_##FROM, JOB_##TO, event, meaning },
static const struct {
    enum job_state from, to;
    const char *event, *meaning;
} transitions[] = {
#include "core/job/job_state.def"
};

static void add_job(struct text *out)
{
    text_add(out, job_intro);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        text_printf(out, "| `%s` | %s |\n", job_state_name((enum job_state)i),
                    job_state_meaning((enum job_state)i));
    text_add(out, "\n## Results\n\nA job that has `ended` has one of these results.\n\n| result | "
                  "meaning |\n|---|---|\n");
    for (int i = RESULT_NONE + 1; i < RESULT_COUNT; i++)
        text_printf(out, "| `%s` | %s |\n", job_result_name((enum job_result)i),
                    job_result_meaning((enum job_result)i));
    text_add(
        out,
        "\n## Transitions\n\nThe list is complete. `hold`, `release`, `cancel`, `requeue` and "
        "`update` are requests of users; `plan`, `grant` and `stop` are decisions of the brain; "
        "`started` and `ended` are reports of the engine.\n\n"
        "| from | to | on | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(transitions); i++)
        text_printf(out, "| `%s` | `%s` | `%s` | %s |\n", job_state_name(transitions[i].from),
                    job_state_name(transitions[i].to), transitions[i].event,
                    transitions[i].meaning);
    text_add(out, "\n## Why a job does not run\n\nEvery waiting job has one of these reasons. The "
                  "end of other "
                  "jobs never resolves a `never_` reason.\n\n| reason | meaning |\n|---|---|\n");
    for (int i = 0; i < WHY_COUNT; i++)
        text_printf(out, "| `%s` | %s |\n", why_name((enum why_kind)i),
                    why_meaning((enum why_kind)i));
}

/* NULL when it can't be read. */
static char *read_document(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;

    char *bytes = mem_zero(DOCUMENT_MAX, 1);
    size_t length = fread(bytes, 1, DOCUMENT_MAX - 1, file);
    fclose(file);
    bytes[length] = '\0';
    return bytes;
}

static int put_document(const char *path, const struct text *wanted, bool is_check)
{
    AUTO_FREE char *present = read_document(path);

    if (present && strcmp(present, text_string(wanted)) == 0)
        return 0;
    if (is_check) {
        fprintf(stderr, "%s: not what the code says; write it anew with gen_spec doc/spec\n", path);
        return 1;
    }
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        return 1;
    }
    fwrite(text_string(wanted), 1, wanted->length, file);
    return fclose(file) == 0 ? 0 : 1;
}

static int put_journal(const char *path, bool is_check)
{
    AUTO_RELEASE(text) struct text wanted = { 0 };
    AUTO_FREE char *present = read_document(path);
    const char *mark = present ? strstr(present, records_mark) : NULL;

    if (!mark) {
        fprintf(stderr, "%s: has no section 'Records'\n", path);
        return 1;
    }
    text_add_bytes(&wanted, present, (size_t)(mark - present) + strlen(records_mark));
    add_records(&wanted);
    return put_document(path, &wanted, is_check);
}

static int put_job(const char *path, bool is_check)
{
    AUTO_RELEASE(text) struct text wanted = { 0 };

    add_job(&wanted);
    return put_document(path, &wanted, is_check);
}

int main(int argc, char **argv)
{
    bool is_check = argc == 3 && strcmp(argv[1], "--check") == 0;

    if (argc != 2 && !is_check) {
        fprintf(stderr, "usage: gen_spec [--check] FOLDER\n");
        return 2;
    }
    AUTO_FREE char *journal = mem_printf("%s/01-journal.md", argv[argc - 1]);
    AUTO_FREE char *job = mem_printf("%s/02-job.md", argv[argc - 1]);
    int failed = put_journal(journal, is_check);
    failed += put_job(job, is_check);
    return failed > 0 ? 1 : 0;
}
