/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/draft.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/state/agenda.h"
#include "time/begin.h"
#include "wire/job/job_command.h"
#include "wire/job/pattern.h"

enum { COMMENT_MAX = 1024 };

/* A string with the matrix' values; *ret stays as it was when the key is absent. */
static int read_text(const struct draft_source *source, const char *key, size_t length_max,
                     char **ret)
{
    const struct scope_layer *layer = scope_find(source->scope, key);
    const char *text = NULL;

    int code = reader_string(&layer->reader, layer->object, key, length_max, &text);
    if (code < 0 || !text)
        return code;
    *ret = draft_substitute(source, layer, key, text, length_max);
    return *ret ? 0 : -EINVAL;
}

static int read_comment(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = scope_find(source->scope, "comment");

    int code = read_text(source, "comment", COMMENT_MAX, &draft->comment);
    if (code == 0 && draft->comment && string_has_control(draft->comment))
        code = reader_fail(&layer->reader, -EINVAL, layer->object, "comment",
                           "a control character in it");
    return code;
}

static int read_name(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = &source->scope->layers[0];

    const char *text = NULL;

    int code = reader_string(&layer->reader, layer->object, "name", SUBMISSION_PATH_MAX, &text);
    if (code < 0)
        return code;
    if (text)
        draft->name = draft_substitute(source, layer, "name", text, SUBMISSION_PATH_MAX);
    if (text && !draft->name)
        return -EINVAL;
    if (draft->name && !name_is_valid(draft->name))
        return reader_fail(&layer->reader, -EINVAL, layer->object, "name",
                           "'%.80s' is no name; expected 1 to %d letters, digits and '._-+@'",
                           draft->name, SUBMISSION_NAME_MAX);
    if (!draft->name && source->name)
        draft->name = mem_string(source->name);
    if (!draft->name)
        draft->name = command_name(draft->argv, draft->script != NULL);
    draft->combination = matrix_combination(source->matrix, source->combination);
    draft->directory = matrix_directory(source->matrix, source->combination);
    if (draft->directory && strlen(draft->directory) > MATRIX_DIRECTORY_MAX)
        return reader_fail(&layer->reader, -E2BIG, layer->object, "matrix",
                           "'%.60s...': %zu bytes as a directory name, at most %d",
                           draft->directory, strlen(draft->directory), MATRIX_DIRECTORY_MAX);
    return 0;
}

static int read_priority(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = scope_find(source->scope, "priority");
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    int code = reader_scalar(&layer->reader, layer->object, "priority",
                             "low, normal, high or a number", buffer, &text);
    if (code < 0 || !text)
        return code;
    code = priority_parse(text, &draft->priority, layer->reader.err);
    return code < 0 ? reader_place(&layer->reader, code, layer->object, "priority") : 0;
}

static int read_begin(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = scope_find(source->scope, "begin");
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    int code = reader_scalar(&layer->reader, layer->object, "begin", "a time", buffer, &text);
    if (code < 0 || !text)
        return code;
    code = begin_parse(text, &draft->begin_delay, &draft->begin_at, layer->reader.err);
    return code < 0 ? reader_place(&layer->reader, code, layer->object, "begin") : 0;
}

static int read_bool(const struct draft_source *source, const char *key, bool *ret)
{
    const struct scope_layer *layer = scope_find(source->scope, key);

    return reader_bool(&layer->reader, layer->object, key, ret);
}

static int read_queueing(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *queue = scope_find(source->scope, "queue");
    const struct scope_layer *pool = scope_find(source->scope, "pool");
    const char *queue_name = NULL, *pool_name = NULL;

    int code = reader_name(&queue->reader, queue->object, "queue", &queue_name);
    if (code == 0)
        code = reader_name(&pool->reader, pool->object, "pool", &pool_name);
    if (code < 0)
        return code;
    draft->queue = mem_string(queue_name);
    if (pool_name)
        snprintf(draft->request.pool, sizeof(draft->request.pool), "%s", pool_name);
    code = read_priority(source, draft);
    if (code == 0)
        code = read_bool(source, "hold", &draft->hold);
    return code < 0 ? code : read_begin(source, draft);
}

static int read_end(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *retry = scope_find(source->scope, "retry");
    const struct scope_layer *duration = scope_find(source->scope, "max_duration");
    const struct scope_layer *grace = scope_find(source->scope, "grace");
    int64_t count = 0;

    draft->requeue = true;
    draft->grace = -1;
    int code =
        reader_integer(&retry->reader, retry->object, "retry", 0, SUBMISSION_RETRY_MAX, &count);
    draft->retry = (uint32_t)count;
    if (code == 0)
        code = read_bool(source, "requeue", &draft->requeue);
    if (code == 0)
        code = reader_duration(&duration->reader, duration->object, "max_duration",
                               &draft->request.max_duration);
    if (code == 0 && draft->request.max_duration == 0)
        return reader_fail(&duration->reader, -EINVAL, duration->object, "max_duration",
                           "expected more than 0s");
    if (code == 0)
        code = reader_duration(&grace->reader, grace->object, "grace", &draft->grace);
    if (code == 0 && draft->grace > DRAFT_GRACE_MAX)
        return reader_fail(&grace->reader, -ERANGE, grace->object, "grace", "longer than a day");
    return code;
}

/* "+6h", or whatever begin takes. */
static int read_deadline(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = scope_find(source->scope, "deadline");
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    int code = reader_scalar(&layer->reader, layer->object, "deadline", "a time", buffer, &text);
    if (code < 0 || !text)
        return code;
    code = begin_parse(text[0] == '+' ? text + 1 : text, &draft->deadline_delay,
                       &draft->deadline_at, layer->reader.err);
    if (code == 0 && draft->deadline_at && text[0] == '+')
        code = -EINVAL;
    if (code == -EINVAL)
        error_set(layer->reader.err, code,
                  "'%.40s': not a time; expected one like +6h, 18:00 or 2030-01-31T18:00", text);
    if (code < 0)
        return reader_place(&layer->reader, code, layer->object, "deadline");
    if (!draft->deadline_at && draft->deadline_delay == 0)
        return reader_fail(&layer->reader, -EINVAL, layer->object, "deadline",
                           "'%.40s': expected a time to come", text);
    return 0;
}

/* "cheap", or the largest factor. */
static int read_tariff(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = scope_find(source->scope, "tariff");
    const char *word = json_string_value(reader_get(layer->object, "tariff"));
    int64_t milli = -1;

    if (word && strcmp(word, "cheap") == 0) {
        draft->tariff_most = TARIFF_CHEAP + 1;
        return 0;
    }
    int code = reader_milli(&layer->reader, layer->object, "tariff", TARIFF_MAX, &milli);
    if (code == 0 && milli >= 0)
        draft->tariff_most = (uint16_t)(milli + 1);
    return code;
}

/* What the brain plans with; after max_duration. */
static int read_times(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *estimate = scope_find(source->scope, "estimate");
    const struct scope_layer *cost = scope_find(source->scope, "restart_cost");
    usec_t given = -1;
    char spelt[2][UNITS_TEXT_SIZE];

    int code = reader_duration(&estimate->reader, estimate->object, "estimate", &given);
    if (code < 0)
        return code;
    if (given == 0 || given == USEC_NEVER)
        return reader_fail(&estimate->reader, -EINVAL, estimate->object, "estimate",
                           "expected how long it will run, more than 0s");
    if (given > draft->request.max_duration)
        return reader_fail(&estimate->reader, -EINVAL, estimate->object, "estimate",
                           "%s, but max_duration ends it after %s",
                           units_format_duration(spelt[0], given),
                           units_format_duration(spelt[1], draft->request.max_duration));
    draft->estimate = given > 0 ? given : 0;
    code = read_deadline(source, draft);
    if (code == 0)
        code = read_tariff(source, draft);
    if (code == 0)
        code = read_bool(source, "preemptible", &draft->preemptible);
    if (code == 0)
        code = draft_read_spot(source, draft);
    if (code == 0)
        code = reader_duration(&cost->reader, cost->object, "restart_cost", &draft->restart_cost);
    if (code == 0 && draft->restart_cost > DRAFT_GRACE_MAX)
        return reader_fail(&cost->reader, -ERANGE, cost->object, "restart_cost",
                           "longer than a day");
    return code;
}

/* A pattern, checked. */
static int read_pattern(const struct draft_source *source, const char *key, char **ret)
{
    const struct scope_layer *layer = scope_find(source->scope, key);

    int code = read_text(source, key, SUBMISSION_PATH_MAX, ret);
    if (code < 0 || !*ret)
        return code;
    if (**ret == '\0')
        return reader_fail(&layer->reader, -EINVAL, layer->object, key, "expected a file name");
    code = pattern_check(*ret, layer->reader.err);
    return code < 0 ? reader_place(&layer->reader, code, layer->object, key) : 0;
}

static int read_cwd(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = scope_find(source->scope, "cwd");
    AUTO_FREE char *given = NULL;

    int code = read_text(source, "cwd", SUBMISSION_PATH_MAX, &given);
    if (code < 0)
        return code;
    if (given && given[0] != '/' && !source->sender_cwd)
        return reader_fail(&layer->reader, -EINVAL, layer->object, "cwd",
                           "'%.80s': expected an absolute path", given);
    if (given && given[0] != '/')
        draft->cwd = mem_printf("%s/%s", source->sender_cwd, given);
    else
        draft->cwd = given ? TAKE(given) : mem_string(source->sender_cwd);
    return 0;
}

static int read_files(const struct draft_source *source, struct job_draft *draft)
{
    int code = read_cwd(source, draft);
    if (code == 0)
        code = read_pattern(source, "output", &draft->output);
    if (code == 0)
        code = read_pattern(source, "error", &draft->error);
    if (code == 0)
        code = read_pattern(source, "input", &draft->input);
    if (code == 0)
        code = read_bool(source, "append", &draft->append);
    return code < 0 ? code : read_comment(source, draft);
}

static int read_array_max(const struct scope_layer *layer, const char *key, const char *text,
                          uint32_t *ret)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (!isdigit((unsigned char)text[0]) || *end || value < 1 || value > SUBMISSION_JOBS_MAX)
        return reader_fail(&layer->reader, -EINVAL, layer->object, key,
                           "'%.40s' after '%%': expected how many may run at once, 1 to %d", text,
                           SUBMISSION_JOBS_MAX);
    *ret = (uint32_t)value;
    return 0;
}

static int read_array_set(const struct scope_layer *layer, const char *key, const char *text,
                          struct job_draft *draft)
{
    size_t count;

    AUTO_FREE char *set = mem_string(text);
    char *percent = strchr(set, '%');
    if (percent) {
        *percent = '\0';
        int code = read_array_max(layer, key, percent + 1, &draft->array_max_running);
        if (code < 0)
            return code;
    }
    int code = units_parse_set(set, SUBMISSION_JOBS_MAX, SUBMISSION_ARRAY_INDEX_MAX,
                               &draft->array_indices, &count, layer->reader.err);
    if (code < 0)
        return reader_place(&layer->reader, code, layer->object, key);
    draft->array_count = (uint32_t)count;
    return 0;
}

/* "0-99%8" or {indices: "0-99", max_running: 8} */
static int read_array(const struct draft_source *source, struct job_draft *draft)
{
    static const char *const keys[] = { "indices", "max_running", NULL };
    const struct scope_layer *layer = scope_find(source->scope, "array");
    const json_t *array = reader_get(layer->object, "array");
    char buffer[READER_SCALAR_SIZE];
    const char *text;
    int64_t running = 0;

    if (!array)
        return 0;
    if (!json_is_object(array)) {
        int code = reader_scalar(&layer->reader, layer->object, "array", "a set like 0-99%8",
                                 buffer, &text);
        return code < 0 ? code : read_array_set(layer, "array", text, draft);
    }
    struct scope_layer inner = { .reader = layer->reader, .object = array };
    snprintf(inner.reader.where, sizeof(inner.reader.where), "%.*s%sarray", READER_WHERE_SIZE - 16,
             layer->reader.where, layer->reader.where[0] ? ": " : "");
    int code = reader_check_keys(&inner.reader, array, keys);
    if (code == 0)
        code = reader_scalar(&inner.reader, array, "indices", "a set like 0-99", buffer, &text);
    if (code < 0)
        return code;
    if (!text)
        return reader_fail(&inner.reader, -EINVAL, array, NULL, "expected indices");
    code = read_array_set(&inner, "indices", text, draft);
    if (code == 0)
        code =
            reader_integer(&inner.reader, array, "max_running", 1, SUBMISSION_JOBS_MAX, &running);
    if (running > 0)
        draft->array_max_running = (uint32_t)running;
    return code;
}

/* {on: 12, when: ok}, or 12 */
static int read_depend(const struct reader *reader, const json_t *item, struct draft_depend *ret)
{
    static const char *const keys[] = { "on", "when", NULL };
    static const char *const words[] = {
        [NEED_OK] = "ok",           [NEED_ENDED] = "any",      [NEED_FAILED] = "failed",
        [NEED_STARTED] = "started", [NEED_STARTED + 1] = NULL,
    };
    int64_t on = 0;
    size_t word = 0;

    if (json_is_integer(item)) {
        on = json_integer_value(item);
    } else {
        int code = reader_check_keys(reader, item, keys);
        if (code == 0)
            code = reader_integer(reader, item, "on", 1, INT64_MAX, &on);
        if (code == 0)
            code = reader_word(reader, item, "when", words, &word);
        if (code < 0)
            return code;
    }
    if (on < 1)
        return reader_fail(reader, -EINVAL, item, NULL, "expected the number of a job");
    *ret = (struct draft_depend){ .on = (uint64_t)on, .when = (enum need_kind)word };
    return 0;
}

static int read_depends(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = scope_find(source->scope, "depends");
    const json_t *list = reader_get(layer->object, "depends");

    if (!list)
        return 0;
    if (!json_is_array(list))
        return reader_fail(&layer->reader, -EINVAL, layer->object, "depends",
                           "expected a list like [{on: 12, when: ok}], not %s", reader_kind(list));
    size_t count = json_array_size(list);
    if (count > SUBMISSION_DEPENDS_MAX)
        return reader_fail(&layer->reader, -E2BIG, layer->object, "depends", "more than %d jobs",
                           SUBMISSION_DEPENDS_MAX);
    struct reader inner = layer->reader;
    snprintf(inner.where, sizeof(inner.where), "%.*s%sdepends", READER_WHERE_SIZE - 16,
             layer->reader.where, layer->reader.where[0] ? ": " : "");
    draft->depends = mem_zero(count, sizeof(draft->depends[0]));
    for (size_t i = 0; i < count; i++) {
        int code = read_depend(&inner, json_array_get(list, i), &draft->depends[i]);
        if (code < 0)
            return code;
        draft->depend_count = i + 1;
    }
    return 0;
}

static int read_results(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    size_t count;

    int code = reader_names(&layer->reader, layer->object, "inputs", SUBMISSION_STAGES_MAX,
                            &draft->inputs, &count);
    if (code < 0)
        return code;
    return reader_names(&layer->reader, layer->object, "outputs", SUBMISSION_STAGES_MAX,
                        &draft->outputs, &count);
}

static size_t strings_size(char *const *strings)
{
    size_t size = sizeof(char *);

    for (; strings && *strings; strings++)
        size += strlen(*strings) + 1 + sizeof(char *);
    return size;
}

size_t draft_size(const struct job_draft *draft)
{
    return strings_size(draft->argv) + strings_size(draft->env) +
           (draft->script ? strlen(draft->script) : 0) + draft_roles_size(draft);
}

static int check_size(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    size_t size = strings_size(draft->argv) + strings_size(draft->env) + draft_roles_size(draft);

    if (size > SUBMISSION_ARGUMENTS_MAX)
        return reader_fail(&layer->reader, -E2BIG, layer->object, NULL,
                           "%zu bytes of arguments and environment, at most %d are taken", size,
                           SUBMISSION_ARGUMENTS_MAX);
    return 0;
}

int draft_read(const struct draft_source *source, struct job_draft *draft)
{
    static int (*const parts[])(const struct draft_source *, struct job_draft *) = {
        draft_read_roles,
        read_name,
        draft_read_request,
        read_queueing,
        read_end,
        read_times,
        read_files,
        draft_read_env,
        read_array,
        read_depends,
        draft_read_checkpoint,
        read_results,
        check_size,
    };

    request_default(&draft->request);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        int code = parts[i](source, draft);
        if (code < 0)
            return code;
    }
    return 0;
}

void draft_release(struct job_draft *draft)
{
    free(draft->name);
    free(draft->combination);
    free(draft->directory);
    free(draft->queue);
    free(draft->begin_at);
    free(draft->deadline_at);
    string_list_destroy(draft->argv);
    draft_release_roles(draft);
    free(draft->script);
    string_list_destroy(draft->env);
    free(draft->cwd);
    free(draft->output);
    free(draft->error);
    free(draft->input);
    free(draft->array_indices);
    free(draft->depends);
    string_list_destroy(draft->inputs);
    string_list_destroy(draft->outputs);
    free(draft->comment);
    *draft = (struct job_draft){ 0 };
}
