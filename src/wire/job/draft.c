/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/draft.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/engine.h"
#include "core/state/agenda.h"
#include "time/begin.h"
#include "wire/job/pattern.h"
#include "wire/json.h"
#include "wire/where_text.h"

enum {
    COMMENT_MAX = 1024,
    MAIL_MAX = 512,
    PRIORITY_LOW = -100,
    PRIORITY_HIGH = 100,
    OOM_FACTOR_MIN = 1100,
    OOM_FACTOR_MAX = 10000
};

static int read_comment(const struct draft_key *key, struct job_draft *draft)
{
    int code = read_text(key, draft);

    return code == 0 ? reader_check_line(key->reader, key->object, key->name, draft->comment)
                     : code;
}

/* The pipeline's own name is another one. */
static int read_name(const struct draft_key *key, struct job_draft *draft)
{
    const struct draft_source *source = key->source;
    const struct scope_layer *layer = &source->scope->layers[0];

    int code = key->value && key->layer == layer ? read_text(key, draft) : 0;
    if (code == 0 && draft->name)
        code = reader_check_line(key->reader, key->object, key->name, draft->name);
    if (code < 0)
        return code;
    if (draft->name &&
        (string_is_blank(draft->name) || strcmp(draft->name, ".") == 0 ||
         strcmp(draft->name, "..") == 0 || strlen(draft->name) > SUBMISSION_JOB_NAME_MAX))
        return key_fail(
            key, -EINVAL,
            "'%.80s' is not a valid name; expected 1 to %d bytes, not only blanks, . or ..",
            draft->name, SUBMISSION_JOB_NAME_MAX);
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

static int read_queue(const struct draft_key *key, struct job_draft *draft)
{
    const char *name = NULL;

    int code = reader_name(key->reader, key->object, key->name, &name);
    draft->queue = mem_string(name);
    return code;
}

/* "a", or "a,b": one of them. */
static int read_pool(const struct draft_key *key, struct job_draft *draft)
{
    const char *name = "";

    if (!strchr(key->text, ',')) {
        int code = reader_name(key->reader, key->object, key->name, &name);
        snprintf(draft->request.pool, sizeof(draft->request.pool), "%s", name);
        return code;
    }
    AUTO_FREE char *copy = mem_string(key->text);
    char *rest = copy;
    while (rest) {
        name = strsep(&rest, ",");
        if (!name_is_valid(name))
            return key_fail(key, -EINVAL, "'%.80s' is not a valid name in '%.80s'", name,
                            key->text);
    }
    draft->pools = mem_string(key->text);
    return 0;
}

static int read_qos(const struct draft_key *key, struct job_draft *draft)
{
    const char *name = NULL;

    int code = reader_name(key->reader, key->object, key->name, &name);
    draft->qos = mem_string(name);
    return code;
}

/* A list, or a text with commas; of labels, or of anti_affinity. */
static int read_labels(const struct draft_key *key, struct job_draft *draft)
{
    bool is_own = strcmp(key->name, "labels") == 0;
    struct job_label *labels = is_own ? draft->request.labels : draft->request.apart;
    const char *const expected = "expected names of up to 23 letters, 4 at most, like [web]";
    uint8_t count = 0;

    size_t items = json_is_array(key->value) ? json_array_size(key->value) : 1;
    for (size_t i = 0; i < items; i++) {
        const json_t *item = json_is_array(key->value) ? json_array_get(key->value, i) : key->value;
        const char *at = json_string_value(item);
        do {
            size_t length = at ? strcspn(at, ",") : 0;
            AUTO_FREE char *name = mem_string_of(at ? at : "", length);
            if (!name_is_valid(name) || length >= REQUEST_LABEL_SIZE || count == REQUEST_LABELS_MAX)
                return key_fail(key, -EINVAL, "%s", expected);
            for (uint8_t k = 0; k < count; k++) {
                if (strcmp(labels[k].name, name) == 0)
                    return key_fail(key, -EINVAL, "'%s' twice", name);
            }
            memcpy(labels[count++].name, name, length);
            at += length;
        } while (*at++ == ',');
    }
    *(is_own ? &draft->request.label_count : &draft->request.apart_count) = count;
    return 0;
}

static int read_conditions(const struct draft_key *key, struct job_draft *draft)
{
    int code = where_read(key->reader, key->object, key->name, &draft->where);

    draft->request.where = draft->where.items;
    draft->request.where_count = (uint32_t)draft->where.count;
    return code;
}

int priority_parse(const char *text, int32_t *ret, struct error *err)
{
    static const struct {
        const char *name;
        int32_t value;
    } names[] = { { "low", PRIORITY_LOW }, { "normal", 0 }, { "high", PRIORITY_HIGH } };
    char *end;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i].name, text) == 0) {
            *ret = names[i].value;
            return 0;
        }
    }
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < -SUBMISSION_PRIORITY_MAX || value > SUBMISSION_PRIORITY_MAX)
        return error_set(err, -EINVAL, "'%.40s', expected low, normal, high or -%d to %d", text,
                         SUBMISSION_PRIORITY_MAX, SUBMISSION_PRIORITY_MAX);
    *ret = (int32_t)value;
    return 0;
}

static int read_priority(const struct draft_key *key, struct job_draft *draft)
{
    return key_check(key, priority_parse(key->text, &draft->priority, key->reader->err));
}

static int read_begin(const struct draft_key *key, struct job_draft *draft)
{
    return key_check(
        key, begin_parse(key->text, &draft->begin_delay, &draft->begin_at, key->reader->err));
}

/* "+6h", or whatever begin takes. */
static int read_deadline(const struct draft_key *key, struct job_draft *draft)
{
    bool is_delay = key->text[0] == '+';

    int code = begin_parse(key->text + is_delay, &draft->deadline_delay, &draft->deadline_at,
                           key->reader->err);
    if (code == 0 && draft->deadline_at && is_delay)
        code = -EINVAL;
    if (code == -EINVAL)
        error_set(key->reader->err, code,
                  "'%.40s': not a time; expected one like +6h, 18:00 or 2030-01-31T18:00",
                  key->text);
    if (code == 0 && !draft->deadline_at && draft->deadline_delay == 0)
        return key_fail(key, -EINVAL, "'%.40s': expected a time in the future", key->text);
    return key_check(key, code);
}

/* After max_duration. With speeds, the daemon compares them: it knows the models. */
static int read_estimate(const struct draft_key *key, struct job_draft *draft)
{
    usec_t most = draft->request.max_duration;
    char spelt[2][UNITS_TEXT_SIZE];

    int code = read_duration(key, draft);
    return code == 0 && draft->estimate > most && !draft_key_of(key->source, "speeds").value
               ? key_fail(key, -EINVAL, "%s, but max_duration ends it after %s",
                          units_format_duration(spelt[0], draft->estimate),
                          units_format_duration(spelt[1], most))
               : code;
}

/* "cheap", or the largest factor. */
static int read_tariff(const struct draft_key *key, struct job_draft *draft)
{
    int64_t milli = TARIFF_CHEAP;
    int code = 0;

    if (!string_equal(json_string_value(key->value), "cheap"))
        code = reader_milli(key->reader, key->object, key->name, TARIFF_MAX, &milli);
    draft->tariff_most = (uint16_t)(milli + 1);
    return code;
}

/* A preemptible job may also run on spot machines; after preemptible. */
static int read_spot(const struct draft_key *key, struct job_draft *draft)
{
    static const char *const words[] = { "never", "allow", "prefer", "only", NULL };
    size_t word = draft->preemptible ? SPOT_ALLOW : SPOT_NEVER;

    int code = reader_word(key->reader, key->object, key->name, words, &word);
    draft->request.spot = (uint8_t)word;
    return code;
}

/* Addresses that need no quotes in the head of a mail. */
static int read_mail(const struct draft_key *key, struct job_draft *draft)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._+-";
    int code = read_text(key, draft);

    if (code < 0)
        return code;
    for (const char *at = draft->mail;;) {
        size_t user = strspn(at, letters),
               host = at[user] == '@' ? strspn(at + user + 1, letters) : 0;
        size_t length = user + 1 + host;

        if (user == 0 || host == 0 || (at[length] != ',' && at[length] != '\0'))
            return key_fail(key, -EINVAL, "'%.60s': expected an address like ana@example.org", at);
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    draft->notify = draft->notify ? draft->notify : NOTIFY_END;
    return 0;
}

static int read_notify(const struct draft_key *key, struct job_draft *draft)
{
    static const struct {
        const char *word;
        uint8_t bit;
    } words[] = { { "begin", NOTIFY_BEGIN },
                  { "end", NOTIFY_END },
                  { "fail", NOTIFY_FAIL },
                  { "requeue", NOTIFY_REQUEUE } };
    AUTO_FREE char *copy = mem_string(key->text);
    char *rest = copy;

    draft->notify = 0;
    while (rest) {
        const char *word = strsep(&rest, ",");
        size_t i = 0;

        word += strspn(word, " ");
        while (i < COUNT_OF(words) && strcmp(words[i].word, word) != 0)
            i++;
        if (i == COUNT_OF(words))
            return key_fail(key, -EINVAL, "'%.40s': expected begin, end, fail or requeue", word);
        draft->notify |= words[i].bit;
    }
    return 0;
}

static int read_attach(const struct draft_key *key, struct job_draft *draft)
{
    static const char *const words[] = { "none", "stdin", "terminal", NULL };
    size_t word = ENGINE_ATTACH_NONE;

    int code = reader_word(key->reader, key->object, key->name, words, &word);
    draft->attach = (uint8_t)word;
    if (code == 0 && word != ENGINE_ATTACH_NONE && draft->input)
        code = key_fail(key, -EINVAL, "expected none beside input");
    if (code == 0 && word == ENGINE_ATTACH_TERMINAL && draft->error)
        code = key_fail(key, -EINVAL, "expected no file of error: a terminal has one output");
    return code;
}

/* A pattern, checked. */
static int read_pattern(const struct draft_key *key, struct job_draft *draft)
{
    int code = read_text(key, draft);
    if (code < 0)
        return code;
    const char *pattern = *(char **)(void *)((char *)draft + key->row->offset);
    return pattern[0] ? key_check(key, pattern_check(pattern, key->reader->err))
                      : key_fail(key, -EINVAL, "expected a file name");
}

static int read_cwd(const struct draft_key *key, struct job_draft *draft)
{
    const char *sender_cwd = key->source->sender->cwd;

    int code = key->value ? read_text(key, draft) : 0;
    if (code < 0)
        return code;
    AUTO_FREE char *given = TAKE(draft->cwd);
    if (given && given[0] != '/' && !sender_cwd)
        return key_fail(key, -EINVAL, "'%.80s': expected an absolute path", given);
    if (given && given[0] != '/')
        draft->cwd = mem_printf("%s/%s", sender_cwd, given);
    else
        draft->cwd = given ? TAKE(given) : mem_string(sender_cwd);
    return 0;
}

bool oom_factor_parse(const char *text, uint16_t *ret)
{
    int64_t milli = 0;

    if (units_parse_milli(text + (text[0] == 'x'), OOM_FACTOR_MAX, &milli, NULL) < 0 ||
        milli < OOM_FACTOR_MIN)
        return false;
    *ret = (uint16_t)milli;
    return true;
}

static int read_factor(const struct draft_key *key, struct job_draft *draft)
{
    if (!oom_factor_parse(key->text, &draft->oom_factor))
        return key_fail(key, -EINVAL, "'%.40s': expected a factor like x1.5, 1.1 to 10", key->text);
    return 0;
}

/* {memory: x1.5}, or false: not by default of the queue either. */
static int read_oom(const struct draft_key *key, struct job_draft *draft)
{
    static const struct draft_row rows[] = {
        { "memory", .read = read_factor, .expected = "a factor like x1.5" },
    };

    AUTO(json) json_t *value = plain_read(key->value);

    draft->gives_oom = true;
    if (json_is_false(value))
        return 0;
    if (!json_object_get(key->value, "memory"))
        return key_fail(key, -EINVAL, "expected {memory: x1.5}, or false");
    if (draft->request.memory_mib == 0 || draft->role_count > 0)
        return key_fail(key, -EINVAL, "%s",
                        draft->role_count > 0
                            ? "not together with roles"
                            : "no effect without memory; expected memory: SIZE as well");
    return draft_read_map(key, rows, COUNT_OF(rows), draft);
}

/* 2, or {count: 2, oom: {memory: x1.5}} */
static int read_retry(const struct draft_key *key, struct job_draft *draft)
{
    static const struct draft_row rows[] = {
        { "count", .read = read_count, .offset = OF_DRAFT(retry), .most = SUBMISSION_RETRY_MAX },
        { "oom", .read = read_oom },
    };

    return json_is_object(key->value) ? draft_read_map(key, rows, COUNT_OF(rows), draft)
                                      : read_count(key, draft);
}

/* "8" after a percent sign */
static int read_array_max(const struct draft_key *key, const char *text, uint32_t *ret)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (!isdigit((unsigned char)text[0]) || *end || value < 1 || value > SUBMISSION_JOBS_MAX)
        return key_fail(
            key, -EINVAL,
            "'%.40s' after '%%': expected the number of tasks that may run at once, 1 to %d", text,
            SUBMISSION_JOBS_MAX);
    *ret = (uint32_t)value;
    return 0;
}

/* "0-99%8" or {indices: "0-99", max_running: 8} */
static int read_array(const struct draft_key *key, struct job_draft *draft)
{
    static const struct draft_row rows[] = {
        { "indices", .read = read_array, .expected = "a set like 0-99", .is_always = true },
        { "max_running", .read = read_count,
          .offset = offsetof(struct job_draft, array_max_running), .least = 1,
          .most = SUBMISSION_JOBS_MAX },
    };
    size_t count = 0;

    if (json_is_object(key->value))
        return draft_read_map(key, rows, COUNT_OF(rows), draft);
    if (!key->text)
        return reader_fail(key->reader, -EINVAL, key->object, NULL, "expected indices");
    AUTO_FREE char *set = mem_string(key->text);
    char *percent = strchr(set, '%');
    if (percent) {
        *percent = '\0';
        int code = read_array_max(key, percent + 1, &draft->array_max_running);
        if (code < 0)
            return code;
    }
    int code = units_parse_set(set, SUBMISSION_JOBS_MAX, SUBMISSION_ARRAY_INDEX_MAX,
                               &draft->array_indices, &count, key->reader->err);
    draft->array_count = (uint32_t)count;
    return key_check(key, code);
}

/* task: 3, or own */
static int read_depend_task(const struct reader *reader, const json_t *item,
                            struct draft_depend *depend)
{
    static const char *const words[] = { "own", NULL };
    const json_t *value = json_object_get(item, "task");
    int64_t index = 0;
    size_t word;
    int code = 0;

    if (json_is_string(value))
        code = reader_word(reader, item, "task", words, &word);
    else if (value)
        code = reader_integer(reader, item, "task", 0, SUBMISSION_ARRAY_INDEX_MAX, &index);
    depend->of = !value ? DEPEND_ALL : json_is_string(value) ? DEPEND_OWN_TASK : DEPEND_TASK;
    depend->task = (uint32_t)index;
    return code;
}

/* {on: 12, when: ok}, {on: 12, task: 3}, or 12 */
static int read_depend(const struct reader *reader, const json_t *item, struct draft_depend *ret)
{
    static const char *const keys[] = { "on", "task", "when", NULL };
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
        if (code == 0)
            code = read_depend_task(reader, item, ret);
        if (code < 0)
            return code;
    }
    if (on < 1)
        return reader_fail(reader, -EINVAL, item, NULL, "expected the number of a job");
    ret->on = (uint64_t)on;
    ret->when = (enum need_kind)word;
    return 0;
}

static int read_depends(const struct draft_key *key, struct job_draft *draft)
{
    const struct reader inner = layer_inside(key->layer, key->name).reader;
    size_t count = json_array_size(key->value);

    if (!json_is_array(key->value))
        return key_fail(key, -EINVAL, "expected a list like [{on: 12, when: ok}], not %s",
                        reader_kind(key->value));
    if (count > SUBMISSION_DEPENDS_MAX)
        return key_fail(key, -E2BIG, "more than %d jobs", SUBMISSION_DEPENDS_MAX);
    draft->depends = mem_zero(count, sizeof(draft->depends[0]));
    for (size_t i = 0; i < count; i++) {
        int code = read_depend(&inner, json_array_get(key->value, i), &draft->depends[i]);
        if (code < 0)
            return code;
        draft->depend_count = i + 1;
    }
    return 0;
}

/* 4, or {count: 4, gpus: 1} */
static int read_tasks(const struct draft_key *key, struct job_draft *draft)
{
    static const struct draft_row rows[] = {
        { "count", .read = read_count, .offset = OF_DRAFT(tasks), .least = 1,
          .most = REQUEST_MEMBERS_MAX },
        { "gpus", .read = read_count, .offset = OF_DRAFT(task_gpus), .most = REQUEST_MEMBERS_MAX },
    };
    int64_t count = 1;

    if (json_is_object(key->value)) {
        draft->tasks = 1;
        return draft_read_map(key, rows, COUNT_OF(rows), draft);
    }
    int code = reader_integer(key->reader, key->object, key->name, 1, REQUEST_MEMBERS_MAX, &count);
    draft->tasks = (uint32_t)count;
    return code;
}

/* inputs and outputs: not of a defaults layer, and never NULL. */
static int read_results(const struct draft_key *key, struct job_draft *draft)
{
    const struct scope_layer *layer = &key->source->scope->layers[0];
    char ***member = (char ***)(void *)((char *)draft + key->row->offset);
    size_t count;

    return reader_names(&layer->reader, layer->object, key->name, SUBMISSION_STAGES_MAX, member,
                        &count);
}

static size_t strings_size(char *const *strings)
{
    size_t size = 0;

    for (; strings && *strings; strings++)
        size += strlen(*strings) + 1 + sizeof(char *);
    return size;
}

/* Bytes of its arguments and variables. */
static size_t arguments_size(const struct job_draft *draft)
{
    size_t size = strings_size(draft->argv) + strings_size(draft->env) + 2 * sizeof(char *);

    for (uint32_t i = 0; i < draft->role_count; i++)
        size += strings_size(draft->role_starts[i].argv) + strings_size(draft->role_starts[i].env);
    return size;
}

size_t draft_size(const struct job_draft *draft)
{
    return arguments_size(draft) + (draft->script ? strlen(draft->script) : 0);
}

static int check_size(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    size_t size = arguments_size(draft);

    if (size > SUBMISSION_ARGUMENTS_MAX)
        return reader_fail(&layer->reader, -E2BIG, layer->object, NULL,
                           "%zu bytes of arguments and environment, at most %d are accepted", size,
                           SUBMISSION_ARGUMENTS_MAX);
    return 0;
}

static const struct draft_row draft_rows[] = {
    { "name", .read = read_name, .offset = OF_DRAFT(name), .most = SUBMISSION_PATH_MAX,
      .is_always = true },
    { "queue", .read = read_queue },
    { "pool", .read = read_pool, .expected = "a name" },
    { "qos", .read = read_qos },
    { "exclusive", .read = read_flag, .offset = OF_DRAFT(exclusive) },
    { "where", .read = read_conditions },
    { "labels", .read = read_labels },
    { "anti_affinity", .read = read_labels },
    { "priority", .read = read_priority, .expected = "low, normal, high or a number" },
    { "hold", .read = read_flag, .offset = OF_DRAFT(hold) },
    { "begin", .read = read_begin, .expected = "a time" },
    { "retry", .read = read_retry, .offset = OF_DRAFT(retry), .most = SUBMISSION_RETRY_MAX },
    { "requeue", .read = read_flag, .offset = OF_DRAFT(requeue) },
    { "max_duration", .read = read_duration, .offset = OF_DRAFT(request.max_duration), .least = 1,
      .most = USEC_NEVER, .range = "expected more than 0s" },
    { "grace", .read = read_duration, .offset = OF_DRAFT(grace), UP_TO_A_DAY },
    { "estimate", .read = read_estimate, .offset = OF_DRAFT(estimate), .least = 1,
      .most = USEC_NEVER - 1, .range = "expected a run time of more than 0s" },
    { "deadline", .read = read_deadline, .expected = "a time" },
    { "tariff", .read = read_tariff },
    { "preemptible", .read = read_flag, .offset = OF_DRAFT(preemptible) },
    { "spot", .read = read_spot, .is_always = true },
    { "restart_cost", .read = read_duration, .offset = OF_DRAFT(restart_cost), UP_TO_A_DAY },
    { "cwd", .read = read_cwd, .offset = OF_DRAFT(cwd), .most = SUBMISSION_PATH_MAX,
      .is_always = true },
    { "output", .read = read_pattern, .offset = OF_DRAFT(output), .most = SUBMISSION_PATH_MAX },
    { "error", .read = read_pattern, .offset = OF_DRAFT(error), .most = SUBMISSION_PATH_MAX },
    { "input", .read = read_pattern, .offset = OF_DRAFT(input), .most = SUBMISSION_PATH_MAX },
    { "attach", .read = read_attach },
    { "append", .read = read_flag, .offset = OF_DRAFT(append) },
    { "mail", .read = read_mail, .offset = OF_DRAFT(mail), .most = MAIL_MAX },
    { "notify", .read = read_notify, .expected = "begin, end, fail or requeue" },
    { "comment", .read = read_comment, .offset = OF_DRAFT(comment), .most = COMMENT_MAX },
    { "export", .read = draft_read_env, .is_always = true },
    { "array", .read = read_array, .expected = "a set like 0-99%8", .may_be_map = true },
    { "depends", .read = read_depends },
    { "singleton", .read = read_flag, .offset = OF_DRAFT(singleton) },
    { "checkpoint", .read = draft_read_checkpoint },
    { "warn", .read = draft_read_warn },
    { "tasks", .read = read_tasks },
    { "slurm", .read = draft_read_slurm },
    { "script_path", .read = read_text, .offset = OF_DRAFT(script_path),
      .most = SUBMISSION_PATH_MAX },
    { "inputs", .read = read_results, .offset = OF_DRAFT(inputs), .is_always = true },
    { "outputs", .read = read_results, .offset = OF_DRAFT(outputs), .is_always = true },
};

int draft_read(const struct draft_source *source, struct job_draft *draft)
{
    request_default(&draft->request);
    draft->requeue = true;
    draft->grace = -1;
    draft->sender = source->sender;
    int code = draft_read_roles(source, draft);
    if (code == 0)
        code = draft_read_request(source, draft);
    if (code == 0)
        code = draft_read_keys(source, draft_rows, COUNT_OF(draft_rows), draft);
    draft->gives_preemptible = draft_key_of(source, "preemptible").value != NULL;
    draft->gives_spot = draft_key_of(source, "spot").value != NULL;
    draft->gives_duration = draft_key_of(source, "max_duration").value != NULL;
    if (code == 0 && request_check(&draft->request, source->scope->layers[0].reader.err) < 0)
        code = reader_place(&source->scope->layers[0].reader, -EINVAL,
                            source->scope->layers[0].object, NULL);
    return code < 0 ? code : check_size(source, draft);
}

void draft_release(struct job_draft *draft)
{
    free(draft->name);
    free(draft->combination);
    free(draft->directory);
    free(draft->queue);
    free(draft->pools);
    free(draft->qos);
    free(draft->begin_at);
    free(draft->deadline_at);
    string_list_destroy(draft->argv);
    draft_release_roles(draft);
    list_release(&draft->where);
    list_release(&draft->speeds);
    free(draft->script);
    free(draft->script_path);
    string_list_destroy(draft->env);
    string_list_destroy(draft->own);
    string_list_destroy(draft->slurm);
    free(draft->cwd);
    free(draft->output);
    free(draft->error);
    free(draft->input);
    free(draft->array_indices);
    for (size_t i = 0; i < draft->depend_count; i++)
        free(draft->depends[i].tasks);
    free(draft->depends);
    string_list_destroy(draft->inputs);
    string_list_destroy(draft->outputs);
    free(draft->comment);
    free(draft->mail);
    *draft = (struct job_draft){ 0 };
}
