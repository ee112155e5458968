/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/select.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "cli/fields.h"
#include "cli/screen.h"

enum { DIGITS_MAX = 18, INDEX_MAX = 4000000 };

void selection_add(struct selection *selection, const char *id)
{
    selection->ids = mem_resize(selection->ids, selection->count + 1, sizeof(selection->ids[0]));
    snprintf(selection->ids[selection->count++], ID_SIZE, "%s", id);
}

void selection_release(struct selection *selection)
{
    free(selection->ids);
    list_release(&selection->arrays);
    *selection = (struct selection){ 0 };
}

/* A number at *s, which advances past it. */
static bool take_number(const char **s, uint64_t *ret)
{
    size_t digits = strspn(*s, "0123456789");

    if (digits < 1 || digits > DIGITS_MAX)
        return false;
    *ret = strtoull(*s, NULL, 10);
    *s += digits;
    return true;
}

static int wrong(const char *word, struct error *err)
{
    return error_set(err, -EINVAL,
                     "'%.40s': expected the number of a job: 7, 7_3, 7-9 or, in quotes, "
                     "'7_[1-3,8]'",
                     word);
}

/* "7_[1-3,8]", as lists show tasks; set: what is behind the bracket. */
static int add_tasks(struct selection *selection, const char *word, uint64_t job, const char *set,
                     struct error *err)
{
    uint32_t *indices = NULL;
    size_t count = 0, length = strcspn(set, "]");
    AUTO_FREE char *copy = mem_string_of(set, length);
    struct error why;

    if (strcmp(set + length, "]") != 0)
        return wrong(word, err);
    int code = units_parse_set(copy, SELECT_MAX, INDEX_MAX, &indices, &count, &why);
    if (code < 0)
        return error_set(err, code, "'%.40s': %s", word, why.text);
    if (count > SELECT_MAX - selection->count)
        code = error_set(err, -E2BIG, "'%.40s': more than %d jobs at once", word, SELECT_MAX);
    for (size_t i = 0; code == 0 && i < count; i++) {
        char id[ID_SIZE];

        snprintf(id, sizeof(id), "%" PRIu64 "_%" PRIu32, job, indices[i]);
        selection_add(selection, id);
    }
    list_add(&selection->arrays, job);
    free(indices);
    return code;
}

static int add_word(struct selection *selection, const char *word, struct error *err)
{
    uint64_t first, last, index;
    const char *s = word;
    char id[ID_SIZE];

    bool is_job = take_number(&s, &first);
    last = first;
    if (is_job && strncmp(s, "_[", 2) == 0)
        return add_tasks(selection, word, first, s + 2, err);
    bool is_task = is_job && *s == '_';
    if (is_task || (is_job && *s == '-')) {
        s++;
        is_job = take_number(&s, is_task ? &index : &last);
    }
    if (!is_job || *s || last < first)
        return wrong(word, err);
    if (last - first >= SELECT_MAX - selection->count)
        return error_set(err, -E2BIG, "'%.40s': more than %d jobs at once", word, SELECT_MAX);
    for (uint64_t i = first; i <= last; i++) {
        if (is_task)
            snprintf(id, sizeof(id), "%" PRIu64 "_%" PRIu64, i, index);
        else
            snprintf(id, sizeof(id), "%" PRIu64, i);
        selection_add(selection, id);
    }
    return 0;
}

int selection_read(struct selection *selection, char *const *words, struct error *err)
{
    int code = 0;

    for (; *words && code == 0; words++)
        code = add_word(selection, *words, err);
    return code;
}

int selection_check(const char *word, struct error *err)
{
    AUTO_RELEASE(selection) struct selection selection = { 0 };

    return add_word(&selection, word, err);
}

/* The tasks of an array have the numbers behind its own. */
int selection_confirm(const struct selection *selection, struct session *session, struct error *err)
{
    LIST_EACH (const uint64_t, job, &selection->arrays) {
        AUTO_FREE char *after = mem_printf("/v1/jobs?limit=1&all=1&after=%" PRIu64, *job);
        AUTO_FREE char *path = mem_printf("/v1/jobs/%" PRIu64, *job);
        AUTO(json) json_t *next = NULL;
        AUTO(json) json_t *itself = NULL;

        int code = session_get(session, after, &next, err);
        const json_t *task = json_array_get(json_object_get(next, "jobs"), 0);
        if (code == 0 && field_number(task, "group") == (int64_t)*job &&
            !field_is_null(task, "array_index"))
            continue;
        code = code == 0 ? session_get(session, path, &itself, err) : code;
        return code < 0 ? code
                        : error_set(err, -EINVAL, "job %" PRIu64 ": not an array, it has no tasks",
                                    *job);
    }
    return 0;
}

int each_id(const struct options *options, int (*one)(const struct each *each))
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO_RELEASE(selection) struct selection selection = { 0 };
    struct error err;
    int status = 0;

    if (options->word_count == 0)
        return usage_wrong(options->verb, "expected the number of a job");
    if (selection_read(&selection, options->words, &err) < 0) {
        complain(&err);
        return 2;
    }
    if (session_open(&session, &err) < 0 || selection_confirm(&selection, &session, &err) < 0)
        return complain(&err);
    for (size_t i = 0; i < selection.count; i++) {
        int result = one(&(struct each){ &session, options, selection.ids[i], i, selection.count });
        status = status != 0 ? status : result;
    }
    return status;
}

int each_print(const struct each *each, const char *suffix, const char *quiet,
               void (*print)(const json_t *reply))
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s%s", each->id, suffix);
    AUTO(json) json_t *reply = NULL;
    struct error err;

    if (session_get(each->session, path, &reply, &err) < 0)
        return complain(&err);
    if (!reply_is_shown(reply, quiet ? field_text(reply, quiet) : each->id, each->options))
        print(reply);
    return 0;
}
