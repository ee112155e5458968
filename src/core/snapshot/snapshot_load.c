/* SPDX-License-Identifier: Apache-2.0 */
/* The state from the bytes of a snapshot: they are input, and all of them is checked. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/snapshot/snapshot.h"
#include "core/snapshot/snapshot_kinds.h"
#include "core/state/fold.h"
#include "core/state/rescue.h"

static struct queue_during load_during(const struct saved_during *saved)
{
    struct queue_during during = saved->during;

    for (enum quota_bound i = 0; i < BOUNDS; i++) {
        if (!(saved->given >> i & 1))
            *quota_part(&during.quota, i) = ABSENT;
    }
    return during;
}

static int load_world(struct state *state, const struct state *saved, struct error *err)
{
    if (saved->now < 0 || saved->settings.half_life <= 0 ||
        saved->settings.half_life > QUEUE_HALF_LIFE_MAX)
        return error_set(err, -EBADMSG, "snapshot: its time or half-life is invalid");

    state->now = saved->now;
    state->next_id = saved->next_id;
    state->settings = saved->settings;
    settings_repair(&state->settings);
    if (saved->moves.from >= 0 && saved->moves.from <= saved->now && saved->moves.lost >= 0)
        state->moves = saved->moves;
    state->next_begin = saved->next_begin;
    state->demand.noted = saved->demand.noted;
    state->demand.decayed = saved->demand.decayed >= 0 && saved->demand.decayed <= saved->now
                                ? saved->demand.decayed
                                : saved->now;
    state->history.hand = saved->history.hand % HISTORY_RINGS_MAX;
    state->history.all = saved->history.all;
    state->history.version = saved->history.version;
    state->history.actual = saved->history.actual;
    state->history.expected = saved->history.expected;
    state->speeds.is_learning = saved->speeds.is_learning;
    state->charges_nodes = saved->charges_nodes;
    state->slack = saved->slack;
    if (saved->slack.least < 0 || saved->slack.at > saved->now)
        state->slack = (struct slack_choice){ 0 };
    state->tokens.last = saved->tokens.last;
    state->plan_from = saved->plan_from;
    state->plan_until = saved->plan_until;
    memcpy(state->history.offsets, saved->history.offsets, sizeof(saved->history.offsets));
    /* The built-in ones are in the snapshot, too. */
    for (size_t i = 0; i < state->pools.count; i++)
        pool_release(&state->pools.items[i]);
    for (size_t i = 0; i < state->queues.count; i++)
        queue_release(&state->queues.items[i]);
    payers_release(&state->payers);
    state->pools.count = state->queues.count = state->room.pools.count = 0;
    return 0;
}

static bool is_amount(int64_t amount)
{
    return amount >= 0 && amount <= INT64_C(1) << 40;
}

static int load_node(struct state *state, const struct node *saved, struct error *err)
{
    if (!is_amount(saved->cpu_milli) || !is_amount(saved->memory_mib) ||
        saved->reported.price_micro < 0 || saved->going_at < 0)
        return error_set(err, -EBADMSG, "snapshot: node %s is invalid", saved->name);

    struct node node = *saved;

    record_own(snapshot_type(NODE), &node);
    string_put(&node.reason, string_or_null(saved->reason));
    string_put(&node.drained, string_or_null(saved->drained));
    list_add(&state->nodes, node);
    list_add(&state->room.nodes, (struct room_node){ node.cpu_milli, node.memory_mib });
    state_name_node(state, (uint32_t)state->nodes.count - 1);
    return 0;
}

static int load_device(struct state *state, const struct device *saved, struct error *err)
{
    struct device device = *saved;

    if (saved->node >= state->nodes.count || !is_amount(saved->memory_mib))
        return error_set(err, -EBADMSG, "snapshot: device %s: no such node", saved->uuid);
    record_own(snapshot_type(DEVICE), &device);
    string_put(&device.sick, string_clean_or_null(saved->sick));
    string_put(&device.drained, string_clean_or_null(saved->drained));
    device_settle(&device);
    device.harm = saved->harm < HARMS ? saved->harm : HARM_NONE;
    list_add(&state->devices, device);
    list_add(&state->room.devices,
             (struct room_device){ .memory_mib = device.memory_mib - device.foreign_mib,
                                   .milli = GPU_MILLI });
    state_name_device(state, (uint32_t)state->devices.count - 1);
    return 0;
}

static int load_pool(struct state *state, const struct saved_pool *saved, struct error *err)
{
    struct saved_pool copy = *saved;
    where_list where = { 0 };

    if (!where_assign(&where, saved->nodes, saved->labels, saved->where, saved->where_count)) {
        list_release(&where);
        return error_set(err, -EBADMSG, "snapshot: pool %s is invalid", saved->pool.name);
    }
    record_own(snapshot_type(POOL), &copy);
    string_put(&copy.nodes, NULL);
    string_put(&copy.labels, NULL);
    struct pool pool = copy.pool;
    pool.where = where;
    pool.mig = pool.mig <= POOL_MIG_ON ? pool.mig : POOL_MIG_ANY;
    pool.during = (__typeof__(pool.during)){ 0 };
    for (uint32_t i = 0; i < saved->during_count; i++) {
        struct pool_during during = saved->during[i];
        during.milli_min = during.milli_min < 0 ? ABSENT : during.milli_min;
        during.milli_max = during.milli_max < 0 ? ABSENT : during.milli_max;
        list_add(&pool.during, during);
    }
    list_add(&state->pools, pool);
    list_add(&state->room.pools, 0);
    return 0;
}

/* One of before there were lists says all of it in the first two. */
static int load_quotas(struct queue *queue, const struct saved_queue *saved, struct error *err)
{
    int64_t guarantee = queue->base[0].guarantee, limit = queue->base[0].limit;

    for (size_t i = 0; i < RESOURCES_MAX; i++)
        queue->base[i] = QUOTA_OPEN;
    if (saved->quotas_count == 0)
        queue->base[RESOURCE_GPUS] = (struct quota){ guarantee, limit, QUOTA_NONE, QUOTA_NONE };
    for (uint32_t i = 0; i < saved->quotas_count; i++) {
        if (saved->quotas[i].resource >= RESOURCES_MAX)
            return error_set(err, -EBADMSG, "snapshot: queue %s: no such resource", queue->name);
        queue->base[saved->quotas[i].resource] = saved->quotas[i].quota;
    }
    queue->during = (__typeof__(queue->during)){ 0 };
    for (uint32_t i = 0; i < saved->during_count; i++) {
        if (saved->during[i].during.resource >= RESOURCES_MAX)
            return error_set(err, -EBADMSG, "snapshot: queue %s: no such resource", queue->name);
        list_add(&queue->during, load_during(&saved->during[i]));
    }
    queue->subjects = (__typeof__(queue->subjects)){ 0 };
    for (uint32_t i = 0; i < saved->subjects_count; i++) {
        if (saved->subjects[i].resource >= RESOURCES_MAX)
            return error_set(err, -EBADMSG, "snapshot: queue %s: no such resource", queue->name);
        list_add(&queue->subjects, saved->subjects[i]);
    }
    queue->names = (__typeof__(queue->names)){ 0 };
    for (uint32_t i = 0; i < saved->names_count; i++)
        list_add(&queue->names, saved->names[i]);
    queue->cells = (__typeof__(queue->cells)){ 0 };
    for (uint32_t i = 0; i < saved->cells_count; i++) {
        if (saved->cells[i].level >= CELL_LEVELS || i == QUEUE_CELLS_MAX)
            return error_set(err, -EBADMSG, "snapshot: queue %s: no such cells", queue->name);
        list_add(&queue->cells, saved->cells[i]);
    }
    queue->budgets = (__typeof__(queue->budgets)){ 0 };
    for (enum account_kind kind = 0; kind < ACCOUNTS; kind++) {
        const struct account *own = &saved->payer.accounts[kind];
        if (own->most != ACCOUNT_NO_BUDGET)
            list_add(&queue->budgets, (struct budget){ PAYER_ALL, (uint8_t)kind, own->firmness,
                                                       own->window, own->most });
    }
    for (uint32_t i = 0; i < saved->budgets_count; i++) {
        if (saved->budgets[i].account >= ACCOUNTS)
            return error_set(err, -EBADMSG, "snapshot: queue %s: no such budget", queue->name);
        list_add(&queue->budgets, saved->budgets[i]);
    }
    return 0;
}

static int add_payer(struct state *state, const struct payer *saved, uint32_t *ret,
                     struct error *err)
{
    const char *queue = state->queues.items[saved->queue].name;

    if (saved->charged_at < 0 || saved->charged_at > state->now)
        return error_set(err, -EBADMSG, "snapshot: queue %s: its accounts are invalid", queue);
    *ret = payers_add(&state->payers, saved);
    return 0;
}

static int load_queue(struct state *state, const struct saved_queue *saved, struct error *err)
{
    struct queue queue = saved->queue;

    if (queue.parent >= state->queues.count && (state->queues.count > 0 || queue.parent > 0))
        return error_set(err, -EBADMSG, "snapshot: queue %s: no such parent", queue.name);
    if (queue.weight == 0 || queue.usage_at < 0 || queue.usage_at > state->now)
        return error_set(err, -EBADMSG, "snapshot: queue %s is invalid", queue.name);
    queue.name = mem_string(queue.name);
    queue.subjects = (__typeof__(queue.subjects)){ 0 };
    int code = load_quotas(&queue, saved, err);
    list_add(&state->queues, queue);
    if (code < 0)
        return code;
    struct payer payer = saved->payer;
    payer.queue = (uint32_t)state->queues.count - 1;
    payer.user = PAYER_ALL;
    return add_payer(state, &payer, &state->queues.items[payer.queue].payer, err);
}

/* After the users. */
static int load_payer(struct state *state, const struct payer *saved, struct error *err)
{
    uint32_t number;

    if (saved->queue >= state->queues.count || saved->user >= state->users.count ||
        payers_find_user(&state->payers, saved->queue, saved->user) != PAYER_NONE)
        return error_set(err, -EBADMSG, "snapshot: a payer is invalid");
    return add_payer(state, saved, &number, err);
}

/* Most that wait have none. */
static void load_run(struct job *job, const struct saved_job *saved)
{
    struct job_run rest = saved->run;

    rest.end.reason = rest.cancelled_by = rest.cancel_reason = rest.moved_from = rest.moved_to =
        NULL;
    rest.rescued_from = rest.rescued_reason = rest.external = rest.place = rest.restarted = NULL;
    if (!job_is_active(job) && !saved->run.end.reason[0] && !saved->run.cancelled_by[0] &&
        !saved->run.external[0] && !saved->run.restarted[0] &&
        memcmp(&rest, &job_no_run, sizeof(rest)) == 0)
        return;

    struct job_run *run = job_claim_run(job);
    *run = saved->run;
    run->cancelled_by = run->cancel_reason = NULL;
    job_set_cancel(run, saved->run.cancelled_by, saved->run.cancel_reason);
    run->end.reason = string_or_null(saved->run.end.reason);
    run->external = string_or_null(saved->run.external);
    run->usage = saved->usage.sums_count > 0 ? usage_copy(&saved->usage) : NULL;
    run->moved_from = string_or_null(saved->run.moved_from);
    run->moved_to = string_or_null(saved->run.moved_to);
    run->rescued_from = string_or_null(saved->run.rescued_from);
    run->place = string_or_null(saved->run.place);
    run->restarted = string_clean_or_null(saved->run.restarted);
    run->rescued_reason = string_clean_or_null(saved->run.rescued_reason);
    if (!job_is_active(job))
        return;
    run->lease = lease_copy(&saved->lease);
    lease_complete(run->lease);
    run->member_states = mem_zero(run->lease->members_count, 1);
    for (uint32_t i = 0; i < run->lease->members_count; i++)
        run->member_states[i] = (uint8_t)(saved->member_states[i] - '0');
}

static bool is_time(usec_t time)
{
    return time >= 0 && (time == USEC_NEVER || time <= USEC_NEVER / 4);
}

static bool are_times(const struct job *job)
{
    return is_time(job->submitted) && is_time(job->begin) && is_time(job->queued) &&
           is_time(job->estimate) && is_time(job->deadline) && is_time(job->restart_cost) &&
           job->checkpoint_every >= 0 && job->spot < SPOT_RULES;
}

static int load_job(struct state *state, const struct saved_job *saved, struct error *err)
{
    struct error why;

    if (request_check(&saved->request, &why) < 0 || saved->job.user >= state->users.count ||
        !are_times(&saved->job))
        return error_set(err, -EBADMSG, "snapshot: job %" PRIu64 " is invalid", saved->job.id);
    if (saved->job.queue >= state->queues.count || saved->job.state >= JOB_STATE_COUNT ||
        saved->job.id == 0 || state_job(state, saved->job.id) ||
        (job_is_active(&saved->job) &&
         (saved->lease.members_count == 0 ||
          strlen(saved->member_states) != saved->lease.members_count ||
          !lease_is_plausible(&saved->lease))))
        return error_set(err, -EBADMSG, "snapshot: job %" PRIu64 " is invalid", saved->job.id);
    for (uint32_t i = 0; i < saved->lease.members_count; i++) {
        if (saved->lease.members[i].node >= state->nodes.count)
            return error_set(err, -EBADMSG, "snapshot: job %" PRIu64 ": no such node",
                             saved->job.id);
    }
    for (uint32_t i = 0; i < saved->lease.slices_count; i++) {
        if (saved->lease.slices[i].device >= state->devices.count ||
            saved->lease.slices[i].pool >= state->pools.count)
            return error_set(err, -EBADMSG, "snapshot: job %" PRIu64 ": no such device",
                             saved->job.id);
    }

    if (!class_labels_fit(&state->classes, &saved->request))
        return error_set(err, -EBADMSG, "snapshot: job %" PRIu64 ": too many labels",
                         saved->job.id);

    struct job *job = job_create(saved->job.name);
    struct job made = saved->job;
    made.name = job->name;
    made.run = job->run;
    *job = made;
    load_run(job, saved);
    job->max_duration = saved->request.max_duration;
    job->class = class_claim(&state->classes, &saved->request);
    class_note_user(&state->classes, job->class, job->user);
    if (job_is_active(job))
        state_mark_lease(state, job);
    state_link_job(state, job);
    if (job->spot == SPOT_PREFER && (job->state == JOB_QUEUED || job->state == JOB_WAITING))
        state->next_spot = state->now; /* the next plan finds out */
    if (job->state >= JOB_QUEUED && job->state <= JOB_STOPPING)
        state_count_wanted(state, job, 1);
    if (job_is_active(job))
        state_count(state, job, 1);
    return 0;
}

static int load_need(struct state *state, const struct need *saved, struct error *err)
{
    struct job *job = state_job(state, saved->job);

    if (!job)
        return error_set(err, -EBADMSG, "snapshot: need of job %" PRIu64 ": no such job",
                         saved->job);
    need_add(&state->needs, saved->job, saved->on, saved->kind);
    struct need *need = &state->needs.needs.items[need_first_of(&state->needs, saved->job) - 1];
    need->is_broken = saved->is_broken;
    job->needs_left += !need->is_broken;
    return 0;
}

static int load_demand(struct state *state, const struct saved_demand *saved, struct error *err)
{
    (void)err; /* such a shape is left out */
    if (request_check(&saved->request, NULL) == 0 && saved->weight >> 48 == 0 &&
        state->demand.shapes.count < DEMAND_SHAPES_MAX)
        list_add(&state->demand.shapes,
                 (struct demand_shape){ class_claim(&state->classes, &saved->request),
                                        saved->weight > 0 ? saved->weight : 1 });
    return 0;
}

static bool load_numbers(const char *text, int16_t *numbers)
{
    if (!text || strlen(text) != 4 * HISTORY_RUNS)
        return false;
    for (int i = 0; i < HISTORY_RUNS; i++) {
        char digits[5] = { 0 }, *end;
        memcpy(digits, text + 4 * i, 4);
        numbers[i] = (int16_t)(uint16_t)strtoul(digits, &end, 16);
        if (*end)
            return false;
    }
    return true;
}

static int load_runs(struct state *state, const struct saved_runs *saved, struct error *err)
{
    struct history *history = &state->history;
    struct history_ring ring = { .key = saved->key,
                                 .count = saved->count,
                                 .is_used = saved->is_used };
    uint64_t found;

    if (!load_numbers(saved->runs, ring.runs) || !load_numbers(saved->ratios, ring.ratios) ||
        history->rings.count == HISTORY_RINGS_MAX || map_get(&history->by_key, ring.key, &found))
        return error_set(err, -EBADMSG, "snapshot: run times are invalid");
    list_add(&history->rings, ring);
    map_set(&history->by_key, ring.key, history->rings.count);
    return 0;
}

static int load_band(struct state *state, const struct saved_band *saved, struct error *err)
{
    const struct calibration_band *band = &saved->band;
    const int32_t most = 1 << 20;

    if (saved->number >= CALIBRATION_BANDS || band->low < -most || band->high > most ||
        band->low > band->high || band->median < -most || band->median > most)
        return error_set(err, -EBADMSG, "snapshot: band %" PRIu32 " of estimates is invalid",
                         saved->number);
    state->calibration.bands[saved->number] = *band;
    return 0;
}

static int load_group(struct state *state, const struct group *saved, struct error *err)
{
    /* The parent may have been forgotten. */
    if (saved->parent >= saved->id || state_group(state, saved->id))
        return error_set(err, -EBADMSG, "snapshot: group %" PRIu64 " is invalid", saved->id);

    struct group *group = mem_zero(1, sizeof(*group));
    *group = *saved;
    group->name = mem_string(saved->name);
    group->needs = NULL;
    group->needs_count = 0;
    for (uint32_t i = 0; i < saved->needs_count; i++)
        group_note_need(group, saved->needs[i].on, saved->needs[i].kind);
    state_link_group(state, group);
    return 0;
}

static int load_pressure(struct state *state, const struct pressure *saved, struct error *err)
{
    if (saved->clock < 0 || saved->clock_at < 0 || saved->clock_at > state->now ||
        saved->clock > state->now || saved->arrived_at < 0 || saved->arrived_at > state->now)
        return error_set(err, -EBADMSG, "snapshot: its fair time is invalid");
    state->pressure.clock = saved->clock;
    state->pressure.clock_at = saved->clock_at;
    state->pressure.arrived_at = saved->arrived_at;
    return 0;
}

static int load_arrived(struct state *state, const struct saved_arrived *saved, struct error *err)
{
    if (saved->level >= PRESSURE_LEVELS)
        return error_set(err, -EBADMSG, "snapshot: arrivals are invalid");
    state->pressure.arrived[saved->level] = saved->work;
    return 0;
}

static int load_bin(struct state *state, const struct saved_bin *saved, struct error *err)
{
    if (saved->class >= RESIDUAL_CLASSES || saved->bin >= RESIDUAL_BINS ||
        saved->ended > saved->left)
        return error_set(err, -EBADMSG, "snapshot: the progress of jobs is invalid");
    state->residual.left[saved->class][saved->bin] = saved->left;
    state->residual.ended[saved->class][saved->bin] = saved->ended;
    return 0;
}

static int load_mtbf(struct state *state, const struct mtbf *saved, struct error *err)
{
    if (saved->at < 0 || saved->at > state->now || saved->time[MTBF_OWN] < 0 ||
        saved->time[MTBF_OWN] > USEC_NEVER / 4 || saved->time[MTBF_SPOT] < 0 ||
        saved->time[MTBF_SPOT] > USEC_NEVER / 4)
        return error_set(err, -EBADMSG, "snapshot: the lifetimes of nodes are invalid");
    state->mtbf = *saved; /* how many are up is counted at the end */
    return 0;
}

static int load_resource(struct state *state, const struct resource_name *saved, struct error *err)
{
    int number = resource_claim(&state->resources, saved->name);

    if (number < 0)
        return error_set(err, -EBADMSG, "snapshot: too many resources");
    state->resources.items[number].price_micro = saved->price_micro;
    state->resources.items[number].training_milli = saved->training_milli;
    state->resources.items[number].inference_milli = saved->inference_milli;
    return 0;
}

static int load_speed(struct state *state, const struct speed_ring *saved, struct error *err)
{
    if (!speed_restore(&state->speeds, saved))
        return error_set(err, -EBADMSG, "snapshot: run times by model are invalid");
    return 0;
}

static int load_change(struct state *state, const struct config_change *saved, struct error *err)
{
    if (saved->number <= config_log_last(&state->config_log) || saved->at < 0 ||
        saved->at > state->now)
        return error_set(err, -EBADMSG, "snapshot: change %" PRIu64 " is invalid", saved->number);
    config_log_add(&state->config_log, saved);
    return 0;
}

static int load_receipt(struct state *state, const struct receipt *saved, struct error *err)
{
    size_t count = state->receipts.items.count;
    usec_t last = count > 0 ? state->receipts.items.items[count - 1].at : 0;

    if (saved->at < last || saved->at > state->now)
        return error_set(err, -EBADMSG, "snapshot: receipt '%.64s' is invalid",
                         saved->key ? saved->key : "");
    receipt_log_add(&state->receipts, saved);
    return 0;
}

static int load_agenda(struct state *state, const struct agenda *saved, struct error *err)
{
    if (saved->clock_at < 0 || saved->clock_at > state->now || saved->next_cron == 0)
        return error_set(err, -EBADMSG, "snapshot: its tariff's clock is invalid");
    state->agenda.clock = saved->clock;
    state->agenda.clock_at = saved->clock_at;
    state->agenda.next_cron = saved->next_cron;
    free(state->agenda.timezone);
    state->agenda.timezone = mem_string(saved->timezone);
    return 0;
}

static int load_window(struct state *state, const struct saved_window *saved, struct error *err)
{
    struct agenda *agenda = &state->agenda;
    LIST(struct span) spans = { 0 };

    if (agenda_find_window(agenda, saved->name) >= 0 ||
        agenda_claim_window(agenda, saved->name) < 0)
        return error_set(err, -EBADMSG, "snapshot: window %s: there twice, or too many",
                         saved->name);
    struct window *window = agenda->windows.items[agenda->windows.count - 1];
    for (uint32_t i = 0; i < saved->spans_count; i++)
        list_add(&spans, (struct span){ saved->spans[i].from, saved->spans[i].until });
    int code = window_set(window, spans.items, spans.count, err);
    list_release(&spans);
    window->words = mem_string(saved->words);
    window->made = saved->made;
    window->until = saved->until;
    return code < 0 ? error_prefix(err, -EBADMSG, "snapshot") : 0;
}

static int load_tariff(struct state *state, const struct tariff *saved, struct error *err)
{
    if (saved->window >= state->agenda.windows.count || saved->factor_milli > TARIFF_MAX)
        return error_set(err, -EBADMSG, "snapshot: tariff %s is invalid", saved->name);
    struct tariff tariff = *saved;
    tariff.name = mem_string(saved->name);
    list_add(&state->agenda.tariffs, tariff);
    return 0;
}

static int load_reservation(struct state *state, const struct saved_reservation *saved,
                            struct error *err)
{
    struct saved_reservation copy = *saved;
    where_list where = { 0 };

    if (!where_assign(&where, saved->nodes, NULL, saved->where, saved->where_count) ||
        copy.reservation.window >= state->agenda.windows.count ||
        copy.reservation.kind > RESERVATION_USER) {
        list_release(&where);
        return error_set(err, -EBADMSG, "snapshot: reservation %s is invalid",
                         copy.reservation.name);
    }
    record_own(snapshot_type(RESERVATION), &copy);
    string_put(&copy.nodes, NULL);
    copy.reservation.where = where;
    list_add(&state->agenda.reservations, copy.reservation);
    return 0;
}

static int load_cron(struct state *state, const struct event_cron *saved, struct error *err)
{
    struct event_cron entry = *saved;

    if (saved->id >= state->agenda.next_cron || agenda_find_cron(&state->agenda, saved->id))
        return error_set(err, -EBADMSG, "snapshot: cron %" PRIu64 " is invalid", saved->id);
    record_own(snapshot_type(CRON), &entry);
    list_add(&state->agenda.crons, entry);
    return 0;
}

static int load_token(struct state *state, const struct event_token *saved, struct error *err)
{
    struct event_token token = *saved;

    if (saved->id > state->tokens.last || token_list_find(&state->tokens, saved->id))
        return error_set(err, -EBADMSG, "snapshot: token %" PRIu64 " is invalid", saved->id);
    record_own(snapshot_type(TOKEN), &token);
    list_add(&state->tokens.items, token);
    return 0;
}

/* Queues and pools stand before the windows that they name. */
static bool has_windows(const struct state *state)
{
    size_t count = state->agenda.windows.count;
    bool has = true;

    for (size_t i = 0; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        for (size_t k = 0; k < queue->during.count; k++)
            has &= queue->during.items[k].window < count;
        LIST_EACH (const struct budget, budget, &queue->budgets)
            has &= budget->window <= count;
    }
    LIST_EACH (const struct payer, payer, &state->payers.items) {
        for (size_t k = 0; k < ACCOUNTS; k++)
            has &= payer->accounts[k].window <= count;
    }
    for (size_t i = 0; i < state->pools.count; i++) {
        for (size_t k = 0; k < state->pools.items[i].during.count; k++)
            has &= state->pools.items[i].during.items[k].window < count;
    }
    return has;
}

static int load_user(struct state *state, const struct saved_user *saved, struct error *err)
{
    (void)err;
    list_add(&state->users, mem_string(saved->name));
    list_add(&state->allowances, saved->allowance);
    return 0;
}

static int load_errors(struct state *state, const struct history_errors *saved, struct error *err)
{
    (void)err;
    list_add(&state->history.users, *saved);
    return 0;
}

static int load_node_type(struct state *state, const struct node_type *saved, struct error *err)
{
    (void)err;
    state_add_node_type(state, saved);
    return 0;
}

static int load_device_type(struct state *state, const struct device_type *saved, struct error *err)
{
    (void)err;
    state_add_device_type(state, saved);
    return 0;
}

static int load_node_settings(struct state *state, const struct node_settings *saved,
                              struct error *err)
{
    if (state->node_settings.count == NODE_SETTINGS_MAX)
        return error_set(err, -EBADMSG, "snapshot: settings of node %.63s: more than %d nodes",
                         saved->name, NODE_SETTINGS_MAX);
    list_add(&state->node_settings, *saved);
    return 0;
}

union saved {
#define KIND(ID, number, name, owner) owner name;
#include "core/snapshot/snapshot_kinds.def"
};

static int load(struct state *state, enum snapshot_kind kind, const union saved *saved,
                struct error *err)
{
    switch (kind) {
#define KIND(ID, number, name, owner)                                                              \
    case ID:                                                                                       \
        return load_##name(state, &saved->name, err);
#include "core/snapshot/snapshot_kinds.def"
    case KIND_COUNT:
        break;
    }
    return 0;
}

static int load_all(struct state *state, const char *s, const char *end, struct arena *arena,
                    struct error *err)
{
    union saved object;
    uint64_t next_id = 0;

    while (s < end) {
        uint64_t kind, length;

        size_t used = record_get_varint(s, (size_t)(end - s), &kind);
        size_t used2 = used ? record_get_varint(s + used, (size_t)(end - s) - used, &length) : 0;
        s += used + used2;
        if (used2 == 0 || length > (size_t)(end - s))
            return error_set(err, -EBADMSG, "snapshot: cut short");
        if (kind >= KIND_COUNT || !snapshot_type((unsigned)kind))
            return error_set(
                err, -EBADMSG,
                "snapshot: kind %" PRIu64 " is not known: a newer version of tarn wrote it", kind);
        if ((next_id == 0) != (kind == WORLD) || (kind > QUEUE && state->queues.count < 2))
            return error_set(err, -EBADMSG, "snapshot: out of order");
        arena_clear(arena);
        int code =
            record_decode(snapshot_type((unsigned)kind), s, (size_t)length, arena, &object, err);
        if (code == 0)
            code = load(state, (enum snapshot_kind)kind, &object, err);
        if (code < 0)
            return code;
        if (kind == WORLD)
            next_id = object.world.next_id;
        s += length;
    }
    if (next_id == 0 || state->queues.count < 2 || state->pools.count < 1 || !has_windows(state))
        return error_set(err, -EBADMSG, "snapshot: incomplete");
    state->next_id = next_id; /* numbers of groups still being submitted are not spoken for */
    return 0;
}

int snapshot_load(const void *bytes, size_t length, struct state **ret, struct error *err)
{
    AUTO(state) struct state *state = state_create();
    struct arena arena = { 0 };

    int code = load_all(state, bytes, (const char *)bytes + length, &arena, err);
    arena_release(&arena);
    if (code < 0)
        return code;
    state_settle_nodes(state);
    state_measure(state);
    state_recount(state);
    state_set_times(state);
    *ret = TAKE(state);
    return 0;
}
