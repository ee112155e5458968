/* SPDX-License-Identifier: Apache-2.0 */
#include "core/snapshot/snapshot_kinds.h"

#include "core/snapshot/snapshot.h"

static const struct field world_fields[] = {
    RECORD_INT(struct state, 1, now, "journal time"),
    RECORD_UINT(struct state, 2, next_id, "next number of a job or group"),
#define SETTING(event_tag, world_tag, form, type, member, ...)                                     \
    RECORD_##form(struct state, world_tag, settings.member, ""),
#include "core/config.def"
    RECORD_INT(struct state, 6, next_begin, "earliest begin time that a job waits for"),
    RECORD_UINT(struct state, 10, demand.noted, "number of members ever requested"),
    RECORD_INT(struct state, 11, demand.decayed,
               "time up to which the weights of requests are decayed"),
    RECORD_UINT(struct state, 12, history.hand, "position of the search for a template to replace"),
    RECORD_INT(struct state, 13, history.all.runs,
               "mean error of predictions from run times, all users, log2 in units of 2^-12"),
    RECORD_INT(struct state, 14, history.all.ratios,
               "mean error of predictions from run time / limit, in the same units"),
    RECORD_UINT(struct state, 15, history.all.count, "number of ended jobs behind both"),
    RECORD_UINT(struct state, 16, history.version,
                "number of ended jobs that the history learned from"),
    RECORD_UINT(struct state, 17, history.actual, "work of ended jobs, milli-GPU x s"),
    RECORD_UINT(struct state, 18, history.expected, "the same work as predicted"),
    RECORD_INT(struct state, 19, history.offsets[0],
               "calibration of the upper quantile, for templates of level 0"),
    RECORD_INT(struct state, 20, history.offsets[1], "the same for level 1, and so on"),
    RECORD_INT(struct state, 21, history.offsets[2], ""),
    RECORD_INT(struct state, 22, history.offsets[3], ""),
    RECORD_INT(struct state, 23, history.offsets[4], ""),
    RECORD_INT(struct state, 24, history.offsets[5], ""),
    RECORD_INT(struct state, 25, history.offsets[6], ""),
    RECORD_UINT(struct state, 26, plan_from,
                "first job or group number assigned between the last two plans"),
    RECORD_UINT(struct state, 27, plan_until, "first number after them"),
    RECORD_UINT(struct state, 61, tokens.last, "highest number of an access token so far"),
    RECORD_INNER(struct state, 60, settings.watch, "", &watch_rules_record),
    RECORD_INT(struct state, 31, moves.from,
               "start of the current hour in which the loss by moves is counted"),
    RECORD_INT(struct state, 32, moves.lost, "loss by moves in that hour, GPU-microseconds"),
    RECORD_UINT(struct state, 33, speeds.is_learning, "1: run times are recorded by GPU model"),
    RECORD_UINT(struct state, 34, charges_nodes, "1: the prices of nodes count"),
    RECORD_INT(struct state, 36, slack.least, "slack that looking ahead chose; 0: none was chosen"),
    RECORD_INT(struct state, 37, slack.at, "when it was chosen"),
    RECORD_UINT(struct state, 38, slack.waited, "number of jobs that waited then"),
    RECORD_INT(struct state, 39, slack.mean, "mean wait in its simulation"),
    RECORD_INT(struct state, 40, slack.mean_other, "the same with the slack before it"),
    RECORD_INT(struct state, 41, slack.longest, "longest wait in its simulation"),
    RECORD_INT(struct state, 42, slack.longest_other, "the same with the slack before it"),
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
    RECORD_INT(struct node, 24, used_at,
               "journal time when a job last released resources on it, or when it was added"),
    RECORD_TEXT(struct node, 25, drained, "why an administrator drained it, also while it is down"),
    RECORD_TEXT(struct node, 26, reported.labels, "labels that the engine reports"),
};

static const struct field device_fields[] = {
    RECORD_TEXT(struct device, 1, uuid, ""),
    RECORD_TEXT(struct device, 2, model, ""),
    RECORD_TEXT(struct device, 3, product, ""),
    RECORD_TEXT(struct device, 4, address, ""),
    RECORD_TEXT(struct device, 5, vendor, ""),
    RECORD_TEXT(struct device, 6, sick, ""),
    RECORD_INT(struct device, 7, memory_mib, ""),
    RECORD_UINT(struct device, 8, node, "number of its node"),
    RECORD_UINT(struct device, 9, index, ""),
    RECORD_INT(struct device, 10, numa_node, ""),
    RECORD_UINT(struct device, 11, is_synthetic, ""),
    RECORD_UINT(struct device, 12, mig_now, "1: MIG mode is on"),
    RECORD_UINT(struct device, 13, island, ""),
    RECORD_UINT(struct device, 14, bridge, ""),
    RECORD_INT(struct device, 15, foreign_mib, ""),
    RECORD_UINT(struct device, 16, faults, ""),
    RECORD_UINT(struct device, 17, xid, ""),
    RECORD_TEXT(struct device, 18, boot, ""),
    RECORD_UINT(struct device, 19, harm, "effect of its fault on jobs, as in the event"),
    RECORD_TEXT(struct device, 25, said_labels,
                "labels that the engine or its description reports"),
    RECORD_TEXT(struct device, 28, drained, "why it is drained; empty: it is not"),
    RECORD_TEXT(struct device, 29, kind, ""),
    RECORD_UINT(struct device, 26, is_gone, ""),
    RECORD_UINT(struct device, 27, is_recorded, ""),
    RECORD_UINT(struct device, 30, is_occupied, ""),
};

static const struct field pool_during_fields[] = {
    RECORD_UINT(struct pool_during, 1, window, "number of the window"),
    RECORD_INT(struct pool_during, 2, milli_min, "-1: unchanged"),
    RECORD_INT(struct pool_during, 3, milli_max, "-1: unchanged"),
};
static const struct record_type saved_pool_during_record =
    RECORD_TYPE("pool_during", struct pool_during, pool_during_fields);

static const struct field pool_fields[] = {
    RECORD_TEXT(struct saved_pool, 1, pool.name, ""),
    RECORD_TEXT(struct saved_pool, 2, pool.queue, ""),
    RECORD_TEXT(struct saved_pool, 3, pool.model, ""),
    RECORD_TEXT(struct saved_pool, 4, nodes,
                "only in older snapshots: names of nodes, comma-separated"),
    RECORD_UINT(struct saved_pool, 5, pool.devices, ""),
    RECORD_UINT(struct saved_pool, 6, pool.gpus, ""),
    RECORD_INT(struct saved_pool, 7, pool.base_min, "minimum when no window is open"),
    RECORD_INT(struct saved_pool, 8, pool.base_max, "maximum when no window is open"),
    RECORD_UINT(struct saved_pool, 9, pool.is_static, ""),
    RECORD_UINT(struct saved_pool, 10, pool.is_removed,
                "1: it was removed; its number stays assigned"),
    RECORD_UINT(struct saved_pool, 11, pool.mig, "MIG mode: 0 unchanged, 1 off, 2 on"),
    RECORD_LIST(struct saved_pool, 20, during, "bounds while windows are open",
                &saved_pool_during_record),
    RECORD_TEXT(struct saved_pool, 25, labels, "only in older snapshots: labels, comma-separated"),
    RECORD_LIST(struct saved_pool, 26, where, "conditions on its devices", &where_term_record),
};

static const struct field quota_fields[] = {
    RECORD_UINT(struct saved_quota, 1, resource, "number of the resource"),
    RECORD_INT(struct saved_quota, 2, quota.guarantee, ""),
    RECORD_INT(struct saved_quota, 3, quota.limit, "-1: no bound"),
    RECORD_INT(struct saved_quota, 4, quota.borrow, "-1: no bound"),
    RECORD_INT(struct saved_quota, 5, quota.lend, "-1: no bound"),
};
static const struct record_type saved_quota_record =
    RECORD_TYPE("quota", struct saved_quota, quota_fields);

static const struct field subject_fields[] = {
    RECORD_UINT(struct subject_limit, 1, kind, ""),
    RECORD_UINT(struct subject_limit, 2, resource, "number of the resource"),
    RECORD_UINT(struct subject_limit, 3, id, "number of the user, or group ID"),
    RECORD_INT(struct subject_limit, 4, limit, ""),
};
static const struct record_type saved_subject_record =
    RECORD_TYPE("subject", struct subject_limit, subject_fields);

static const struct field during_fields[] = {
    RECORD_UINT(struct saved_during, 1, during.window, "number of the window"),
    RECORD_UINT(struct saved_during, 2, during.resource, "number of the resource"),
    RECORD_UINT(struct saved_during, 3, given,
                "which bounds change: sum of 1 guarantee, 2 limit, 4 borrow, 8 lend"),
    RECORD_INT(struct saved_during, 4, during.quota.guarantee, ""),
    RECORD_INT(struct saved_during, 5, during.quota.limit, "-1: no bound"),
    RECORD_INT(struct saved_during, 6, during.quota.borrow, "-1: no bound"),
    RECORD_INT(struct saved_during, 7, during.quota.lend, "-1: no bound"),
};
static const struct record_type saved_during_record =
    RECORD_TYPE("during", struct saved_during, during_fields);

static const struct field agenda_fields[] = {
    RECORD_TEXT(struct agenda, 1, timezone, ""),
    RECORD_UINT(struct agenda, 2, clock,
                "integral of the tariff factor over time, microseconds x thousandths"),
    RECORD_INT(struct agenda, 3, clock_at, "journal time to which `clock` belongs"),
    RECORD_UINT(struct agenda, 4, next_cron, "number of the next recurring submission"),
};

static const struct field window_fields[] = {
    RECORD_TEXT(struct saved_window, 1, name, ""),
    RECORD_TEXT(struct saved_window, 2, words, ""),
    RECORD_LIST(struct saved_window, 3, spans, "", &span_record),
    RECORD_INT(struct saved_window, 4, made, "when the spans were computed"),
    RECORD_INT(struct saved_window, 5, until, "time up to which they are complete"),
};

static const struct field tariff_fields[] = {
    RECORD_TEXT(struct tariff, 1, name, ""),
    RECORD_UINT(struct tariff, 2, window, "number of the window"),
    RECORD_UINT(struct tariff, 3, factor_milli, ""),
};

static const struct field reservation_fields[] = {
    RECORD_TEXT(struct saved_reservation, 1, reservation.name, ""),
    RECORD_TEXT(struct saved_reservation, 2, reservation.owner, ""),
    RECORD_TEXT(struct saved_reservation, 3, reservation.model, ""),
    RECORD_TEXT(struct saved_reservation, 4, nodes,
                "only in older snapshots: names of nodes, comma-separated"),
    RECORD_TEXT(struct saved_reservation, 5, reservation.maker, ""),
    RECORD_UINT(struct saved_reservation, 6, reservation.window, "number of the window"),
    RECORD_UINT(struct saved_reservation, 7, reservation.user, "number of the user"),
    RECORD_UINT(struct saved_reservation, 8, reservation.gpus, ""),
    RECORD_UINT(struct saved_reservation, 9, reservation.kind, ""),
    RECORD_LIST(struct saved_reservation, 10, where, "conditions on its nodes", &where_term_record),
};

static const struct field token_fields[] = {
    RECORD_UINT(struct event_token, 1, id, ""),     RECORD_TEXT(struct event_token, 2, name, ""),
    RECORD_TEXT(struct event_token, 3, user, ""),   RECORD_UINT(struct event_token, 4, uid, ""),
    RECORD_TEXT(struct event_token, 5, hash, ""),   RECORD_UINT(struct event_token, 6, scope, ""),
    RECORD_TEXT(struct event_token, 7, queues, ""), RECORD_INT(struct event_token, 8, created, ""),
    RECORD_INT(struct event_token, 9, expires, ""), RECORD_INT(struct event_token, 10, used, ""),
    RECORD_UINT(struct event_token, 11, kind, ""),  RECORD_UINT(struct event_token, 12, from, ""),
};

static const struct field cron_fields[] = {
    RECORD_UINT(struct event_cron, 1, id, ""),      RECORD_TEXT(struct event_cron, 2, name, ""),
    RECORD_TEXT(struct event_cron, 3, user, ""),    RECORD_TEXT(struct event_cron, 4, schedule, ""),
    RECORD_TEXT(struct event_cron, 5, trouble, ""), RECORD_UINT(struct event_cron, 6, document, ""),
    RECORD_UINT(struct event_cron, 7, count, ""),   RECORD_UINT(struct event_cron, 8, job, ""),
    RECORD_INT(struct event_cron, 9, next, ""),     RECORD_INT(struct event_cron, 10, fired, ""),
    RECORD_UINT(struct event_cron, 11, uid, ""),    RECORD_UINT(struct event_cron, 12, gid, ""),
};

static const struct field budget_fields[] = {
    RECORD_UINT(struct budget, 1, user,
                "number of the user; 4294967294: each user without a budget by name"),
    RECORD_UINT(struct budget, 2, account, "0 money, 1 GPU-time"),
    RECORD_UINT(struct budget, 3, firmness, "as in the event"),
    RECORD_UINT(struct budget, 4, window,
                "number of the window whose edges begin a period, plus 1; 0: none"),
    RECORD_INT(struct budget, 5, most, "budget for each period"),
};
static const struct record_type saved_budget_record =
    RECORD_TYPE("budget", struct budget, budget_fields);

/* The accounts of a payer, from a tag on; `of` is where it stands in the owner. */
#define PAYER_FIELD(owner, tag, of, member, meaning, form)                                         \
    RECORD_FIELD(owner, tag, of member, #member, meaning, form)
#define ACCOUNT_FIELDS(owner, tag, of, account, unit)                                              \
    RECORD_OPTION(owner, tag, of account.most, #account ".most",                                   \
                  "budget for each period, in " unit "; missing: none", 1, ACCOUNT_NO_BUDGET),     \
        PAYER_FIELD(owner, (tag) + 1, of, account.spent, "spent in the current period",            \
                    FIELD_INT),                                                                    \
        PAYER_FIELD(owner, (tag) + 2, of, account.rest,                                            \
                    "remainder of the division, for the next charge", FIELD_UINT),                 \
        PAYER_FIELD(owner, (tag) + 3, of, account.since, "start of the current period",            \
                    FIELD_INT),                                                                    \
        PAYER_FIELD(owner, (tag) + 4, of, account.window,                                          \
                    "number of the window whose edges begin a period, plus 1; 0: none",            \
                    FIELD_UINT),                                                                   \
        PAYER_FIELD(owner, (tag) + 5, of, account.firmness, "as in the event", FIELD_UINT)
#define PAYER_FIELDS(owner, tag, of)                                                               \
    ACCOUNT_FIELDS(owner, tag, of, accounts[0], "millionths of the currency"),                     \
        ACCOUNT_FIELDS(owner, (tag) + 6, of, accounts[1], "GPU-microseconds"),                     \
        PAYER_FIELD(owner, (tag) + 12, of, charged_at,                                             \
                    "time up to which both accounts are charged", FIELD_INT),                      \
        PAYER_FIELD(owner, (tag) + 13, of, charged_clock, "`clock` of the agenda at that time",    \
                    FIELD_UINT)

static const struct field queue_fields[] = {
    RECORD_TEXT(struct saved_queue, 1, queue.name, ""),
    RECORD_UINT(struct saved_queue, 2, queue.parent, "number of the parent queue"),
    RECORD_UINT(struct saved_queue, 3, queue.weight, ""),
    RECORD_INT(struct saved_queue, 4, queue.base[0].guarantee,
               "guaranteed milli-GPUs when no window is open"),
    RECORD_INT(struct saved_queue, 5, queue.base[0].limit,
               "limit in milli-GPUs when no window is open"),
    RECORD_UINT(struct saved_queue, 6, queue.usage[0],
                "decayed use of GPUs, in units of 2^-20 of the cluster x milliseconds"),
    RECORD_INT(struct saved_queue, 7, queue.usage_at, "time up to which use is counted"),
    RECORD_UINT(struct saved_queue, 8, queue.is_removed,
                "1: it was removed; its number stays assigned"),
    RECORD_UINT(struct saved_queue, 9, queue.child_count, "number of its child queues"),
    RECORD_UINT(struct saved_queue, 10, queue.usage[1], "decayed use of CPUs"),
    RECORD_UINT(struct saved_queue, 11, queue.usage[2], "decayed use of memory"),
    RECORD_INT(struct saved_queue, 12, queue.min_runtime, ""),
    RECORD_UINT(struct saved_queue, 15, queue.firm_within, ""),
    RECORD_LIST(struct saved_queue, 13, quotas, "quotas of resources that have one",
                &saved_quota_record),
    RECORD_LIST(struct saved_queue, 14, subjects, "limits of users and groups",
                &saved_subject_record),
    RECORD_LIST(struct saved_queue, 40, cells, "cells that are guaranteed to it", &cell_record),
    RECORD_INT(struct saved_queue, 80, queue.rules.preemptible, "as in the event"),
    RECORD_INT(struct saved_queue, 81, queue.rules.priority_most, ""),
    RECORD_INT(struct saved_queue, 82, queue.rules.duration_default, ""),
    RECORD_INT(struct saved_queue, 83, queue.rules.duration_most, ""),
    RECORD_INT(struct saved_queue, 84, queue.rules.gpus_most, ""),
    RECORD_INT(struct saved_queue, 88, queue.rules.slack_percent, ""),
    RECORD_INT(struct saved_queue, 89, queue.rules.slack_least, ""),
    RECORD_INT(struct saved_queue, 86, queue.rules.oom_factor, ""),
    RECORD_INT(struct saved_queue, 87, queue.rules.oom_most, ""),
    RECORD_LIST(struct saved_queue, 85, names, "permitted models, users and groups",
                &queue_name_record),
    RECORD_LIST(struct saved_queue, 60, during, "quotas while windows are open",
                &saved_during_record),
    PAYER_FIELDS(struct saved_queue, 61, payer.),
    RECORD_LIST(struct saved_queue, 75, budgets, "budgets of its users", &saved_budget_record),
};

static const struct field payer_fields[] = {
    RECORD_UINT(struct payer, 1, queue, "number of the queue"),
    RECORD_UINT(struct payer, 2, user, "number of the user"),
    PAYER_FIELDS(struct payer, 61, ),
};

static const struct field resource_fields[] = {
    RECORD_TEXT(struct resource_name, 1, name, ""),
    RECORD_INT(struct resource_name, 2, price_micro,
               "price per hour in millionths of the currency; 0: none"),
    RECORD_UINT(struct resource_name, 3, training_milli,
                "relative speed for training, in thousandths of a T4; 0: as published"),
    RECORD_UINT(struct resource_name, 4, inference_milli, "the same for inference"),
};

static const struct field speed_fields[] = {
    RECORD_UINT(struct speed_ring, 1, key, "hash of a class of jobs and a model"),
    RECORD_UINT(struct speed_ring, 2, count, "number of runs"),
    RECORD_INT(struct speed_ring, 3, mean, "mean run time, log2 of milliseconds in units of 2^-12"),
};

static const struct field user_fields[] = {
    RECORD_TEXT(struct saved_user, 1, name, ""),
    RECORD_UINT(struct saved_user, 2, allowance.used,
                "bytes that its submissions have added to the journal, less what has come back"),
    RECORD_INT(struct saved_user, 3, allowance.at, "when"),
};

static const struct field group_need_fields[] = {
    RECORD_UINT(struct group_need, 1, on, "the group that it needs"),
    RECORD_UINT(struct group_need, 2, kind, "what is awaited, as in the event"),
};
static const struct record_type saved_group_need_record =
    RECORD_TYPE("group_need", struct group_need, group_need_fields);

static const struct field group_fields[] = {
    RECORD_UINT(struct group, 1, id, ""),
    RECORD_UINT(struct group, 2, last, ""),
    RECORD_UINT(struct group, 3, parent, ""),
    RECORD_UINT(struct group, 4, document, ""),
    RECORD_TEXT(struct group, 5, name, ""),
    RECORD_UINT(struct group, 6, user, ""),
    RECORD_UINT(struct group, 7, max_running, ""),
    RECORD_UINT(struct group, 8, job_count, ""),
    RECORD_UINT(struct group, 9, started_count,
                "number of its jobs that have started at least once"),
    RECORD_UINT(struct group, 10, ended_count, "number of its jobs that have ended"),
    RECORD_UINT(struct group, 11, bad_count, "number of its jobs that ended without success"),
    RECORD_INT(struct group, 12, submitted, ""),
    RECORD_INT(struct group, 13, ended, ""),
    RECORD_UINT(struct group, 14, kind, ""),
    RECORD_LIST(struct group, 15, needs, "groups that a stage needs", &saved_group_need_record),
};

static const struct field job_fields[] = {
    RECORD_UINT(struct saved_job, 1, job.id, ""),
    RECORD_UINT(struct saved_job, 2, job.group, ""),
    RECORD_UINT(struct saved_job, 3, job.launch, ""),
    RECORD_TEXT(struct saved_job, 4, job.name, ""),
    RECORD_INT(struct saved_job, 5, job.submitted, ""),
    RECORD_INT(struct saved_job, 6, job.begin, ""),
    RECORD_INT(struct saved_job, 7, job.queued, "when it became ready to run"),
    RECORD_INT(struct saved_job, 8, run.granted, ""),
    RECORD_INT(struct saved_job, 9, run.started, ""),
    RECORD_INT(struct saved_job, 10, run.ended, ""),
    RECORD_INT(struct saved_job, 11, job.grace, ""),
    RECORD_UINT(struct saved_job, 12, job.user, "number of the user"),
    RECORD_UINT(struct saved_job, 13, job.uid, ""),
    RECORD_UINT(struct saved_job, 14, job.gid, ""),
    RECORD_UINT(struct saved_job, 15, job.queue, "number of the queue"),
    RECORD_INT(struct saved_job, 16, job.priority, ""),
    RECORD_UINT(struct saved_job, 17, job.index, ""),
    RECORD_UINT(struct saved_job, 18, run.attempt, ""),
    RECORD_UINT(struct saved_job, 19, job.retry_max, ""),
    RECORD_UINT(struct saved_job, 20, run.retries, "number of attempts after a failure"),
    RECORD_UINT(struct saved_job, 21, job.needs_expected,
                "number of `need` events that have not been read yet"),
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
    RECORD_TEXT(struct saved_job, 48, member_states,
                "one digit for each member: 0 granted, 1 started, 2 ended"),
    RECORD_UINT(struct saved_job, 49, run.is_backfill, ""),
    RECORD_UINT(struct saved_job, 50, run.gpus_milli_last, "milli-GPUs of the last attempt"),
    RECORD_UINT(struct saved_job, 51, job.no_requeue, ""),
    RECORD_UINT(struct saved_job, 216, job.wall_times, ""),
    RECORD_INT(struct saved_job, 52, job.estimate, ""),
    RECORD_INT(struct saved_job, 53, job.deadline, ""),
    RECORD_INT(struct saved_job, 54, job.restart_cost, ""),
    RECORD_INT(struct saved_job, 55, run.attained, "run time of earlier attempts that was kept"),
    RECORD_UINT(struct saved_job, 56, run.preemptions, ""),
    RECORD_UINT(struct saved_job, 57, job.is_preemptible, ""),
    RECORD_INT(struct saved_job, 58, run.foreseen_at, "when its wait was predicted; 0: never"),
    RECORD_INT(struct saved_job, 59, run.foreseen.wait, "predicted wait"),
    RECORD_UINT(struct saved_job, 60, run.foreseen.is_busy, ""),
    RECORD_INT(struct saved_job, 61, run.foreseen.low, "lower bound of its range"),
    RECORD_INT(struct saved_job, 62, run.foreseen.high, "upper bound of its range"),
    RECORD_UINT(struct saved_job, 63, run.tier, "precedence of its last grant, as in the event"),
    RECORD_INT(struct saved_job, 64, job.fair_from, "fair time at its submission"),
    RECORD_UINT(struct saved_job, 65, job.is_awaited,
                "1, 2: jobs of its queue or of other queues were stopped for it; 3: it was itself "
                "stopped to restart at once"),
    RECORD_INT(struct saved_job, 66, job.checkpoint_every, ""),
    RECORD_UINT(struct saved_job, 67, run.stopped_for,
                "the job for which it was last stopped; 0: none"),
    RECORD_UINT(struct saved_job, 68, run.stop_rule,
                "why it was last stopped for another job, as in the event"),
    RECORD_INT(struct saved_job, 69, run.lost, "run time that had to be repeated"),
    RECORD_INT(struct saved_job, 70, run.checkpointed,
               "when this attempt last reported a checkpoint; 0: never"),
    RECORD_UINT(struct saved_job, 201, run.idle_warnings, ""),
    RECORD_UINT(struct saved_job, 202, run.memory_warnings, ""),
    RECORD_INT(struct saved_job, 203, run.warned, "time of its last warning"),
    RECORD_INNER(struct saved_job, 200, usage, "usage of its last measured attempt", &usage_record),
    RECORD_UINT(struct saved_job, 215, run.usage_attempt, "which attempt that is; 0: not known"),
    RECORD_UINT(struct saved_job, 90, job.heal_max, ""),
    RECORD_UINT(struct saved_job, 98, job.resize, "of an elastic gang, as in the event"),
    RECORD_UINT(struct saved_job, 91, run.heals, ""),
    RECORD_UINT(struct saved_job, 92, run.resizes, ""),
    RECORD_UINT(struct saved_job, 93, run.members_next,
                "number of members for which it was stopped; 0: none"),
    RECORD_UINT(struct saved_job, 94, run.resized_from, "members before its last resize"),
    RECORD_UINT(struct saved_job, 95, run.resized_for,
                "the job that got the freed resources; 0: it grew"),
    RECORD_UINT(struct saved_job, 96, run.resize_rule, ""),
    RECORD_UINT(struct saved_job, 99, run.resized_to, "members after it"),
    RECORD_INT(struct saved_job, 97, run.resized, "when it was last resized"),
    RECORD_UINT(struct saved_job, 100, job.goes_on, "1: it continues without a lost member"),
    RECORD_UINT(struct saved_job, 101, run.members_lost, "members that this attempt lost"),
    RECORD_UINT(struct saved_job, 120, job.checkpoint_is_auto, ""),
    RECORD_UINT(struct saved_job, 121, job.checkpoint_takes_ms, ""),
    RECORD_UINT(struct saved_job, 122, job.spot, "spot rule, as requested"),
    RECORD_INT(struct saved_job, 123, run.unsaved, "run time that the current stop loses"),
    RECORD_INT(struct saved_job, 130, run.cost.micro, "cost so far, in millionths of the currency"),
    RECORD_UINT(struct saved_job, 131, run.cost.rest,
                "remainder of the division, for the next charge"),
    RECORD_UINT(struct saved_job, 132, run.cost.clock, "`clock` of the agenda at the last charge"),
    RECORD_INT(struct saved_job, 133, run.cost.rate, "cost per hour now"),
    RECORD_UINT(struct saved_job, 134, job.tariff_most,
                "as in the event: thousandths, plus 1; 0: any"),
    RECORD_UINT(struct saved_job, 204, job.oom_factor, "in thousandths"),
    RECORD_UINT(struct saved_job, 140, run.moves, ""),
    RECORD_UINT(struct saved_job, 141, run.moved_for, "the job for which it was last moved"),
    RECORD_INT(struct saved_job, 142, run.moved, "when it was last moved"),
    RECORD_TEXT(struct saved_job, 143, run.moved_from, "its previous place, such as a:0,1"),
    RECORD_TEXT(struct saved_job, 144, run.moved_to, "its new place"),
    RECORD_UINT(struct saved_job, 160, run.rescues, "how often it left a faulty device"),
    RECORD_INT(struct saved_job, 161, run.rescued, "when it last did; 0: never"),
    RECORD_UINT(struct saved_job, 162, run.rescued_harm, "effect of that fault"),
    RECORD_TEXT(struct saved_job, 163, run.rescued_from, "the faulty device, such as a:3"),
    RECORD_TEXT(struct saved_job, 164, run.rescued_reason, "the fault"),
    RECORD_TEXT(struct saved_job, 167, run.place,
                "devices of its last ended attempt, such as a:0,1"),
    RECORD_TEXT(struct saved_job, 168, run.restarted, "why it was queued again the last time"),
    RECORD_TEXT(struct saved_job, 166, run.external,
                "its name in the engine; empty: submitted to tarn"),
    RECORD_UINT(struct saved_job, 169, run.by_job, "the job that submitted it; 0: none"),
    RECORD_TEXT(struct saved_job, 165, run.cancel_reason, "reason that the cancelling rule gave"),
};

static const struct field need_fields[] = {
    RECORD_UINT(struct need, 1, job, ""),
    RECORD_UINT(struct need, 2, on, ""),
    RECORD_UINT(struct need, 3, kind, ""),
    RECORD_UINT(struct need, 4, is_broken, "1: it can no longer be met"),
};

static const struct field demand_fields[] = {
    RECORD_INNER(struct saved_demand, 1, request, "", &request_record),
    RECORD_UINT(struct saved_demand, 2, weight, "decayed number of members, in units of 2^-16"),
};

static const struct field runs_fields[] = {
    RECORD_UINT(struct saved_runs, 1, key, "hash of the template"),
    RECORD_UINT(struct saved_runs, 2, count, "number of run times seen"),
    RECORD_TEXT(
        struct saved_runs, 3, runs,
        "last run times: log2 of milliseconds in units of 2^-8, four hexadecimal digits each"),
    RECORD_TEXT(struct saved_runs, 4, ratios,
                "run time / limit of the same jobs, in the same form"),
    RECORD_UINT(struct saved_runs, 5, is_used, "1: used since `history.hand` passed it"),
};
static const struct field errors_fields[] = {
    RECORD_INT(struct history_errors, 1, runs,
               "mean error of predictions from run times, log2 in units of 2^-12"),
    RECORD_INT(struct history_errors, 2, ratios, "mean error of predictions from run time / limit"),
    RECORD_UINT(struct history_errors, 3, count, "number of ended jobs behind both"),
    RECORD_UINT(struct history_errors, 4, version, "number of ended jobs of the user"),
};

static const struct field band_fields[] = {
    RECORD_UINT(struct saved_band, 1, number,
                "number of the band in the calibration of start estimates"),
    RECORD_INT(struct saved_band, 2, band.low,
               "10 % quantile of the scores, log2 in units of 2^-12"),
    RECORD_INT(struct saved_band, 3, band.median, "median"),
    RECORD_INT(struct saved_band, 4, band.high, "90 % quantile"),
    RECORD_UINT(struct saved_band, 5, band.count, "number of scores"),
};

static const struct field pressure_fields[] = {
    RECORD_INT(struct pressure, 1, clock, "fair time"),
    RECORD_INT(struct pressure, 2, clock_at, "journal time to which `clock` belongs"),
    RECORD_INT(struct pressure, 3, arrived_at, "time up to which arrivals are decayed"),
};

static const struct field arrived_fields[] = {
    RECORD_UINT(struct saved_arrived, 1, level, "half-life of this sum: 1 min x 2^level"),
    RECORD_UINT(struct saved_arrived, 2, work, "submitted work, milli-GPU x milliseconds"),
};

static const struct field mtbf_fields[] = {
    RECORD_INT(struct mtbf, 1, time[MTBF_OWN],
               "time that on-demand and own nodes were up, summed over the nodes"),
    RECORD_INT(struct mtbf, 2, time[MTBF_SPOT], "the same of spot nodes"),
    RECORD_UINT(struct mtbf, 3, interruptions[MTBF_OWN],
                "number of interruptions of on-demand and own nodes"),
    RECORD_UINT(struct mtbf, 4, interruptions[MTBF_SPOT], "number of interruptions of spot nodes"),
    RECORD_INT(struct mtbf, 5, at, "time up to which both are counted"),
};

static const struct field bin_fields[] = {
    RECORD_UINT(struct saved_bin, 1, class, "class of sizes: log2 of the number of GPUs; 7: all"),
    RECORD_UINT(struct saved_bin, 2, bin, "bin of run time"),
    RECORD_UINT(struct saved_bin, 3, left,
                "number of jobs that ran through this bin or ended in it"),
    RECORD_UINT(struct saved_bin, 4, ended, "number of jobs that ended in it"),
};

static const struct field change_fields[] = {
    RECORD_UINT(struct config_change, 1, number, "number of the change"),
    RECORD_INT(struct config_change, 2, at, ""),
    RECORD_TEXT(struct config_change, 3, user, ""),
    RECORD_UINT(struct config_change, 4, before, "blob with the previous configuration"),
    RECORD_UINT(struct config_change, 5, after, "blob with the new configuration"),
    RECORD_TEXT(struct config_change, 6, words, ""),
    RECORD_UINT(struct config_change, 7, count, ""),
    RECORD_UINT(struct config_change, 8, undone, ""),
};

static const struct field receipt_fields[] = {
    RECORD_TEXT(struct receipt, 1, user, ""),
    RECORD_TEXT(struct receipt, 2, key, "name that the client chose"),
    RECORD_UINT(struct receipt, 3, fingerprint, "hash of the documents"),
    RECORD_UINT(struct receipt, 4, job, "number that its first job or group has"),
    RECORD_UINT(struct receipt, 5, cron, "number that its first recurring submission has"),
    RECORD_INT(struct receipt, 6, at, ""),
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
