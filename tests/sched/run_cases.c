/* SPDX-License-Identifier: Apache-2.0 */

/* run_cases - event scripts in, decisions and reasons out, compared with what stands in the file
 *
 *     run_cases [--update] CASE...
 *
 * A case is a script, a line "---" and what it is expected to print. tests/cases/README.md has the
 * language. The engine of the script is the simplest one: what is granted runs at once, what
 * is stopped ends at once, and a job with runs=T ends well after T. After "manual" the script
 * plays the engine itself.
 */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "core/job/gang_size.h"
#include "core/job/own_speed.h"
#include "core/job/role.h"
#include "core/state/rescue.h"
#include "lab.h"
#include "sched/explain/wanted_nodes.h"
#include "sched/placement/model_score.h"

enum { WORDS_MAX = 24, SPANS_MAX = 16, FILE_MAX = 1 << 20 };

struct run {
    struct lab *lab;
    struct text out;
    const char *path;
    int line;
    bool is_manual;
    bool has_told;          /* something since the last plan */
    struct map last_states; /* job -> state plus one */
    struct map runs;        /* job -> how long it runs */
    char *words[WORDS_MAX];
    int word_count;
};

static void fail(const struct run *run, const char *format, ...) PRINTF(2, 3);
static void fail(const struct run *run, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s:%d: ", run->path, run->line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

static const char *find(const struct run *run, const char *key)
{
    size_t length = strlen(key);

    for (int i = 1; i < run->word_count; i++) {
        if (strncmp(run->words[i], key, length) == 0 && run->words[i][length] == '=')
            return run->words[i] + length + 1;
    }
    return NULL;
}

static bool has(const struct run *run, const char *word)
{
    for (int i = 1; i < run->word_count; i++) {
        if (strcmp(run->words[i], word) == 0)
            return true;
    }
    return false;
}

static const char *word(const struct run *run, int i)
{
    if (i >= run->word_count)
        fail(run, "%s: expected more words", run->words[0]);
    return run->words[i];
}

static const char *string_of(const struct run *run, const char *key)
{
    const char *value = find(run, key);

    return value ? value : "";
}

static int64_t number_of(const struct run *run, const char *key, int64_t otherwise)
{
    const char *value = find(run, key);

    return value ? strtoll(value, NULL, 10) : otherwise;
}

static int64_t milli_of(const struct run *run, const char *key, int64_t otherwise)
{
    const char *value = find(run, key);
    int64_t milli = 0;
    struct error err;

    if (value && units_parse_milli(value, 1000000000, &milli, &err) < 0)
        fail(run, "%s", err.text);
    return value ? milli : otherwise;
}

static int64_t mib_of(const struct run *run, const char *key)
{
    const char *value = find(run, key);
    int64_t mib = 0;
    struct error err;

    if (value && units_parse_mib(value, &mib, &err) < 0)
        fail(run, "%s", err.text);
    return mib;
}

static usec_t duration(const struct run *run, const char *value)
{
    usec_t result;
    struct error err;

    if (units_parse_duration(value, &result, &err) < 0)
        fail(run, "%s", err.text);
    return result;
}

static usec_t duration_of(const struct run *run, const char *key, usec_t otherwise)
{
    const char *value = find(run, key);

    return value ? duration(run, value) : otherwise;
}

static uint64_t id_at(const struct run *run, int i)
{
    return strtoull(word(run, i), NULL, 10);
}

static void say_time(struct run *run, usec_t time)
{
    char buffer[UNITS_TEXT_SIZE];

    text_printf(&run->out, "%-6s ", units_format_duration(buffer, time));
}

static void say_slice(struct run *run, const struct slice *slice, bool is_first)
{
    const struct device *device = &run->lab->state->devices.items[slice->device];
    char buffer[UNITS_TEXT_SIZE];

    text_printf(&run->out, "%s%" PRIu32, is_first ? ":" : ",", device->index);
    if (slice->kind == SHARE_WHOLE)
        return;
    text_printf(&run->out, "(%s", units_format_milli(buffer, slice->milli));
    text_printf(&run->out, " %s)", units_format_mib(buffer, slice->memory_mib));
}

static void say_lease(struct run *run, const struct lease *lease)
{
    for (uint32_t rank = 0; rank < lease->members_count; rank++) {
        bool is_first = true;
        text_printf(&run->out, " %s", run->lab->state->nodes.items[lease->members[rank].node].name);
        for (uint32_t i = 0; i < lease->slices_count; i++) {
            if (lease->slices[i].rank != rank)
                continue;
            say_slice(run, &lease->slices[i], is_first);
            is_first = false;
        }
    }
    for (uint32_t i = 0; i < lease->roles_count; i++) {
        if (lease->roles[i].alternative > 0)
            text_printf(&run->out, ", role %" PRIu32 " alternative %" PRIu32, i + 1,
                        lease->roles[i].alternative + 1);
    }
    if (lease->alternative > 0)
        text_printf(&run->out, ", alternative %" PRIu32, lease->alternative + 1);
    if (lease->model_rule != MODEL_RULE_NONE)
        text_printf(&run->out, ", %s: %s",
                    run->lab->state->devices.items[lease->slices[0].device].model,
                    model_rule_name(lease->model_rule));
    if (lease->model_runs > 0)
        text_printf(&run->out, " by %" PRIu32 " runs", lease->model_runs);
}

static void say_end(struct run *run, const struct job *job)
{
    text_printf(&run->out, ": %s", job_result_name((enum job_result)job->result));
    if (job->run->end.reason)
        text_printf(&run->out, ", %s", job->run->end.reason);
    else if (job->result == RESULT_FAILED && job->run->end.signal)
        text_printf(&run->out, ", signal %" PRIu32, job->run->end.signal);
    else if (job->result == RESULT_FAILED)
        text_printf(&run->out, ", exit %" PRId32, job->run->end.exit_code);
}

static void say_job(struct run *run, const struct job *job)
{
    static const char *const causes[] = {
        "",          "cancelled", "time limit", "a member failed", "to run once more",
        "preempted", "to resize", "to heal",    "to move",         "its device is sick"
    };
    static const char *const rules[] = { [STOP_FOR_GUARANTEE] = "within its guarantee",
                                         [STOP_FOR_LESS] = "borrows no more",
                                         [STOP_FOR_FAIR] = "borrowed less",
                                         [STOP_FOR_EARLIER] = "beyond its least" };
    static const char *const times[] = { "a reservation", "a window", "the budget" };

    say_time(run, run->lab->now);
    text_printf(&run->out, "%" PRIu64 " %s", job->id, job_state_name((enum job_state)job->state));
    if (job->state == JOB_GRANTED || (job->state == JOB_RUNNING && !run->is_manual))
        say_lease(run, job->run->lease);
    if (job->state == JOB_GRANTED || (job->state == JOB_RUNNING && !run->is_manual))
        text_add(&run->out, job->run->is_backfill ? ", backfill" : "");
    if (job->state == JOB_STOPPING)
        text_printf(&run->out, ": %s", causes[job->run->stop_cause]);
    if (job->state == JOB_STOPPING && job->run->stop_cause == STOP_PREEMPT &&
        job->run->stop_rule == STOP_FOR_MACHINE)
        text_add(&run->out, ", its machine is taken away");
    else if (job->state == JOB_STOPPING && stop_rule_is_of_time(job->run->stop_rule))
        text_printf(&run->out, " for %s", times[job->run->stop_rule - STOP_FOR_RESERVATION]);
    else if (job->state == JOB_STOPPING && job->run->stop_cause == STOP_PREEMPT &&
             job->run->stop_rule != STOP_IN_QUEUE)
        text_printf(&run->out, " for %" PRIu64 ", %s", job->run->stopped_for,
                    rules[job->run->stop_rule]);
    if (job->state == JOB_STOPPING && job->run->stop_cause == STOP_RESIZE)
        text_printf(&run->out, " from %" PRIu32 " to %" PRIu32, job->run->resized_from,
                    job->run->members_next);
    if (job->state == JOB_STOPPING && job->run->stop_cause == STOP_RESIZE && job->run->resized_for)
        text_printf(&run->out, " for %" PRIu64 ", %s", job->run->resized_for,
                    rules[job->run->resize_rule]);
    if (job->state == JOB_STOPPING && job->run->stop_cause == STOP_MOVE)
        text_printf(&run->out, " from %s for %" PRIu64, job->run->moved_from, job->run->moved_for);
    if (job->state == JOB_STOPPING && job->run->stop_cause == STOP_RESCUE)
        text_printf(&run->out, " (%s: %s)", job->run->rescued_from, job->run->rescued_reason);
    if (job->state == JOB_ENDED)
        say_end(run, job);
    text_add_char(&run->out, '\n');
}

/* With the simple engine a grant is seen when it runs. */
static void say_changes(struct run *run)
{
    for (const struct job *job = run->lab->state->first_job; job; job = job->next) {
        uint64_t last = 0;
        map_get(&run->last_states, job->id, &last);
        if (last == (uint64_t)job->state + 1 || (job->state == JOB_GRANTED && !run->is_manual))
            continue;
        map_set(&run->last_states, job->id, (uint64_t)job->state + 1);
        say_job(run, job);
    }
}

static void tell(struct run *run, const struct event *event)
{
    struct error err;

    if (lab_try(run->lab, event, &err) < 0)
        fail(run, "%s: %s", event_name(event->kind), err.text);
    run->has_told = true;
    say_changes(run);
}

static void simple_engine(struct run *run)
{
    for (size_t i = 0; i < run->lab->state->jobs.count; i++) { /* as often as jobs may change */
        bool has_acted = false;
        for (struct job *job = run->lab->state->first_job; job && !has_acted; job = job->next) {
            uint64_t id = job->id;
            if (job->state == JOB_GRANTED) {
                lab_started(run->lab, id);
                has_acted = true;
            } else if (job->state == JOB_STOPPING) {
                struct event ended = {
                    .kind = EVENT_ENDED,
                    .ended = { .job = id,
                               .attempt = job->run->attempt,
                               .kind = ENGINE_ENDED,
                               .exit_code = -1,
                               .signal = 15,
                               .was_stopped = 1 },
                };
                uint32_t count = job->run->lease->members_count;
                for (uint32_t place = 0; place < count; place++) {
                    ended.ended.rank = lease_rank(job->run->lease, place);
                    lab_tell(run->lab, &ended);
                }
                has_acted = true;
            }
            if (has_acted)
                say_changes(run);
        }
        if (!has_acted)
            return;
    }
}

static void plan(struct run *run)
{
    run->has_told = false;
    do {
        lab_plan(run->lab);
        say_changes(run);
        if (!run->is_manual)
            simple_engine(run);
    } while (sched_next_wakeup(run->lab->brain) <= run->lab->now);
}

static usec_t end_of_run(const struct run *run, const struct job *job)
{
    uint64_t runs = 0;

    if (job->state != JOB_RUNNING || !map_get(&run->runs, job->id, &runs))
        return USEC_NEVER;
    usec_t cost = job_has_restarted(job) ? job->restart_cost : 0;
    return job->run->started + (usec_t)runs - job->run->attained + cost;
}

/* Let time pass: what ends by itself ends, and the brain is asked when it wants to be. */
static void go_to(struct run *run, usec_t until)
{
    if (run->has_told)
        plan(run);
    for (;;) {
        usec_t next = sched_next_wakeup(run->lab->brain);
        for (struct job *job = run->lab->state->first_job; job; job = job->next) {
            usec_t end = end_of_run(run, job);
            next = end < next ? end : next;
        }
        if (next > until)
            break;
        run->lab->now = next > run->lab->now ? next : run->lab->now;
        for (struct job *job = run->lab->state->first_job; job; job = job->next) {
            if (end_of_run(run, job) <= run->lab->now) {
                lab_ended(run->lab, job->id, 0);
                say_changes(run);
            }
        }
        plan(run);
    }
    run->lab->now = until;
}

static void do_node(struct run *run)
{
    const char *name = word(run, 1);
    int64_t number = state_find_node(run->lab->state, name);
    const struct node *old = number < 0 ? NULL : &run->lab->state->nodes.items[number];
    /* A copy: the event is recorded when the old one is gone. */
    AUTO_FREE char *type = mem_string(find(run, "type") ? string_of(run, "type")
                                      : old             ? old->type
                                                        : "");

    tell(run,
         &(struct event){ .kind = EVENT_NODE,
                          .node = { .name = name,
                                    .cpu_milli = milli_of(run, "cpus", old ? old->cpu_milli : 0),
                                    .memory_mib = find(run, "memory") ? mib_of(run, "memory")
                                                  : old               ? old->memory_mib
                                                                      : 0,
                                    .state = has(run, "drained") ? NODE_DRAINED
                                             : has(run, "down")  ? NODE_DOWN
                                                                 : NODE_UP,
                                    .reason = string_of(run, "reason"),
                                    .spot = has(run, "spot") || (old && old->reported.is_spot),
                                    .type = type } });
}

/* Types add up: the settings have all of them. */
static void do_type(struct run *run)
{
    const struct state *state = run->lab->state;
    struct event event = { .kind = EVENT_SETTINGS };
    struct node_type types[NODE_TYPES_MAX];
    size_t count = state->node_types.count;
    struct node_type type = { .cpu_milli = milli_of(run, "cpus", 8000),
                              .memory_mib = find(run, "memory") ? mib_of(run, "memory") : 65536,
                              .gpus = (uint32_t)number_of(run, "gpus", 0),
                              .most = (uint32_t)number_of(run, "most", 10),
                              .price_micro = milli_of(run, "price", 0) * 1000,
                              .spot_micro = milli_of(run, "spot_price", 0) * 1000,
                              .boot = duration_of(run, "boot", 5 * USEC_PER_MIN),
                              .idle = duration_of(run, "idle", 10 * USEC_PER_MIN) };

    if (count > 0)
        memcpy(types, state->node_types.items, count * sizeof(types[0]));
    snprintf(type.name, sizeof(type.name), "%s", word(run, 1));
    snprintf(type.model, sizeof(type.model), "%s", string_of(run, "model"));
    types[count++] = type;
    event.settings = (struct event_settings){ .half_life = state->settings.half_life,
                                              .placement = state->settings.placement,
                                              .order = state->settings.order,
                                              .predict = state->settings.predict,
                                              .backfill_depth = state->settings.backfill_depth,
                                              .node_types = types,
                                              .node_types_count = (uint32_t)count };
    tell(run, &event);
}

/* The settings as they are, with what is said of a node in place of what was. */
static void do_properties(struct run *run)
{
    const struct state *state = run->lab->state;
    struct event event = { .kind = EVENT_SETTINGS };
    LIST(struct node_settings) nodes = { 0 };
    struct node_settings node = { .is_spot = has(run, "spot"),
                                  .price_micro = milli_of(run, "price", 0) * 1000 };

    snprintf(node.name, sizeof(node.name), "%s", word(run, 1));
    snprintf(node.labels, sizeof(node.labels), "%s", string_of(run, "labels"));
    snprintf(node.rack, sizeof(node.rack), "%s", string_of(run, "rack"));
    snprintf(node.block, sizeof(node.block), "%s", string_of(run, "block"));
    snprintf(node.type, sizeof(node.type), "%s", string_of(run, "type"));
    LIST_EACH (const struct node_settings, other, &state->node_settings) {
        if (strcmp(other->name, node.name) != 0)
            list_add(&nodes, *other);
    }
    list_add(&nodes, node);
    settings_to_event(&state->settings, &event.settings);
    event.settings.node_types = state->node_types.items;
    event.settings.node_types_count = (uint32_t)state->node_types.count;
    event.settings.nodes = nodes.items;
    event.settings.nodes_count = (uint32_t)nodes.count;
    tell(run, &event);
    list_release(&nodes);
}

/* Its owner says that it goes; after in=T it does, unless the script has it stay. */
static void do_interrupt(struct run *run)
{
    int64_t number = state_find_node(run->lab->state, word(run, 1));
    struct event event = { .kind = EVENT_NODE };

    if (number < 0)
        fail(run, "no machine %s", word(run, 1));
    state_describe_node(&run->lab->state->nodes.items[number], &event.node);
    event.node.name = word(run, 1);
    event.node.reason = event.node.rack = event.node.block = event.node.type = "";
    event.node.labels = "";
    event.node.going_at = run->lab->now + duration_of(run, "in", 2 * USEC_PER_MIN);
    tell(run, &event);
}

static uint8_t spot_of_words(const struct run *run, bool is_preemptible)
{
    const char *word = find(run, "spot");

    for (uint8_t rule = 0; word && rule < SPOT_RULES; rule++) {
        if (strcmp(word, spot_rule_name(rule)) == 0)
            return rule;
    }
    if (word)
        fail(run, "spot=%s: expected never, allow, prefer or only", word);
    return is_preemptible ? SPOT_ALLOW : SPOT_NEVER;
}

static void do_gpus(struct run *run)
{
    int64_t count = number_of(run, "count", 1);
    uint32_t first = 0;
    int64_t node = state_find_node(run->lab->state, word(run, 1));

    for (size_t i = 0; i < run->lab->state->devices.count; i++)
        first += run->lab->state->devices.items[i].node == node;
    for (uint32_t i = first; i < first + (uint32_t)count; i++) {
        AUTO_FREE char *uuid = mem_printf("%s:%" PRIu32, word(run, 1), i);
        tell(run,
             &(struct event){ .kind = EVENT_DEVICE,
                              .device = { .node = word(run, 1),
                                          .uuid = uuid,
                                          .model = word(run, 2),
                                          .kind = find(run, "kind"),
                                          .index = i,
                                          .memory_mib = mib_of(run, "memory"),
                                          .island = (uint32_t)number_of(run, "island", 0),
                                          .numa_node = (int32_t)number_of(run, "numa", -1) + 1 } });
    }
}

static int64_t device_at(struct run *run, int at)
{
    int64_t number = state_find_device(run->lab->state, word(run, at));

    if (number < 0)
        fail(run, "no device %s", word(run, at));
    return number;
}

/* The engine chose this device for the only member. */
static void do_assigned(struct run *run)
{
    const struct job *job = state_job(run->lab->state, id_at(run, 1));
    struct event_held held = { .device = (uint32_t)device_at(run, 2) };

    if (!job || !job_is_active(job))
        fail(run, "no running job %s", word(run, 1));
    tell(run, &(struct event){ .kind = EVENT_ASSIGNED,
                               .assigned = { .job = job->id,
                                             .attempt = job->run->attempt,
                                             .devices = &held,
                                             .devices_count = 1 } });
}

/* Also how much of its memory strangers have: foreign=10G. */
static void do_health(struct run *run, const char *sick)
{
    static const char *const harms[HARMS] = { "stay", "leave", "die" };
    const char *jobs = find(run, "jobs");
    uint8_t harm = HARM_NONE;

    for (uint8_t i = 0; jobs && i < HARMS; i++)
        harm = strcmp(jobs, harms[i]) == 0 ? i : harm;
    int64_t number = device_at(run, 1);

    const struct device *device = &run->lab->state->devices.items[number];
    AUTO_FREE char *uuid = mem_string(device->uuid);
    AUTO_FREE char *model = mem_string(device->model);
    tell(run, &(struct event){
                  .kind = EVENT_DEVICE,
                  .device = { .node = run->lab->state->nodes.items[device->node].name,
                              .uuid = uuid,
                              .model = model,
                              .index = device->index,
                              .memory_mib = device->memory_mib,
                              .numa_node = device->numa_node,
                              .foreign_mib = find(run, "foreign") ? mib_of(run, "foreign") : 0,
                              .mig_enabled = has(run, "mig"),
                              .sick = sick,
                              .harm = harm } });
}

/* Spans of the script's time: "10m-20m". */
static void do_window(struct run *run)
{
    struct event_span spans[SPANS_MAX];
    uint32_t count = 0;

    for (int i = 2; i < run->word_count && count < SPANS_MAX; i++) {
        char *dash = strchr(run->words[i], '-');
        if (!dash)
            fail(run, "window: '%s': expected one like 10m-20m", run->words[i]);
        *dash = '\0';
        spans[count].from = duration(run, run->words[i]);
        spans[count++].until = duration(run, dash + 1);
    }
    tell(run, &(struct event){ .kind = EVENT_WINDOW,
                               .window = { .name = word(run, 1),
                                           .words = "as the script says",
                                           .spans = spans,
                                           .spans_count = count } });
}

static void do_tariff(struct run *run)
{
    tell(run,
         &(struct event){ .kind = EVENT_TARIFF,
                          .tariff = { .name = word(run, 1),
                                      .window = string_of(run, "window"),
                                      .factor_milli = (uint32_t)milli_of(run, "factor", 0) } });
}

static void do_reservation(struct run *run)
{
    const char *queue = find(run, "queue"), *user = find(run, "user");

    tell(run, &(struct event){ .kind = EVENT_RESERVATION,
                               .reservation = { .name = word(run, 1),
                                                .window = string_of(run, "window"),
                                                .kind = queue  ? RESERVATION_QUEUE
                                                        : user ? RESERVATION_USER
                                                               : RESERVATION_MAINTENANCE,
                                                .owner = queue  ? queue
                                                         : user ? user
                                                                : "",
                                                .gpus = (uint32_t)number_of(run, "gpus", 0),
                                                .model = string_of(run, "model"),
                                                .nodes = string_of(run, "nodes") } });
}

static void read_where(const struct run *run, where_list *ret)
{
    struct error err;

    if (find(run, "where") && where_parse(ret, find(run, "where"), &err) < 0)
        fail(run, "where: %s", err.text);
}

static uint8_t read_labels(const struct run *run, const char *key, struct job_label *ret)
{
    const char *at = find(run, key);
    uint8_t count = 0;

    for (; at && *at; at += strcspn(at, ","), at += *at == ',')
        snprintf(ret[count++].name, REQUEST_LABEL_SIZE, "%.*s", (int)strcspn(at, ","), at);
    return count;
}

static void do_pool(struct run *run)
{
    bool is_static = has(run, "static");
    where_list where = { 0 };
    struct event_pool_during during = { .window = string_of(run, "during"),
                                        .milli_min = milli_of(run, "during_min", ABSENT),
                                        .milli_max = milli_of(run, "during_max", ABSENT) };

    read_where(run, &where);
    tell(run,
         &(struct event){ .kind = EVENT_POOL,
                          .pool = { .name = word(run, 1),
                                    .is_static = is_static,
                                    .queue = string_of(run, "queue"),
                                    .model = string_of(run, "model"),
                                    .nodes = string_of(run, "nodes"),
                                    .gpus = (uint32_t)number_of(run, "gpus", 0),
                                    .mig = strcmp(string_of(run, "mig"), "on") == 0 ? POOL_MIG_ON
                                           : find(run, "mig")                       ? POOL_MIG_OFF
                                                                                    : POOL_MIG_ANY,
                                    .milli_min = milli_of(run, "min", 0),
                                    .milli_max = milli_of(run, "max", 0),
                                    .during = &during,
                                    .during_count = find(run, "during") ? 1 : 0,
                                    .where = where.items,
                                    .where_count = (uint32_t)where.count } });
    list_release(&where);
}

/* cells=2xnode:h100:8 */
static bool read_cells(const struct run *run, struct cell_quota *cell)
{
    const char *value = find(run, "cells");
    char level[16] = "", model[CELL_MODEL_SIZE] = "";

    *cell = (struct cell_quota){ .level = CELL_LEVELS };
    if (!value)
        return false;
    if (sscanf(value, "%" SCNu32 "x%15[^:]:%31[^:]:%" SCNu32, &cell->count, level, model,
               &cell->gpus) != 4)
        fail(run, "cells=%s: expected cells=2xnode:h100:8", value);
    for (uint8_t i = 0; i < CELL_LEVELS; i++)
        cell->level = strcmp(level, cell_level_name(i)) == 0 ? i : cell->level;
    snprintf(cell->model, sizeof(cell->model), "%s", model);
    return true;
}

static int64_t during_of(const struct run *run, const char *key)
{
    const char *value = find(run, key);

    return !value ? ABSENT : strcmp(value, "none") == 0 ? QUOTA_NONE : milli_of(run, key, 0);
}

/* What the queue may spend, then each user in it, then `named`. */
static uint32_t budgets_of(const struct run *run, struct event_budget *budgets)
{
    static const char *const keys[][ACCOUNTS] = { { "budget", "gpu_time" },
                                                  { "each_budget", "each_gpu_time" },
                                                  { "named_budget", "named_gpu_time" } };
    const char *const users[] = { "", "each", string_of(run, "named") };
    uint32_t count = 0;

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        for (enum account_kind kind = 0; kind < ACCOUNTS; kind++) {
            const char *key = keys[i][kind];
            if (!find(run, key))
                continue;
            budgets[count++] = (struct event_budget){
                .account = (uint8_t)kind,
                .most =
                    kind == ACCOUNT_MONEY ? milli_of(run, key, 0) * 1000 : duration_of(run, key, 0),
                .window = string_of(run, "per"),
                .firmness = has(run, "kill")   ? BUDGET_KILL
                            : has(run, "hard") ? BUDGET_HARD
                                               : 0,
                .user = users[i],
            };
        }
    }
    return count;
}

static void do_queue(struct run *run)
{
    struct cell_quota cell;
    bool has_cells = read_cells(run, &cell);
    struct event_budget budgets[ACCOUNTS * 3];
    struct event_during during = {
        .window = string_of(run, "during"),
        .resource = find(run, "during_of") ? string_of(run, "during_of") : "gpus",
        .quota = { during_of(run, "during_guarantee"), during_of(run, "during_limit"),
                   during_of(run, "during_borrow"), ABSENT }
    };

    struct event_quota quota = { .resource = string_of(run, "of"),
                                 .quota = { milli_of(run, "of_guarantee", 0),
                                            milli_of(run, "of_limit", -1), QUOTA_NONE,
                                            milli_of(run, "of_lend", -1) } };
    struct event_subject each = { .kind = SUBJECT_EACH_USER,
                                  .resource = "gpus",
                                  .limit = milli_of(run, "each", 0) };

    tell(run, &(struct event){
                  .kind = EVENT_QUEUE,
                  .queue = {
                      .name = word(run, 1),
                      .parent = string_of(run, "parent"),
                      .weight = (uint32_t)number_of(run, "weight", 1),
                      .gpus = { milli_of(run, "guarantee", 0), milli_of(run, "limit", -1),
                                milli_of(run, "borrow", -1), milli_of(run, "lend", -1) },
                      .quotas = &quota,
                      .quotas_count = find(run, "of") ? 1 : 0,
                      .subjects = &each,
                      .subjects_count = find(run, "each") ? 1 : 0,
                      .cells = &cell,
                      .cells_count = has_cells ? 1 : 0,
                      .min_runtime = duration_of(run, "min_runtime", 0),
                      .rules = { .oom_most = find(run, "oom_most") ? mib_of(run, "oom_most") : 0 },
                      .firm_within = has(run, "firm-within"),
                      .during = &during,
                      .during_count = find(run, "during") ? 1 : 0,
                      .budgets = budgets,
                      .budgets_count = budgets_of(run, budgets) } });
}

static void do_price(struct run *run)
{
    tell(run, &(struct event){ .kind = EVENT_PRICE,
                               .price = { .resource = word(run, 1),
                                          .price_micro = milli_of(run, "of", 0) * 1000 } });
}

static void do_settings(struct run *run)
{
    const char *placement = string_of(run, "placement"), *order = string_of(run, "order");
    static const char *const placements[] = { "best-fit",    "first-fit", "sfg",   "fgd",
                                              "dot-product", "spread",    "random" };
    static const char *const orders[] = { "default", "fifo", "shortest", "least-attained" };
    uint8_t place = PLACEMENT_BEST_FIT, ordering = ORDER_FIFO;

    for (uint8_t i = 0; i < COUNT_OF(placements); i++)
        place = strcmp(placement, placements[i]) == 0 ? i : place;
    for (uint8_t i = 0; i < COUNT_OF(orders); i++)
        ordering = strcmp(order, orders[i]) == 0 ? i : ordering;
    tell(run, &(struct event){
                  .kind = EVENT_SETTINGS,
                  .settings = {
                      .half_life = duration_of(run, "half_life", 0),
                      .choice = strcmp(string_of(run, "choice"), "fastest") == 0 ? CHOICE_FASTEST
                                : strcmp(string_of(run, "choice"), "place") == 0 ? CHOICE_PLACE
                                                                                 : CHOICE_PRICE,
                      .placement = place,
                      .order = ordering,
                      .predict = (uint8_t)number_of(run, "predict", 0),
                      .defrag_most = duration_of(run, "defrag", 0),
                      .backfill_depth = (uint32_t)number_of(run, "depth", 1) } });
}

static void do_group(struct run *run, uint64_t id, uint32_t jobs, enum group_kind kind)
{
    tell(run, &(struct event){ .kind = EVENT_GROUP,
                               .group = { .id = id,
                                          .last = id + (uint64_t)number_of(run, "parts", jobs),
                                          .kind = (uint8_t)kind,
                                          .name = "g",
                                          .user = "ana",
                                          .parent = (uint64_t)number_of(run, "parent", 0),
                                          .max_running = (uint32_t)number_of(run, "max", 0),
                                          .job_count = jobs } });
}

static enum need_kind need_kind_of(const struct run *run, const char *name, size_t length)
{
    for (int i = NEED_OK; i <= NEED_STARTED; i++) {
        const char *known = need_kind_name((enum need_kind)i);
        if (strlen(known) == length && strncmp(known, name, length) == 0)
            return (enum need_kind)i;
    }
    fail(run, "needs: no kind %.*s", (int)length, name);
    return NEED_OK;
}

static void tell_needs(struct run *run, uint64_t id, const char *needs)
{
    while (*needs) {
        size_t length = strcspn(needs, ":");
        char *end;
        struct event need = { .kind = EVENT_NEED,
                              .need = { .job = id,
                                        .kind = (uint8_t)need_kind_of(run, needs, length) } };
        need.need.on = strtoull(needs + length + 1, &end, 10);
        tell(run, &need);
        needs = *end ? end + 1 : end;
    }
}

/* "learner*1/h100:2/8+actor*4/0/2/4G": name, ranks, GPUs, CPUs, memory; roles are parted by '+'. */
static void read_roles(struct run *run, struct request *request)
{
    static struct role roles[REQUEST_ROLES_MAX];
    AUTO_FREE char *words = mem_string(string_of(run, "roles"));
    char *rest = words, *word;
    uint32_t count = 0;
    struct error err;

    while ((word = strsep(&rest, "+")) && *word) {
        struct role *role = &roles[count++];
        char *fields = word, *name = strsep(&fields, "/"), *star = strchr(name, '*');
        const char *gpus = strsep(&fields, "/"), *cpus = strsep(&fields, "/");
        const char *memory = strsep(&fields, "/");
        memset(role, 0, sizeof(*role));
        request_default(&role->request);
        role->request.members = star ? (uint32_t)strtoul(star + 1, NULL, 10) : 1;
        snprintf(role->name, sizeof(role->name), "%.*s", (int)strcspn(name, "*"), name);
        role->request.cpu_milli = cpus ? strtoll(cpus, NULL, 10) * 1000 : 0;
        if (request_parse_gpus(&role->request, gpus ? gpus : "", &err) < 0 ||
            (memory && units_parse_mib(memory, &role->request.memory_mib, &err) < 0))
            fail(run, "%s", err.text);
    }
    if (count > 0)
        request_set_roles(request, roles, count);
}

static void submit(struct run *run, uint64_t id, uint64_t group, uint32_t index)
{
    struct event event = { .kind = EVENT_SUBMIT };
    where_list where = { 0 };
    struct event_submit *job = &event.submit;
    const char *queue = find(run, "queue"), *needs = string_of(run, "needs");
    struct error err;

    *job = (struct event_submit){
        .id = id,
        .name = "job",
        .user = find(run, "user") ? find(run, "user") : "ana",
        .queue = queue ? queue : "default",
        .priority = (int32_t)number_of(run, "priority", 0),
        .begin = duration_of(run, "begin", 0),
        .held = has(run, "held"),
        .no_requeue = has(run, "no-requeue"),
        .retry = (uint32_t)number_of(run, "retry", 0),
        .oom_factor = (uint16_t)number_of(run, "oom_factor", 0),
        .group = group,
        .index = index,
        .estimate = duration_of(run, "estimate", 0),
        .deadline = duration_of(run, "deadline", 0),
        .preemptible = has(run, "preemptible"),
        .restart_cost = duration_of(run, "restart", 0),
        .checkpoint_every =
            has(run, "checkpoint=never") ? USEC_NEVER : duration_of(run, "checkpoint", 0),
        .resize = has(run, "never-resized") ? RESIZE_NEVER : RESIZE_RESTART,
        .goes_on = has(run, "goes-on"),
        .heals = (uint32_t)number_of(run, "heals", 0),
        .grace = duration_of(run, "grace", 0),
        .tariff_most = find(run, "tariff") ? (uint16_t)(milli_of(run, "tariff", 0) + 1) : 0,
    };
    request_default(&job->request);
    job->request.cpu_milli = milli_of(run, "cpus", 0);
    job->request.memory_mib = mib_of(run, "memory");
    job->request.max_duration = duration_of(run, "limit", USEC_NEVER);
    job->request.spot = spot_of_words(run, job->preemptible);
    for (uint8_t i = 0; i < WORKS; i++)
        job->request.work =
            strcmp(string_of(run, "work"), work_name(i)) == 0 ? i : job->request.work;
    job->request.members = (uint32_t)number_of(run, "members", 1);
    job->request.nodes_min = (uint32_t)number_of(run, "nodes", 1);
    job->request.nodes_max = job->request.nodes_min;
    const char *most = strstr(string_of(run, "members"), "..");
    job->request.members_max = most ? (uint32_t)strtoul(most + 2, NULL, 10) : 0;
    job->request.sizes = has(run, "any") ? SIZES_ANY : SIZES_POWERS;
    job->request.per_node = has(run, "per-node");
    snprintf(job->request.pool, sizeof(job->request.pool), "%s", string_of(run, "pool"));
    if (request_parse_gpus(&job->request, string_of(run, "gpus"), &err) < 0)
        fail(run, "%s", err.text);
    if (find(run, "accelerator") &&
        request_parse_accelerator(&job->request, find(run, "accelerator"), &err) < 0)
        fail(run, "%s", err.text);
    read_roles(run, &job->request);
    own_speed_list speeds = { 0 };
    if (find(run, "speeds") && own_speeds_parse(&speeds, find(run, "speeds"), &err) < 0)
        fail(run, "%s", err.text);
    job->request.speeds = speeds.items;
    job->request.speeds_count = (uint32_t)speeds.count;
    read_where(run, &where);
    job->request.where = where.items;
    job->request.where_count = (uint32_t)where.count;
    job->request.label_count = read_labels(run, "labels", job->request.labels);
    job->request.apart_count = read_labels(run, "apart", job->request.apart);
    if (request_check(&job->request, &err) < 0)
        fail(run, "%s", err.text);
    for (const char *at = needs; *at; at++)
        job->need_count += *at == ':';
    if (find(run, "runs"))
        map_set(&run->runs, id, (uint64_t)duration_of(run, "runs", 0));
    tell(run, &event);
    list_release(&where);
    list_release(&speeds);
    tell_needs(run, id, needs);
}

static void do_array(struct run *run)
{
    uint64_t id = id_at(run, 1);
    uint32_t jobs = (uint32_t)number_of(run, "jobs", 2);

    do_group(run, id, jobs, GROUP_ARRAY);
    for (uint32_t i = 0; i < jobs; i++)
        submit(run, id + 1 + i, id, i);
}

static void do_update(struct run *run)
{
    tell(run, &(struct event){ .kind = EVENT_UPDATE,
                               .update = { .job = id_at(run, 1),
                                           .has_priority = find(run, "priority") != NULL,
                                           .priority = (int32_t)number_of(run, "priority", 0),
                                           .queue = string_of(run, "queue"),
                                           .max_duration = duration_of(run, "limit", 0),
                                           .has_begin = find(run, "begin") != NULL,
                                           .begin = duration_of(run, "begin", 0) } });
}

static uint32_t attempt_of(const struct run *run, uint64_t id)
{
    const struct job *job = state_job(run->lab->state, id);

    if (!job)
        fail(run, "no job %" PRIu64, id);
    return (uint32_t)number_of(run, "attempt", job->run->attempt);
}

static void do_started(struct run *run)
{
    uint64_t id = id_at(run, 1);

    tell(run, &(struct event){ .kind = EVENT_STARTED,
                               .started = { .job = id,
                                            .attempt = attempt_of(run, id),
                                            .rank = (uint32_t)number_of(run, "rank", 0) } });
}

static void do_ended(struct run *run)
{
    uint64_t id = id_at(run, 1);
    uint32_t signal = (uint32_t)number_of(run, "signal", 0);

    tell(run,
         &(struct event){ .kind = EVENT_ENDED,
                          .ended = { .job = id,
                                     .attempt = attempt_of(run, id),
                                     .rank = (uint32_t)number_of(run, "rank", 0),
                                     .kind = has(run, "failed") ? ENGINE_FAILED
                                             : has(run, "lost") ? ENGINE_LOST
                                                                : ENGINE_ENDED,
                                     .exit_code = signal ? -1 : (int32_t)number_of(run, "exit", 0),
                                     .signal = signal,
                                     .was_stopped = has(run, "stopped"),
                                     .was_oom = has(run, "oom"),
                                     .reason = string_of(run, "reason") } });
}

static void say_why(struct run *run)
{
    uint64_t id = id_at(run, 1);
    const struct job *job = state_job(run->lab->state, id);
    struct why why;
    uint32_t ahead;
    char buffer[UNITS_TEXT_SIZE];

    if (!job)
        fail(run, "no job %" PRIu64, id);
    sched_why(run->lab->brain, run->lab->inquiry, job, &why, &ahead);
    text_printf(&run->out, "       why %" PRIu64 ": %s", id, why_name(why.kind));
    if (why.role)
        text_printf(&run->out, " role=%" PRIu32, why.role);
    if (why.queue)
        text_printf(&run->out, " queue=%s", run->lab->state->queues.items[why.queue].name);
    if (why.pool)
        text_printf(&run->out, " pool=%s", run->lab->state->pools.items[why.pool].name);
    if (why.kind == WHY_WINDOW)
        text_printf(&run->out, " window=%s",
                    run->lab->state->agenda.windows.items[why.window]->name);
    if (why.kind == WHY_RESERVATION)
        text_printf(&run->out, " reservation=%s",
                    run->lab->state->agenda.reservations.items[why.window].name);
    if (why.job)
        text_printf(&run->out, " job=%" PRIu64, why.job);
    if (why.kind == WHY_NEEDS)
        text_printf(&run->out, " need=%s", need_kind_name((enum need_kind)why.wanted));
    else if (why.wanted)
        text_printf(&run->out, " wanted=%" PRId64 " free=%" PRId64, why.wanted, why.free);
    if (why.user > 0)
        text_printf(&run->out, " user=%s", state_user(run->lab->state, why.user - 1));
    if (why.kind == WHY_BUDGET)
        text_printf(&run->out, " spent=%" PRId64 " committed=%" PRId64, why.spent, why.committed);
    if (why.most)
        text_printf(&run->out, " most=%" PRId64, why.most);
    if (why.at == USEC_NEVER)
        text_add(&run->out, " at=open");
    else if (why.at)
        text_printf(&run->out, " at=%s", units_format_duration(buffer, why.at));
    if (ahead > 0)
        text_printf(&run->out, " ahead=%" PRIu32, ahead);
    text_add_char(&run->out, '\n');
}

static void show_gpus(struct run *run)
{
    const struct state *state = run->lab->state;
    char milli[UNITS_TEXT_SIZE], mib[UNITS_TEXT_SIZE];

    for (size_t i = 0; i < state->devices.count; i++)
        text_printf(&run->out, "       gpu %s free %s, %s\n", state->devices.items[i].uuid,
                    units_format_milli(milli, state->room.devices.items[i].milli),
                    units_format_mib(mib, state->room.devices.items[i].memory_mib));
}

static void show_queues(struct run *run)
{
    const struct state *state = run->lab->state;
    char milli[UNITS_TEXT_SIZE];

    for (uint32_t i = 1; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        /* One GPU-hour of a cluster's share. */
        uint64_t usage =
            queue_usage(queue, SHARE_OF_GPUS, run->lab->now, state->settings.half_life) * 1000 /
            QUEUE_SHARE_ONE / 3600000;
        text_printf(&run->out, "       queue %s holds %s, used %" PRIu64 " milli-cluster-hours\n",
                    queue->name, units_format_milli(milli, queue->used.of[RESOURCE_GPUS]), usage);
    }
}

static void say_money(struct run *run, int64_t micro)
{
    text_printf(&run->out, "%" PRId64 ".%06" PRId64, micro / 1000000, micro % 1000000);
}

/* What each queue spent, and each job. */
static void show_money(struct run *run)
{
    const struct state *state = run->lab->state;
    char buffer[UNITS_TEXT_SIZE];

    for (uint32_t i = 1; i < state->payers.items.count; i++) {
        const struct payer *payer = &state->payers.items.items[i];
        bool is_user = payer->user != PAYER_ALL;
        struct account accounts[ACCOUNTS];
        state_accounts(state, i, run->lab->now, accounts);
        text_printf(&run->out, "       queue %s%s%s spent ", state->queues.items[payer->queue].name,
                    is_user ? " user " : "", is_user ? state_user(state, payer->user) : "");
        say_money(run, accounts[ACCOUNT_MONEY].spent);
        text_printf(&run->out, ", %s of a gpu\n",
                    units_format_duration(buffer, accounts[ACCOUNT_GPU_TIME].spent));
    }
    for (const struct job *job = state->first_job; job; job = job->next) {
        text_printf(&run->out, "       job %" PRIu64 " cost ", job->id);
        say_money(run, state_cost(state, job, run->lab->now));
        text_add_char(&run->out, '\n');
    }
}

static void show_jobs(struct run *run)
{
    for (const struct job *job = run->lab->state->first_job; job; job = job->next) {
        text_printf(&run->out, "       job %" PRIu64 " %s", job->id,
                    job_state_name((enum job_state)job->state));
        if (job->run->lease && job->run->members_lost > 0) {
            text_printf(&run->out, ", %" PRIu32 " lost:", job->run->members_lost);
            say_lease(run, job->run->lease);
        }
        text_add_char(&run->out, '\n');
    }
}

static void do_show(struct run *run)
{
    if (has(run, "gpus"))
        show_gpus(run);
    else if (has(run, "queues"))
        show_queues(run);
    else if (has(run, "jobs"))
        show_jobs(run);
    else if (has(run, "money"))
        show_money(run);
    else
        fail(run, "show: expected gpus, queues, jobs or money");
}

static void do_wakeup(struct run *run)
{
    usec_t at = sched_next_wakeup(run->lab->brain);
    char buffer[UNITS_TEXT_SIZE];

    text_printf(&run->out, "       wakeup %s\n",
                at == USEC_NEVER ? "never" : units_format_duration(buffer, at));
}

static void say_scale(struct run *run)
{
    const struct state *state = run->lab->state;
    char saved[UNITS_TEXT_SIZE], price[UNITS_TEXT_SIZE];
    struct scale_plan plan;

    sched_scale(run->lab->brain, run->lab->inquiry, run->lab->now, &plan);
    for (size_t i = 0; i < plan.wishes.count; i++) {
        const struct scale_wish *wish = &plan.wishes.items[i];
        text_printf(
            &run->out, "       scale +%" PRIu32 " %s%s for %" PRIu32 " jobs, %s an hour, %s\n",
            wish->count, wish->is_spot ? "spot " : "", state->node_types.items[wish->type].name,
            wish->jobs, units_format_milli(price, wish->price_micro / 1000),
            wish->saved == USEC_NEVER ? "open-ended" : units_format_duration(saved, wish->saved));
    }
    for (size_t i = 0; i < plan.may_go.count; i++)
        text_printf(&run->out, "       scale %s may go\n",
                    state->nodes.items[plan.may_go.items[i]].name);
    if (plan.wishes.count + plan.may_go.count == 0)
        text_add(&run->out, "       scale: nothing\n");
    scale_release(&plan);
}

/* "call most=2": of all nodes that are down, as if each could be had. */
static void say_call(struct run *run)
{
    const struct state *state = run->lab->state;
    AUTO_FREE uint32_t *nodes = mem_zero(state->nodes.count + 1, sizeof(*nodes));
    AUTO_FREE uint32_t *wanted = mem_zero(state->nodes.count + 1, sizeof(*wanted));
    struct scale_call call = { .nodes = nodes, .most = (uint32_t)number_of(run, "most", 10) };
    bool is_any = false;

    for (uint32_t i = 0; i < state->nodes.count; i++) {
        if (state->nodes.items[i].state == NODE_DOWN)
            nodes[call.count++] = i;
    }
    sched_want_nodes(run->lab->brain, run->lab->inquiry, run->lab->now, &call, wanted);
    for (uint32_t i = 0; i < call.count; i++) {
        if (wanted[i] > 0)
            text_printf(&run->out, "       call +%" PRIu32 " like %s\n", wanted[i],
                        state->nodes.items[nodes[i]].name);
        is_any |= wanted[i] > 0;
    }
    if (!is_any)
        text_add(&run->out, "       call: nothing\n");
}

/* Questions are asked of the last plan. */
static bool do_question(struct run *run)
{
    static const struct {
        const char *name;
        void (*act)(struct run *run);
    } questions[] = { { "why", say_why },
                      { "show", do_show },
                      { "wakeup", do_wakeup },
                      { "scale", say_scale },
                      { "call", say_call } };

    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        if (strcmp(run->words[0], questions[i].name) != 0)
            continue;
        if (run->has_told)
            plan(run);
        questions[i].act(run);
        return true;
    }
    return false;
}

static void do_command(struct run *run, enum event_kind kind)
{
    struct event event = { .kind = kind, .hold = { .job = id_at(run, 1) } };

    if (kind == EVENT_CANCEL)
        event.cancel.user = "ana";
    tell(run, &event);
}

static void do_line(struct run *run)
{
    static const struct {
        const char *name;
        void (*act)(struct run *run);
    } acts[] = {
        { "node", do_node },         { "gpus", do_gpus },
        { "pool", do_pool },         { "window", do_window },
        { "tariff", do_tariff },     { "reservation", do_reservation },
        { "queue", do_queue },       { "price", do_price },
        { "array", do_array },       { "update", do_update },
        { "settings", do_settings }, { "started", do_started },
        { "ended", do_ended },       { "interrupt", do_interrupt },
        { "type", do_type },         { "properties", do_properties },
        { "assigned", do_assigned },
    };
    static const struct {
        const char *name;
        enum event_kind kind;
    } commands[] = {
        { "hold", EVENT_HOLD },       { "release", EVENT_RELEASE }, { "cancel", EVENT_CANCEL },
        { "requeue", EVENT_REQUEUE }, { "forget", EVENT_FORGET },
    };
    const char *name = run->words[0];

    for (size_t i = 0; i < COUNT_OF(acts); i++) {
        if (strcmp(name, acts[i].name) == 0) {
            acts[i].act(run);
            return;
        }
    }
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (strcmp(name, commands[i].name) == 0) {
            do_command(run, commands[i].kind);
            return;
        }
    }
    if (do_question(run))
        return;
    if (strcmp(name, "submit") == 0)
        submit(run, id_at(run, 1), (uint64_t)number_of(run, "group", 0), 0);
    else if (strcmp(name, "group") == 0)
        do_group(run, id_at(run, 1), (uint32_t)number_of(run, "jobs", 1),
                 has(run, "pipeline") ? GROUP_PIPELINE : GROUP_STAGE);
    else if (strcmp(name, "sick") == 0)
        do_health(run, string_of(run, "reason")[0] ? string_of(run, "reason") : "sick");
    else if (strcmp(name, "well") == 0)
        do_health(run, "");
    else if (strcmp(name, "pool-remove") == 0)
        tell(run,
             &(struct event){ .kind = EVENT_POOL_REMOVE, .pool_remove = { .name = word(run, 1) } });
    else if (strcmp(name, "queue-remove") == 0)
        tell(run, &(struct event){ .kind = EVENT_QUEUE_REMOVE,
                                   .queue_remove = { .name = word(run, 1) } });
    else if (strcmp(name, "reservation-remove") == 0)
        tell(run, &(struct event){ .kind = EVENT_RESERVATION_REMOVE,
                                   .reservation_remove = { .name = word(run, 1) } });
    else if (strcmp(name, "at") == 0)
        go_to(run, duration(run, word(run, 1)));
    else if (strcmp(name, "plan") == 0)
        plan(run);
    else if (strcmp(name, "manual") == 0)
        run->is_manual = true;
    else if (strcmp(name, "reload") == 0)
        lab_reload(run->lab);
    else
        fail(run, "no word '%s'", name);
}

/* A blank line ends a block: the brain is asked. */
static void run_script(struct run *run, char *script)
{
    char *rest = script;

    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        char *words = line;
        bool is_blank = line[0] == '\0';
        run->line++;
        run->word_count = 0;
        line[strcspn(line, "#")] = '\0';
        for (char *at = strsep(&words, " \t"); at; at = strsep(&words, " \t")) {
            if (*at && run->word_count < WORDS_MAX)
                run->words[run->word_count++] = at;
        }
        if (run->word_count > 0)
            do_line(run);
        else if (is_blank && run->has_told)
            plan(run);
    }
    if (run->has_told)
        plan(run);
}

static char *read_case(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }

    char *bytes = mem_zero(FILE_MAX, 1);
    size_t length = fread(bytes, 1, FILE_MAX - 1, file);
    fclose(file);
    bytes[length] = '\0';
    return bytes;
}

static void write_case(const char *path, const char *script, const char *out)
{
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        exit(2);
    }
    fprintf(file, "%s---\n%s", script, out);
    fclose(file);
}

/* The first line in which the two differ, with the one before. */
static void show_difference(const char *path, const char *expected, const char *got)
{
    const char *line = expected, *line2 = got;

    printf("%s: not what is expected\n", path);
    while (*line && *line2) {
        size_t length = strcspn(line, "\n"), length2 = strcspn(line2, "\n");
        if (length != length2 || memcmp(line, line2, length) != 0)
            break;
        line += length + (line[length] != '\0');
        line2 += length2 + (line2[length2] != '\0');
    }
    printf("  expected: %.*s\n  got:      %.*s\n", (int)strcspn(line, "\n"), line,
           (int)strcspn(line2, "\n"), line2);
}

static bool run_case(const char *path, bool is_update)
{
    AUTO_FREE char *bytes = read_case(path);
    char *mark = strstr(bytes, "\n---\n");
    const char *expected = mark ? mark + 5 : "";
    struct run run = { .lab = lab_create(), .path = path };

    if (mark)
        mark[1] = '\0';
    AUTO_FREE char *script = mem_string(bytes);
    run_script(&run, bytes);
    bool is_same = strcmp(expected, text_string(&run.out)) == 0;
    if (!is_same && is_update) {
        write_case(path, script, text_string(&run.out));
        printf("%s: rewritten\n", path);
    } else if (!is_same)
        show_difference(path, expected, text_string(&run.out));
    lab_destroy(run.lab);
    text_release(&run.out);
    map_release(&run.last_states);
    map_release(&run.runs);
    return is_same || is_update;
}

int main(int argc, char **argv)
{
    bool is_update = argc > 1 && strcmp(argv[1], "--update") == 0;
    int failed = 0, first = is_update ? 2 : 1;

    if (first >= argc) {
        fprintf(stderr, "usage: run_cases [--update] CASE...\n");
        return 2;
    }
    for (int i = first; i < argc; i++)
        failed += !run_case(argv[i], is_update);
    printf("%d cases, %d failed\n", argc - first, failed);
    return failed > 0 ? 1 : 0;
}
