/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/allocation.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/slurm/gres.h"
#include "io/log.h"

enum {
    NEW_MS = 5000,         /* until the wishes of waiting jobs know of a node */
    SETTLE_MS = 1500,      /* between the report that a node is given back and its end */
    PAUSE_MS_MIN = 5000,   /* after a request that came to nothing */
    PAUSE_MS_MAX = 300000, /* and after many */
    UNWANTED_S = 30,       /* a request that waits without need is withdrawn */
};

/* ---- the mark ---- */

bool allocation_mark_read(const char *instance, const char *comment, uint64_t *ret_serial)
{
    AUTO_FREE char *start = mem_printf("tarn=%s allocation=", instance);

    return comment && string_starts(comment, start) &&
           sscanf(comment + strlen(start), "%" SCNx64, ret_serial) == 1;
}

/* ---- the table ---- */

struct allocation *allocations_find(const struct allocations *allocations, uint64_t serial)
{
    for (size_t i = 0; i < allocations->all.count; i++) {
        if (allocations->all.items[i]->serial == serial)
            return allocations->all.items[i];
    }
    return NULL;
}

struct allocation *allocations_on(const struct allocations *allocations, const char *node)
{
    for (size_t i = 0; i < allocations->all.count; i++) {
        struct allocation *allocation = allocations->all.items[i];
        if (allocation->phase == SLURM_RUNS && allocation->over_at == 0 &&
            string_equal(allocation->node, node))
            return allocation;
    }
    return NULL;
}

static struct allocation *add(struct allocations *allocations, uint64_t serial)
{
    struct allocation *allocation = mem_zero(1, sizeof(*allocation));

    allocation->serial = serial;
    list_add(&allocations->all, allocation);
    return allocation;
}

void allocation_remove(struct allocations *allocations, struct allocation *allocation)
{
    for (size_t i = 0; i < allocations->all.count; i++) {
        if (allocations->all.items[i] == allocation)
            list_remove(&allocations->all, i);
    }
    free(allocation->node);
    free(allocation->kind);
    free(allocation);
}

/* After each one that came to nothing the next request waits longer. */
static void pause_requests(struct allocations *allocations, uint64_t now)
{
    uint64_t pause = allocations->pause_ms * 2;

    allocations->refused_at = now;
    allocations->pause_ms = pause < PAUSE_MS_MIN   ? PAUSE_MS_MIN
                            : pause > PAUSE_MS_MAX ? PAUSE_MS_MAX
                                                   : pause;
}

void allocations_refused(struct allocations *allocations, uint64_t serial, const char *words,
                         uint64_t now)
{
    struct allocation *allocation = allocations_find(allocations, serial);

    log_line(LOG_WARNING, "Slurm refuses an allocation reason='%s'", words);
    snprintf(allocations->refusal, sizeof(allocations->refusal), "%s", words);
    if (allocation)
        allocation_remove(allocations, allocation);
    pause_requests(allocations, now);
}

/* ---- what Slurm says ---- */

static const char *end_words(const struct slurm_job *job)
{
    if (job->end == SLURM_CANCELLED)
        return "was cancelled";
    if (job->end == SLURM_TIME_LIMIT)
        return "reached its time limit";
    if (job->reason)
        return job->reason;
    return job->end == SLURM_OUT_OF_MEMORY ? "ran out of memory" : "ended";
}

static void end(struct allocations *allocations, struct allocation *allocation, const char *words,
                uint64_t now)
{
    snprintf(allocation->reason, sizeof(allocation->reason), "the Slurm allocation of its node %s",
             words);
    allocation->over_at = now;
    if (allocation->first_ready_at == 0 && !allocation->is_cancelled) {
        snprintf(allocations->refusal, sizeof(allocations->refusal), "%s", allocation->reason);
        pause_requests(allocations, now);
    }
    if (!allocation->is_cancelled)
        log_line(LOG_NOTICE, "an allocation is over id=%" PRIu32 " node=%s reason='%s'",
                 allocation->id, allocation->node ? allocation->node : "", words);
}

static bool note(struct allocations *allocations, struct allocation *allocation,
                 const struct slurm_job *job, uint64_t now)
{
    bool was_completing = allocation->is_completing;
    enum slurm_phase before = allocation->phase;

    allocation->id = job->id;
    allocation->phase = job->phase;
    allocation->is_completing = job->is_completing;
    allocation->waits = job->waits;
    allocation->started_at = job->started_at;
    allocation->ends_at = job->ends_at;
    if (job->parts.count > 0 && job->phase == SLURM_RUNS) {
        free(allocation->node);
        allocation->node = mem_string(job->parts.items[0].node);
    }
    if (job->phase == SLURM_IS_OVER)
        end(allocations, allocation, end_words(job), now);
    return before != allocation->phase || was_completing != allocation->is_completing;
}

bool allocations_note(struct allocations *allocations, const struct slurm_jobs *jobs, uint64_t now)
{
    AUTO_FREE uint64_t *seen = mem_zero(jobs->all.count + 1, sizeof(*seen));
    size_t seen_count = 0;
    bool is_changed = false;

    allocations->has_listing = true;
    for (size_t i = 0; i < jobs->all.count; i++) {
        const struct slurm_job *job = &jobs->all.items[i];
        uint64_t serial;
        if (!allocation_mark_read(allocations->instance, job->comment, &serial))
            continue;
        struct allocation *allocation = allocations_find(allocations, serial);
        if (!allocation && job->phase != SLURM_IS_OVER)
            allocation = add(allocations, serial);
        if (!allocation)
            continue;
        seen[seen_count++] = serial;
        if (allocation->over_at == 0)
            is_changed |= note(allocations, allocation, job, now);
    }
    for (size_t i = 0; i < allocations->all.count; i++) {
        struct allocation *allocation = allocations->all.items[i];
        bool is_seen = allocation->id == 0 || allocation->over_at > 0;
        for (size_t k = 0; k < seen_count && !is_seen; k++)
            is_seen = seen[k] == allocation->serial;
        if (!is_seen)
            end(allocations, allocation, "is gone: Slurm has no record of it any more", now);
        is_changed |= !is_seen;
    }
    return is_changed;
}

/* ---- requests ---- */

char *allocation_kind(const struct slurm_node *node)
{
    return mem_printf("%s %s %" PRId64 " %" PRId64, node->gres ? node->gres : "",
                      node->features ? node->features : "", node->cpu_milli, node->memory_mib);
}

/* All GPUs of the node. */
static char *gres_of_kind(const char *gres)
{
    AUTO_FREE char(*models)[GRES_MODEL_SIZE] = NULL;
    uint32_t count = gres_models(gres, &models);
    struct text text = { 0 };

    for (uint32_t i = 0, alike; i < count; i += alike) {
        for (alike = 1; i + alike < count && strcmp(models[i], models[i + alike]) == 0;)
            alike++;
        bool is_typed = strcmp(models[i], "gpu") != 0;
        text_printf(&text, "%sgpu%s%s:%" PRIu32, i > 0 ? "," : "", is_typed ? ":" : "",
                    is_typed ? models[i] : "", alike);
    }
    if (text.length == 0)
        return NULL;
    return text_take(&text);
}

static bool is_of_kind(const struct slurm_node *node, const char *kind)
{
    AUTO_FREE char *own = allocation_kind(node);

    return strcmp(own, kind) == 0;
}

/* Nodes of other kinds, and those that could not be used. */
static char *others_than(const struct slurm_nodes *nodes, const char *kind)
{
    struct text names = { 0 };

    for (size_t i = 0; i < nodes->all.count; i++) {
        const struct slurm_node *node = &nodes->all.items[i];
        if (node->is_outside || is_of_kind(node, kind))
            continue;
        text_printf(&names, "%s%s", names.length > 0 ? "," : "", node->name);
    }
    if (names.length == 0)
        return NULL;
    return text_take(&names);
}

/* The relay is started again if it was killed: it finds its jobs. */
static char *script_of(const struct allocations *allocations)
{
    return mem_printf("#!/bin/sh\n"
                      "# holds this node for tarn; tarn gives it back\n"
                      "trap 'over=1' TERM\n"
                      "while :; do\n"
                      "    '%s/tarn-relay' serve '%s' '%s/tarn-shim' && exit 0\n"
                      "    [ -n \"$over\" ] && exit 1\n"
                      "    sleep 1\n"
                      "done\n",
                      allocations->folder, allocations->instance, allocations->folder);
}

/* In a file name pattern of Slurm; its %N is the node. */
static char *log_of(const struct allocations *allocations)
{
    struct text path = { 0 };

    for (const char *at = allocations->folder; *at; at++) {
        if (*at == '%')
            text_add_char(&path, '%');
        text_add_char(&path, *at);
    }
    text_add(&path, "/%N.log");
    return text_take(&path);
}

static char *word_or_null(const char *word)
{
    return word[0] ? mem_string(word) : NULL;
}

static const struct slurm_node *node_like(const struct slurm_nodes *nodes, const char *kind)
{
    for (size_t i = 0; i < nodes->all.count; i++) {
        if (is_of_kind(&nodes->all.items[i], kind))
            return &nodes->all.items[i];
    }
    return NULL;
}

static void request(struct allocations *allocations, const struct slurm_nodes *nodes,
                    const char *kind, const char *node, uint64_t now)
{
    const struct watch_rules *rules = allocations->rules;
    const struct slurm_node *like = node_like(nodes, kind);
    uint64_t serial;

    if (!like || getrandom(&serial, sizeof(serial), 0) != sizeof(serial))
        return;
    struct allocation *allocation = add(allocations, serial);
    struct slurm_order *order = mem_zero(1, sizeof(*order));
    allocation->kind = mem_string(kind);
    allocation->requested_at = now;
    allocation->node = mem_string(node);
    allocation->is_successor = node != NULL;
    order->name = mem_string("tarn");
    order->comment = mem_printf("tarn=%s allocation=%016" PRIx64, allocations->instance, serial);
    order->partition = word_or_null(rules->slurm_partition);
    order->account = word_or_null(rules->slurm_account);
    struct slurm_component component = { .nodes = mem_string(node),
                                         .excluded_nodes = node ? NULL : others_than(nodes, kind),
                                         .gres = gres_of_kind(like->gres),
                                         .node_count = 1,
                                         .task_count = 1 };
    list_add(&order->components, component);
    order->script = script_of(allocations);
    order->cwd = mem_string("/");
    order->output = log_of(allocations);
    order->input = mem_string("/dev/null");
    order->env = mem_zero(2, sizeof(char *));
    order->env[order->env_count++] = mem_string("PATH=/usr/local/bin:/usr/bin:/bin");
    order->limit_min = (uint32_t)(rules->slurm_limit / USEC_PER_MIN);
    order->append = order->is_whole = true;
    order->uid = geteuid();
    order->gid = getegid();
    slurm_worker_submit(allocations->worker, serial, 0, order, false);
}

static void cancel(struct allocations *allocations, struct allocation *allocation)
{
    if (allocation->is_cancelled || allocation->id == 0)
        return;
    allocation->is_cancelled = true;
    slurm_worker_signal(allocations->worker, allocation->id, SIGKILL, false);
}

/* ---- what is needed ---- */

static uint32_t count_all(const struct allocations *allocations)
{
    uint32_t count = 0;

    for (size_t i = 0; i < allocations->all.count; i++) {
        const struct allocation *allocation = allocations->all.items[i];
        count += allocation->over_at == 0 && !allocation->is_successor;
    }
    return count;
}

uint32_t allocations_left(const struct allocations *allocations)
{
    uint32_t count = count_all(allocations);
    uint32_t most = (uint32_t)allocations->rules->slurm_nodes_max;

    return most > count ? most - count : 0;
}

static bool may_request(const struct allocations *allocations, uint64_t now)
{
    return allocations->refused_at == 0 || now - allocations->refused_at >= allocations->pause_ms;
}

/* Requested, but not there yet, or so new that the wishes do not know of it. kind: NULL: any. */
static uint32_t count_coming(const struct allocations *allocations, const char *kind, bool is_new,
                             uint64_t now)
{
    uint32_t count = 0;

    for (size_t i = 0; i < allocations->all.count; i++) {
        const struct allocation *allocation = allocations->all.items[i];
        if (allocation->over_at > 0 || allocation->is_successor || allocation->is_cancelled)
            continue;
        if (allocation->first_ready_at > 0 && now - allocation->first_ready_at >= NEW_MS)
            continue;
        if (kind && allocation->kind && strcmp(allocation->kind, kind) != 0)
            continue;
        count += !is_new || now - allocation->requested_at < NEW_MS;
    }
    return count;
}

/* Which kinds the wishes name changes with what is on call, so a request that is just made may be
 * for another kind than they name now: all wishes together do not exceed all that is new. */
static void fill(struct allocations *allocations, const struct slurm_nodes *nodes,
                 const allocation_wishes *wishes, uint64_t now)
{
    uint32_t wanted = 0, coming = count_coming(allocations, NULL, true, now);

    for (size_t i = 0; i < wishes->count; i++)
        wanted += wishes->items[i].count;
    uint32_t left = wanted > coming ? wanted - coming : 0;
    for (size_t i = 0; i < wishes->count; i++) {
        const struct allocation_wish *wish = &wishes->items[i];
        uint32_t own = count_coming(allocations, wish->kind, false, now);
        uint32_t count = wish->count > own ? wish->count - own : 0;
        for (; count > 0 && left > 0 && allocations_left(allocations) > 0; count--, left--)
            request(allocations, nodes, wish->kind, NULL, now);
    }
}

static uint32_t count_requested(const struct allocations *allocations, const char *kind)
{
    uint32_t count = 0;

    for (size_t i = 0; i < allocations->all.count; i++) {
        const struct allocation *allocation = allocations->all.items[i];
        count += allocation->over_at == 0 && !allocation->is_successor &&
                 string_equal(allocation->kind, kind);
    }
    return count;
}

static int compare_kinds(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The kind of which most usable nodes are not requested yet; the first of these by name. */
static char *usual_kind(const struct allocations *allocations, const struct slurm_nodes *nodes,
                        uint32_t *ret_left)
{
    AUTO_FREE char **kinds = mem_zero(nodes->all.count + 1, sizeof(*kinds));
    size_t count = 0;
    char *best = NULL;

    *ret_left = 0;
    LIST_EACH (const struct slurm_node, node, &nodes->all) {
        if (!node->is_outside && !node->is_down)
            kinds[count++] = allocation_kind(node);
    }
    qsort(kinds, count, sizeof(*kinds), compare_kinds);
    for (size_t i = 0, same; i < count; i += same) {
        for (same = 1; i + same < count && strcmp(kinds[i], kinds[i + same]) == 0;)
            same++;
        uint32_t requested = count_requested(allocations, kinds[i]);
        if (same <= requested || same - requested <= *ret_left)
            continue;
        free(best);
        best = mem_string(kinds[i]);
        *ret_left = (uint32_t)same - requested;
    }
    for (size_t i = 0; i < count; i++)
        free(kinds[i]);
    return best;
}

static void keep_least(struct allocations *allocations, const struct slurm_nodes *nodes,
                       uint64_t now)
{
    uint32_t count = count_all(allocations), least = allocations->rules->slurm_nodes_min, left;

    while (count < least) {
        AUTO_FREE char *kind = usual_kind(allocations, nodes, &left);
        for (; left > 0 && count < least && allocations_left(allocations) > 0; left--, count++)
            request(allocations, nodes, kind, NULL, now);
        if (!kind || left > 0)
            return;
    }
}

/* ---- its end ---- */

static bool has_successor(const struct allocations *allocations, const struct allocation *of)
{
    for (size_t i = 0; i < allocations->all.count; i++) {
        const struct allocation *allocation = allocations->all.items[i];
        if (allocation != of && allocation->over_at == 0 &&
            string_equal(allocation->node, of->node))
            return true;
    }
    return false;
}

/* Near its time limit it gets no new jobs. Its successor on the same node waits in Slurm's queue
 * until this one has ended. */
static bool renew(struct allocations *allocations, const struct slurm_nodes *nodes,
                  struct allocation *allocation, bool is_needed, uint64_t now_ms)
{
    int64_t now = (int64_t)time(NULL);
    int64_t lead = allocations->rules->slurm_renew / USEC_PER_SEC;
    int64_t length = allocation->ends_at - allocation->started_at;

    if (allocation->is_leaving || allocation->ends_at == 0 || !allocation->node)
        return false;
    if (lead > length / 4)
        lead = length / 4;
    if (allocation->ends_at - now > lead)
        return false;
    allocation->is_leaving = true;
    for (size_t i = 0; i < nodes->all.count && is_needed; i++) {
        const struct slurm_node *node = &nodes->all.items[i];
        AUTO_FREE char *kind = allocation_kind(node);
        if (strcmp(node->name, allocation->node) == 0 && !has_successor(allocations, allocation))
            request(allocations, nodes, kind, node->name, now_ms);
    }
    return true;
}

/* The node is first reported as down, so that no job is on its way there when it is given back. */
static bool give_back(struct allocations *allocations, struct allocation *allocation,
                      bool is_surplus, uint64_t now)
{
    uint64_t idle_ms = (uint64_t)(allocations->rules->slurm_idle / USEC_PER_MS);
    bool is_idle =
        allocation->is_ready && allocation->idle_since > 0 &&
        (allocation->is_leaving || (is_surplus && now - allocation->idle_since >= idle_ms));

    if (allocation->given_back_at > 0 && allocation->busy > 0) {
        allocation->given_back_at = 0; /* a job was on its way */
        return true;
    }
    if (allocation->given_back_at > 0 && now - allocation->given_back_at >= SETTLE_MS)
        cancel(allocations, allocation);
    if (!is_idle || allocation->given_back_at > 0)
        return false;
    allocation->given_back_at = now;
    return true;
}

/* A successor takes the place of what it follows. */
static void promote(struct allocations *allocations, struct allocation *successor)
{
    for (size_t i = 0; i < allocations->all.count; i++) {
        const struct allocation *other = allocations->all.items[i];
        if (other != successor && other->over_at == 0 && string_equal(other->node, successor->node))
            return;
    }
    successor->is_successor = false;
}

bool allocations_tend(struct allocations *allocations, const struct slurm_nodes *nodes,
                      const allocation_wishes *wishes, uint64_t now)
{
    uint32_t kept = 0;
    bool is_changed = false, is_wanted = false;

    for (size_t i = 0; i < wishes->count; i++)
        is_wanted |= wishes->items[i].count > 0;
    for (size_t i = 0; i < allocations->all.count; i++) {
        const struct allocation *allocation = allocations->all.items[i];
        kept +=
            allocation->over_at == 0 && allocation->given_back_at == 0 && !allocation->is_successor;
    }
    for (size_t i = 0; i < allocations->all.count; i++) {
        struct allocation *allocation = allocations->all.items[i];
        bool is_surplus = kept > allocations->rules->slurm_nodes_min;
        if (allocation->over_at > 0)
            continue;
        if (allocation->is_successor)
            promote(allocations, allocation);
        if (allocation->phase == SLURM_RUNS) {
            bool is_needed = allocation->busy > 0 || is_wanted || !is_surplus;
            is_changed |= renew(allocations, nodes, allocation, is_needed, now);
            if (give_back(allocations, allocation, is_surplus, now)) {
                is_changed = true;
                kept -= allocation->given_back_at > 0;
            }
        } else if (!is_wanted && is_surplus && !allocation->is_successor) {
            allocation->idle_since = allocation->idle_since > 0 ? allocation->idle_since : now;
            if (now - allocation->idle_since >= UNWANTED_S * UINT64_C(1000))
                cancel(allocations, allocation);
        } else {
            allocation->idle_since = 0;
        }
    }
    if (!allocations->has_listing || nodes->all.count == 0 || !may_request(allocations, now))
        return is_changed;
    fill(allocations, nodes, wishes, now);
    keep_least(allocations, nodes, now);
    return is_changed;
}
