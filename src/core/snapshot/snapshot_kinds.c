/* SPDX-License-Identifier: Apache-2.0 */
#include "core/snapshot/snapshot_kinds.h"

#include "core/snapshot/snapshot.h"

static const struct field world_fields[] = {
    RECORD_INT(struct state, 1, now, "journal time"),
    RECORD_UINT(struct state, 2, next_id, ""),
#define SETTING(event_tag, world_tag, form, type, member, ...)                                     \
    RECORD_##form(struct state, world_tag, settings.member, ""),
#include "core/config.def"
    RECORD_INT(struct state, 6, next_begin, ""),
    RECORD_UINT(struct state, 10, demand.noted, "requested members"),
    RECORD_INT(struct state, 11, demand.decayed, "up to when"),
    RECORD_UINT(struct state, 12, history.hand, ""),
    RECORD_INT(struct state, 13, history.all.runs, ""),
    RECORD_INT(struct state, 14, history.all.ratios, ""),
    RECORD_UINT(struct state, 15, history.all.count, ""),
    RECORD_UINT(struct state, 16, history.version, ""),
    RECORD_UINT(struct state, 17, history.actual, ""),
    RECORD_UINT(struct state, 18, history.expected, ""),
    RECORD_INT(struct state, 19, history.offsets[0], "of the upper quantile, by level"),
    RECORD_INT(struct state, 20, history.offsets[1], ""),
    RECORD_INT(struct state, 21, history.offsets[2], ""),
    RECORD_INT(struct state, 22, history.offsets[3], ""),
    RECORD_INT(struct state, 23, history.offsets[4], ""),
    RECORD_INT(struct state, 24, history.offsets[5], ""),
    RECORD_INT(struct state, 25, history.offsets[6], ""),
    RECORD_UINT(struct state, 26, plan_from, "numbers assigned between the last two plans"),
    RECORD_UINT(struct state, 27, plan_until, ""),
    RECORD_INNER(struct state, 60, settings.watch, "", &watch_rules_record),
    RECORD_INT(struct state, 31, moves.from, "the hour in which moves are counted"),
    RECORD_INT(struct state, 32, moves.lost, "in it"),
    RECORD_UINT(struct state, 33, speeds.is_learning, "run times by model are noted"),
};

static const struct field node_fields[] = {
    RECORD_TEXT(struct node, 1, name, ""),
    RECORD_INT(struct node, 2, cpu_milli, ""),
    RECORD_INT(struct node, 3, memory_mib, ""),
    RECORD_UINT(struct node, 4, state, ""),
    RECORD_TEXT(struct node, 5, reason, ""),
    RECORD_TEXT(struct node, 6, reported.rack, ""),
    RECORD_TEXT(struct node, 7, reported.block, ""),
    RECORD_UINT(struct node, 20, reported.is_spot, ""),
    RECORD_TEXT(struct node, 21, reported.type, ""),
    RECORD_INT(struct node, 22, reported.price_micro, ""),
    RECORD_INT(struct node, 23, going_at, ""),
    RECORD_INT(struct node, 24, used_at, ""),
};

static const struct field device_fields[] = {
    RECORD_TEXT(struct device, 1, uuid, ""),
    RECORD_TEXT(struct device, 2, model, ""),
    RECORD_TEXT(struct device, 3, product, ""),
    RECORD_TEXT(struct device, 4, address, ""),
    RECORD_TEXT(struct device, 5, vendor, ""),
    RECORD_TEXT(struct device, 6, sick, ""),
    RECORD_INT(struct device, 7, memory_mib, ""),
    RECORD_UINT(struct device, 8, node, ""),
    RECORD_UINT(struct device, 9, index, ""),
    RECORD_INT(struct device, 10, numa_node, ""),
    RECORD_UINT(struct device, 11, is_synthetic, ""),
    RECORD_UINT(struct device, 12, mig_now, ""),
    RECORD_UINT(struct device, 13, island, ""),
    RECORD_UINT(struct device, 14, bridge, ""),
    RECORD_INT(struct device, 15, foreign_mib, ""),
    RECORD_UINT(struct device, 16, faults, ""),
    RECORD_UINT(struct device, 17, xid, ""),
    RECORD_TEXT(struct device, 18, boot, ""),
    RECORD_UINT(struct device, 19, harm, "what it does to jobs, as in the event"),
    RECORD_TEXT(struct device, 25, said_labels, ""),
    RECORD_TEXT(struct device, 28, drained, ""),
    RECORD_TEXT(struct device, 29, kind, ""),
    RECORD_UINT(struct device, 26, is_gone, ""),
    RECORD_UINT(struct device, 27, is_recorded, ""),
};

static const struct field pool_during_fields[] = {
    RECORD_UINT(struct pool_during, 1, window, "its number"),
    RECORD_INT(struct pool_during, 2, milli_min, "-1: as otherwise"),
    RECORD_INT(struct pool_during, 3, milli_max, "-1: as otherwise"),
};
static const struct record_type saved_pool_during_record =
    RECORD_TYPE("pool_during", struct pool_during, pool_during_fields);

static const struct field pool_fields[] = {
    RECORD_TEXT(struct saved_pool, 1, pool.name, ""),
    RECORD_TEXT(struct saved_pool, 2, pool.queue, ""),
    RECORD_TEXT(struct saved_pool, 3, pool.model, ""),
    RECORD_TEXT(struct saved_pool, 4, nodes, "of older ones, comma-separated"),
    RECORD_UINT(struct saved_pool, 5, pool.devices, ""),
    RECORD_UINT(struct saved_pool, 6, pool.gpus, ""),
    RECORD_INT(struct saved_pool, 7, pool.base_min, ""),
    RECORD_INT(struct saved_pool, 8, pool.base_max, ""),
    RECORD_UINT(struct saved_pool, 9, pool.is_static, ""),
    RECORD_UINT(struct saved_pool, 10, pool.is_removed, ""),
    RECORD_UINT(struct saved_pool, 11, pool.mig, "0: not said, 1: off, 2: on"),
    RECORD_LIST(struct saved_pool, 20, during, "while windows are open", &saved_pool_during_record),
    RECORD_TEXT(struct saved_pool, 25, labels, "the same"),
    RECORD_LIST(struct saved_pool, 26, where, "conditions", &where_term_record),
};

static const struct field quota_fields[] = {
    RECORD_UINT(struct saved_quota, 1, resource, "its number"),
    RECORD_INT(struct saved_quota, 2, quota.guarantee, ""),
    RECORD_INT(struct saved_quota, 3, quota.limit, "-1: none"),
    RECORD_INT(struct saved_quota, 4, quota.borrow, "-1: no bound"),
    RECORD_INT(struct saved_quota, 5, quota.lend, "-1: no bound"),
};
static const struct record_type saved_quota_record =
    RECORD_TYPE("quota", struct saved_quota, quota_fields);

static const struct field subject_fields[] = {
    RECORD_UINT(struct subject_limit, 1, kind, ""),
    RECORD_UINT(struct subject_limit, 2, resource, ""),
    RECORD_UINT(struct subject_limit, 3, id, "number of the user, or gid"),
    RECORD_INT(struct subject_limit, 4, limit, ""),
};
static const struct record_type saved_subject_record =
    RECORD_TYPE("subject", struct subject_limit, subject_fields);

static const struct field during_fields[] = {
    RECORD_UINT(struct saved_during, 1, during.window, "its number"),
    RECORD_UINT(struct saved_during, 2, during.resource, ""),
    RECORD_UINT(struct saved_during, 3, given, "1 guarantee, 2 limit, 4 borrow, 8 lend"),
    RECORD_INT(struct saved_during, 4, during.quota.guarantee, ""),
    RECORD_INT(struct saved_during, 5, during.quota.limit, "-1: none"),
    RECORD_INT(struct saved_during, 6, during.quota.borrow, "-1: no bound"),
    RECORD_INT(struct saved_during, 7, during.quota.lend, "-1: no bound"),
};
static const struct record_type saved_during_record =
    RECORD_TYPE("during", struct saved_during, during_fields);

static const struct field agenda_fields[] = {
    RECORD_TEXT(struct agenda, 1, timezone, ""),
    RECORD_UINT(struct agenda, 2, clock, "of the tariff, microseconds x thousandths"),
    RECORD_INT(struct agenda, 3, clock_at, ""),
    RECORD_UINT(struct agenda, 4, next_cron, "the number of the next one"),
};

static const struct field window_fields[] = {
    RECORD_TEXT(struct saved_window, 1, name, ""),
    RECORD_TEXT(struct saved_window, 2, words, ""),
    RECORD_LIST(struct saved_window, 3, spans, "", &span_record),
    RECORD_INT(struct saved_window, 4, made, "when the spans were computed"),
    RECORD_INT(struct saved_window, 5, until, "how far ahead they go"),
};

static const struct field tariff_fields[] = {
    RECORD_TEXT(struct tariff, 1, name, ""),
    RECORD_UINT(struct tariff, 2, window, "its number"),
    RECORD_UINT(struct tariff, 3, factor_milli, ""),
};

static const struct field reservation_fields[] = {
    RECORD_TEXT(struct reservation, 1, name, ""),  RECORD_TEXT(struct reservation, 2, owner, ""),
    RECORD_TEXT(struct reservation, 3, model, ""), RECORD_TEXT(struct reservation, 4, nodes, ""),
    RECORD_TEXT(struct reservation, 5, maker, ""), RECORD_UINT(struct reservation, 6, window, ""),
    RECORD_UINT(struct reservation, 7, user, ""),  RECORD_UINT(struct reservation, 8, gpus, ""),
    RECORD_UINT(struct reservation, 9, kind, ""),
};

static const struct field cron_fields[] = {
    RECORD_UINT(struct event_cron, 1, id, ""),      RECORD_TEXT(struct event_cron, 2, name, ""),
    RECORD_TEXT(struct event_cron, 3, user, ""),    RECORD_TEXT(struct event_cron, 4, schedule, ""),
    RECORD_TEXT(struct event_cron, 5, trouble, ""), RECORD_UINT(struct event_cron, 6, document, ""),
    RECORD_UINT(struct event_cron, 7, count, ""),   RECORD_UINT(struct event_cron, 8, job, ""),
    RECORD_INT(struct event_cron, 9, next, ""),     RECORD_INT(struct event_cron, 10, fired, ""),
    RECORD_UINT(struct event_cron, 11, uid, ""),    RECORD_UINT(struct event_cron, 12, gid, ""),
};

static const struct field queue_fields[] = {
    RECORD_TEXT(struct saved_queue, 1, queue.name, ""),
    RECORD_UINT(struct saved_queue, 2, queue.parent, ""),
    RECORD_UINT(struct saved_queue, 3, queue.weight, ""),
    RECORD_INT(struct saved_queue, 4, queue.base[0].guarantee, "GPUs"),
    RECORD_INT(struct saved_queue, 5, queue.base[0].limit, ""),
    RECORD_UINT(struct saved_queue, 6, queue.usage[0], "of GPUs"),
    RECORD_INT(struct saved_queue, 7, queue.usage_at, ""),
    RECORD_UINT(struct saved_queue, 8, queue.is_removed, ""),
    RECORD_UINT(struct saved_queue, 9, queue.child_count, ""),
    RECORD_UINT(struct saved_queue, 10, queue.usage[1], "of CPUs"),
    RECORD_UINT(struct saved_queue, 11, queue.usage[2], "of memory"),
    RECORD_INT(struct saved_queue, 12, queue.min_runtime, ""),
    RECORD_UINT(struct saved_queue, 15, queue.firm_within, ""),
    RECORD_LIST(struct saved_queue, 13, quotas, "that say something", &saved_quota_record),
    RECORD_LIST(struct saved_queue, 14, subjects, "limits of users", &saved_subject_record),
    RECORD_LIST(struct saved_queue, 40, cells, "that it can always have", &cell_record),
    RECORD_INT(struct saved_queue, 80, queue.rules.preemptible, "as in the event"),
    RECORD_INT(struct saved_queue, 81, queue.rules.priority_most, ""),
    RECORD_INT(struct saved_queue, 82, queue.rules.duration_default, ""),
    RECORD_INT(struct saved_queue, 83, queue.rules.duration_most, ""),
    RECORD_INT(struct saved_queue, 84, queue.rules.gpus_most, ""),
    RECORD_INT(struct saved_queue, 86, queue.rules.oom_factor, ""),
    RECORD_INT(struct saved_queue, 87, queue.rules.oom_most, ""),
    RECORD_LIST(struct saved_queue, 85, names, "that it lists", &queue_name_record),
    RECORD_LIST(struct saved_queue, 60, during, "while windows are open", &saved_during_record),
    RECORD_OPTION(struct saved_queue, 61, queue.accounts[0].most, "queue.accounts[0].most",
                  "money in a period; missing: no budget", 1, ACCOUNT_NO_BUDGET),
    RECORD_INT(struct saved_queue, 62, queue.accounts[0].spent, ""),
    RECORD_UINT(struct saved_queue, 63, queue.accounts[0].rest, "of a division"),
    RECORD_INT(struct saved_queue, 64, queue.accounts[0].since, ""),
    RECORD_UINT(struct saved_queue, 65, queue.accounts[0].window, "plus one"),
    RECORD_UINT(struct saved_queue, 66, queue.accounts[0].firmness, ""),
    RECORD_OPTION(struct saved_queue, 67, queue.accounts[1].most, "queue.accounts[1].most",
                  "GPU-time in a period; missing: no budget", 1, ACCOUNT_NO_BUDGET),
    RECORD_INT(struct saved_queue, 68, queue.accounts[1].spent, ""),
    RECORD_UINT(struct saved_queue, 69, queue.accounts[1].rest, ""),
    RECORD_INT(struct saved_queue, 70, queue.accounts[1].since, ""),
    RECORD_UINT(struct saved_queue, 71, queue.accounts[1].window, "plus one"),
    RECORD_UINT(struct saved_queue, 72, queue.accounts[1].firmness, ""),
    RECORD_INT(struct saved_queue, 73, queue.charged_at, "accounts are up to then"),
    RECORD_UINT(struct saved_queue, 74, queue.charged_clock, "of the tariff, then"),
};

static const struct field resource_fields[] = {
    RECORD_TEXT(struct resource_name, 1, name, ""),
    RECORD_INT(struct resource_name, 2, price_micro, "for an hour; 0: not said"),
    RECORD_UINT(struct resource_name, 3, training_milli, "relative speed; 0: as published"),
    RECORD_UINT(struct resource_name, 4, inference_milli, "the same"),
};

static const struct field speed_fields[] = {
    RECORD_UINT(struct speed_ring, 1, key, "of a class on a model"),
    RECORD_UINT(struct speed_ring, 2, count, "runs"),
    RECORD_INT(struct speed_ring, 3, mean, "of their times: log2 of ms, parts of 2^12"),
};

static const struct field user_fields[] = { RECORD_TEXT(struct saved_user, 1, name, "") };

static const struct field group_fields[] = {
    RECORD_UINT(struct group, 1, id, ""),
    RECORD_UINT(struct group, 2, last, ""),
    RECORD_UINT(struct group, 3, parent, ""),
    RECORD_UINT(struct group, 4, document, ""),
    RECORD_TEXT(struct group, 5, name, ""),
    RECORD_UINT(struct group, 6, user, ""),
    RECORD_UINT(struct group, 7, max_running, ""),
    RECORD_UINT(struct group, 8, job_count, ""),
    RECORD_UINT(struct group, 9, started_count, ""),
    RECORD_UINT(struct group, 10, ended_count, ""),
    RECORD_UINT(struct group, 11, bad_count, ""),
    RECORD_INT(struct group, 12, submitted, ""),
    RECORD_INT(struct group, 13, ended, ""),
    RECORD_UINT(struct group, 14, kind, ""),
};

static const struct field job_fields[] = {
    RECORD_UINT(struct saved_job, 1, job.id, ""),
    RECORD_UINT(struct saved_job, 2, job.group, ""),
    RECORD_UINT(struct saved_job, 3, job.launch, ""),
    RECORD_TEXT(struct saved_job, 4, job.name, ""),
    RECORD_INT(struct saved_job, 5, job.submitted, ""),
    RECORD_INT(struct saved_job, 6, job.begin, ""),
    RECORD_INT(struct saved_job, 7, job.queued, ""),
    RECORD_INT(struct saved_job, 8, run.granted, ""),
    RECORD_INT(struct saved_job, 9, run.started, ""),
    RECORD_INT(struct saved_job, 10, run.ended, ""),
    RECORD_INT(struct saved_job, 11, job.grace, ""),
    RECORD_UINT(struct saved_job, 12, job.user, ""),
    RECORD_UINT(struct saved_job, 13, job.uid, ""),
    RECORD_UINT(struct saved_job, 14, job.gid, ""),
    RECORD_UINT(struct saved_job, 15, job.queue, ""),
    RECORD_INT(struct saved_job, 16, job.priority, ""),
    RECORD_UINT(struct saved_job, 17, job.index, ""),
    RECORD_UINT(struct saved_job, 18, run.attempt, ""),
    RECORD_UINT(struct saved_job, 19, job.retry_max, ""),
    RECORD_UINT(struct saved_job, 20, run.retries, ""),
    RECORD_UINT(struct saved_job, 21, job.needs_expected, ""),
    RECORD_UINT(struct saved_job, 22, run.members_started, ""),
    RECORD_UINT(struct saved_job, 23, run.members_ended, ""),
    RECORD_UINT(struct saved_job, 24, job.state, ""),
    RECORD_UINT(struct saved_job, 25, job.result, ""),
    RECORD_UINT(struct saved_job, 26, run.stop_cause, ""),
    RECORD_UINT(struct saved_job, 27, job.is_held, ""),
    RECORD_UINT(struct saved_job, 28, run.is_cancel_wanted, ""),
    RECORD_UINT(struct saved_job, 29, run.is_requeue_wanted, ""),
    RECORD_UINT(struct saved_job, 30, run.isolation.processes, ""),
    RECORD_UINT(struct saved_job, 31, run.isolation.cpu, ""),
    RECORD_UINT(struct saved_job, 32, run.isolation.memory, ""),
    RECORD_UINT(struct saved_job, 33, run.isolation.gpu, ""),
    RECORD_TEXT(struct saved_job, 34, run.cancelled_by, ""),
    RECORD_TEXT(struct saved_job, 35, run.end.reason, ""),
    RECORD_INT(struct saved_job, 36, run.end.user_us, ""),
    RECORD_INT(struct saved_job, 37, run.end.system_us, ""),
    RECORD_INT(struct saved_job, 38, run.end.memory_kib_max, ""),
    RECORD_INT(struct saved_job, 39, run.end.exit_code, ""),
    RECORD_UINT(struct saved_job, 40, run.end.signal, ""),
    RECORD_UINT(struct saved_job, 41, run.end.rank, ""),
    RECORD_UINT(struct saved_job, 42, run.end.kind, ""),
    RECORD_UINT(struct saved_job, 43, run.end.was_stopped, ""),
    RECORD_UINT(struct saved_job, 44, run.end.was_oom, ""),
    RECORD_UINT(struct saved_job, 45, run.end.was_killed, ""),
    RECORD_INNER(struct saved_job, 46, request, "", &request_record),
    RECORD_INNER(struct saved_job, 47, lease, "", &lease_record),
    RECORD_TEXT(struct saved_job, 48, member_states, "a digit for each member"),
    RECORD_UINT(struct saved_job, 49, run.is_backfill, ""),
    RECORD_UINT(struct saved_job, 50, run.gpus_milli_last, ""),
    RECORD_UINT(struct saved_job, 51, job.no_requeue, ""),
    RECORD_INT(struct saved_job, 52, job.estimate, ""),
    RECORD_INT(struct saved_job, 53, job.deadline, ""),
    RECORD_INT(struct saved_job, 54, job.restart_cost, ""),
    RECORD_INT(struct saved_job, 55, run.attained, ""),
    RECORD_UINT(struct saved_job, 56, run.preemptions, ""),
    RECORD_UINT(struct saved_job, 57, job.is_preemptible, ""),
    RECORD_INT(struct saved_job, 58, run.foreseen_at, ""),
    RECORD_INT(struct saved_job, 59, run.foreseen.wait, ""),
    RECORD_UINT(struct saved_job, 60, run.foreseen.is_busy, ""),
    RECORD_INT(struct saved_job, 61, run.foreseen.low, ""),
    RECORD_INT(struct saved_job, 62, run.foreseen.high, ""),
    RECORD_UINT(struct saved_job, 63, run.tier, "of its last grant"),
    RECORD_INT(struct saved_job, 64, job.fair_from, "fair time when it was submitted"),
    RECORD_UINT(struct saved_job, 65, job.is_awaited, "others were stopped for it"),
    RECORD_INT(struct saved_job, 66, job.checkpoint_every, ""),
    RECORD_UINT(struct saved_job, 67, run.stopped_for, ""),
    RECORD_UINT(struct saved_job, 68, run.stop_rule, ""),
    RECORD_INT(struct saved_job, 69, run.lost, "run time that was done again"),
    RECORD_INT(struct saved_job, 70, run.checkpointed, ""),
    RECORD_UINT(struct saved_job, 201, run.idle_warnings, ""),
    RECORD_UINT(struct saved_job, 202, run.memory_warnings, ""),
    RECORD_INT(struct saved_job, 203, run.warned, ""),
    RECORD_INNER(struct saved_job, 200, usage, "of its last attempt that was watched",
                 &usage_record),
    RECORD_UINT(struct saved_job, 90, job.heal_max, ""),
    RECORD_UINT(struct saved_job, 98, job.resize, "of an elastic gang: 0 restart, 1 never"),
    RECORD_UINT(struct saved_job, 91, run.heals, ""),
    RECORD_UINT(struct saved_job, 92, run.resizes, ""),
    RECORD_UINT(struct saved_job, 93, run.members_next, "stopped for this number"),
    RECORD_UINT(struct saved_job, 94, run.resized_from, ""),
    RECORD_UINT(struct saved_job, 95, run.resized_for, ""),
    RECORD_UINT(struct saved_job, 96, run.resize_rule, ""),
    RECORD_UINT(struct saved_job, 99, run.resized_to, ""),
    RECORD_INT(struct saved_job, 97, run.resized, ""),
    RECORD_UINT(struct saved_job, 100, job.goes_on, "without a lost member"),
    RECORD_UINT(struct saved_job, 101, run.members_lost, ""),
    RECORD_UINT(struct saved_job, 120, job.checkpoint_is_auto, ""),
    RECORD_UINT(struct saved_job, 121, job.checkpoint_takes_ms, ""),
    RECORD_UINT(struct saved_job, 122, job.spot, "as it asked"),
    RECORD_INT(struct saved_job, 123, run.unsaved, "what the stop under way costs"),
    RECORD_INT(struct saved_job, 130, run.cost.micro, "what it cost up to then"),
    RECORD_UINT(struct saved_job, 131, run.cost.rest, ""),
    RECORD_UINT(struct saved_job, 132, run.cost.clock, "of the tariff, then"),
    RECORD_INT(struct saved_job, 133, run.cost.rate, "for an hour"),
    RECORD_UINT(struct saved_job, 134, job.tariff_most, "plus one"),
    RECORD_UINT(struct saved_job, 204, job.oom_factor, "in thousandths"),
    RECORD_UINT(struct saved_job, 140, run.moves, ""),
    RECORD_UINT(struct saved_job, 141, run.moved_for, ""),
    RECORD_INT(struct saved_job, 142, run.moved, ""),
    RECORD_TEXT(struct saved_job, 143, run.moved_from, ""),
    RECORD_TEXT(struct saved_job, 144, run.moved_to, ""),
    RECORD_UINT(struct saved_job, 160, run.rescues, "from sick devices"),
    RECORD_INT(struct saved_job, 161, run.rescued, "the last time"),
    RECORD_UINT(struct saved_job, 162, run.rescued_harm, ""),
    RECORD_TEXT(struct saved_job, 163, run.rescued_from, ""),
    RECORD_TEXT(struct saved_job, 164, run.rescued_reason, ""),
    RECORD_TEXT(struct saved_job, 167, run.place, "devices of its last attempt that ended"),
    RECORD_TEXT(struct saved_job, 166, run.external, "its name in the engine"),
    RECORD_TEXT(struct saved_job, 165, run.cancel_reason, "of the rule that cancelled it"),
};

static const struct field need_fields[] = {
    RECORD_UINT(struct need, 1, job, ""),
    RECORD_UINT(struct need, 2, on, ""),
    RECORD_UINT(struct need, 3, kind, ""),
    RECORD_UINT(struct need, 4, is_broken, "1: it can no longer be met"),
};

static const struct field demand_fields[] = {
    RECORD_INNER(struct saved_demand, 1, request, "", &request_record),
    RECORD_UINT(struct saved_demand, 2, weight, "in parts of 2^16 members"),
};

static const struct field runs_fields[] = {
    RECORD_UINT(struct saved_runs, 1, key, "of the template"),
    RECORD_UINT(struct saved_runs, 2, count, ""),
    RECORD_TEXT(struct saved_runs, 3, runs, "log2 of milliseconds in parts of 2^8, hexadecimal"),
    RECORD_TEXT(struct saved_runs, 4, ratios, "the same to the limit"),
    RECORD_UINT(struct saved_runs, 5, is_used, ""),
};
static const struct field errors_fields[] = {
    RECORD_INT(struct history_errors, 1, runs, ""),
    RECORD_INT(struct history_errors, 2, ratios, ""),
    RECORD_UINT(struct history_errors, 3, count, ""),
    RECORD_UINT(struct history_errors, 4, version, ""),
};

static const struct field band_fields[] = {
    RECORD_UINT(struct saved_band, 1, number, "of the calibration of start estimates"),
    RECORD_INT(struct saved_band, 2, band.low, "10 % of the scores, log2 in parts of 2^12"),
    RECORD_INT(struct saved_band, 3, band.median, ""),
    RECORD_INT(struct saved_band, 4, band.high, "90 %"),
    RECORD_UINT(struct saved_band, 5, band.count, ""),
};

static const struct field pressure_fields[] = {
    RECORD_INT(struct pressure, 1, clock, "fair time"),
    RECORD_INT(struct pressure, 2, clock_at, "when it was that"),
    RECORD_INT(struct pressure, 3, arrived_at, ""),
};

static const struct field arrived_fields[] = {
    RECORD_UINT(struct saved_arrived, 1, level, "halves in 1 min x 2^level"),
    RECORD_UINT(struct saved_arrived, 2, work, "submitted, milli-GPU x ms"),
};

static const struct field mtbf_fields[] = {
    RECORD_INT(struct mtbf, 1, time[MTBF_OWN], "that machines were up"),
    RECORD_INT(struct mtbf, 2, time[MTBF_SPOT], "that spot machines were"),
    RECORD_UINT(struct mtbf, 3, interruptions[MTBF_OWN], ""),
    RECORD_UINT(struct mtbf, 4, interruptions[MTBF_SPOT], ""),
    RECORD_INT(struct mtbf, 5, at, "until when it is counted"),
};

static const struct field bin_fields[] = {
    RECORD_UINT(struct saved_bin, 1, class, "log2 of GPUs; 7: all"),
    RECORD_UINT(struct saved_bin, 2, bin, "of run time"),
    RECORD_UINT(struct saved_bin, 3, left, "jobs that came through it, or ended in it"),
    RECORD_UINT(struct saved_bin, 4, ended, "jobs that ended in it"),
};

static const struct field change_fields[] = {
    RECORD_UINT(struct config_change, 1, number, "of the configuration's changes"),
    RECORD_INT(struct config_change, 2, at, ""),
    RECORD_TEXT(struct config_change, 3, user, ""),
    RECORD_UINT(struct config_change, 4, before, "blob"),
    RECORD_UINT(struct config_change, 5, after, "blob"),
    RECORD_TEXT(struct config_change, 6, words, ""),
    RECORD_UINT(struct config_change, 7, count, ""),
    RECORD_UINT(struct config_change, 8, undone, ""),
};

static const struct record_type types[KIND_COUNT] = {
#define SHARED(ID, number, name, owner)
#define KIND(ID, number, name, owner)                                                              \
    [ID] = { #name, sizeof(owner), name##_fields, COUNT_OF(name##_fields) },
#include "core/snapshot/snapshot_kinds.def"
};

const struct record_type *snapshot_type(unsigned kind)
{
    if (kind == NODE_TYPE || kind == DEVICE_TYPE)
        return kind == NODE_TYPE ? &node_type_record : &device_type_record;
    if (kind == NODE_SETTINGS)
        return &node_settings_record;
    return kind > 0 && kind < KIND_COUNT && types[kind].name ? &types[kind] : NULL;
}
