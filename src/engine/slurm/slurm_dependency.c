/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_dependency.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

uint32_t slurm_index_number(const struct slurm_job *job)
{
    return job->array > 0 ? job->array : job->id;
}

static int compare(const void *a, const void *b)
{
    const struct slurm_job *first = *(const struct slurm_job *const *)a;
    const struct slurm_job *second = *(const struct slurm_job *const *)b;
    uint32_t one = slurm_index_number(first), other = slurm_index_number(second);

    return (one > other) - (one < other);
}

void slurm_index_make(const struct slurm_jobs *jobs, struct slurm_index *ret)
{
    *ret = (struct slurm_index){ 0 };
    LIST_EACH (const struct slurm_job, job, &jobs->all)
        list_add(&ret->all, job);
    if (ret->all.count > 0)
        qsort(ret->all.items, ret->all.count, sizeof(ret->all.items[0]), compare);
}

void slurm_index_release(struct slurm_index *index)
{
    list_release(&index->all);
}

size_t slurm_index_first(const struct slurm_index *index, uint32_t number)
{
    size_t first = 0, last = index->all.count;

    while (first < last) {
        size_t middle = (first + last) / 2;
        if (slurm_index_number(index->all.items[middle]) < number)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

/* "afterok:8_3+5" */
struct term {
    const char *kind;
    size_t length;
    uint32_t number, task; /* task: SLURM_NO_TASK: all of an array */
    int64_t delay_s;
};

static bool is_kind(const struct term *term, const char *kind)
{
    return strlen(kind) == term->length && strncmp(term->kind, kind, term->length) == 0;
}

static enum slurm_dependency answer_of(const struct term *term, const struct slurm_job *other,
                                       int64_t now)
{
    bool is_over = other->phase == SLURM_IS_OVER;
    bool is_good = is_over && other->end == SLURM_EXITED && other->status == 0;
    bool wants_good = is_kind(term, "afterok") || is_kind(term, "aftercorr");

    if (is_kind(term, "after") && (is_over || other->has_run))
        return other->started_at + term->delay_s <= now ? SLURM_DEPENDENCY_MET
                                                        : SLURM_DEPENDENCY_WAITS;
    if (!is_over)
        return SLURM_DEPENDENCY_WAITS;
    if (is_kind(term, "afterany") || (is_kind(term, "afternotok") && !is_good) ||
        (wants_good && is_good))
        return SLURM_DEPENDENCY_MET;
    return wants_good || is_kind(term, "afternotok") ? SLURM_DEPENDENCY_BROKEN
                                                     : SLURM_DEPENDENCY_WAITS;
}

/* Tasks that Slurm has not split off an array are one job without a task. */
static enum slurm_dependency ask(const struct slurm_index *index, const struct term *term,
                                 int64_t now)
{
    enum slurm_dependency all = SLURM_DEPENDENCY_MET;

    for (size_t i = slurm_index_first(index, term->number); i < index->all.count; i++) {
        const struct slurm_job *other = index->all.items[i];
        if (slurm_index_number(other) != term->number)
            break;
        if (term->task != SLURM_NO_TASK && other->task != SLURM_NO_TASK &&
            other->task != term->task)
            continue;
        enum slurm_dependency answer = answer_of(term, other, now);
        if (answer > all)
            all = answer;
    }
    return all;
}

/* Earlier jobs of the same user with the same name. */
static enum slurm_dependency ask_singleton(const struct slurm_index *index,
                                           const struct slurm_job *job)
{
    for (size_t i = 0; i < index->all.count; i++) {
        const struct slurm_job *other = index->all.items[i];
        if (other->phase != SLURM_IS_OVER && other->id < job->id && other->uid == job->uid &&
            other->name && job->name && strcmp(other->name, job->name) == 0)
            return SLURM_DEPENDENCY_WAITS;
    }
    return SLURM_DEPENDENCY_MET;
}

/* "8", "8_*", "8_3", "8+5" after a colon; the character after it. */
static const char *read_target(const char *at, struct term *term)
{
    char *end;

    term->number = (uint32_t)strtoul(at, &end, 10);
    term->task = SLURM_NO_TASK;
    term->delay_s = 0;
    if (*end == '_')
        end++;
    if (end[-1] == '_' && *end == '*')
        end++;
    else if (end[-1] == '_')
        term->task = (uint32_t)strtoul(end, &end, 10);
    if (*end == '+')
        term->delay_s = 60 * strtoll(end + 1, &end, 10);
    return end;
}

/* One kind with its jobs, "afterok:8:9(unfulfilled)"; ret_end: its end. */
static enum slurm_dependency ask_kind(const struct slurm_index *index, const struct slurm_job *job,
                                      const char *text, int64_t now, const char **ret_end)
{
    struct term term = { .kind = text, .length = strcspn(text, ":(,?") };
    enum slurm_dependency all = SLURM_DEPENDENCY_MET;
    const char *at = text + term.length;

    if (is_kind(&term, "singleton"))
        all = ask_singleton(index, job);
    else if (*at != ':')
        all = SLURM_DEPENDENCY_WAITS;
    while (*at == ':' && isdigit((unsigned char)at[1])) {
        at = read_target(at + 1, &term);
        if (*at == '(')
            at += strcspn(at, ")") + (at[strcspn(at, ")")] == ')');
        enum slurm_dependency answer = ask(index, &term, now);
        all = answer > all ? answer : all;
    }
    *ret_end = at + strcspn(at, ",?");
    return all;
}

enum slurm_dependency slurm_dependency_of(const struct slurm_index *index,
                                          const struct slurm_job *job, int64_t now)
{
    const char *at = job->wish && job->wish->dependency ? job->wish->dependency : "";
    bool is_any = strchr(at, '?') != NULL, is_first = true;
    enum slurm_dependency all = SLURM_DEPENDENCY_MET;

    for (; *at; at += *at != '\0') {
        enum slurm_dependency answer = ask_kind(index, job, at, now, &at);
        if (is_first || (is_any ? answer < all : answer > all))
            all = answer;
        is_first = false;
    }
    return all;
}
