/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_adopt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "engine/slurm/slurm_dependency.h"

#define NAME_START  "slurm/"
#define SAID_OF_JOB "tarn job "
#define REFUSED     "tarn: refused: "

/* What was not answered or was refused is reported again. */
enum { AGAIN_MS = 60000 };

struct adopted {
    char *name;
    char *comment;      /* as set; NULL: none */
    char *own;          /* comment of a person, before that; NULL: none */
    uint64_t due;       /* uv_now(): report it again then; 0: it is answered */
    uint64_t split_due; /* the same for splitting it off its array */
    bool is_seen, is_released, is_over;
    bool has_place; /* among the tasks of its array that may run at a time */
};

struct slurm_adopt {
    struct engine_options options;
    struct slurm_worker *worker;
    LIST(struct adopted) all;      /* ascending by name */
    bool is_complete;              /* there was a listing */
    const struct slurm_jobs *jobs; /* while a listing is read */
    struct slurm_index index;      /* of these, when it is needed */
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
    free(adopted->own);
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

/* Whether it is another comment than before. */
static bool keep_comment(struct adopted *adopted, const char *comment)
{
    if (adopted->comment && strcmp(adopted->comment, comment) == 0)
        return false;
    free(adopted->comment);
    adopted->comment = mem_string(comment);
    return true;
}

static void set_comment(struct slurm_adopt *adopt, struct adopted *adopted, const char *comment)
{
    if (keep_comment(adopted, comment))
        slurm_worker_hold(adopt->worker, slurm_adopt_number(adopted->name), comment);
}

/* Whether tarn wrote this comment. */
static bool is_said(const char *comment)
{
    return comment && (string_starts(comment, "tarn: ") || string_starts(comment, SAID_OF_JOB));
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

static const struct slurm_index *index_of(struct slurm_adopt *adopt)
{
    if (!adopt->is_indexed)
        slurm_index_make(adopt->jobs, &adopt->index);
    adopt->is_indexed = true;
    return &adopt->index;
}

/* "afterok:8(unfulfilled)": without what Slurm thinks of it. */
static void add_dependency(struct text *words, const char *dependency)
{
    for (const char *at = dependency; *at;) {
        size_t length = strcspn(at, "(");
        text_printf(words, "%.*s", (int)length, at);
        at += length;
        at += strcspn(at, ")");
        at += *at == ')';
    }
}

/* Why it does not arrive yet; NULL: it may. Asked once for all tasks of an array. */
static char *hindrance_of(struct slurm_adopt *adopt, const struct slurm_job *job)
{
    const char *dependency = job->wish->dependency;
    enum slurm_dependency answer = SLURM_DEPENDENCY_MET;
    time_t begin = (time_t)job->wish->begins_at, now = time(NULL);
    struct text words = { 0 };
    struct tm utc;
    char at[32];

    if (dependency && dependency[0])
        answer = slurm_dependency_of(index_of(adopt), job, now);
    if (answer != SLURM_DEPENDENCY_MET) {
        text_add(&words, answer == SLURM_DEPENDENCY_WAITS
                             ? "tarn: waits for "
                             : "tarn: its dependency can never be met: ");
        add_dependency(&words, dependency);
        return text_take(&words);
    }
    if (begin <= now)
        return NULL;
    strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&begin, &utc));
    return mem_printf("tarn: waits for its begin at %s", at);
}

/* ---- arrays with a limit ---- */

static char *task_name(uint32_t array, uint32_t task)
{
    return mem_printf(NAME_START "%" PRIu32 "_%" PRIu32, array, task);
}

static bool has_place(struct slurm_adopt *adopt, const struct slurm_job *task)
{
    AUTO_FREE char *name = task_name(task->array, task->task);
    const struct adopted *adopted = find(adopt, name);

    if (task->phase != SLURM_WAITS || !task->wish)
        return task->phase != SLURM_IS_OVER;
    return (adopted && (adopted->has_place || adopted->is_released)) ||
           (task->comment && string_starts(task->comment, SAID_OF_JOB));
}

static bool is_listed(const struct slurm_index *index, uint32_t array, uint32_t task)
{
    for (size_t i = slurm_index_first(index, array);
         i < index->all.count && slurm_index_number(index->all.items[i]) == array; i++) {
        if (index->all.items[i]->task == task)
            return true;
    }
    return false;
}

/* Those that this listing does not have yet as jobs of their own. */
static uint32_t count_unlisted(struct slurm_adopt *adopt, uint32_t array)
{
    AUTO_FREE char *start = mem_printf(NAME_START "%" PRIu32 "_", array);
    uint32_t count = 0;

    for (size_t i = place_of(adopt, start); i < adopt->all.count; i++) {
        const struct adopted *adopted = &adopt->all.items[i];
        if (!string_starts(adopted->name, start))
            break;
        uint32_t task = (uint32_t)strtoul(adopted->name + strlen(start), NULL, 10);
        count += adopted->has_place && !is_listed(&adopt->index, array, task);
    }
    return count;
}

/* So many more tasks of its array may arrive. Slurm states the limit at one job of the array. */
static uint32_t places_of(struct slurm_adopt *adopt, const struct slurm_job *job,
                          uint32_t *ret_most)
{
    uint32_t most = 0, taken = 0;

    if (job->array == 0)
        return UINT32_MAX;
    const struct slurm_index *index = index_of(adopt);
    for (size_t i = slurm_index_first(index, job->array); i < index->all.count; i++) {
        const struct slurm_job *task = index->all.items[i];
        if (task->array != job->array)
            break;
        most = task->array_most > most ? task->array_most : most;
        taken += task->task != SLURM_NO_TASK && has_place(adopt, task);
    }
    *ret_most = most;
    if (most == 0)
        return UINT32_MAX;
    taken += count_unlisted(adopt, job->array);
    return most > taken ? most - taken : 0;
}

static char *limit_words(uint32_t most)
{
    return mem_printf(
        "tarn: waits for other tasks of its array, of which %" PRIu32 " may run at a time", most);
}

/* ---- jobs ---- */

/* The comment of a job before tarn: of a person, or of an earlier daemon. */
static void keep_own(struct adopted *adopted, const char *comment)
{
    if (!comment || !comment[0] || is_said(comment) ||
        (adopted->own && strcmp(adopted->own, comment) == 0))
        return;
    free(adopted->own);
    adopted->own = mem_string(comment);
}

static void report(struct slurm_adopt *adopt, struct adopted *adopted, const struct slurm_job *job,
                   const struct slurm_largest *largest)
{
    struct slurm_wish wish = *job->wish;
    struct error err = { "" };

    wish.comment = adopted->own;
    AUTO_FREE char *document = slurm_document(&wish, largest, &err);
    if (!document) {
        AUTO_FREE char *comment = mem_printf(REFUSED "%s", err.text);
        set_comment(adopt, adopted, comment);
        return;
    }
    struct engine_arrival arrival = { .name = adopted->name,
                                      .document = document,
                                      .user = wish.user && wish.user[0] ? wish.user : NULL,
                                      .account = wish.account,
                                      .uid = wish.uid,
                                      .gid = wish.gid };
    adopt->options.reports.arrived(adopt->options.reports.user, &arrival);
}

/* What was tarn's and was released goes back on hold if it still waits. What tarn refused is left
 * to an administrator, for users cannot release it. */
static bool is_to_hold(struct slurm_adopt *adopt, const char *name, const struct slurm_job *job)
{
    if (job->is_held || (job->comment && string_starts(job->comment, REFUSED)) ||
        (!find(adopt, name) && !is_said(job->comment)))
        return false;
    struct adopted *adopted = find_or_add(adopt, name);
    adopted->is_seen = true;
    return !adopted->is_released && !adopted->is_over;
}

static void hold_again(struct slurm_adopt *adopt, const char *number, const struct slurm_job *job)
{
    slurm_worker_hold(adopt->worker, number,
                      is_said(job->comment) ? job->comment : "tarn: held again");
}

static void see_job(struct slurm_adopt *adopt, const char *name, const struct slurm_job *job,
                    const struct slurm_largest *largest)
{
    uint64_t now = uv_now(adopt->options.loop);
    uint32_t most = 0;

    if (is_to_hold(adopt, name, job))
        hold_again(adopt, slurm_adopt_number(name), job);
    if (!job->is_held)
        return;
    struct adopted *adopted = find_or_add(adopt, name);
    adopted->is_seen = true;
    keep_own(adopted, job->comment);
    if (adopted->is_released || adopted->is_over || adopted->due == 0 || now < adopted->due)
        return;
    AUTO_FREE char *words = hindrance_of(adopt, job);
    if (!words && !has_place(adopt, job) && places_of(adopt, job, &most) == 0)
        words = limit_words(most);
    if (words) {
        set_comment(adopt, adopted, words);
        return;
    }
    adopted->has_place = true;
    adopted->due = now + AGAIN_MS;
    report(adopt, adopted, job, largest);
}

/* A hold of this task alone makes Slurm split it off; it arrives as a job of its own. */
static void split(struct slurm_adopt *adopt, struct adopted *adopted)
{
    uint64_t now = uv_now(adopt->options.loop);

    adopted->has_place = true;
    if (now < adopted->split_due || adopted->is_released || adopted->is_over)
        return;
    adopted->split_due = now + AGAIN_MS;
    slurm_worker_hold(adopt->worker, slurm_adopt_number(adopted->name), "tarn: arrives");
}

/* Tasks that Slurm has not split off. They stay together while none of them arrives, for Slurm has
 * few records for many tasks then. */
static void see_tasks(struct slurm_adopt *adopt, const struct slurm_job *job, const uint32_t *tasks,
                      uint32_t count)
{
    AUTO_FREE char *together = mem_printf("%" PRIu32 "_%.*s", job->array,
                                          (int)strcspn(job->wish->tasks, "%"), job->wish->tasks);
    AUTO_FREE char *words = hindrance_of(adopt, job);
    uint32_t most = 0, places = words ? 0 : places_of(adopt, job, &most);
    bool is_changed = false, is_split = false, is_free = false;

    if (!words)
        words = limit_words(most);
    for (uint32_t i = 0; i < count; i++) {
        AUTO_FREE char *name = task_name(job->array, tasks[i]);
        is_free |= is_to_hold(adopt, name, job);
        if (!job->is_held)
            continue;
        struct adopted *adopted = find_or_add(adopt, name);
        adopted->is_seen = true;
        keep_own(adopted, job->comment);
        if (!adopted->has_place && places == 0)
            continue;
        places -= !adopted->has_place && places < UINT32_MAX;
        is_split = true;
        split(adopt, adopted);
    }
    for (uint32_t i = 0; i < count && job->is_held && !is_split; i++) {
        AUTO_FREE char *name = task_name(job->array, tasks[i]);
        is_changed |= keep_comment(find(adopt, name), words);
    }
    if (is_changed)
        slurm_worker_hold(adopt->worker, together, words);
    if (is_free)
        hold_again(adopt, together, job);
}

void slurm_adopt_see(struct slurm_adopt *adopt, const struct slurm_job *job,
                     const struct slurm_largest *largest)
{
    const struct slurm_wish *wish = job->wish;
    const struct watch_rules *rules = adopt->options.rules;
    AUTO_FREE uint32_t *tasks = NULL;

    if (!wish || !rules->slurm_adopt || !is_in(wish->partition, rules->slurm_partition))
        return;
    uint32_t count = job->task == SLURM_NO_TASK ? slurm_tasks(wish->tasks, &tasks) : 0;
    AUTO_FREE char *name = job->array > 0 ? task_name(job->array, job->task)
                                          : mem_printf(NAME_START "%" PRIu32, job->id);
    if (count > 0)
        see_tasks(adopt, job, tasks, count);
    else
        see_job(adopt, name, job, largest);
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
    comment = mem_printf(REFUSED "%s", err->text);
    set_comment(adopt, adopted, comment);
}

void slurm_adopt_note(struct slurm_adopt *adopt, const char *name, uint64_t job, const char *words,
                      enum engine_fate fate)
{
    struct adopted *adopted = find(adopt, name);
    bool is_over = fate != ENGINE_WAITS && fate != ENGINE_LACKS;
    AUTO_FREE char *comment = mem_printf(SAID_OF_JOB "%" PRIu64 ": %s", job, words);

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
