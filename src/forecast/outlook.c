/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/outlook.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/copy.h"
#include "wire/json.h"

static const usec_t same_instant = USEC_PER_SEC; /* less is no difference to speak of */

/* ---- one side, and its way between processes of the same program ---- */

void outlook_take(const struct forward *forward, struct outlook_side *ret)
{
    size_t count = forward->options.is_ambient ? forward->first_come : forward->jobs.count;

    list_reserve(&ret->jobs, count);
    if (count > 0)
        memcpy(ret->jobs.items, forward->jobs.items, count * sizeof(ret->jobs.items[0]));
    ret->jobs.count = count;
    for (size_t i = 0; i < ret->jobs.count; i++) {
        const struct job *job = state_job(forward->state, ret->jobs.items[i].id);
        ret->jobs.items[i].is_cancelled =
            ret->jobs.items[i].start < 0 && job && job->state == JOB_ENDED;
    }
    for (size_t i = 0; i < forward->state->queues.count; i++)
        list_add(&ret->queues, mem_string(forward->state->queues.items[i].name));
    ret->drained = forward->drained;
    ret->horizon = forward->horizon;
    ret->has_prices = forward->state->node_price_least > 0;
    for (size_t i = 0; i < forward->state->resources.count; i++)
        ret->has_prices |= forward->state->resources.items[i].price_micro > 0;
    ret->events = forward->events;
}

void outlook_side_release(struct outlook_side *side)
{
    for (size_t i = 0; i < side->queues.count; i++)
        free(side->queues.items[i]);
    list_release(&side->queues);
    list_release(&side->jobs);
}

struct head {
    uint64_t jobs, queues, events;
    usec_t drained, horizon;
    uint64_t has_prices;
};

void outlook_encode(const struct outlook_side *side, struct text *out)
{
    struct head head = { side->jobs.count, side->queues.count, side->events,
                         side->drained,    side->horizon,      side->has_prices };

    text_add_bytes(out, &head, sizeof(head));
    text_add_bytes(out, side->jobs.items, side->jobs.count * sizeof(side->jobs.items[0]));
    for (size_t i = 0; i < side->queues.count; i++)
        text_add_bytes(out, side->queues.items[i], strlen(side->queues.items[i]) + 1);
}

int outlook_decode(const struct text *bytes, struct outlook_side *ret, struct error *err)
{
    const char *at = text_string(bytes), *end = at + bytes->length;
    struct head head;

    if (bytes->length < sizeof(head))
        return error_set(err, -EIO, "result of a run: truncated");
    memcpy(&head, at, sizeof(head));
    at += sizeof(head);
    size_t size = head.jobs * sizeof(ret->jobs.items[0]);
    if (head.jobs > bytes->length || size > (size_t)(end - at))
        return error_set(err, -EIO, "result of a run: truncated");
    list_reserve(&ret->jobs, head.jobs);
    if (size > 0)
        memcpy(ret->jobs.items, at, size);
    ret->jobs.count = head.jobs;
    at += size;
    for (uint64_t i = 0; i < head.queues; i++) {
        size_t length = strnlen(at, (size_t)(end - at));
        if (at + length >= end)
            return error_set(err, -EIO, "result of a run: truncated");
        list_add(&ret->queues, mem_string(at));
        at += length + 1;
    }
    ret->drained = head.drained;
    ret->horizon = head.horizon;
    ret->has_prices = head.has_prices != 0;
    ret->events = head.events;
    return 0;
}

/* ---- side by side ---- */

/* A job on both sides; NULL: it is not there. */
struct pair {
    const struct forward_job *now, *change;
    usec_t later;
};

struct sums {
    LIST(double) waits; /* seconds */
    double sum, lost;   /* seconds; GPU-hours */
    double cost;        /* in micro */
    bool has_prices;
    uint64_t preemptions, never, beyond, cancelled;
    usec_t drained;
};

struct row {
    const char *queue;
    uint64_t jobs[2];
    struct sums sums[2]; /* now, change */
};

struct outlook {
    const struct outlook_ask *ask;
    LIST(struct pair) pairs;
    LIST(struct row) rows; /* the last one: all */
    uint64_t sooner, later, same;
    usec_t horizon; /* of both */
};

/* Within what both know of. */
static bool starts(const struct outlook *outlook, const struct forward_job *job)
{
    return job && job->start >= 0 && job->start <= outlook->horizon;
}

static void add_pairs(struct outlook *outlook)
{
    const struct outlook_side *now = outlook->ask->now, *change = outlook->ask->change;
    size_t i = 0, k = 0;

    while (i < now->jobs.count || k < change->jobs.count) {
        const struct forward_job *left = i < now->jobs.count ? &now->jobs.items[i] : NULL;
        const struct forward_job *right = k < change->jobs.count ? &change->jobs.items[k] : NULL;
        if (left && right && left->id != right->id) {
            left = left->id < right->id ? left : NULL;
            right = left ? NULL : right;
        }
        list_add(&outlook->pairs, (struct pair){ left, right, 0 });
        i += left != NULL;
        k += right != NULL;
    }
}

static bool counts(const struct outlook_ask *ask, const struct forward_job *job)
{
    if (job->was_active || job->was_held)
        return false;
    return !ask->counts || ask->counts(ask->user, job);
}

static struct row *claim_row(struct outlook *outlook, const char *queue)
{
    for (size_t i = 0; i < outlook->rows.count; i++) {
        if (strcmp(outlook->rows.items[i].queue, queue) == 0)
            return &outlook->rows.items[i];
    }
    list_add(&outlook->rows, (struct row){ .queue = queue });
    return &outlook->rows.items[outlook->rows.count - 1];
}

static void sum_up(struct sums *sums, const struct outlook *outlook, const struct forward_job *job)
{
    sums->preemptions += job->preemptions;
    sums->cost += job->cost;
    sums->lost += (double)job->lost / (double)USEC_PER_HOUR * (double)job->milli / GPU_MILLI;
    if (!counts(outlook->ask, job))
        return;
    if (job->is_cancelled) {
        sums->cancelled++;
        return;
    }
    if (!starts(outlook, job)) {
        sums->never += outlook->horizon == USEC_NEVER;
        sums->beyond += outlook->horizon != USEC_NEVER;
        return;
    }
    double wait = (double)(job->start - job->submitted) / (double)USEC_PER_SEC;
    list_add(&sums->waits, wait);
    sums->sum += wait;
    sums->drained = job->start > sums->drained ? job->start : sums->drained;
}

static void sum_side(struct outlook *outlook, size_t which, const struct outlook_side *side)
{
    AUTO_FREE size_t *places = mem_zero(side->queues.count + 1, sizeof(places[0]));

    for (size_t i = 0; i < side->jobs.count; i++) {
        const struct forward_job *job = &side->jobs.items[i];
        if (job->queue >= side->queues.count)
            continue;
        if (places[job->queue] == 0) {
            struct row *row = claim_row(outlook, side->queues.items[job->queue]);
            places[job->queue] = (size_t)(row - outlook->rows.items) + 1;
        }
        struct row *row = &outlook->rows.items[places[job->queue] - 1];
        sum_up(&row->sums[which], outlook, job);
        row->sums[which].has_prices = side->has_prices;
        row->jobs[which] += counts(outlook->ask, job);
    }
}

static int compare_waits(const void *a, const void *b)
{
    const double *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;

    return strcmp(left->queue, right->queue);
}

static void add_total(struct outlook *outlook)
{
    struct row total = { .queue = "" };

    for (size_t i = 0; i < outlook->rows.count; i++) {
        const struct row *row = &outlook->rows.items[i];
        for (size_t which = 0; which < 2; which++) {
            total.jobs[which] += row->jobs[which];
            const struct sums *from = &row->sums[which];
            struct sums *to = &total.sums[which];
            for (size_t k = 0; k < from->waits.count; k++)
                list_add(&to->waits, from->waits.items[k]);
            to->sum += from->sum;
            to->lost += from->lost;
            to->cost += from->cost;
            to->has_prices |= from->has_prices;
            to->preemptions += from->preemptions;
            to->never += from->never;
            to->beyond += from->beyond;
            to->cancelled += from->cancelled;
            to->drained = from->drained > to->drained ? from->drained : to->drained;
        }
    }
    list_add(&outlook->rows, total);
}

/* ---- as JSON ---- */

static json_t *view_time(const struct outlook_ask *ask, usec_t at)
{
    return at < 0 || at == USEC_NEVER ? json_null() : json_time(at + ask->wall_ahead);
}

/* Those that never start, or beyond what is known, wait longest: null when it is one of them. */
static json_t *view_quantile(const struct sums *sums, double part)
{
    size_t count = sums->waits.count + sums->never + sums->beyond,
           at = (size_t)(part * (double)count);

    at = at < count || at == 0 ? at : count - 1;
    return at < sums->waits.count ? json_real(sums->waits.items[at]) : json_null();
}

static json_t *view_count(uint64_t count)
{
    return json_integer((json_int_t)count);
}

/* Each value as {now, change}. */
static json_t *view_row(const struct outlook_ask *ask, struct row *row)
{
    static const char *const sides[] = { "now", "change" };
    json_t *view = json_object();

    for (size_t which = 0; which < COUNT_OF(sides); which++) {
        struct sums *sums = &row->sums[which];
        if (sums->waits.count > 0)
            qsort(sums->waits.items, sums->waits.count, sizeof(double), compare_waits);
        const struct {
            const char *key;
            json_t *value;
        } values[] = {
            { "jobs", view_count(row->jobs[which]) },
            { "wait_mean", sums->waits.count > 0 ? json_real(sums->sum / (double)sums->waits.count)
                                                 : json_null() }, /* of those that start */
            { "wait_p50", view_quantile(sums, 0.5) },
            { "wait_p95", view_quantile(sums, 0.95) },
            { "preemptions", view_count(sums->preemptions) },
            { "lost_gpu_hours", json_real(sums->lost) },
            { "never", view_count(sums->never) },
            { "beyond", view_count(sums->beyond) },
            { "cancelled", view_count(sums->cancelled) },
            { "cost", sums->has_prices ? json_real(sums->cost / 1e6) : json_null() },
            { "drained", view_time(ask, sums->drained ? sums->drained : -1) },
        };
        for (size_t i = 0; i < COUNT_OF(values); i++) {
            if (which == 0)
                json_object_set_new(view, values[i].key, json_object());
            json_object_set_new(json_object_get(view, values[i].key), sides[which],
                                values[i].value);
        }
    }
    return view;
}

static json_t *view_rows(struct outlook *outlook, json_t **ret_total)
{
    json_t *queues = json_array();

    if (outlook->rows.count > 0)
        qsort(outlook->rows.items, outlook->rows.count, sizeof(struct row), compare_rows);
    add_total(outlook);
    for (size_t i = 0; i + 1 < outlook->rows.count; i++) {
        json_t *view = view_row(outlook->ask, &outlook->rows.items[i]);
        json_object_set_new(view, "queue", json_string(outlook->rows.items[i].queue));
        json_array_append_new(queues, view);
    }
    *ret_total = view_row(outlook->ask, &outlook->rows.items[outlook->rows.count - 1]);
    for (size_t i = 0; i < outlook->rows.count; i++) {
        list_release(&outlook->rows.items[i].sums[0].waits);
        list_release(&outlook->rows.items[i].sums[1].waits);
    }
    list_release(&outlook->rows);
    return queues;
}

/* How much later; a start beyond the horizon, or never, counts as late. */
static usec_t difference(const struct outlook *outlook, const struct pair *pair)
{
    usec_t late =
        outlook->horizon == USEC_NEVER ? outlook->ask->from + FORWARD_SPAN_MAX : outlook->horizon;

    if (!pair->now || !pair->change || pair->now->is_cancelled || pair->change->is_cancelled)
        return 0;
    return (starts(outlook, pair->change) ? pair->change->start : late) -
           (starts(outlook, pair->now) ? pair->now->start : late);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;
    usec_t one = left->later, two = right->later;
    bool is_new = !left->now || !left->change, is_other_new = !right->now || !right->change;

    if (is_new != is_other_new)
        return is_new ? -1 : 1;
    one = one < 0 ? -one : one;
    two = two < 0 ? -two : two;
    if (one != two)
        return one > two ? -1 : 1;
    const struct forward_job *first = left->now ? left->now : left->change;
    const struct forward_job *other = right->now ? right->now : right->change;
    return (first->id > other->id) - (first->id < other->id);
}

static json_t *view_side(const struct outlook *outlook, const struct forward_job *job)
{
    const struct outlook_ask *ask = outlook->ask;

    if (!job)
        return json_null();
    bool is_known = starts(outlook, job);
    return json_pack(
        "{s:o, s:o, s:o, s:i, s:b}", "start", view_time(ask, is_known ? job->start : -1),
        "in_seconds",
        is_known ? json_real((double)(job->start - ask->from) / (double)USEC_PER_SEC) : json_null(),
        "wait_seconds",
        is_known ? json_real((double)(job->start - job->submitted) / (double)USEC_PER_SEC)
                 : json_null(),
        "preemptions", (int)job->preemptions, "cancelled", job->is_cancelled);
}

static json_t *view_pair(const struct outlook *outlook, const struct pair *pair)
{
    const struct outlook_ask *ask = outlook->ask;
    const struct forward_job *job = pair->change ? pair->change : pair->now;
    const struct outlook_side *side = pair->change ? ask->change : ask->now;
    bool can_compare = starts(outlook, pair->now) && starts(outlook, pair->change);

    json_t *view = json_pack(
        "{s:I, s:s, s:o, s:o, s:o}", "id", (json_int_t)job->id, "queue",
        job->queue < side->queues.count ? side->queues.items[job->queue] : "", "now",
        view_side(outlook, pair->now), "change", view_side(outlook, pair->change), "later_seconds",
        can_compare ? json_real((double)pair->later / (double)USEC_PER_SEC) : json_null());
    ask->describe(ask->user, job->id, view);
    return view;
}

/* Those that count: how many are better off, and the most changed. */
static json_t *view_jobs(struct outlook *outlook)
{
    usec_t same = same_instant + outlook->ask->grain;
    json_t *jobs = json_array();
    size_t kept = 0;

    for (size_t i = 0; i < outlook->pairs.count; i++) {
        struct pair pair = outlook->pairs.items[i];
        if (!counts(outlook->ask, pair.change ? pair.change : pair.now))
            continue;
        usec_t later = pair.later = difference(outlook, &pair);
        if (later <= -same)
            outlook->sooner++;
        else if (later >= same)
            outlook->later++;
        else
            outlook->same +=
                pair.now && pair.change && !pair.now->is_cancelled && !pair.change->is_cancelled;
        outlook->pairs.items[kept++] = pair;
    }
    if (kept > 0)
        qsort(outlook->pairs.items, kept, sizeof(struct pair), compare_pairs);
    for (size_t i = 0; i < kept && i < outlook->ask->shown; i++)
        json_array_append_new(jobs, view_pair(outlook, &outlook->pairs.items[i]));
    outlook->pairs.count = kept;
    return jobs;
}

json_t *outlook_view(const struct outlook_ask *ask)
{
    struct outlook outlook = { .ask = ask };
    usec_t one = ask->now->horizon, other = ask->change->horizon;
    json_t *total;

    outlook.horizon = one < other ? one : other;
    add_pairs(&outlook);
    sum_side(&outlook, 0, ask->now);
    sum_side(&outlook, 1, ask->change);
    json_t *jobs = view_jobs(&outlook);
    json_t *queues = view_rows(&outlook, &total);
    json_t *view =
        json_pack("{s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:I}", "jobs", jobs, "job_count",
                  (json_int_t)outlook.pairs.count, "sooner", (json_int_t)outlook.sooner, "later",
                  (json_int_t)outlook.later, "same", (json_int_t)outlook.same, "queues", queues,
                  "total", total, "horizon", view_time(ask, outlook.horizon), "events",
                  (json_int_t)(ask->now->events + ask->change->events));
    list_release(&outlook.pairs);
    return view;
}

/* ---- two runs at once ---- */

static int drive(const struct twice_ask *ask, bool is_change, struct outlook_side *ret,
                 struct error *err)
{
    AUTO(forward) struct forward *forward = forward_create(&ask->forward);

    int code = ask->prepare(ask->user, forward, is_change, err);
    if (code == 0)
        code = forward_go(forward, err);
    if (code == 0)
        outlook_take(forward, ret);
    return code;
}

/* In the copy: a code, and what came of it or what went wrong. */
static void drive_copy(void *user, int fd)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    struct outlook_side side = { 0 };
    struct error err = { "" };

    int32_t code = drive(user, false, &side, &err);
    text_add_bytes(&out, &code, sizeof(code));
    if (code == 0)
        outlook_encode(&side, &out);
    else
        text_add(&out, err.text);
    copy_write(fd, out.bytes, out.length);
    outlook_side_release(&side);
}

static int decode(struct text *bytes, struct outlook_side *ret, struct error *err)
{
    int32_t code;

    if (bytes->length < sizeof(code))
        return error_set(err, -EIO, "the simulation without the change ended early");
    memcpy(&code, bytes->bytes, sizeof(code));
    const char *rest = bytes->bytes + sizeof(code);
    struct text body = { .bytes = (char *)(uintptr_t)rest, .length = bytes->length - sizeof(code) };
    return code < 0 ? error_set(err, code, "%s", rest) : outlook_decode(&body, ret, err);
}

int twice_go(const struct twice_ask *ask, struct outlook_side *ret_now,
             struct outlook_side *ret_change, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct copy copy;

    int code = copy_start(drive_copy, (void *)(uintptr_t)ask, &copy, err);
    if (code < 0)
        return code;
    code = drive(ask, true, ret_change, err);
    while (code == 0 && copy_read(&copy, &bytes))
        continue;
    copy_end(&copy);
    return code < 0 ? code : decode(&bytes, ret_now, err);
}
