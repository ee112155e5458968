/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_adopt.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "engine/slurm/slurm_dependency.h"

#define NAME_START "slurm/"

/* What was not answered or was refused is reported again. */
enum { AGAIN_MS = 60000 };

struct adopted {
    char *name;
    char *comment; /* as set; NULL: none */
    uint64_t due;  /* uv_now(): report it again then; 0: it is answered */
    bool is_seen, is_released, is_over;
};

struct slurm_adopt {
    struct engine_options options;
    struct slurm_worker *worker;
    LIST(struct adopted) all;      /* ascending by name */
    bool is_complete;              /* there was a listing */
    const struct slurm_jobs *jobs; /* while a listing is read */
    struct slurm_index index;      /* of these, when a dependency needs it */
    bool is_indexed;
};

struct slurm_adopt *slurm_adopt_create(const struct engine_options *options,
                                       struct slurm_worker *worker)
{
    struct slurm_adopt *adopt = mem_zero(1, sizeof(*adopt));

    adopt->options = *options;
    adopt->worker = worker;
    return adopt;
}

static void adopted_release(struct adopted *adopted)
{
    free(adopted->name);
    free(adopted->comment);
}

void slurm_adopt_destroy(struct slurm_adopt *adopt)
{
    if (!adopt)
        return;
    LIST_EACH (struct adopted, adopted, &adopt->all)
        adopted_release(adopted);
    list_release(&adopt->all);
    free(adopt);
}

const char *slurm_adopt_number(const char *name)
{
    return name && string_starts(name, NAME_START) ? name + strlen(NAME_START) : NULL;
}

static size_t place_of(const struct slurm_adopt *adopt, const char *name)
{
    size_t first = 0, last = adopt->all.count;

    while (first < last) {
        size_t middle = (first + last) / 2;
        if (strcmp(adopt->all.items[middle].name, name) < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

static struct adopted *find(struct slurm_adopt *adopt, const char *name)
{
    size_t place = place_of(adopt, name);
    struct adopted *found = place < adopt->all.count ? &adopt->all.items[place] : NULL;

    return found && strcmp(found->name, name) == 0 ? found : NULL;
}

static struct adopted *find_or_add(struct slurm_adopt *adopt, const char *name)
{
    struct adopted *found = find(adopt, name);

    if (found)
        return found;
    struct adopted made = { .name = mem_string(name), .due = 1 };
    size_t place = place_of(adopt, name);
    list_insert(&adopt->all, place, made);
    return &adopt->all.items[place];
}

static void set_comment(struct slurm_adopt *adopt, struct adopted *adopted, const char *comment)
{
    if (adopted->comment && strcmp(adopted->comment, comment) == 0)
        return;
    free(adopted->comment);
    adopted->comment = mem_string(comment);
    slurm_worker_comment(adopt->worker, slurm_adopt_number(adopted->name), comment);
}

/* ---- a listing ---- */

void slurm_adopt_begin(struct slurm_adopt *adopt, const struct slurm_jobs *jobs)
{
    adopt->jobs = jobs;
    adopt->is_indexed = false;
    LIST_EACH (struct adopted, adopted, &adopt->all)
        adopted->is_seen = false;
}

/* A job may name several partitions. */
static bool is_in(const char *partitions, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = partitions; at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    }
    return false;
}

/* Asked once for all tasks of an array. */
static enum slurm_dependency ask_dependency(struct slurm_adopt *adopt, const struct slurm_job *job)
{
    if (!job->wish->dependency || !job->wish->dependency[0])
        return SLURM_DEPENDENCY_MET;
    if (!adopt->is_indexed)
        slurm_index_make(adopt->jobs, &adopt->index);
    adopt->is_indexed = true;
    return slurm_dependency_of(&adopt->index, job, time(NULL));
}

static bool is_kept_back(struct slurm_adopt *adopt, struct adopted *adopted,
                         const struct slurm_job *job, enum slurm_dependency answer)
{
    if (answer == SLURM_DEPENDENCY_BROKEN) {
        AUTO_FREE char *comment =
            mem_printf("tarn: its dependency can never be met: %.200s", job->wish->dependency);
        set_comment(adopt, adopted, comment);
    }
    return answer != SLURM_DEPENDENCY_MET;
}

/* The comment of a job before tarn: of a person, or of an earlier daemon. */
static void arrive(struct slurm_adopt *adopt, const char *name, const struct slurm_job *job,
                   enum slurm_dependency dependency, const struct slurm_largest *largest)
{
    const struct slurm_wish *wish = job->wish;
    struct adopted *adopted = find_or_add(adopt, name);
    uint64_t now = uv_now(adopt->options.loop);
    const struct passwd *account = NULL;
    struct error err = { "" };

    adopted->is_seen = true;
    if (adopted->is_released || adopted->is_over || adopted->due == 0 || now < adopted->due ||
        !wish->is_ready || is_kept_back(adopt, adopted, job, dependency))
        return;
    adopted->due = now + AGAIN_MS;
    AUTO_FREE char *document = slurm_document(wish, largest, &err);
    if (!document) {
        AUTO_FREE char *comment = mem_printf("tarn: refused: %s", err.text);
        set_comment(adopt, adopted, comment);
        return;
    }
    if (!wish->user || !wish->user[0])
        account = getpwuid(wish->uid);
    struct engine_arrival arrival = { .name = name,
                                      .document = document,
                                      .user = account ? account->pw_name : wish->user,
                                      .account = wish->account,
                                      .uid = wish->uid,
                                      .gid = wish->gid };
    adopt->options.reports.arrived(adopt->options.reports.user, &arrival);
}

void slurm_adopt_see(struct slurm_adopt *adopt, const struct slurm_job *job,
                     const struct slurm_largest *largest)
{
    const struct slurm_wish *wish = job->wish;
    const struct watch_rules *rules = adopt->options.rules;
    AUTO_FREE uint32_t *tasks = NULL;

    if (!wish || !rules->slurm_adopt || !is_in(wish->partition, rules->slurm_partition))
        return;
    enum slurm_dependency dependency = ask_dependency(adopt, job);
    uint32_t count = slurm_tasks(wish->tasks, &tasks);
    for (uint32_t i = 0; i < count; i++) {
        AUTO_FREE char *name = mem_printf(NAME_START "%" PRIu32 "_%" PRIu32, wish->array, tasks[i]);
        arrive(adopt, name, job, dependency, largest);
    }
    if (count > 0)
        return;
    AUTO_FREE char *name =
        wish->array > 0 ? mem_printf(NAME_START "%" PRIu32 "_%" PRIu32, wish->array, wish->task)
                        : mem_printf(NAME_START "%" PRIu32, job->id);
    arrive(adopt, name, job, dependency, largest);
}

void slurm_adopt_end(struct slurm_adopt *adopt)
{
    size_t kept = 0;

    adopt->is_complete = true;
    adopt->jobs = NULL;
    if (adopt->is_indexed)
        slurm_index_release(&adopt->index);
    if (!adopt->options.rules->slurm_adopt) /* they stay held, and tarn's jobs wait */
        return;
    for (size_t i = 0; i < adopt->all.count; i++) {
        struct adopted *adopted = &adopt->all.items[i];
        if (adopted->is_seen) {
            adopt->all.items[kept++] = *adopted;
            continue;
        }
        if (!adopted->is_released && !adopted->is_over)
            adopt->options.reports.withdrawn(adopt->options.reports.user, adopted->name,
                                             "cancelled or released in Slurm");
        adopted_release(adopted);
    }
    adopt->all.count = kept;
}

/* ---- what tarn says ---- */

void slurm_adopt_answer(struct slurm_adopt *adopt, const char *name, uint64_t job,
                        const struct error *err)
{
    struct adopted *adopted = find(adopt, name);
    AUTO_FREE char *comment = NULL;

    if (!adopted)
        return;
    if (job > 0) {
        adopted->due = 0;
        return;
    }
    comment = mem_printf("tarn: refused: %s", err->text);
    set_comment(adopt, adopted, comment);
}

void slurm_adopt_note(struct slurm_adopt *adopt, const char *name, uint64_t job, const char *words,
                      enum engine_fate fate)
{
    struct adopted *adopted = find(adopt, name);
    bool is_over = fate != ENGINE_WAITS;
    AUTO_FREE char *comment = mem_printf("tarn job %" PRIu64 ": %s", job, words);

    if (!slurm_adopt_number(name))
        return;
    if (!adopted) { /* it left Slurm while there was no daemon */
        if (!is_over && adopt->is_complete && adopt->options.rules->slurm_adopt)
            adopt->options.reports.withdrawn(adopt->options.reports.user, name,
                                             "cancelled or released in Slurm");
        return;
    }
    if (adopted->is_released || adopted->is_over)
        return;
    adopted->due = 0;
    set_comment(adopt, adopted, comment);
    adopted->is_over = is_over;
    if (is_over)
        slurm_worker_cancel(adopt->worker, slurm_adopt_number(name));
}

void slurm_adopt_release(struct slurm_adopt *adopt, const char *name)
{
    /* after a restart it may be released before a listing has had it */
    find_or_add(adopt, name)->is_released = true;
}
