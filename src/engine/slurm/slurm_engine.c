/* SPDX-License-Identifier: Apache-2.0 */
/* The engine slurm: tarn decides, Slurm runs. Each attempt is one Slurm job that is pinned to the
 * nodes of its lease (slurm_order.h). Slurm chooses the GPUs on a node; the engine reports them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/text.h"
#include "engine/exporter/node_readings.h"
#include "engine/instance.h"
#include "engine/slurm/allocation.h"
#include "engine/slurm/allocation_engine.h"
#include "engine/slurm/gres.h"
#include "engine/slurm/slurm_adopt.h"
#include "engine/slurm/slurm_devices.h"
#include "engine/slurm/slurm_meeting.h"
#include "engine/slurm/slurm_order.h"
#include "engine/slurm/slurm_worker.h"
#include "io/log.h"

/* A job that ended while the daemon was down is looked up from a little before. */
enum { TICK_MS = 200, TOUCH_EVERY_S = 30, LOOK_BACK_S = 600 };

struct attempt {
    uint64_t job;
    uint32_t attempt;
    uint32_t id; /* of the Slurm job; 0: not submitted yet */
    LIST(uint32_t) ranks;
    bool is_started, is_over, is_refused;
    bool is_stopping, was_killed;
    int signal_due;     /* to be sent when it has an id; 0: none */
    int stop_signal;    /* instead of SIGTERM */
    uint64_t kill_at;   /* uv_now(); 0: no SIGKILL is due */
    bool is_hopeless;   /* the reason is the job's own */
    bool is_sought;     /* it ran when the daemon started; Slurm has not been asked yet */
    bool is_missing;    /* Slurm has forgotten it; its accounting is asked */
    char reason[160];   /* why it never ran, or was taken away */
    char waits[160];    /* why it waits in Slurm; "": it does not, or Slurm does not say */
    uint32_t limit_min; /* Slurm's, as last seen; 0: not seen yet */
};

struct attempt_name {
    uint64_t job;
    uint32_t attempt;
};

/* What a job that is not ours has on a node. */
struct foreign {
    uint32_t id; /* of the Slurm job */
    char *node, *gres;
    int64_t cpu_milli, memory_mib;
};

struct slurm_engine {
    LIST(struct foreign) foreign;
    struct engine engine;
    struct engine_options options;
    struct slurm_worker *worker;
    struct slurm_adopt *adopt;
    struct node_readings *readings;
    struct slurm_largest largest; /* node that was reported */
    uv_timer_t timer;
    char instance[ENGINE_INSTANCE_SIZE];
    LIST(struct attempt) attempts;    /* ascending */
    LIST(struct attempt_name) unsure; /* an earlier daemon may have submitted them */
    char problem[ERROR_TEXT_SIZE], nodes_problem[ERROR_TEXT_SIZE]; /* of requests to Slurm */
    char told[2 * ERROR_TEXT_SIZE];                                /* by trouble() */
    time_t seen_at, touched_at; /* when Slurm's jobs were last seen, and when that was recorded */
    bool is_looking_up;
    LIST(char *) lost_nodes; /* nodes on which nothing can start */
    LIST(char *) told_nodes; /* nodes that were reported */
    LIST(char *) drained;    /* nodes that this daemon drained */
    struct slurm_nodes nodes;
};

static struct slurm_engine only;

/* ---- attempts ---- */

static size_t place_of(uint64_t job, uint32_t attempt)
{
    size_t first = 0, last = only.attempts.count;

    while (first < last) {
        size_t middle = (first + last) / 2;
        const struct attempt *at = &only.attempts.items[middle];
        if (at->job < job || (at->job == job && at->attempt < attempt))
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

static struct attempt *find_attempt(uint64_t job, uint32_t attempt)
{
    size_t place = place_of(job, attempt);
    struct attempt *at = place < only.attempts.count ? &only.attempts.items[place] : NULL;

    return at && at->job == job && at->attempt == attempt ? at : NULL;
}

static struct attempt *add_attempt(uint64_t job, uint32_t attempt)
{
    struct attempt made = { .job = job, .attempt = attempt };
    size_t place = place_of(job, attempt);

    list_insert(&only.attempts, place, made);
    return &only.attempts.items[place];
}

static bool has_rank(const struct attempt *attempt, uint32_t rank)
{
    for (size_t i = 0; i < attempt->ranks.count; i++) {
        if (attempt->ranks.items[i] == rank)
            return true;
    }
    return false;
}

/* ---- attempts that an earlier daemon may have submitted ---- */

static int64_t find_unsure(uint64_t job, uint32_t attempt)
{
    for (size_t i = 0; i < only.unsure.count; i++) {
        if (only.unsure.items[i].job == job && only.unsure.items[i].attempt == attempt)
            return (int64_t)i;
    }
    return -1;
}

static bool take_unsure(uint64_t job, uint32_t attempt)
{
    int64_t found = find_unsure(job, attempt);

    if (found >= 0)
        list_remove(&only.unsure, (size_t)found);
    return found >= 0;
}

/* ---- reports ---- */

static void report(const struct attempt *attempt, struct engine_outcome outcome)
{
    for (size_t i = 0; i < attempt->ranks.count; i++) {
        outcome.id = (struct member_id){ attempt->job, attempt->attempt, attempt->ranks.items[i] };
        only.options.reports.outcome(only.options.reports.user, &outcome);
    }
}

static void report_end(struct attempt *attempt, struct engine_outcome outcome)
{
    attempt->is_over = true;
    attempt->kill_at = 0;
    snprintf(outcome.reason, sizeof(outcome.reason), "%s", attempt->reason);
    report(attempt, outcome);
}

static void report_lost(struct attempt *attempt, const char *reason)
{
    if (!attempt->reason[0])
        snprintf(attempt->reason, sizeof(attempt->reason), "%s", reason);
    report_end(attempt, (struct engine_outcome){ .kind = ENGINE_LOST });
}

/* The members on a node share its devices in the order of their ranks. */
static void report_devices(const struct slurm_job *job, const struct slurm_mark *mark,
                           const struct slurm_part *part)
{
    AUTO_FREE uint32_t *indices = NULL;
    uint32_t count = gres_indices(part->gres, &indices), used = 0;

    for (size_t i = 0; i < mark->ranks.count; i++) {
        const struct slurm_rank *rank = &mark->ranks.items[i];
        const struct member_id id = { mark->job, mark->attempt, rank->rank };
        if (strcmp(rank->node, part->node) != 0 || rank->gpus == 0)
            continue;
        if (used + rank->gpus > count) {
            log_line(LOG_WARNING, "Slurm does not say which GPUs a job has job=%" PRIu64 " id=%u",
                     mark->job, job->id);
            return;
        }
        char(*names)[PROBE_UUID_SIZE] = mem_zero(rank->gpus, sizeof(*names));
        const char **uuids = mem_zero(rank->gpus, sizeof(*uuids));
        for (uint32_t k = 0; k < rank->gpus; k++) {
            slurm_device_name(part->node, indices[used++], names[k]);
            uuids[k] = names[k];
        }
        only.options.reports.assigned(only.options.reports.user, id, uuids, rank->gpus);
        free(uuids);
        free(names);
    }
}

static void report_start(struct attempt *attempt, const struct slurm_job *job,
                         const struct slurm_mark *mark)
{
    attempt->is_started = true;
    if (job->phase == SLURM_RUNS) {
        for (size_t i = 0; i < job->parts.count; i++)
            report_devices(job, mark, &job->parts.items[i]);
    }
    report(attempt, (struct engine_outcome){ .kind = ENGINE_STARTED });
}

/* What can never start is the job's failure; all else is lost and may start again. */
static void report_unstarted(struct attempt *attempt, const char *reason)
{
    if (!attempt->is_hopeless)
        report_lost(attempt, reason);
    else
        report_end(attempt, (struct engine_outcome){ .kind = ENGINE_FAILED });
}

static void report_over(struct attempt *attempt, const struct slurm_job *job)
{
    struct engine_outcome outcome = { .kind = ENGINE_ENDED,
                                      .exit_code = -1,
                                      .signal =
                                          WIFSIGNALED(job->status) ? WTERMSIG(job->status) : 0,
                                      .was_stopped = attempt->is_stopping,
                                      .was_killed = attempt->was_killed,
                                      .was_oom = job->end == SLURM_OUT_OF_MEMORY };

    if (job->end == SLURM_CANCELLED && !attempt->is_stopping && !attempt->reason[0]) {
        only.options.reports.cancelled(only.options.reports.user, attempt->job,
                                       "cancelled in Slurm");
        outcome.was_stopped = true;
    }
    if (!attempt->is_started || job->end == SLURM_TAKEN_AWAY) {
        report_unstarted(attempt, job->reason            ? job->reason
                                  : attempt->is_stopping ? "stopped before it ran"
                                                         : "cancelled in Slurm before it ran");
        return;
    }
    if (job->end == SLURM_TIME_LIMIT && !attempt->reason[0])
        snprintf(attempt->reason, sizeof(attempt->reason), "Slurm: its time limit was reached");
    if (job->end == SLURM_EXITED && outcome.signal == 0)
        outcome.exit_code = WEXITSTATUS(job->status);
    else if (outcome.signal == 0)
        outcome.signal = job->end == SLURM_OUT_OF_MEMORY || attempt->was_killed ? SIGKILL : SIGTERM;
    report_end(attempt, outcome);
}

/* ---- jobs ---- */

static void cancel(struct attempt *attempt, int signal)
{
    attempt->was_killed |= signal == SIGKILL && attempt->is_stopping && attempt->is_started;
    if (attempt->id > 0) {
        slurm_worker_signal(only.worker, attempt->id, signal, attempt->ranks.count > 1);
        return;
    }
    attempt->signal_due = signal;
    if (signal == SIGKILL)
        slurm_worker_withdraw(only.worker, attempt->job, attempt->attempt);
}

static bool is_stuck(const struct slurm_mark *mark)
{
    for (size_t i = 0; i < mark->ranks.count; i++) {
        for (size_t k = 0; k < only.lost_nodes.count; k++) {
            if (strcmp(mark->ranks.items[i].node, only.lost_nodes.items[k]) == 0)
                return true;
        }
    }
    return false;
}

/* Of two jobs of one attempt, that which runs stays; Slurm had both if an answer came too late. */
static bool is_the_one(struct attempt *attempt, const struct slurm_job *job)
{
    if (attempt->id == 0 || attempt->id == job->id)
        return true;
    if (attempt->is_over || job->phase == SLURM_IS_OVER)
        return false;
    bool is_better = !attempt->is_started && job->phase == SLURM_RUNS;
    uint32_t other = is_better ? attempt->id : job->id;
    log_line(LOG_WARNING, "cancels a second Slurm job of one attempt job=%" PRIu64 " id=%u",
             attempt->job, other);
    slurm_worker_signal(only.worker, other, SIGKILL, false);
    return is_better;
}

static void give_up(struct attempt *attempt, bool is_hopeless, const char *reason)
{
    attempt->is_hopeless = is_hopeless;
    snprintf(attempt->reason, sizeof(attempt->reason), "%s", reason);
    cancel(attempt, SIGKILL);
}

static void look_at_waiting(struct attempt *attempt, const struct slurm_job *job,
                            const struct slurm_mark *mark)
{
    snprintf(attempt->waits, sizeof(attempt->waits), "%s%s",
             job->is_held ? "Slurm: it is held in Slurm, " : "Slurm: it waits in Slurm's queue, ",
             job->waits);
    if (attempt->reason[0])
        return;
    if (attempt->is_started)
        give_up(attempt, false, "Slurm: it was requeued in Slurm");
    else if (job->reason)
        give_up(attempt, true, job->reason);
    else if (is_stuck(mark))
        give_up(attempt, false, "Slurm: a node of it is down or drained");
}

/* An administrator may change the limit. */
static void follow_limit(struct attempt *attempt, const struct slurm_job *job,
                         const struct slurm_mark *mark)
{
    uint32_t known = attempt->limit_min > 0 ? attempt->limit_min : mark->limit_min;

    if (known == 0 || job->limit_min == UINT32_MAX)
        return;
    attempt->limit_min = job->limit_min;
    if (job->limit_min != known)
        only.options.reports.limited(only.options.reports.user, attempt->job,
                                     slurm_mark_duration(mark, job->limit_min));
}

static void look_at(struct attempt *attempt, const struct slurm_job *job,
                    const struct slurm_mark *mark)
{
    if (!is_the_one(attempt, job) || attempt->is_over)
        return;
    attempt->id = job->id;
    if (attempt->signal_due && job->phase != SLURM_IS_OVER)
        cancel(attempt, attempt->signal_due);
    attempt->signal_due = 0;
    attempt->is_sought = attempt->is_missing = false;
    attempt->waits[0] = '\0';
    if (!attempt->is_started && job->has_run)
        report_start(attempt, job, mark);
    if (job->phase == SLURM_IS_OVER) {
        report_over(attempt, job);
        return;
    }
    follow_limit(attempt, job, mark);
    if (job->is_booting)
        snprintf(attempt->waits, sizeof(attempt->waits), "Slurm: its nodes are starting");
    if (job->phase == SLURM_WAITS)
        look_at_waiting(attempt, job, mark);
    else if (job->restarts > 0 && !attempt->reason[0])
        give_up(attempt, false, "Slurm: it was requeued in Slurm");
}

static void forget_foreign(void)
{
    LIST_EACH (struct foreign, foreign, &only.foreign) {
        free(foreign->node);
        free(foreign->gres);
    }
    only.foreign.count = 0;
}

static void add_foreign(const struct slurm_job *job)
{
    if (job->phase != SLURM_RUNS)
        return;
    for (size_t i = 0; i < job->parts.count; i++) {
        const struct slurm_part *part = &job->parts.items[i];
        struct foreign foreign = { .id = job->id,
                                   .node = mem_string(part->node),
                                   .gres = mem_string(part->gres),
                                   .cpu_milli = part->cpu_milli,
                                   .memory_mib = job->memory_mib };
        list_add(&only.foreign, foreign);
    }
}

/* The file of the instance has the time of the last look at Slurm's jobs. */
static void note_seen(void)
{
    AUTO_FREE char *path = mem_printf("%s/slurm-instance", only.options.state_dir);

    only.seen_at = time(NULL);
    if (only.seen_at - only.touched_at < TOUCH_EVERY_S)
        return;
    only.touched_at = only.seen_at;
    utimensat(AT_FDCWD, path, NULL, 0);
}

/* Jobs that tarn does not know any more are cancelled: nothing runs twice. */
static void note_jobs(const struct slurm_jobs *jobs)
{
    AUTO_FREE bool *is_seen = mem_zero(only.attempts.count + 1, sizeof(bool));
    bool is_any_missing = false;

    forget_foreign();
    slurm_adopt_begin(only.adopt, jobs);
    for (size_t i = 0; i < jobs->all.count; i++) {
        const struct slurm_job *job = &jobs->all.items[i];
        struct slurm_mark mark;
        uint64_t serial;
        if (allocation_mark_read(only.instance, job->comment, &serial)) {
            if (job->phase != SLURM_IS_OVER && !job->is_completing) /* of the other mode */
                slurm_worker_signal(only.worker, job->id, SIGKILL, false);
            continue;
        }
        if (!slurm_mark_read(only.instance, job->comment, &mark)) {
            add_foreign(job);
            slurm_adopt_see(only.adopt, job, &only.largest);
            continue;
        }
        struct attempt *attempt = find_attempt(mark.job, mark.attempt);
        if (attempt) {
            is_seen[attempt - only.attempts.items] |= attempt->id == 0 || attempt->id == job->id;
            look_at(attempt, job, &mark);
        } else if (job->phase != SLURM_IS_OVER && find_unsure(mark.job, mark.attempt) < 0) {
            log_line(LOG_WARNING, "cancels a Slurm job that belongs to no job id=%u", job->id);
            slurm_worker_signal(only.worker, job->id, SIGKILL, false);
        }
        slurm_mark_release(&mark);
    }
    slurm_adopt_end(only.adopt);
    for (size_t i = 0; i < only.attempts.count; i++) {
        struct attempt *attempt = &only.attempts.items[i];
        bool is_expected = attempt->id > 0 || attempt->is_sought;
        attempt->is_missing |= is_expected && !attempt->is_over && !is_seen[i];
        is_any_missing |= attempt->is_missing;
    }
    if (is_any_missing && !only.is_looking_up) {
        only.is_looking_up = true;
        slurm_worker_look_up(only.worker, (int64_t)only.seen_at - LOOK_BACK_S);
    }
    note_seen();
}

/* What ended while Slurm's jobs were not seen; slurmctld forgets it after MinJobAge. */
static void note_ended(const struct slurm_news *news)
{
    only.is_looking_up = false;
    for (size_t i = 0; i < news->jobs.all.count; i++) {
        const struct slurm_job *job = &news->jobs.all.items[i];
        struct slurm_mark mark;
        if (!slurm_mark_read(only.instance, job->comment, &mark))
            continue;
        struct attempt *attempt = find_attempt(mark.job, mark.attempt);
        if (attempt && attempt->is_missing && !attempt->is_over)
            look_at(attempt, job, &mark);
        slurm_mark_release(&mark);
    }
    AUTO_FREE char *reason =
        mem_printf("Slurm has no record of its job any more%s%s%s", news->words[0] ? " (" : "",
                   news->words, news->words[0] ? ")" : "");
    for (size_t i = 0; i < only.attempts.count; i++) {
        struct attempt *attempt = &only.attempts.items[i];
        if (attempt->is_missing && !attempt->is_over)
            report_lost(attempt, reason);
    }
}

/* ---- nodes ---- */

/* A device that another job has is out of service for tarn while that job runs. */
static void subtract_foreign(const struct slurm_node *node, struct probe_device *devices,
                             uint32_t device_count, struct engine_node *told)
{
    LIST_EACH (struct foreign, foreign, &only.foreign) {
        AUTO_FREE uint32_t *indices = NULL;
        if (strcmp(foreign->node, node->name) != 0)
            continue;
        uint32_t count = gres_indices(foreign->gres, &indices);
        for (uint32_t i = 0; i < count; i++) {
            if (indices[i] < device_count)
                snprintf(devices[indices[i]].sick, sizeof(devices[0].sick),
                         "in use by Slurm job %" PRIu32, foreign->id);
            if (indices[i] < device_count)
                devices[indices[i]].is_occupied = true;
        }
        told->cpu_milli -= foreign->cpu_milli;
        told->memory_mib -= foreign->memory_mib;
    }
    if (told->cpu_milli < 0)
        told->cpu_milli = 0;
    if (told->memory_mib < 0)
        told->memory_mib = 0;
}

/* Its active features, and in how many parts Slurm divides its GPUs. */
static char *labels_of(const struct slurm_node *node)
{
    static const char *const names[][2] = { { "shard", ENGINE_LABEL_PARTS },
                                            { "mps", ENGINE_LABEL_MPS } };
    struct text labels = { 0 };

    text_add(&labels, node->features ? node->features : "");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        uint32_t parts = gres_parts(node->gres, names[i][0]);
        if (parts > 0)
            text_printf(&labels, "%s%s=%" PRIu32, labels.length > 0 ? "," : "", names[i][1], parts);
    }
    return text_take(&labels);
}

static void note_fewest(uint32_t *fewest, uint32_t parts)
{
    if (parts > 0 && (*fewest == 0 || parts < *fewest))
        *fewest = parts;
}

static void report_node(const struct slurm_node *node)
{
    AUTO_FREE char *labels = labels_of(node);
    uint32_t count;
    AUTO_FREE struct probe_device *devices = slurm_devices(node->name, node->gres, &count);
    struct engine_node told = { .name = node->name,
                                .rack = node->rack,
                                .block = node->block,
                                .reason = node->reason,
                                .labels = labels,
                                .cpu_milli = node->cpu_milli,
                                .memory_mib = node->memory_mib,
                                .is_down = node->is_down,
                                .is_drained =
                                    node->is_drained || node->is_silent || node->is_closed,
                                .devices = devices,
                                .device_count = count };
    node_readings_fill(only.readings, devices, count);
    subtract_foreign(node, devices, count, &told);
    only.largest.gpus = count > only.largest.gpus ? count : only.largest.gpus;
    note_fewest(&only.largest.shards, gres_parts(node->gres, "shard"));
    note_fewest(&only.largest.mps, gres_parts(node->gres, "mps"));
    if (node->cpu_milli > only.largest.cpu_milli)
        only.largest.cpu_milli = node->cpu_milli;
    only.options.reports.node(only.options.reports.user, &told, false);
}

static bool was_told(const char *name)
{
    for (size_t i = 0; i < only.told_nodes.count; i++) {
        if (strcmp(only.told_nodes.items[i], name) == 0)
            return true;
    }
    return false;
}

static void forget_lost_nodes(void)
{
    for (size_t i = 0; i < only.lost_nodes.count; i++)
        free(only.lost_nodes.items[i]);
    only.lost_nodes.count = 0;
}

/* A node that left the partition is down. */
static void note_node(const struct slurm_node *node)
{
    struct slurm_node told = *node;
    bool is_known = was_told(node->name);

    if (node->is_outside && !is_known)
        return;
    if (!is_known)
        list_add(&only.told_nodes, mem_string(node->name));
    if (node->is_outside) {
        told.is_down = true;
        told.reason = (char *)"Slurm: not in the partition";
    }
    report_node(&told);
    if (told.is_down || told.is_drained)
        list_add(&only.lost_nodes, mem_string(node->name));
}

static void note_nodes(struct slurm_nodes *nodes)
{
    slurm_nodes_release(&only.nodes);
    only.nodes = *nodes;
    *nodes = (struct slurm_nodes){ 0 };
    forget_lost_nodes();
    for (size_t i = 0; i < only.nodes.all.count; i++)
        note_node(&only.nodes.all.items[i]);
    only.options.reports.node(only.options.reports.user, NULL, true);
    slurm_devices_follow(only.readings, &only.nodes, only.options.rules->slurm_exporter);
}

/* Without the partition, nothing can start. Jobs that run there are in another one, and go on. */
static void close_nodes(const char *reason)
{
    LIST_EACH (const struct slurm_node, node, &only.nodes.all) {
        struct slurm_node told = *node;
        told.is_closed = true;
        told.reason = (char *)(uintptr_t)reason;
        if (!node->is_outside)
            report_node(&told);
    }
}

/* ---- news ---- */

static void on_submitted(const struct slurm_news *news)
{
    struct attempt *attempt = find_attempt(news->job, news->attempt);

    /* the next listing finds the job: an adopted one, or one that is cancelled then */
    if (!attempt || news->id == 0)
        return;
    attempt->waits[0] = '\0';
    attempt->id = news->id;
    if (attempt->signal_due)
        cancel(attempt, attempt->signal_due);
    attempt->signal_due = 0;
}

static void on_barred(const struct slurm_news *news)
{
    struct attempt *attempt = find_attempt(news->job, news->attempt);

    if (attempt)
        snprintf(attempt->waits, sizeof(attempt->waits), "%.159s", news->words);
}

static void on_refused(const struct slurm_news *news)
{
    struct attempt *attempt = find_attempt(news->job, news->attempt);

    if (!attempt || attempt->is_over)
        return;
    if (news->is_gone) {
        only.options.reports.cancelled(only.options.reports.user, attempt->job,
                                       "cancelled or released in Slurm");
        report_lost(attempt, "cancelled or released in Slurm before it ran");
        return;
    }
    if (attempt->is_stopping) {
        report_lost(attempt, news->words);
        return;
    }
    snprintf(attempt->reason, sizeof(attempt->reason), "%.159s", news->words);
    report_end(attempt, (struct engine_outcome){ .kind = ENGINE_FAILED });
}

static void note_problem(const struct slurm_news *news)
{
    char *known = news->kind == SLURM_NEWS_PROBLEM ? only.problem : only.nodes_problem;

    snprintf(known, ERROR_TEXT_SIZE, "%s", news->words);
    if (news->has_no_partition)
        close_nodes(known);
    if (news->words[0])
        log_line(LOG_WARNING, "a request to Slurm failed reason='%s'", news->words);
    else
        log_line(LOG_NOTICE, "requests to Slurm succeed again");
}

static void on_news(void *user, struct slurm_news *news)
{
    (void)user;
    if (news->kind == SLURM_NEWS_SUBMITTED)
        on_submitted(news);
    else if (news->kind == SLURM_NEWS_BARRED)
        on_barred(news);
    else if (news->kind == SLURM_NEWS_REFUSED)
        on_refused(news);
    else if (news->kind == SLURM_NEWS_JOBS)
        note_jobs(&news->jobs);
    else if (news->kind == SLURM_NEWS_NODES)
        note_nodes(&news->nodes);
    else if (news->kind == SLURM_NEWS_ENDED)
        note_ended(news);
    else
        note_problem(news);
}

static void on_tick(uv_timer_t *timer)
{
    uint64_t now = uv_now(timer->loop);

    slurm_worker_settings(only.worker, only.options.rules);
    for (size_t i = 0; i < only.attempts.count; i++) {
        struct attempt *attempt = &only.attempts.items[i];
        if (attempt->kill_at == 0 || now < attempt->kill_at)
            continue;
        attempt->kill_at = 0;
        cancel(attempt, SIGKILL);
    }
}

/* ---- operations ---- */

static int make_order(const struct engine_launch *launches, uint32_t count,
                      struct slurm_order **ret, struct error *err)
{
    AUTO_FREE struct engine_launch *set = mem_zero(count, sizeof(*set));
    AUTO_FREE struct slurm_meeting *meetings = mem_zero(count, sizeof(*meetings));

    for (uint32_t i = 0; i < count; i++)
        set[i] = slurm_meeting_set(&meetings[i], &only.nodes, &launches[i]);
    int code =
        slurm_order_make(only.instance, only.options.rules, &only.nodes, set, count, ret, err);
    for (uint32_t i = 0; i < count; i++)
        slurm_meeting_release(&meetings[i]);
    return code;
}

static int start(struct engine *engine, const struct engine_launch *launches, uint32_t count,
                 struct error *err)
{
    struct slurm_order *order;

    (void)engine;
    if (find_attempt(launches[0].id.job, launches[0].id.attempt))
        return 0; /* all of its members are */
    const char *adopted = slurm_adopt_number(launches[0].external);
    if (adopted) {
        order = slurm_order_adopt(only.instance, launches, count, adopted);
        slurm_adopt_release(only.adopt, launches[0].external);
    } else {
        int code = make_order(launches, count, &order, err);
        if (code < 0)
            return code;
    }
    struct attempt *attempt = add_attempt(launches[0].id.job, launches[0].id.attempt);
    attempt->stop_signal = launches[0].stop_signal;
    for (uint32_t i = 0; i < count; i++)
        list_add(&attempt->ranks, launches[i].id.rank);
    slurm_worker_settings(only.worker, only.options.rules);
    slurm_worker_submit(only.worker, attempt->job, attempt->attempt, order,
                        take_unsure(attempt->job, attempt->attempt));
    return 0;
}

/* All members of an attempt are one job: they are stopped together. */
static void stop(struct engine *engine, const struct engine_attempt *which, usec_t grace)
{
    struct attempt *attempt = find_attempt(which->job, which->attempt);

    (void)engine;
    if (!attempt || attempt->is_over)
        return;
    attempt->is_stopping = true;
    if (grace <= 0 || !attempt->is_started) {
        attempt->kill_at = 0;
        cancel(attempt, SIGKILL);
        return;
    }
    attempt->kill_at = uv_now(only.options.loop) + (uint64_t)(grace / USEC_PER_MS) + 1;
    cancel(attempt, attempt->stop_signal ? attempt->stop_signal : SIGTERM);
}

static void send_signal(struct engine *engine, const struct engine_attempt *which, int signal)
{
    struct attempt *attempt = find_attempt(which->job, which->attempt);

    (void)engine;
    if (attempt && !attempt->is_over && attempt->is_started)
        slurm_worker_signal(only.worker, attempt->id, signal, attempt->ranks.count > 1);
}

/* Slurm need not answer now. What was started is sought in the next listing of its jobs; what may
 * have been submitted is left for start(), and the worker looks for it before it submits it. */
static void recover(struct engine *engine, const struct engine_attempt *which,
                    const bool *was_started, bool *ret_found)
{
    struct attempt *attempt = find_attempt(which->job, which->attempt);
    bool was_any_started = false;

    (void)engine;
    for (uint32_t i = 0; i < which->count; i++)
        was_any_started |= was_started[i];
    if (!attempt && was_any_started) {
        attempt = add_attempt(which->job, which->attempt);
        attempt->is_sought = attempt->is_started = true;
        for (uint32_t i = 0; i < which->count; i++)
            list_add(&attempt->ranks, which->ranks[i]);
    } else if (!attempt) {
        struct attempt_name name = { which->job, which->attempt };
        if (find_unsure(name.job, name.attempt) < 0)
            list_add(&only.unsure, name);
    }
    for (uint32_t i = 0; i < which->count; i++)
        ret_found[i] = attempt && has_rank(attempt, which->ranks[i]);
}

static const char *trouble(struct engine *engine, uint64_t job, uint32_t number)
{
    const struct attempt *attempt = number > 0 ? find_attempt(job, number) : NULL;
    const char *problem = only.problem[0] ? only.problem : only.nodes_problem;
    unsigned silence = slurm_worker_silence(only.worker);

    (void)engine;
    if (problem[0])
        snprintf(only.told, sizeof(only.told), "%s", problem);
    else if (silence > 0)
        snprintf(only.told, sizeof(only.told), SLURM_SILENCE, silence);
    else if (attempt && !attempt->is_over && attempt->waits[0])
        snprintf(only.told, sizeof(only.told), "%s", attempt->waits);
    else
        return NULL;
    return only.told;
}

static void forget(struct engine *engine, const struct engine_attempt *which)
{
    struct attempt *attempt = find_attempt(which->job, which->attempt);

    (void)engine;
    take_unsure(which->job, which->attempt);
    if (!attempt || !attempt->is_over)
        return;
    list_release(&attempt->ranks);
    list_remove(&only.attempts, (size_t)(attempt - only.attempts.items));
}

static void answer(struct engine *engine, const char *name, uint64_t job, const struct error *err,
                   bool lacks_nodes)
{
    (void)engine;
    (void)lacks_nodes;
    slurm_adopt_answer(only.adopt, name, job, err);
}

static void note(struct engine *engine, const char *name, uint64_t job, const char *words,
                 enum engine_fate fate)
{
    (void)engine;
    slurm_adopt_note(only.adopt, name, job, words, fate);
}

static bool has_our_drain(const char *name, const char *mark)
{
    const struct slurm_node *node = slurm_nodes_find(&only.nodes, name);

    return node && node->is_drained && string_starts(node->reason, mark);
}

static bool was_drained(const char *name)
{
    for (size_t i = 0; i < only.drained.count; i++) {
        if (strcmp(only.drained.items[i], name) == 0)
            return true;
    }
    return false;
}

/* The mark begins the reason of a drain: another daemon on the same cluster has its own. A drain of
 * this one is in the listing of the nodes, or too new for it. */
static void drain_faulty(struct engine *engine, const char *node, const char *reason)
{
    AUTO_FREE char *mark = mem_printf("tarn=%s: ", only.instance);

    (void)engine;
    if (reason && !was_drained(node))
        list_add(&only.drained, mem_string(node));
    if (reason || was_drained(node) || has_our_drain(node, mark))
        slurm_worker_drain(only.worker, node, mark, reason);
}

static void destroy(struct engine *engine)
{
    (void)engine;
    uv_timer_stop(&only.timer);
    node_readings_destroy(only.readings);
    slurm_worker_destroy(only.worker);
    slurm_adopt_destroy(only.adopt);
    for (size_t i = 0; i < only.attempts.count; i++)
        list_release(&only.attempts.items[i].ranks);
    list_release(&only.attempts);
    forget_lost_nodes();
    list_release(&only.lost_nodes);
    forget_foreign();
    list_release(&only.foreign);
    for (size_t i = 0; i < only.told_nodes.count; i++)
        free(only.told_nodes.items[i]);
    list_release(&only.told_nodes);
    for (size_t i = 0; i < only.drained.count; i++)
        free(only.drained.items[i]);
    list_release(&only.drained);
    slurm_nodes_release(&only.nodes);
    list_release(&only.unsure);
}

/* ---- creation ---- */

/* The file of the instance is touched while Slurm's jobs are seen. */
static int open_instance(const char *state_dir, struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/slurm-instance", state_dir);
    struct stat about;

    int code = engine_instance_open(state_dir, "slurm", only.instance, err);
    only.seen_at = stat(path, &about) == 0 ? about.st_mtim.tv_sec : time(NULL);
    return code;
}

static int create(const struct engine_options *options, struct engine **ret, struct error *err)
{
    static const struct engine_ops ops = { .name = "slurm",
                                           .start = start,
                                           .stop = stop,
                                           .signal = send_signal,
                                           .recover = recover,
                                           .forget = forget,
                                           .answer = answer,
                                           .note = note,
                                           .trouble = trouble,
                                           .faulty = drain_faulty,
                                           .destroy = destroy };

    if (options->at_start->slurm_mode == SLURM_MODE_ALLOCATION)
        return allocation_engine_create(options, ret, err);
    only.engine = (struct engine){ &ops,
                                   { .has_parts = true,
                                     .starts_whole = true,
                                     .has_own_nodes = true,
                                     .has_output = true,
                                     .has_readings = true } };
    only.options = *options;
    int code = open_instance(options->state_dir, err);
    if (code == 0)
        code = slurm_api_open(err);
    if (code == 0)
        code = slurm_worker_create(options->loop, options->rules, on_news, NULL, &only.worker, err);
    if (code == 0)
        code = node_readings_create(options->loop, &options->reports, &only.readings, err);
    if (code < 0)
        return code;
    only.adopt = slurm_adopt_create(options, only.worker);
    uv_timer_init(options->loop, &only.timer);
    uv_timer_start(&only.timer, on_tick, TICK_MS, TICK_MS);
    *ret = &only.engine;
    return 0;
}

extern const struct engine_module tarn_engine_module;
const struct engine_module tarn_engine_module = { ENGINE_MODULE_VERSION, create };
