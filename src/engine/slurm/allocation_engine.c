/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/allocation_engine.h"
#include "engine/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/exporter/node_readings.h"
#include "engine/slurm/allocation.h"
#include "engine/slurm/relay/relay_link.h"
#include "engine/slurm/slurm_devices.h"
#include "engine/slurm/slurm_meeting.h"
#include "engine/slurm/slurm_order.h"
#include "engine/slurm/slurm_worker.h"
#include "io/file.h"
#include "io/log.h"
#include "io/parts.h"

enum {
    TICK_MS = 100,
    HASTE_MS = 15000,
    RETRY_MS_MIN = 1000, /* of a connection */
    RETRY_MS_MAX = 15000,
    LAST_WORDS_MS = 5000, /* of the relay of an allocation that is over */
};

/* Before the end of an allocation its members are stopped, each with its grace and this. */
#define STOP_MARGIN (15 * USEC_PER_SEC)

struct member {
    struct member_id id;
    uint64_t serial;   /* of its allocation; 0: not known since a restart of the daemon */
    struct text start; /* the request, until it has started */
    char *node;        /* until its allocation is known; NULL: it is, or it was started before */
    usec_t grace;
    bool is_started, is_over;
    bool is_listed;   /* its relay has it */
    bool is_stopping; /* tarn asked for it */
    bool is_leaving;  /* stopped because its allocation ends */
    bool is_taken;    /* it was stopped, but not by tarn */
    uint64_t kill_at; /* uv_now(): the end of its grace */
};

static struct {
    struct engine engine;
    struct engine_options options;
    struct slurm_worker *worker;
    struct node_readings *readings;
    struct allocations allocations;
    struct slurm_nodes nodes;
    allocation_wishes wishes;
    LIST(struct member) members; /* ascending */
    LIST(struct engine_outcome) lost;
    LIST(char *) told_nodes;
    uv_timer_t timer;
    uint64_t nodes_at;                                             /* uv_now() of the listing */
    bool is_changed;                                               /* nodes have to be reported */
    char problem[ERROR_TEXT_SIZE], nodes_problem[ERROR_TEXT_SIZE]; /* of requests to Slurm */
    char told[ERROR_TEXT_SIZE + 64];                               /* by trouble() */
    char instance[ENGINE_INSTANCE_SIZE];
    char *relay;
} only;

/* ---- members ---- */

static int compare_ids(struct member_id a, struct member_id b)
{
    if (a.job != b.job)
        return a.job < b.job ? -1 : 1;
    if (a.attempt != b.attempt)
        return a.attempt < b.attempt ? -1 : 1;
    return (a.rank > b.rank) - (a.rank < b.rank);
}

static size_t place_of(struct member_id id)
{
    size_t first = 0, last = only.members.count;

    while (first < last) {
        size_t middle = (first + last) / 2;
        if (compare_ids(only.members.items[middle].id, id) < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

static struct member *find_member(struct member_id id)
{
    size_t place = place_of(id);

    if (place == only.members.count || compare_ids(only.members.items[place].id, id) != 0)
        return NULL;
    return &only.members.items[place];
}

static struct member *add_member(struct member_id id)
{
    size_t place = place_of(id);
    struct member made = { .id = id };

    list_insert(&only.members, place, made);
    return &only.members.items[place];
}

static struct member *member_at(const struct engine_attempt *which, uint32_t i)
{
    return find_member((struct member_id){ which->job, which->attempt, which->ranks[i] });
}

/* Reported from the loop: an operation may be the caller. */
static void lose(struct member *member, const char *reason)
{
    struct engine_outcome outcome = { .id = member->id, .kind = ENGINE_LOST, .exit_code = -1 };

    member->is_over = true;
    snprintf(outcome.reason, sizeof(outcome.reason), "%s", reason);
    list_add(&only.lost, outcome);
}

static void report_lost(void)
{
    for (size_t i = 0; i < only.lost.count; i++) {
        struct engine_outcome outcome = only.lost.items[i];
        only.options.reports.outcome(only.options.reports.user, &outcome);
    }
    only.lost.count = 0;
}

/* ---- to the relays ---- */

static struct allocation *allocation_of(const struct member *member)
{
    return allocations_find(&only.allocations, member->serial);
}

static void say(struct allocation *allocation, const struct relay_message *message)
{
    struct text text = { 0 };

    if (!allocation || !allocation->link)
        return;
    relay_put(&text, message);
    relay_link_send(allocation->link, &text);
}

static void say_stop(const struct member *member)
{
    uint64_t now = uv_now(only.options.loop);
    int64_t left = member->kill_at > now ? (int64_t)(member->kill_at - now) * USEC_PER_MS : 0;

    say(allocation_of(member),
        &(struct relay_message){ .kind = RELAY_STOP, .id = member->id, .grace = left });
}

static void say_start(const struct member *member)
{
    const struct allocation *allocation = allocation_of(member);
    struct text text = { 0 };

    if (!allocation || !allocation->is_ready || !allocation->link)
        return;
    text_add_bytes(&text, member->start.bytes, member->start.length);
    relay_link_send(allocation->link, &text);
}

/* ---- from the relays ---- */

static void on_known(struct allocation *allocation, struct member_id id)
{
    struct member *member = find_member(id);

    if (!member) { /* one that tarn has given up: its end is asked for, and then forgotten */
        say(allocation, &(struct relay_message){ .kind = RELAY_STOP, .id = id });
        return;
    }
    member->serial = allocation->serial;
    member->is_listed = true;
}

/* What the relay does not have was not started, or is gone. */
static void on_ready(struct allocation *allocation)
{
    allocation->is_ready = true;
    if (allocation->first_ready_at == 0)
        allocation->first_ready_at = uv_now(only.options.loop);
    allocation->retry_ms = 0;
    allocation->idle_since = uv_now(only.options.loop);
    only.allocations.refused_at = only.allocations.pause_ms = 0;
    only.is_changed = true;
    for (size_t i = 0; i < only.members.count; i++) {
        struct member *member = &only.members.items[i];
        if (member->serial != allocation->serial || member->is_over)
            continue;
        if (!member->is_listed && member->is_started)
            lose(member, "its node has no record of it any more");
        else if (!member->is_listed)
            say_start(member);
        if (member->is_stopping && !member->is_over)
            say_stop(member);
    }
}

static void on_outcome(struct allocation *allocation, const struct relay_message *message)
{
    struct engine_outcome outcome = relay_outcome(message);
    struct member *member = find_member(outcome.id);

    if (!member && outcome.kind != ENGINE_STARTED)
        say(allocation, &(struct relay_message){ .kind = RELAY_FORGET, .id = outcome.id });
    if (!member || member->is_over || (outcome.kind == ENGINE_STARTED && member->is_started))
        return;
    text_release(&member->start);
    if (outcome.kind == ENGINE_STARTED) {
        member->is_started = true;
    } else if (outcome.was_stopped && !member->is_stopping) {
        member->is_taken = true; /* lost, as soon as the reason is known */
        return;
    } else {
        member->is_over = true;
    }
    only.options.reports.outcome(only.options.reports.user, &outcome);
}

static void on_message(void *user, const struct relay_message *message)
{
    struct allocation *allocation = user;

    if (message->kind == RELAY_HELLO && message->version != RELAY_VERSION)
        log_line(LOG_ERR, "the relay has another version node=%s version=%" PRIu32,
                 allocation->node, message->version);
    else if (message->kind == RELAY_KNOWN)
        on_known(allocation, message->id);
    else if (message->kind == RELAY_READY)
        on_ready(allocation);
    else if (message->kind == RELAY_OUTCOME)
        on_outcome(allocation, message);
}

static void on_link_closed(void *user, const char *reason)
{
    struct allocation *allocation = user;
    uint64_t wait = allocation->retry_ms * 2;

    relay_link_close(allocation->link, false);
    allocation->link = NULL;
    allocation->is_ready = false;
    allocation->retry_ms = wait < RETRY_MS_MIN   ? RETRY_MS_MIN
                           : wait > RETRY_MS_MAX ? RETRY_MS_MAX
                                                 : wait;
    allocation->retry_at = uv_now(only.options.loop) + allocation->retry_ms;
    only.is_changed = true;
    if (!allocation->is_completing && allocation->over_at == 0 && !allocation->is_cancelled)
        log_line(LOG_WARNING, "the connection to a node is lost node=%s reason='%s'",
                 allocation->node, reason);
}

static void connect_to(struct allocation *allocation)
{
    struct relay_link_options options = { .loop = only.options.loop,
                                          .id = allocation->id,
                                          .node = allocation->node,
                                          .relay = only.relay,
                                          .instance = only.instance,
                                          .on_message = on_message,
                                          .on_closed = on_link_closed,
                                          .user = allocation };
    struct error err;

    for (size_t i = 0; i < only.members.count; i++) {
        if (only.members.items[i].serial == allocation->serial)
            only.members.items[i].is_listed = false;
    }
    if (relay_link_open(&options, &allocation->link, &err) == 0)
        return;
    log_line(LOG_ERR, "a node cannot be reached node=%s reason='%s'", allocation->node, err.text);
    allocation->retry_at = uv_now(only.options.loop) + RETRY_MS_MAX;
}

/* ---- nodes ---- */

static bool was_told(const char *name)
{
    for (size_t i = 0; i < only.told_nodes.count; i++) {
        if (strcmp(only.told_nodes.items[i], name) == 0)
            return true;
    }
    return false;
}

/* A node that tarn does not hold. */
static void describe_free(const struct slurm_node *node, struct engine_node *told)
{
    bool is_usable = !node->is_down && !node->is_drained && !node->is_closed && !node->is_silent;

    told->is_down = true;
    told->is_on_call = is_usable && !node->is_outside;
    if (node->is_outside)
        told->reason = "Slurm: not in the partition";
    else if (is_usable)
        told->reason = only.engine.abilities.on_call_most > 0
                           ? "no allocation; tarn requests one when jobs need it"
                           : "no allocation; tarn holds as many nodes as it may";
}

static void report_node(const struct slurm_node *node)
{
    const struct allocation *allocation = allocations_on(&only.allocations, node->name);
    uint32_t count;
    AUTO_FREE struct probe_device *devices = slurm_devices(node->name, node->gres, &count);
    struct engine_node told = { .name = node->name,
                                .rack = node->rack,
                                .block = node->block,
                                .reason = node->reason,
                                .labels = node->features,
                                .cpu_milli = node->cpu_milli,
                                .memory_mib = node->memory_mib,
                                .is_down = node->is_down,
                                .is_drained =
                                    node->is_drained || node->is_silent || node->is_closed,
                                .devices = devices,
                                .device_count = count };

    node_readings_fill(only.readings, devices, count);
    if (!allocation || allocation->given_back_at > 0 || allocation->is_completing ||
        allocation->first_ready_at == 0) {
        describe_free(node, &told);
    } else if (!told.is_down && !told.is_drained && !allocation->is_ready) {
        told.is_drained = true;
        told.reason = "the connection to its relay is lost";
    } else if (!told.is_down && !told.is_drained && allocation->is_leaving) {
        told.is_drained = true;
        told.reason = "its allocation reaches its time limit soon";
    }
    if (node->is_outside && !was_told(node->name))
        return;
    if (!was_told(node->name))
        list_add(&only.told_nodes, mem_string(node->name));
    only.options.reports.node(only.options.reports.user, &told, false);
}

static void report_nodes(void)
{
    only.is_changed = false;
    only.engine.abilities.on_call_most = allocations_left(&only.allocations);
    if (only.nodes_at == 0)
        return;
    for (size_t i = 0; i < only.nodes.all.count; i++)
        report_node(&only.nodes.all.items[i]);
    only.options.reports.node(only.options.reports.user, NULL, true);
}

/* ---- allocations ---- */

static void finish(struct allocation *allocation)
{
    for (size_t i = 0; i < only.members.count; i++) {
        struct member *member = &only.members.items[i];
        if (member->serial == allocation->serial && !member->is_over)
            lose(member, allocation->reason);
    }
    relay_link_close(allocation->link, false);
    allocation_remove(&only.allocations, allocation);
    only.is_changed = true;
}

/* All members of an allocation are stopped in time, so that they can save their work. */
static void stop_before_end(struct allocation *allocation)
{
    usec_t left = (usec_t)(allocation->ends_at - (int64_t)time(NULL)) * USEC_PER_SEC;

    for (size_t i = 0; i < only.members.count && allocation->ends_at > 0; i++) {
        struct member *member = &only.members.items[i];
        if (member->serial != allocation->serial || member->is_over || member->is_leaving ||
            left > member->grace + STOP_MARGIN)
            continue;
        member->is_leaving = true;
        say(allocation, &(struct relay_message){
                            .kind = RELAY_STOP, .id = member->id, .grace = member->grace });
    }
}

static void count_busy(struct allocation *allocation)
{
    allocation->busy = 0;
    for (size_t i = 0; i < only.members.count; i++) {
        const struct member *member = &only.members.items[i];
        allocation->busy += member->serial == allocation->serial && !member->is_over;
    }
    if (allocation->phase != SLURM_RUNS)
        return;
    if (allocation->busy > 0)
        allocation->idle_since = 0;
    else if (allocation->idle_since == 0)
        allocation->idle_since = uv_now(only.options.loop);
}

static void tend(struct allocation *allocation, uint64_t now)
{
    bool is_running = allocation->phase == SLURM_RUNS && allocation->over_at == 0;

    count_busy(allocation);
    if (is_running && allocation->node && !allocation->link && !allocation->is_completing &&
        !allocation->is_cancelled && now >= allocation->retry_at)
        connect_to(allocation);
    if (is_running && allocation->is_leaving)
        stop_before_end(allocation);
    if (allocation->over_at > 0 &&
        (!allocation->link || now - allocation->over_at >= LAST_WORDS_MS))
        finish(allocation);
}

/* After a restart: members that no relay has. */
static void settle_unplaced(void)
{
    if (!only.allocations.has_listing)
        return;
    for (size_t i = 0; i < only.allocations.all.count; i++) {
        const struct allocation *allocation = only.allocations.all.items[i];
        if (allocation->phase == SLURM_RUNS && allocation->first_ready_at == 0)
            return;
    }
    for (size_t i = 0; i < only.members.count; i++) {
        struct member *member = &only.members.items[i];
        if (member->serial == 0 && !member->is_over && !member->node)
            lose(member, "no node that tarn holds has a record of it");
    }
}

/* A request that is new may be granted at any moment. */
static void hasten(uint64_t now)
{
    bool is_hasty = false;

    for (size_t i = 0; i < only.allocations.all.count; i++) {
        const struct allocation *allocation = only.allocations.all.items[i];
        is_hasty |= allocation->phase == SLURM_WAITS && allocation->requested_at > 0 &&
                    now - allocation->requested_at < HASTE_MS;
    }
    slurm_worker_hasten(only.worker, is_hasty);
}

static void on_tick(uv_timer_t *timer)
{
    uint64_t now = uv_now(timer->loop);

    for (size_t i = only.allocations.all.count; i > 0; i--)
        tend(only.allocations.all.items[i - 1], now);
    settle_unplaced();
    hasten(now);
    slurm_worker_settings(only.worker, only.options.rules);
    only.is_changed |= allocations_tend(&only.allocations, &only.nodes, &only.wishes, now);
    only.is_changed |= only.engine.abilities.on_call_most != allocations_left(&only.allocations);
    if (only.is_changed)
        report_nodes();
    report_lost();
}

/* Ask the relay of its node for a member; until Slurm has said which nodes tarn holds, it waits. */
static void place(struct member *member)
{
    const struct allocation *allocation = allocations_on(&only.allocations, member->node);

    free(member->node);
    member->node = NULL;
    if (!allocation || allocation->is_cancelled || allocation->is_completing) {
        lose(member, "its node has no allocation any more");
        return;
    }
    member->serial = allocation->serial;
    say_start(member);
    if (member->is_stopping)
        say_stop(member);
}

static void place_members(void)
{
    for (size_t i = 0; i < only.members.count; i++) {
        if (only.members.items[i].node)
            place(&only.members.items[i]);
    }
}

/* ---- news ---- */

static void on_submitted(const struct slurm_news *news)
{
    struct allocation *allocation = allocations_find(&only.allocations, news->job);

    if (!allocation)
        return;
    allocation->id = news->id;
    allocation->is_barred = false;
}

static void on_barred(const struct slurm_news *news)
{
    struct allocation *allocation = allocations_find(&only.allocations, news->job);

    if (!allocation)
        return;
    if (!allocation->is_barred)
        log_line(LOG_WARNING, "Slurm refuses an allocation reason='%s'", news->words);
    allocation->is_barred = true;
    snprintf(only.allocations.refusal, sizeof(only.allocations.refusal), "%s", news->words);
}

/* Jobs of the mode `job` that nobody waits for any more. */
static void cancel_attempts(const struct slurm_jobs *jobs)
{
    for (size_t i = 0; i < jobs->all.count; i++) {
        const struct slurm_job *job = &jobs->all.items[i];
        struct slurm_mark mark;
        if (job->phase == SLURM_IS_OVER || job->is_completing ||
            !slurm_mark_read(only.instance, job->comment, &mark))
            continue;
        slurm_mark_release(&mark);
        log_line(LOG_WARNING, "cancels a Slurm job that belongs to no job id=%" PRIu32, job->id);
        slurm_worker_signal(only.worker, job->id, SIGKILL, false);
    }
}

static void note_problem(const struct slurm_news *news)
{
    char *known = news->kind == SLURM_NEWS_PROBLEM ? only.problem : only.nodes_problem;

    snprintf(known, ERROR_TEXT_SIZE, "%s", news->words);
    if (news->words[0])
        log_line(LOG_WARNING, "a request to Slurm failed reason='%s'", news->words);
    else
        log_line(LOG_NOTICE, "requests to Slurm succeed again");
}

static void on_news(void *user, struct slurm_news *news)
{
    uint64_t now = uv_now(only.options.loop);

    (void)user;
    if (news->kind == SLURM_NEWS_SUBMITTED) {
        on_submitted(news);
    } else if (news->kind == SLURM_NEWS_REFUSED) {
        allocations_refused(&only.allocations, news->job, news->words, now);
    } else if (news->kind == SLURM_NEWS_BARRED) {
        on_barred(news);
    } else if (news->kind == SLURM_NEWS_JOBS) {
        only.is_changed |= allocations_note(&only.allocations, &news->jobs, now);
        cancel_attempts(&news->jobs);
        place_members();
    } else if (news->kind == SLURM_NEWS_NODES) {
        slurm_nodes_release(&only.nodes);
        only.nodes = news->nodes;
        news->nodes = (struct slurm_nodes){ 0 };
        slurm_devices_follow(only.readings, &only.nodes, only.options.rules->slurm_exporter);
        only.nodes_at = now + 1;
        report_nodes();
    } else if (news->kind == SLURM_NEWS_PROBLEM || news->kind == SLURM_NEWS_NODES_PROBLEM) {
        note_problem(news);
    }
}

/* ---- operations ---- */

static void add_start(const struct engine_launch *launch)
{
    struct member *member = find_member(launch->id);
    struct slurm_meeting meeting;

    if (member)
        return;
    member = add_member(launch->id);
    member->grace = launch->grace;
    member->node = mem_string(launch->node);
    struct engine_launch set = slurm_meeting_set(&meeting, &only.nodes, launch);
    relay_put_launch(&member->start, &set);
    slurm_meeting_release(&meeting);
    if (only.allocations.has_listing)
        place(member);
}

static int start(struct engine *engine, const struct engine_launch *launches, uint32_t count,
                 struct error *err)
{
    (void)engine;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < launches[i].slices_count; k++) {
            if (strncmp(launches[i].slices[k].uuid, "MIG-", 4) == 0)
                return error_set(err, -ENOTSUP,
                                 "engine slurm: it allocates GPUs and parts of them, not MIG "
                                 "instances");
        }
    }
    for (uint32_t i = 0; i < count; i++)
        add_start(&launches[i]);
    return 0;
}

static void stop(struct engine *engine, const struct engine_attempt *which, usec_t grace)
{
    (void)engine;
    for (uint32_t i = 0; i < which->count; i++) {
        struct member *member = member_at(which, i);
        uint64_t kill_at =
            uv_now(only.options.loop) + (uint64_t)(grace > 0 ? grace / USEC_PER_MS : 0);
        if (!member || member->is_over)
            continue;
        if (!member->is_stopping || kill_at < member->kill_at)
            member->kill_at = kill_at;
        member->is_stopping = true;
        say_stop(member);
    }
}

static void send_signal(struct engine *engine, const struct engine_attempt *which, int signal)
{
    (void)engine;
    for (uint32_t i = 0; i < which->count; i++) {
        const struct member *member = member_at(which, i);
        if (member && !member->is_over)
            say(allocation_of(member), &(struct relay_message){ .kind = RELAY_SIGNAL,
                                                                .id = member->id,
                                                                .signal = signal });
    }
}

/* What was seen to start is on some node, or lost: the relays say which. All else is started
 * again, and its relay knows whether it was. */
static void recover(struct engine *engine, const struct engine_attempt *which,
                    const bool *was_started, bool *ret_found)
{
    (void)engine;
    for (uint32_t i = 0; i < which->count; i++) {
        struct member *member = member_at(which, i);
        if (!member && was_started[i]) {
            member = add_member((struct member_id){ which->job, which->attempt, which->ranks[i] });
            member->is_started = true;
        }
        ret_found[i] = member != NULL;
    }
}

static void forget(struct engine *engine, const struct engine_attempt *which)
{
    (void)engine;
    for (uint32_t i = 0; i < which->count; i++) {
        struct member *member = member_at(which, i);
        if (!member || !member->is_over)
            continue;
        say(allocation_of(member),
            &(struct relay_message){ .kind = RELAY_FORGET, .id = member->id });
        text_release(&member->start);
        free(member->node);
        list_remove(&only.members, (size_t)(member - only.members.items));
    }
}

static const char *say_waiting(const struct allocation *allocation)
{
    if (allocation->is_barred)
        return only.allocations.refusal;
    if (allocation->phase != SLURM_WAITS || !allocation->waits)
        return NULL;
    snprintf(only.told, sizeof(only.told), "Slurm allocation %" PRIu32 " waits: %s", allocation->id,
             allocation->waits);
    return only.told;
}

/* Why a node is not there yet. */
static const char *trouble(struct engine *engine, uint64_t job, uint32_t attempt)
{
    const char *problem = only.problem[0] ? only.problem : only.nodes_problem;
    unsigned silence = slurm_worker_silence(only.worker);
    const char *words = NULL;

    (void)engine;
    (void)job;
    if (!problem[0] && silence > 0) {
        snprintf(only.told, sizeof(only.told), SLURM_SILENCE, silence);
        return only.told;
    }
    if (!problem[0] && only.allocations.refused_at > 0 && attempt == 0)
        problem = only.allocations.refusal;
    for (size_t i = 0; i < only.allocations.all.count && !problem[0] && attempt == 0 && !words; i++)
        words = say_waiting(only.allocations.all.items[i]);
    if (!problem[0])
        return words;
    snprintf(only.told, sizeof(only.told), "%s", problem);
    return only.told;
}

static void forget_wishes(void)
{
    LIST_EACH (struct allocation_wish, wish, &only.wishes)
        free(wish->kind);
    only.wishes.count = 0;
}

static void want(struct engine *engine, const struct engine_want *wants, uint32_t count)
{
    (void)engine;
    forget_wishes();
    for (uint32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < only.nodes.all.count; k++) {
            const struct slurm_node *node = &only.nodes.all.items[k];
            if (strcmp(node->name, wants[i].node) != 0)
                continue;
            struct allocation_wish wish = { allocation_kind(node), wants[i].count };
            list_add(&only.wishes, wish);
        }
    }
}

static void destroy(struct engine *engine)
{
    (void)engine;
    uv_timer_stop(&only.timer);
    node_readings_destroy(only.readings);
    slurm_worker_destroy(only.worker);
    while (only.allocations.all.count > 0) {
        relay_link_close(only.allocations.all.items[0]->link, true);
        allocation_remove(&only.allocations, only.allocations.all.items[0]);
    }
    list_release(&only.allocations.all);
    LIST_EACH (struct member, member, &only.members) {
        text_release(&member->start);
        free(member->node);
    }
    list_release(&only.members);
    list_release(&only.lost);
    for (size_t i = 0; i < only.told_nodes.count; i++)
        free(only.told_nodes.items[i]);
    list_release(&only.told_nodes);
    forget_wishes();
    list_release(&only.wishes);
    slurm_nodes_release(&only.nodes);
    free(only.allocations.folder);
    free(only.relay);
}

/* ---- creation ---- */

/* The nodes need relay and shim: the state's folder is on a file system that they have. */
static int copy_part(const char *from, const char *name, struct error *err)
{
    AUTO_FREE char *to = mem_printf("%s/%s", only.allocations.folder, name);
    AUTO_FREE char *temporary = mem_printf("%s.new", to);
    struct stat size;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    bool is_done = in >= 0 && out >= 0 && fstat(in, &size) == 0;

    for (off_t left = is_done ? size.st_size : 0; is_done && left > 0;) {
        ssize_t sent = sendfile(out, in, NULL, (size_t)left);
        is_done = sent > 0;
        left -= sent;
    }
    int number = errno;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    if (is_done && rename(temporary, to) == 0)
        return 0;
    return error_set(err, -(is_done ? errno : number),
                     "engine slurm: %s cannot be copied to %s: %s", from, to,
                     strerror(is_done ? errno : number));
}

static int copy_parts(const char *state_dir, struct error *err)
{
    AUTO_FREE char *relay = NULL, *shim = NULL;

    only.allocations.folder = mem_printf("%s/slurm", state_dir);
    only.relay = mem_printf("%s/tarn-relay", only.allocations.folder);
    int code = folder_make(only.allocations.folder, 0755, err);
    if (code == 0)
        code = part_find("tarn-relay", "src/engine", &relay, err);
    if (code == 0)
        code = part_find_shim(&shim, err);
    if (code == 0)
        code = copy_part(relay, "tarn-relay", err);
    return code < 0 ? code : copy_part(shim, "tarn-shim", err);
}

int allocation_engine_create(const struct engine_options *options, struct engine **ret,
                             struct error *err)
{
    static const struct engine_ops ops = { .name = "slurm",
                                           .start = start,
                                           .stop = stop,
                                           .signal = send_signal,
                                           .recover = recover,
                                           .forget = forget,
                                           .trouble = trouble,
                                           .want = want,
                                           .destroy = destroy };

    only.engine = (struct engine){ .ops = &ops,
                                   .abilities = { .has_exact_devices = true,
                                                  .has_fractions = true,
                                                  .has_own_nodes = true,
                                                  .has_output = true,
                                                  .has_readings = true } };
    only.options = *options;
    only.allocations.rules = options->rules;
    only.allocations.instance = only.instance;
    int code = engine_instance_open(options->state_dir, "slurm", only.instance, err);
    if (code == 0)
        code = copy_parts(options->state_dir, err);
    if (code == 0)
        code = slurm_api_open(err);
    if (code == 0)
        code = slurm_worker_create(options->loop, options->rules, on_news, NULL, &only.worker, err);
    if (code == 0)
        code = node_readings_create(options->loop, &options->reports, &only.readings, err);
    if (code < 0)
        return code;
    only.allocations.worker = only.worker;
    if (options->rules->slurm_adopt)
        log_line(LOG_ERR, "the setting slurm: adopt has no effect with the mode allocation");
    uv_timer_init(options->loop, &only.timer);
    uv_timer_start(&only.timer, on_tick, TICK_MS, TICK_MS);
    *ret = &only.engine;
    return 0;
}
