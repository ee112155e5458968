/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/submission.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "time/cron.h"
#include "wire/job/draft.h"
#include "wire/job/matrix.h"
#include "wire/job/pipeline.h"
#include "wire/job/sender.h"
#include "wire/reader.h"

enum { TOTAL_MAX = 128 << 20 };

/* Where a key may stand. */
enum { J = 1, S = 2, D = 4, P = 8, LATER = 16 };

static const struct job_key {
    const char *name;
    unsigned places;
} job_keys[] = {
#define JOB_KEY(name, places, type, meaning) { name, places },
#include "wire/job/job_keys.def"
#undef JOB_KEY
};

static const char *const job_key_names[] = {
#define JOB_KEY(name, places, type, meaning) name,
#include "wire/job/job_keys.def"
#undef JOB_KEY
    NULL,
};

struct parser {
    const json_t *document;
    struct reader reader;
    struct submission *submission;
    LIST(char *) notes;
    size_t size; /* of all drafts so far */
};

static void note(struct parser *parser, const struct reader *reader, const json_t *object,
                 const char *key, const char *words)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    uint32_t line = yaml_key_line(reader->lines, object, key);

    if (reader->source && line > 0)
        text_printf(&text, "%s:%" PRIu32 ": ", reader->source, line);
    if (reader->where[0])
        text_printf(&text, "%s: ", reader->where);
    text_printf(&text, "%s: %s", key, words);
    list_add(&parser->notes, text_take(&text));
}

static const struct job_key *find_key(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(job_keys); i++) {
        if (strcmp(job_keys[i].name, name) == 0)
            return &job_keys[i];
    }
    return NULL;
}

/* "a job, a stage and defaults" */
static void describe_places(unsigned places, struct text *text)
{
    static const struct {
        unsigned place;
        const char *name;
    } names[] = { { J, "a job" }, { S, "a stage" }, { D, "defaults" }, { P, "a pipeline" } };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (places & names[i].place)
            text_printf(text, "%s%s", text->length > 0 ? ", " : "", names[i].name);
    }
}

/* Whether every key is known here; what is not acted on is noted. */
static int check_keys(struct parser *parser, const struct reader *reader, const json_t *object,
                      unsigned place, const char *place_name)
{
    const char *name;
    json_t *value;

    int code = reader_check_keys(reader, object, job_key_names);
    if (code < 0)
        return code;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const struct job_key *key = find_key(name);

        if (!(key->places & place)) {
            AUTO_RELEASE(text) struct text places = { 0 };

            describe_places(key->places, &places);
            error_set(reader->err, -EINVAL, "key '%s' has no meaning in %s; it belongs in %s", name,
                      place_name, places.bytes);
            return reader_place_line(reader, -EINVAL, object, name);
        }
        if ((key->places & LATER) && !json_is_null(value))
            note(parser, reader, object, name, "not supported yet, ignored");
    }
    return 0;
}

/* Five fields, in small letters. */
static int read_schedule(struct parser *parser)
{
    const char *words = NULL;
    struct cron cron;

    int code =
        reader_string(&parser->reader, parser->document, "schedule", CRON_WORDS_SIZE - 1, &words);
    if (code < 0 || !words)
        return code;
    code = cron_parse(words, &cron, parser->reader.err);
    if (code < 0)
        return reader_place(&parser->reader, code, parser->document, "schedule");
    parser->submission->schedule = mem_string(cron.words);
    return 0;
}

/* What the grammar takes but this version does not act on. */
static void note_request(struct parser *parser, const struct scope *scope,
                         const struct request *request)
{
    const struct scope_layer *gpus = scope_find(scope, "gpus");
    const struct scope_layer *nodes = scope_find(scope, "nodes");
    bool has_nvlink = false;

    for (uint32_t i = 0; i < request_parts(request); i++) {
        const struct request *part = request_part(request, i);
        for (uint32_t k = 0; k < part->gpu_alternatives; k++)
            has_nvlink = has_nvlink || part->gpus[k].nvlink;
    }
    if (has_nvlink)
        note(parser, &gpus->reader, gpus->object, "gpus", "nvlink: not supported yet, ignored");
    if (request->nodes_max > request->nodes_min)
        note(parser, &nodes->reader, nodes->object, "nodes",
             "with ranks, only the smaller number counts: the fewest nodes");
}

static int add_job(struct parser *parser, const struct draft_source *source,
                   struct stage_draft *stage)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    struct job_draft *draft = &stage->jobs[stage->job_count++];

    int code = draft_read(source, draft);
    if (code < 0)
        return code;
    parser->size += draft_size(draft);
    if (parser->size > TOTAL_MAX)
        return reader_fail(&layer->reader, -E2BIG, layer->object, NULL,
                           "more than %d MiB of arguments and environments in all jobs together",
                           TOTAL_MAX >> 20);
    parser->submission->job_count += draft->array_count > 0 ? draft->array_count : 1;
    if (parser->submission->job_count > SUBMISSION_JOBS_MAX)
        return reader_fail(&layer->reader, -E2BIG, layer->object, NULL,
                           "more than %d jobs in one document", SUBMISSION_JOBS_MAX);
    return 0;
}

/* All combinations of one stage, or of the only job. */
static int read_jobs(struct parser *parser, const struct scope *scope, const char *name,
                     struct stage_draft *stage)
{
    const struct scope_layer *layer = &scope->layers[0];
    struct matrix matrix;

    int code = matrix_read(&layer->reader, layer->object, SUBMISSION_JOBS_MAX, &matrix);
    if (code < 0)
        return code;
    stage->jobs = mem_zero(matrix.count, sizeof(stage->jobs[0]));
    for (size_t i = 0; i < matrix.count && code == 0; i++) {
        struct draft_source source = {
            .scope = scope,
            .matrix = &matrix,
            .combination = i,
            .name = name,
            .sender = parser->submission->sender,
        };
        code = add_job(parser, &source, stage);
    }
    matrix_release(&matrix);
    if (code == 0)
        note_request(parser, scope, &stage->jobs[0].request);
    return code;
}

static int read_single(struct parser *parser)
{
    struct submission *submission = parser->submission;
    struct scope scope = {
        .layers = { { .reader = parser->reader, .object = parser->document } },
        .count = 1,
    };

    int code = check_keys(parser, &parser->reader, parser->document, J, "a job");
    if (code == 0)
        code = sender_read(&parser->reader, parser->document, submission->sender);
    if (code == 0)
        code = read_schedule(parser);
    if (code < 0)
        return code;
    submission->stages = mem_zero(1, sizeof(submission->stages[0]));
    submission->stage_count = 1;
    code = read_jobs(parser, &scope, NULL, &submission->stages[0]);
    if (code < 0)
        return code;
    submission->name = mem_string(submission->stages[0].jobs[0].name);
    submission->stages[0].name = mem_string(submission->name);
    return 0;
}

static int read_when(const struct scope_layer *layer, struct stage_draft *stage)
{
    static const char *const words[] = { "on_success", "always", NULL };
    size_t word = 0;

    int code = reader_word(&layer->reader, layer->object, "when", words, &word);
    stage->always = word == 1;
    return code;
}

static int read_stage(struct parser *parser, const struct scope *scope, const char *name,
                      struct stage_draft *stage)
{
    const struct scope_layer *layer = &scope->layers[0];

    stage->name = mem_string(name);
    if (!name_is_valid(name) || name[0] == '.')
        return reader_fail(
            &layer->reader, -EINVAL, layer->object, NULL,
            "not a valid name of a stage; expected 1 to %d letters, digits and '._-+@'",
            SUBMISSION_NAME_MAX);
    int code = check_keys(parser, &layer->reader, layer->object, S, "a stage");
    if (code == 0)
        code = read_when(layer, stage);
    return code < 0 ? code : read_jobs(parser, scope, name, stage);
}

static int read_stages(struct parser *parser, const json_t *stages, const json_t *defaults)
{
    struct scope scope = { .count = 1 };
    struct pipeline_source sources[SUBMISSION_STAGES_MAX];
    struct submission *submission = parser->submission;
    const char *name;
    json_t *value;

    if (defaults) {
        const struct reader reader = reader_at(&parser->reader, "defaults");
        int code = check_keys(parser, &reader, defaults, D, "defaults");
        if (code < 0)
            return code;
        scope.layers[scope.count++] = (struct scope_layer){ reader, defaults };
    }
    scope.layers[scope.count++] = (struct scope_layer){ parser->reader, parser->document };
    submission->stages = mem_zero(json_object_size(stages), sizeof(submission->stages[0]));
    json_object_foreach((json_t *)(uintptr_t)stages, name, value)
    {
        const struct reader reader = reader_at(&parser->reader, "stage %.63s", name);
        scope.layers[0] = (struct scope_layer){ reader, value };
        sources[submission->stage_count] = (struct pipeline_source){ reader, value };
        int code = read_stage(parser, &scope, name, &submission->stages[submission->stage_count++]);
        if (code < 0)
            return code;
    }
    return pipeline_link(submission, sources);
}

/* "pipelines/digits.yaml" is called digits unless it says otherwise. */
static char *pipeline_name(const struct parser *parser, const char *given)
{
    const char *source = parser->reader.source;

    if (given || !source)
        return mem_string(given ? given : "pipeline");
    const char *slash = strrchr(source, '/');
    const char *base = slash ? slash + 1 : source;
    char *name = mem_string_of(base, strnlen(base, strcspn(base, ".")));
    if (name_is_valid(name))
        return name;
    free(name);
    return mem_string("pipeline");
}

static int read_pipeline(struct parser *parser, const json_t *stages)
{
    const json_t *defaults = reader_get(parser->document, "defaults");
    const char *name = NULL;

    int code = check_keys(parser, &parser->reader, parser->document, P, "a pipeline");
    if (code == 0)
        code = sender_read(&parser->reader, parser->document, parser->submission->sender);
    if (code == 0)
        code = read_schedule(parser);
    if (code == 0)
        code = reader_name(&parser->reader, parser->document, "name", &name);
    if (code < 0)
        return code;
    if (!json_is_object(stages))
        return reader_fail(&parser->reader, -EINVAL, parser->document, "stages",
                           "expected a map from name to stage, not %s", reader_kind(stages));
    if (json_object_size(stages) < 1 || json_object_size(stages) > SUBMISSION_STAGES_MAX)
        return reader_fail(&parser->reader, -EINVAL, parser->document, "stages",
                           "%zu stages, expected 1 to %d", json_object_size(stages),
                           SUBMISSION_STAGES_MAX);
    parser->submission->name = pipeline_name(parser, name);
    parser->submission->is_pipeline = true;
    return read_stages(parser, stages, defaults);
}

int submission_parse(const json_t *document, const struct yaml_lines *lines, const char *source,
                     struct submission **ret, struct error *err)
{
    AUTO(submission) struct submission *submission = mem_zero(1, sizeof(*submission));
    struct parser parser = {
        .document = document,
        .reader = { .source = source, .lines = lines, .err = err },
        .submission = submission,
    };
    const json_t *stages = reader_get(document, "stages");
    int code;

    submission->sender = mem_zero(1, sizeof(*submission->sender));
    if (!json_is_object(document))
        code = reader_fail(&parser.reader, -EINVAL, document, NULL,
                           "expected a job or a pipeline (a map of keys), not %s",
                           reader_kind(document));
    else if (stages)
        code = read_pipeline(&parser, stages);
    else
        code = read_single(&parser);
    list_add(&parser.notes, NULL);
    submission->notes = parser.notes.items;
    if (code == 0)
        *ret = TAKE(submission);
    return code;
}

void submission_note(struct submission *submission, const char *words)
{
    size_t count = 0;

    for (; submission->notes[count]; count++) {
        if (strcmp(submission->notes[count], words) == 0)
            return; /* once for all jobs */
    }
    submission->notes = mem_resize(submission->notes, count + 2, sizeof(submission->notes[0]));
    submission->notes[count] = mem_string(words);
    submission->notes[count + 1] = NULL;
}

static void stage_draft_release(struct stage_draft *stage)
{
    for (size_t i = 0; i < stage->job_count; i++)
        draft_release(&stage->jobs[i]);
    free(stage->jobs);
    free(stage->name);
    free(stage->needs);
    free(stage->input_stages);
    *stage = (struct stage_draft){ 0 };
}

void submission_destroy(struct submission *submission)
{
    if (!submission)
        return;
    for (size_t i = 0; i < submission->stage_count; i++)
        stage_draft_release(&submission->stages[i]);
    free(submission->stages);
    free(submission->name);
    free(submission->schedule);
    free(submission->sender);
    string_list_destroy(submission->notes);
    free(submission);
}
