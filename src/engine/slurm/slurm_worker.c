/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/slurm/slurm_account.h"
#include "engine/slurm/slurm_order.h"
#include "io/log.h"

/* The jobs each second; sooner while one is about to start, and for a while after a submission, so
 * that what ends quickly makes room quickly, but for a part of the time only. */
enum {
    JOBS_EVERY_MS = 1000,
    SOON_MS = 50,
    SOON_FOR_MS = 3000,
    LISTING_PART = 2, /* a longer listing is asked for less often */
    LISTINGS = 3,     /* the shortest of so many: one may wait long for slurmctld to start jobs */
    WHOLE_EVERY_MS = 30000, /* also without a change: begin times come */
    NODES_EVERY_MS = 5000,
    NODES_SOON_MS = 1000,
    BARRED_EVERY_MS = 5000,
    LATE_MS = 2000, /* an answer that takes longer is missed */
};

struct request {
    uint64_t job;
    uint32_t attempt, id;
    struct slurm_order *order;
    char *adopted, *comment;    /* adopted: it is held with the comment, or without it cancelled */
    char *node, *mark, *reason; /* node: it is drained, or without a reason resumed */
    /* else a signal; if it is 0, a question to the accounting */
    int signal;
    bool has_steps;
    bool is_unsure;    /* it may have been submitted */
    bool is_withdrawn; /* the order is dropped; without one: drop that of the attempt */
    int64_t since_s;   /* of the question */
};

static void request_release(struct request *request)
{
    slurm_order_destroy(request->order);
    free(request->adopted);
    free(request->comment);
    free(request->node);
    free(request->mark);
    free(request->reason);
}

#define MS UINT64_C(1000000)

/* uv_hrtime() */
struct worker_times {
    uint64_t due, nodes_due; /* the next looks */
    uint64_t submitted;      /* the last submission */
    uint64_t took[LISTINGS]; /* the last looks, the latest first */
};

struct slurm_worker {
    uv_thread_t thread;
    uv_mutex_t mutex;
    uv_cond_t cond;
    uv_async_t async;
    void (*on_news)(void *user, struct slurm_news *news);
    void *user;
    /* with the mutex */
    LIST(struct request) requests;
    LIST(struct slurm_news) news;
    char *partition, *account;
    uint64_t asked; /* uv_hrtime() of the request in progress; 0: none */
    bool is_ending, is_hasty, is_changed;
    /* of the thread */
    LIST(struct request) unanswered, barred;
    uint64_t barred_due;
    int64_t since;
    uint64_t listed;     /* uv_hrtime() of the last listing */
    uint64_t taken_away; /* the sum of their numbers in the last listing */
    char problem[ERROR_TEXT_SIZE], nodes_problem[ERROR_TEXT_SIZE];
};

static void tell(struct slurm_worker *worker, const struct slurm_news *news)
{
    uv_mutex_lock(&worker->mutex);
    list_add(&worker->news, *news);
    uv_mutex_unlock(&worker->mutex);
    uv_async_send(&worker->async);
}

static void tell_change(struct slurm_worker *worker, enum slurm_news_kind kind,
                        char known[ERROR_TEXT_SIZE], const char *words, int code)
{
    struct slurm_news news = { .kind = kind, .has_no_partition = code == -ENOENT };

    if (strcmp(known, words) == 0)
        return;
    snprintf(known, ERROR_TEXT_SIZE, "%s", words);
    snprintf(news.words, sizeof(news.words), "%s", words);
    tell(worker, &news);
}

static void tell_problem(struct slurm_worker *worker, const char *words)
{
    tell_change(worker, SLURM_NEWS_PROBLEM, worker->problem, words, 0);
}

/* ---- in the thread ---- */

static void tell_submitted(struct slurm_worker *worker, const struct request *request, uint32_t id)
{
    struct slurm_news news = {
        .kind = SLURM_NEWS_SUBMITTED, .job = request->job, .attempt = request->attempt, .id = id
    };

    tell(worker, &news);
}

static void look_at_nodes(struct slurm_worker *worker)
{
    struct slurm_news news = { .kind = SLURM_NEWS_NODES };
    struct error err;

    uv_mutex_lock(&worker->mutex);
    AUTO_FREE char *partition = mem_string(worker->partition);
    uv_mutex_unlock(&worker->mutex);
    int code = slurm_api_nodes(partition, &news.nodes, &err);
    tell_change(worker, SLURM_NEWS_NODES_PROBLEM, worker->nodes_problem, code < 0 ? err.text : "",
                code);
    if (code < 0)
        return;
    tell(worker, &news);
}

static void set_word(char **word, const char *value)
{
    free(*word);
    *word = value[0] ? mem_string(value) : NULL;
}

/* Those of the configuration now: it may have changed since the order was made. */
static void use_settings(struct slurm_worker *worker, struct slurm_order *order)
{
    if (order->adopted)
        return;
    uv_mutex_lock(&worker->mutex);
    set_word(&order->partition, worker->partition);
    set_word(&order->account, worker->account);
    uv_mutex_unlock(&worker->mutex);
}

static void refuse(struct slurm_worker *worker, struct request *request, enum slurm_news_kind kind,
                   const char *words, bool is_gone)
{
    struct slurm_news news = {
        .kind = kind, .job = request->job, .attempt = request->attempt, .is_gone = is_gone
    };

    snprintf(news.words, sizeof(news.words), "%s", words);
    tell(worker, &news);
    if (kind == SLURM_NEWS_REFUSED)
        slurm_order_destroy(request->order);
}

/* The configuration is wrong, not the job. */
static void bar(struct slurm_worker *worker, struct request *request, const struct error *err)
{
    refuse(worker, request, SLURM_NEWS_BARRED, err->text, false);
    list_add(&worker->barred, *request);
}

static void submit(struct slurm_worker *worker, struct request *request)
{
    struct error err;
    uint32_t id;

    if (request->is_unsure) { /* until it was looked for */
        list_add(&worker->unanswered, *request);
        return;
    }
    if (request->is_withdrawn) {
        refuse(worker, request, SLURM_NEWS_REFUSED, "stopped before it was submitted", false);
        return;
    }
    use_settings(worker, request->order);
    int code = slurm_api_submit(request->order, &id, &err);
    switch (code) {
    case 0:
        tell_submitted(worker, request, id);
        slurm_order_destroy(request->order);
        break;
    case -ENODEV:
        look_at_nodes(worker);
        bar(worker, request, &err);
        break;
    case -EACCES:
        bar(worker, request, &err);
        break;
    case -EAGAIN:
        tell_problem(worker, err.text);
        request->is_unsure = true;
        list_add(&worker->unanswered, *request);
        break;
    default:
        refuse(worker, request, SLURM_NEWS_REFUSED, err.text, code == -ESRCH);
        break;
    }
}

static struct request *find_attempt(struct request *requests, size_t count,
                                    const struct request *wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (requests[i].order && requests[i].job == wanted->job &&
            requests[i].attempt == wanted->attempt)
            return &requests[i];
    }
    return NULL;
}

static void withdraw(struct slurm_worker *worker, const struct request *request)
{
    struct request *found =
        find_attempt(worker->unanswered.items, worker->unanswered.count, request);

    if (found)
        found->is_withdrawn = true;
    found = find_attempt(worker->barred.items, worker->barred.count, request);
    if (!found)
        return;
    found->is_withdrawn = true;
    submit(worker, found);
    list_remove(&worker->barred, (size_t)(found - worker->barred.items));
}

/* A signal without an answer is repeated. */
static void send_signal(struct slurm_worker *worker, struct request *request)
{
    struct error err;

    int code = slurm_api_signal(request->id, request->signal, request->has_steps, &err);
    if (code == -EAGAIN) {
        tell_problem(worker, err.text);
        list_add(&worker->unanswered, *request);
    }
}

static uint32_t find_order(const struct slurm_jobs *jobs, const struct slurm_order *order)
{
    for (size_t i = 0; i < jobs->all.count; i++) {
        const char *comment = jobs->all.items[i].comment;
        if (comment && strcmp(comment, order->comment) == 0)
            return jobs->all.items[i].id;
    }
    return 0;
}

static void look_up(struct slurm_worker *worker, const struct request *request)
{
    struct slurm_news news = { .kind = SLURM_NEWS_ENDED };
    struct error err;

    if (slurm_account_jobs(request->since_s, &news.jobs, &err) < 0)
        snprintf(news.words, sizeof(news.words), "%s", err.text);
    tell(worker, &news);
}

static void change_adopted(struct slurm_worker *worker, struct request *request)
{
    struct error err;

    int code = request->comment ? slurm_api_hold(request->adopted, request->comment, &err)
                                : slurm_api_cancel(request->adopted, &err);
    if (code == -EAGAIN) {
        tell_problem(worker, err.text);
        if (!request->comment) {
            list_add(&worker->unanswered, *request);
            return;
        }
    }
    free(request->adopted);
    free(request->comment);
}

static void drain(struct slurm_worker *worker, struct request *request)
{
    struct error err;

    for (size_t i = worker->unanswered.count; i-- > 0;) { /* this one replaces them */
        struct request *older = &worker->unanswered.items[i];
        if (!older->node || strcmp(older->node, request->node) != 0)
            continue;
        request_release(older);
        list_remove(&worker->unanswered, i);
    }
    int code = slurm_api_drain(request->node, request->mark, request->reason, &err);
    if (code == -EAGAIN) {
        tell_problem(worker, err.text);
        list_add(&worker->unanswered, *request);
        return;
    }
    if (code < 0)
        log_line(LOG_WARNING, "a node stays as it is in Slurm node=%s reason='%s'", request->node,
                 err.text);
    request_release(request);
}

static void handle(struct slurm_worker *worker, struct request *request)
{
    if (request->order)
        submit(worker, request);
    else if (request->is_withdrawn)
        withdraw(worker, request);
    else if (request->adopted)
        change_adopted(worker, request);
    else if (request->node)
        drain(worker, request);
    else if (request->signal)
        send_signal(worker, request);
    else
        look_up(worker, request);
}

/* After a listing of all jobs, which is told before anything that is submitted now. */
static void repeat_unanswered(struct slurm_worker *worker, struct slurm_news *news)
{
    LIST(struct request)
    again = { worker->unanswered.items, worker->unanswered.count, worker->unanswered.capacity };

    memset(&worker->unanswered, 0, sizeof(worker->unanswered));
    for (size_t i = 0; i < again.count; i++) {
        struct request *request = &again.items[i];
        request->is_unsure = false;
        if (request->order)
            request->id = find_order(&news->jobs, request->order);
    }
    tell(worker, news);
    for (size_t i = 0; i < again.count; i++) {
        struct request *request = &again.items[i];
        if (!request->order || request->id == 0) {
            handle(worker, request);
            continue;
        }
        tell_submitted(worker, request, request->id);
        slurm_order_destroy(request->order);
    }
    list_release(&again);
}

/* What the configuration, or that of Slurm, did not let through before. */
static void repeat_barred(struct slurm_worker *worker)
{
    LIST(struct request)
    again = { worker->barred.items, worker->barred.count, worker->barred.capacity };

    if (again.count == 0)
        return;
    memset(&worker->barred, 0, sizeof(worker->barred));
    LIST_EACH (struct request, request, &again)
        handle(worker, request);
    list_release(&again);
    worker->barred_due = uv_hrtime() + BARRED_EVERY_MS * MS;
}

static uint64_t sum_taken_away(const struct slurm_jobs *jobs)
{
    uint64_t sum = 0;

    LIST_EACH (const struct slurm_job, job, &jobs->all)
        if (job->phase == SLURM_IS_OVER && job->end == SLURM_TAKEN_AWAY)
            sum += job->id;
    return sum;
}

static void look_at_jobs(struct slurm_worker *worker)
{
    struct slurm_news news = { .kind = SLURM_NEWS_JOBS };
    struct error err;

    if (worker->unanswered.count > 0 || uv_hrtime() > worker->listed + WHOLE_EVERY_MS * MS)
        worker->since = 0;
    int code = slurm_api_jobs(&worker->since, &news.jobs, &err);
    if (code < 0) {
        tell_problem(worker, err.text);
        return;
    }
    tell_problem(worker, "");
    if (code == 0)
        return;
    worker->listed = uv_hrtime();
    uint64_t taken_away = sum_taken_away(&news.jobs);
    if (taken_away != worker->taken_away) /* tarn must not start it again on a node that failed */
        look_at_nodes(worker);
    worker->taken_away = taken_away;
    repeat_unanswered(worker, &news);
}

/* When to look at the jobs again, after a look that began then. */
static uint64_t next_look(struct worker_times *times, uint64_t began, bool is_hasty)
{
    uint64_t now = uv_hrtime(), shortest = now - began;

    memmove(&times->took[1], &times->took[0], sizeof(times->took) - sizeof(times->took[0]));
    times->took[0] = now - began;
    for (size_t i = 1; i < LISTINGS; i++)
        shortest = times->took[i] < shortest ? times->took[i] : shortest;
    uint64_t wait = shortest * LISTING_PART > SOON_MS * MS ? shortest * LISTING_PART : SOON_MS * MS;
    if (wait > JOBS_EVERY_MS * MS || (!is_hasty && now > times->submitted + SOON_FOR_MS * MS))
        wait = JOBS_EVERY_MS * MS;
    return now + wait;
}

/* Whether the settings are others than at the last look. */
static bool take_change(struct slurm_worker *worker)
{
    uv_mutex_lock(&worker->mutex);
    bool is_changed = worker->is_changed;
    worker->is_changed = false;
    uv_mutex_unlock(&worker->mutex);
    return is_changed;
}

static void look(struct slurm_worker *worker, struct worker_times *times, bool is_hasty)
{
    uint64_t now = uv_hrtime();
    bool is_changed = take_change(worker);

    look_at_jobs(worker);
    if (is_changed || now >= worker->barred_due)
        repeat_barred(worker);
    times->due = next_look(times, now, is_hasty);
    if (now < times->nodes_due && !is_changed)
        return;
    look_at_nodes(worker);
    times->nodes_due = uv_hrtime() + (is_hasty ? NODES_SOON_MS : NODES_EVERY_MS) * MS;
}

static void run(void *arg)
{
    struct slurm_worker *worker = arg;
    struct worker_times times = { 0 };

    uv_mutex_lock(&worker->mutex);
    while (!worker->is_ending) {
        uint64_t now = uv_hrtime();
        if (worker->requests.count > 0) {
            struct request request = worker->requests.items[0];
            list_remove_first(&worker->requests, 1);
            worker->asked = now;
            uv_mutex_unlock(&worker->mutex);
            if (request.order) {
                times.submitted = now;
                times.due = times.due < now + SOON_MS * MS ? times.due : now + SOON_MS * MS;
            }
            handle(worker, &request);
            uv_mutex_lock(&worker->mutex);
            worker->asked = 0;
        }
        if (now >= times.due) {
            bool is_hasty = worker->is_hasty;
            worker->asked = now;
            uv_mutex_unlock(&worker->mutex);
            look(worker, &times, is_hasty);
            uv_mutex_lock(&worker->mutex);
            worker->asked = 0;
        } else if (worker->requests.count == 0 && !worker->is_ending) {
            uv_cond_timedwait(&worker->cond, &worker->mutex, times.due - now);
        }
    }
    uv_mutex_unlock(&worker->mutex);
}

/* ---- in the thread of the loop ---- */

static void on_async(uv_async_t *async)
{
    struct slurm_worker *worker = async->data;

    uv_mutex_lock(&worker->mutex);
    LIST(struct slurm_news)
    news = { worker->news.items, worker->news.count, worker->news.capacity };
    memset(&worker->news, 0, sizeof(worker->news));
    uv_mutex_unlock(&worker->mutex);
    for (size_t i = 0; i < news.count; i++) {
        worker->on_news(worker->user, &news.items[i]);
        slurm_jobs_release(&news.items[i].jobs);
        slurm_nodes_release(&news.items[i].nodes);
    }
    list_release(&news);
}

static void add_request(struct slurm_worker *worker, struct request request)
{
    uv_mutex_lock(&worker->mutex);
    list_add(&worker->requests, request);
    uv_cond_signal(&worker->cond);
    uv_mutex_unlock(&worker->mutex);
}

void slurm_worker_submit(struct slurm_worker *worker, uint64_t job, uint32_t attempt,
                         struct slurm_order *order, bool is_unsure)
{
    add_request(
        worker,
        (struct request){ .job = job, .attempt = attempt, .order = order, .is_unsure = is_unsure });
}

void slurm_worker_withdraw(struct slurm_worker *worker, uint64_t job, uint32_t attempt)
{
    add_request(worker, (struct request){ .job = job, .attempt = attempt, .is_withdrawn = true });
}

void slurm_worker_look_up(struct slurm_worker *worker, int64_t since_s)
{
    add_request(worker, (struct request){ .since_s = since_s });
}

void slurm_worker_signal(struct slurm_worker *worker, uint32_t id, int signal, bool has_steps)
{
    add_request(worker, (struct request){ .id = id, .signal = signal, .has_steps = has_steps });
}

void slurm_worker_hold(struct slurm_worker *worker, const char *adopted, const char *comment)
{
    add_request(worker,
                (struct request){ .adopted = mem_string(adopted), .comment = mem_string(comment) });
}

void slurm_worker_cancel(struct slurm_worker *worker, const char *adopted)
{
    add_request(worker, (struct request){ .adopted = mem_string(adopted) });
}

void slurm_worker_hasten(struct slurm_worker *worker, bool is_hasty)
{
    uv_mutex_lock(&worker->mutex);
    worker->is_hasty = is_hasty;
    uv_mutex_unlock(&worker->mutex);
}

void slurm_worker_drain(struct slurm_worker *worker, const char *node, const char *mark,
                        const char *reason)
{
    add_request(worker, (struct request){ .node = mem_string(node),
                                          .mark = mem_string(mark),
                                          .reason = reason ? mem_string(reason) : NULL });
}

static bool change_word(char **word, const char *value)
{
    if (strcmp(*word, value) == 0)
        return false;
    free(*word);
    *word = mem_string(value);
    return true;
}

void slurm_worker_settings(struct slurm_worker *worker, const struct watch_rules *rules)
{
    uv_mutex_lock(&worker->mutex);
    worker->is_changed |= change_word(&worker->partition, rules->slurm_partition);
    worker->is_changed |= change_word(&worker->account, rules->slurm_account);
    uv_mutex_unlock(&worker->mutex);
}

unsigned slurm_worker_silence(struct slurm_worker *worker)
{
    uv_mutex_lock(&worker->mutex);
    uint64_t taken = worker->asked > 0 ? uv_hrtime() - worker->asked : 0;
    uv_mutex_unlock(&worker->mutex);
    return taken >= LATE_MS * MS ? (unsigned)(taken / (1000 * MS)) : 0;
}

int slurm_worker_create(uv_loop_t *loop, const struct watch_rules *rules,
                        void (*on_news)(void *user, struct slurm_news *news), void *user,
                        struct slurm_worker **ret, struct error *err)
{
    struct slurm_worker *worker = mem_zero(1, sizeof(*worker));

    worker->on_news = on_news;
    worker->user = user;
    worker->partition = mem_string(rules->slurm_partition);
    worker->account = mem_string(rules->slurm_account);
    worker->async.data = worker;
    uv_mutex_init(&worker->mutex);
    uv_cond_init(&worker->cond);
    uv_async_init(loop, &worker->async, on_async);
    int code = uv_thread_create(&worker->thread, run, worker);
    if (code < 0)
        return error_set(err, code, "engine slurm: no thread: %s", uv_strerror(code));
    *ret = worker;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void slurm_worker_destroy(struct slurm_worker *worker)
{
    uv_mutex_lock(&worker->mutex);
    worker->is_ending = true;
    uv_cond_signal(&worker->cond);
    uv_mutex_unlock(&worker->mutex);
    uv_thread_join(&worker->thread);
    LIST_EACH (struct request, request, &worker->requests)
        request_release(request);
    LIST_EACH (struct request, request, &worker->unanswered)
        request_release(request);
    LIST_EACH (struct request, request, &worker->barred)
        request_release(request);
    for (size_t i = 0; i < worker->news.count; i++) {
        slurm_jobs_release(&worker->news.items[i].jobs);
        slurm_nodes_release(&worker->news.items[i].nodes);
    }
    list_release(&worker->requests);
    list_release(&worker->unanswered);
    list_release(&worker->barred);
    list_release(&worker->news);
    free(worker->partition);
    free(worker->account);
    uv_mutex_destroy(&worker->mutex);
    uv_cond_destroy(&worker->cond);
    uv_close((uv_handle_t *)&worker->async, on_closed);
}
