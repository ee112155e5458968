/* SPDX-License-Identifier: Apache-2.0 */
#include "io/workers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "io/log.h"

#define MS UINT64_C(1000000) /* of uv_hrtime() */

enum {
    STACK_BYTES = 1 << 20, /* modules of name services may need much */
    IDLE_MS = 10000,       /* after that a further thread ends */
    STUCK_MS = 1000,       /* at the stop, what takes longer is left to itself */
};

/* A list in the order of arrival. */
struct work_list {
    struct work_item *first;
    unsigned count;
};

struct workers {
    uv_loop_t *loop;
    uv_async_t over_async;
    uv_mutex_t mutex;
    uv_cond_t arrived, ended;
    struct work_list queued, running, over;
    unsigned threads, idle;
    unsigned unsettled; /* added, and not done yet */
    bool is_stopping, lacks_threads;
};

static void append(struct work_list *list, struct work_item *item)
{
    struct work_item **at = &list->first;

    while (*at)
        at = &(*at)->next;
    item->next = NULL;
    *at = item;
    list->count++;
}

static void take_out(struct work_list *list, const struct work_item *item)
{
    struct work_item **at = &list->first;

    while (*at != item)
        at = &(*at)->next;
    *at = item->next;
    list->count--;
}

static bool has_room(const struct workers *workers, const struct work_item *item)
{
    unsigned count = 0;

    for (const struct work_item *at = workers->running.first; at; at = at->next)
        count += at->kind == item->kind && at->number == item->number;
    return count < WORKERS_LANE_MAX;
}

/* ---- in a thread ---- */

static struct work_item *take_next(struct workers *workers)
{
    struct work_item *item = workers->queued.first;

    while (item && !has_room(workers, item))
        item = item->next;
    if (!item)
        return NULL;
    take_out(&workers->queued, item);
    append(&workers->running, item);
    return item;
}

static void carry_out(struct workers *workers, struct work_item *item)
{
    uv_mutex_unlock(&workers->mutex);
    item->run(item);
    uv_mutex_lock(&workers->mutex);
    take_out(&workers->running, item);
    append(&workers->over, item);
    item->is_over = true;
    uv_cond_broadcast(&workers->ended);
    uv_async_send(&workers->over_async);
}

/* True: for long enough that a further thread is not needed any more. */
static bool is_idle_for_long(struct workers *workers)
{
    workers->idle++;
    int code = uv_cond_timedwait(&workers->arrived, &workers->mutex, IDLE_MS * MS);
    workers->idle--;
    return code == UV_ETIMEDOUT && workers->threads > WORKERS_FIRST && !workers->queued.first;
}

static void serve(void *user)
{
    struct workers *workers = user;

    uv_mutex_lock(&workers->mutex);
    for (bool is_over = false; !is_over;) {
        struct work_item *item = take_next(workers);
        if (item)
            carry_out(workers, item);
        else
            is_over = workers->is_stopping || is_idle_for_long(workers);
    }
    workers->threads--;
    uv_cond_broadcast(&workers->ended);
    uv_mutex_unlock(&workers->mutex);
}

/* ---- in the loop ---- */

/* Signals are for the loop. */
static int add_thread(struct workers *workers)
{
    uv_thread_options_t options = { .flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = STACK_BYTES };
    uv_thread_t thread;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = uv_thread_create_ex(&thread, &options, serve, workers);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0) {
        pthread_detach(thread);
        workers->threads++;
    }
    return code;
}

static unsigned count_ready(const struct workers *workers)
{
    unsigned count = 0;

    for (const struct work_item *at = workers->queued.first; at; at = at->next)
        count += has_room(workers, at);
    return count;
}

/* Those that exist may all be stuck: what can begin now needs a thread that waits for it. */
static void rouse(struct workers *workers)
{
    unsigned ready = count_ready(workers);

    if (ready > workers->idle && workers->threads < WORKERS_MAX) {
        bool lacks = add_thread(workers) < 0;
        if (lacks && !workers->lacks_threads)
            log_line(LOG_WARNING,
                     "no further thread can be created: %u threads do the work of all "
                     "users threads=%u",
                     workers->threads, workers->threads);
        workers->lacks_threads = lacks;
    }
    for (unsigned i = 0; i < ready; i++)
        uv_cond_signal(&workers->arrived);
}

static void settle(struct workers *workers)
{
    uv_mutex_lock(&workers->mutex);
    struct work_list over = workers->over;
    workers->over = (struct work_list){ 0 };
    workers->unsettled -= over.count;
    if (workers->queued.first)
        rouse(workers);
    uv_mutex_unlock(&workers->mutex);
    if (workers->unsettled == 0)
        uv_unref((uv_handle_t *)&workers->over_async);
    for (struct work_item *item = over.first, *next; item; item = next) {
        next = item->next;
        item->done(item);
    }
}

static void on_over(uv_async_t *async)
{
    settle(async->data);
}

static void add(struct workers *workers, struct work_item *item)
{
    item->began = uv_hrtime();
    item->is_over = false;
    append(&workers->queued, item);
    workers->unsettled++;
    uv_ref((uv_handle_t *)&workers->over_async);
    rouse(workers);
}

void workers_add(struct workers *workers, struct work_item *item)
{
    uv_mutex_lock(&workers->mutex);
    add(workers, item);
    uv_mutex_unlock(&workers->mutex);
}

bool workers_wait(struct workers *workers, struct work_item *item, unsigned timeout_ms)
{
    uint64_t end = uv_hrtime() + timeout_ms * MS;

    uv_mutex_lock(&workers->mutex);
    add(workers, item);
    for (uint64_t now = uv_hrtime(); !item->is_over && now < end; now = uv_hrtime())
        uv_cond_timedwait(&workers->ended, &workers->mutex, end - now);
    bool is_over = item->is_over;
    uv_mutex_unlock(&workers->mutex);
    return is_over;
}

static uint64_t oldest(const struct work_list *list, enum work_kind kind, uint64_t before)
{
    for (const struct work_item *at = list->first; at; at = at->next) {
        if (at->kind == kind && at->began < before)
            before = at->began;
    }
    return before;
}

uint64_t workers_age_ms(struct workers *workers, enum work_kind kind)
{
    uint64_t now = uv_hrtime();

    uv_mutex_lock(&workers->mutex);
    uint64_t began = oldest(&workers->queued, kind, oldest(&workers->running, kind, now));
    uv_mutex_unlock(&workers->mutex);
    return (now - began) / MS;
}

static int create_threads(struct workers *workers, struct error *err)
{
    struct rlimit limit = { .rlim_cur = 0 };
    int code = 0;

    uv_mutex_lock(&workers->mutex);
    while (code == 0 && workers->threads < WORKERS_FIRST)
        code = add_thread(workers);
    unsigned count = workers->threads;
    uv_mutex_unlock(&workers->mutex);
    if (code == 0)
        return 0;
    getrlimit(RLIMIT_NPROC, &limit);
    return error_set(err, code,
                     "threads: %u of %d can be created: %s; a limit of processes is too low "
                     "(ulimit -u: %lld, TasksMax= of the service, pids.max of its control group)",
                     count, WORKERS_FIRST, uv_strerror(code), (long long)limit.rlim_cur);
}

int workers_start(uv_loop_t *loop, struct workers **ret, struct error *err)
{
    struct workers *workers = mem_zero(1, sizeof(*workers));

    workers->loop = loop;
    uv_mutex_init(&workers->mutex);
    uv_cond_init(&workers->arrived);
    uv_cond_init(&workers->ended);
    uv_async_init(loop, &workers->over_async, on_over);
    uv_unref((uv_handle_t *)&workers->over_async);
    workers->over_async.data = workers;
    *ret = workers;
    return create_threads(workers, err);
}

/* What a stop waits for: all that a driver does, and the rest unless it is stuck. */
static bool is_awaited(const struct work_item *item, uint64_t now)
{
    return item->kind == WORK_DRIVER || now - item->began < STUCK_MS * MS;
}

/* Also that the threads that have nothing to do are gone. */
static bool has_awaited(const struct workers *workers)
{
    uint64_t now = uv_hrtime();
    bool is_any = workers->threads > 0 && !workers->running.first;

    for (const struct work_item *at = workers->running.first; at; at = at->next)
        is_any |= is_awaited(at, now);
    for (const struct work_item *at = workers->queued.first; at; at = at->next)
        is_any |= is_awaited(at, now);
    return is_any;
}

static void on_closed(uv_handle_t *handle)
{
    struct workers *workers = handle->data;

    uv_mutex_lock(&workers->mutex);
    bool is_empty = workers->threads == 0;
    uv_mutex_unlock(&workers->mutex);
    if (!is_empty)
        return; /* threads that are stuck still refer to it; the process ends */
    uv_cond_destroy(&workers->arrived);
    uv_cond_destroy(&workers->ended);
    uv_mutex_destroy(&workers->mutex);
    free(workers);
}

/* What is done may add work that waited for it: a server ends after the program that used it. */
static bool finish_awaited(struct workers *workers)
{
    uv_mutex_lock(&workers->mutex);
    while (has_awaited(workers))
        uv_cond_timedwait(&workers->ended, &workers->mutex, 50 * MS);
    uv_mutex_unlock(&workers->mutex);
    settle(workers);
    uv_mutex_lock(&workers->mutex);
    bool is_over = !has_awaited(workers);
    uv_mutex_unlock(&workers->mutex);
    return is_over;
}

void workers_stop(struct workers *workers)
{
    if (!workers)
        return;
    uv_mutex_lock(&workers->mutex);
    workers->is_stopping = true;
    uv_cond_broadcast(&workers->arrived);
    uv_mutex_unlock(&workers->mutex);
    while (!finish_awaited(workers))
        ;
    uv_close((uv_handle_t *)&workers->over_async, on_closed);
}
