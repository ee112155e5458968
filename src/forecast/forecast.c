/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/forecast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/forward.h"
#include "forecast/run_time.h"
#include "io/copy.h"

enum {
    RUNS_MAX = FORECAST_SAMPLES_MAX + 1,
    LOW_PERCENT = 10,
    HIGH_PERCENT = 90,
    BY_LIMITS = -1,
    PATIENCE = 200
};

/* What a run says of a job; FORECAST_NOT_KNOWN: it did not come so far. */
struct times {
    usec_t start, end;
};

struct run_head {
    usec_t processor;
    uint64_t count;
};

struct run {
    const struct forecast_ask *ask;
    usec_t processor; /* may be used; then, was */
    int sample;       /* BY_LIMITS: none */
    size_t count;     /* of the jobs that are there; planned ones come after them */
    struct times *times;
};

/* ---- one run, in a copy ---- */

static bool draw(void *user, const struct job *job, struct forward_fate *fate)
{
    const struct run *run = user;
    const struct state *state = run->ask->state;
    usec_t ran = job->run->attained;

    if (job_is_active(job)) {
        usec_t from =
            job->run->started >= job->run->granted ? job->run->started : job->run->granted;
        ran += run->ask->now > from ? run->ask->now - from : 0;
    }
    if (run->sample == BY_LIMITS)
        fate->work = usec_after(job->run->attained, job->max_duration);
    else
        fate->work = run_time_draw(state, job, ran, (uint32_t)run->sample);
    return true;
}

static struct times times_of(const struct forward *forward, const struct forward_job *job)
{
    bool is_whole = forward->horizon == USEC_NEVER;
    usec_t never = is_whole ? USEC_NEVER : FORECAST_NOT_KNOWN;
    bool has_started = job->was_active || job->start >= 0;
    bool has_end = has_started && job->work != USEC_NEVER;

    return (struct times){ job->was_active   ? 0
                           : job->start >= 0 ? job->start
                                             : never,
                           has_end ? job->end : never };
}

static usec_t next(void *user)
{
    const struct forecast_ask *ask = ((struct run *)user)->ask;

    return ask->next ? ask->next(ask->user) : USEC_NEVER;
}

static int come(void *user, struct forward *forward, usec_t now, struct error *err)
{
    const struct forecast_ask *ask = ((struct run *)user)->ask;

    return ask->come(ask->user, forward, now, err);
}

static void say_run(void *user, int fd)
{
    const struct run *run = user;
    struct forward_options options = { .state = run->ask->state,
                                       .brain = run->ask->brain,
                                       .now = run->ask->now,
                                       .processor = run->processor,
                                       .patience = PATIENCE,
                                       .user = user,
                                       .fate_of = draw,
                                       .next = next,
                                       .come = come,
                                       .is_ambient = true };
    AUTO_RELEASE(text) struct text out = { 0 };
    struct error err;

    AUTO(forward) struct forward *forward = forward_create(&options);
    if (forward_go(forward, &err) < 0)
        return; /* this run has no say */
    struct run_head head = { forward_processor(forward), run->count };
    text_add_bytes(&out, &head, sizeof(head));
    for (size_t i = 0; i < run->count; i++) {
        struct times times = times_of(forward, &forward->jobs.items[i]);
        text_add_bytes(&out, &times, sizeof(times));
    }
    copy_write(fd, out.bytes, out.length);
}

/* False: it has no say. */
static bool go(struct run *run)
{
    size_t count = run->count;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct copy copy;
    struct run_head head;
    struct error err;

    if (copy_start(say_run, run, &copy, &err) < 0)
        return false;
    while (copy_read(&copy, &bytes))
        continue;
    copy_end(&copy);
    if (bytes.length != sizeof(head) + count * sizeof(*run->times))
        return false;
    memcpy(&head, bytes.bytes, sizeof(head));
    run->processor = head.processor;
    run->times = mem_resize(NULL, count ? count : 1, sizeof(*run->times));
    memcpy(run->times, bytes.bytes + sizeof(head), count * sizeof(*run->times));
    return head.count == count;
}

/* ---- all of them ---- */

struct runs {
    struct run of[RUNS_MAX];
    uint32_t count; /* the first: by limits */
};

static void make_runs(const struct forecast_ask *ask, size_t count, struct runs *ret)
{
    usec_t left = ask->processor, part = left / (FORECAST_SAMPLES_MIN + 1);

    for (int sample = BY_LIMITS; sample < FORECAST_SAMPLES_MAX; sample++) {
        struct run *run = &ret->of[ret->count];
        *run = (struct run){ .ask = ask, .processor = part, .sample = sample, .count = count };
        if (!go(run)) {
            free(run->times);
            if (sample == BY_LIMITS)
                return;
            continue;
        }
        ret->count++;
        left -= run->processor;
        usec_t spent = ask->processor - left;
        if (ask->processor > 0 && ret->count > FORECAST_SAMPLES_MIN &&
            (left < run->processor || spent > FORECAST_ENOUGH))
            return;
    }
}

static int compare_times(const void *a, const void *b)
{
    const usec_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* Of the samples of one thing; false: not known in all of them. */
static bool take_range(usec_t *samples, uint32_t count, usec_t *ret_low, usec_t *ret_median,
                       usec_t *ret_high)
{
    qsort(samples, count, sizeof(*samples), compare_times);
    *ret_low = samples[(count - 1) * LOW_PERCENT / 100];
    *ret_median = samples[(count - 1) / 2];
    *ret_high = samples[((count - 1) * HIGH_PERCENT + 99) / 100];
    return count >= FORECAST_SAMPLES_MIN && samples[0] != FORECAST_NOT_KNOWN;
}

/* From the jobs first to last: the first start and the last end. */
static void add_row(const struct runs *runs, uint64_t id, size_t first, size_t last,
                    struct forecast *ret)
{
    struct forecast_row row = { .id = id };
    usec_t starts[RUNS_MAX], ends[RUNS_MAX];

    assert(runs->count > FORECAST_SAMPLES_MIN && runs->count <= RUNS_MAX);
    for (uint32_t i = 0; i < runs->count; i++) {
        usec_t start = USEC_NEVER, end = 0;
        for (size_t k = first; k <= last; k++) {
            const struct times *times = &runs->of[i].times[k];
            start = times->start < start ? times->start : start;
            end = times->end == FORECAST_NOT_KNOWN || end == FORECAST_NOT_KNOWN ? FORECAST_NOT_KNOWN
                  : times->end > end                                            ? times->end
                                                                                : end;
        }
        starts[i] = start;
        ends[i] = end;
    }
    row.by_limits = starts[0];
    row.end_by_limits = ends[0];
    if (!take_range(starts + 1, runs->count - 1, &row.low, &row.median, &row.high))
        return;
    if (!take_range(ends + 1, runs->count - 1, &row.end_low, &row.end_median, &row.end_high))
        row.end_low = row.end_median = row.end_high = USEC_NEVER;
    list_add(&ret->rows, row);
}

static int compare_rows(const void *a, const void *b)
{
    const struct forecast_row *left = a, *right = b;

    return (left->id > right->id) - (left->id < right->id);
}

typedef LIST(uint64_t) id_list;

/* The first of these ids that is not below. */
static size_t lower(const id_list *ids, uint64_t id)
{
    size_t low = 0, high = ids->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids->items[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_groups(const struct state *state, const struct runs *runs, const id_list *ids,
                       struct forecast *ret)
{
    for (const struct group *group = state->first_group; group; group = group->next) {
        size_t first = lower(ids, group->id), end = lower(ids, group->last + 1);
        if (!group_is_over(group) && first < end)
            add_row(runs, group->id, first, end - 1, ret);
    }
}

void forecast_make(const struct forecast_ask *ask, struct forecast *ret)
{
    id_list ids = { 0 };
    struct runs runs = { 0 };

    *ret = (struct forecast){ .at = ask->now };
    for (const struct job *job = ask->state->first_job; job; job = job->next) {
        if (job->state != JOB_ENDED)
            list_add(&ids, job->id);
    }
    make_runs(ask, ids.count, &runs);
    if (runs.count > FORECAST_SAMPLES_MIN) {
        for (size_t i = 0; i < ids.count; i++)
            add_row(&runs, ids.items[i], i, i, ret);
        add_groups(ask->state, &runs, &ids, ret);
        list_sort(&ret->rows, compare_rows);
        ret->samples = runs.count - 1;
    }
    for (uint32_t i = 0; i < runs.count; i++) {
        ret->processor += runs.of[i].processor;
        free(runs.of[i].times);
    }
    list_release(&ids);
}

void forecast_release(struct forecast *forecast)
{
    list_release(&forecast->rows);
    *forecast = (struct forecast){ 0 };
}

const struct forecast_row *forecast_find(const struct forecast *forecast, uint64_t id)
{
    struct forecast_row key = { .id = id };

    return forecast->rows.count == 0 ? NULL
                                     : bsearch(&key, forecast->rows.items, forecast->rows.count,
                                               sizeof(key), compare_rows);
}

/* ---- as bytes ---- */

struct forecast_head {
    usec_t at, processor;
    uint64_t samples, count;
};

void forecast_encode(const struct forecast *forecast, struct text *out)
{
    struct forecast_head head = { forecast->at, forecast->processor, forecast->samples,
                                  forecast->rows.count };

    text_add_bytes(out, &head, sizeof(head));
    if (head.count > 0)
        text_add_bytes(out, forecast->rows.items, head.count * sizeof(struct forecast_row));
}

bool forecast_decode(const struct text *bytes, struct forecast *ret)
{
    struct forecast_head head;

    if (bytes->length < sizeof(head))
        return false;
    memcpy(&head, bytes->bytes, sizeof(head));
    if (bytes->length - sizeof(head) != head.count * sizeof(struct forecast_row))
        return false;
    *ret = (struct forecast){ .at = head.at,
                              .processor = head.processor,
                              .samples = (uint32_t)head.samples };
    list_reserve(&ret->rows, head.count);
    if (head.count > 0)
        memcpy(ret->rows.items, bytes->bytes + sizeof(head), bytes->length - sizeof(head));
    ret->rows.count = head.count;
    return true;
}
