/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_STATE_H
#define CORE_STATE_STATE_H

/* state - nodes, pools, queues and jobs, folded from the events
 *
 * state = fold(events): state_apply() is the only thing that changes it. It is pure, and applying
 * the same events in the same order gives the same state on any machine.
 *
 * Order of calls:  create, (apply)*, destroy; snapshot_save and snapshot_load beside (snapshot.h)
 * Owner:           the state owns everything in it; what it hands out is good until the next apply
 * On failure:      an event that makes no sense (a journal of another kind) fails with -EBADMSG.
 *                  What an engine reports late or twice is no failure: it changes nothing
 */

#include <stdint.h>

#include "base/id_set.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pages.h"
#include "core/cluster/node.h"
#include "core/cluster/payer.h"
#include "core/cluster/pool.h"
#include "core/cluster/queue.h"
#include "core/cluster/quota.h"
#include "core/job/class.h"
#include "core/job/demand.h"
#include "core/job/group.h"
#include "core/job/job.h"
#include "core/job/need.h"
#include "core/journal/config_log.h"
#include "core/journal/event.h"
#include "core/journal/receipt_log.h"
#include "core/journal/token_list.h"
#include "core/predict/calibration.h"
#include "core/predict/failure_rate.h"
#include "core/predict/history.h"
#include "core/predict/pressure.h"
#include "core/predict/residual.h"
#include "core/predict/slack_choice.h"
#include "core/predict/speed.h"
#include "core/state/agenda.h"
#include "core/state/move.h"
#include "core/state/settings.h"

/* Of nodes that are up and devices that are healthy. */
struct capacity {
    int64_t milli; /* GPUs */
    int64_t cpu_milli;
    int64_t memory_mib;
    int64_t models[RESOURCES_MAX]; /* milli-GPUs of each model that has a number */
    int64_t worth;                 /* of the GPUs, by their prices (state_worth) */
};

struct allowance {
    uint64_t used; /* bytes */
    usec_t at;
};

struct touched_jobs {
    LIST(uint64_t) ids;
};

struct state {
    usec_t now;       /* of the latest event */
    uint64_t next_id; /* for the next job or group */
    struct settings settings;
    struct capacity capacity;
    LIST(struct node) nodes;
    LIST(struct device) devices;
    LIST(uint32_t) models; /* an example of each model and size of device */
    LIST(struct pool) pools;
    LIST(struct queue) queues;
    struct payers payers;
    resource_list resources;
    LIST(struct node_type) node_types;
    LIST(struct device_type) device_types; /* described by an administrator */
    LIST(struct node_settings) node_settings;
    bool has_others;          /* there are devices other than GPUs */
    bool charges_nodes;       /* prices of nodes apply; decided at the last BOOT */
    int64_t node_price_least; /* of those that apply; 0: there is none */
    uint64_t world;           /* counts the events that are of the world */
    struct agenda agenda;
    struct holdings holdings;
    LIST(char *) users;
    struct map node_names, device_names; /* hash -> number of the last one with it, plus one */
    struct room room;                    /* what is free now */
    struct class_table classes;
    struct demand demand;           /* the most frequent requests */
    struct history history;         /* how long jobs ran */
    struct speeds speeds;           /* the same on each model of GPU */
    struct residual residual;       /* and how long they still ran at each age */
    struct pressure pressure;       /* demand for GPUs */
    struct mtbf mtbf;               /* mean time between interruptions of nodes */
    struct moves moves;             /* work lost by moves in the last hour */
    struct calibration calibration; /* errors of predicted waits */
    struct slack_choice slack;      /* of protected starts */
    struct config_log config_log;   /* the latest changes of the configuration */
    struct token_list tokens;       /* that give access over the network */
    struct receipt_log receipts;    /* the latest submissions that their clients named */
    uint64_t plan_from, plan_until; /* numbers assigned between the last two plans */
    struct need_table needs;
    struct pages jobs;    /* id -> struct job * */
    struct map groups;    /* id -> struct group * */
    struct map externals; /* hash of run->external -> id */
    struct map submitted; /* id of a job -> the last job that it submitted (run->elder) */
    struct job *first_job, *last_job;
    struct job *first_active, *last_active; /* that hold resources, by id: run->active_next */
    struct id_set unended[JOB_ENDED];       /* by state: their numbers */
    LIST(struct allowance) allowances;      /* by user (allowance.h) */
    LIST(uint32_t) unfinished;              /* by user: how many jobs have not ended */
    struct group *first_group, *last_group;
    uint32_t job_counts[JOB_STATE_COUNT];
    usec_t next_begin; /* the earliest begin time that a job waits for; USEC_NEVER: none */
    usec_t next_spot;  /* when the spot rule of a waiting job changes next; USEC_NEVER: none */

    /* Called when a lease is taken from what is free (sign 1), or given back (-1). */
    void (*on_lease)(void *user, struct job *job, int sign);
    void *on_lease_user;

    /* Called when a job's standing may have changed, and before it is destroyed (is_gone). */
    void (*on_job)(void *user, struct job *job, bool is_gone);
    void *on_job_user;

    /* Ids of jobs whose state has changed, in order, for the one that set it; NULL: not wanted. */
    struct touched_jobs *touched;
};

/* Nodes have prices from this version of the brain on. */
enum { NODE_PRICE_BRAIN = 10 };

struct state *state_create(void);
void state_destroy(struct state *state);
DEFINE_AUTO(state)

/* Another number after each change of nodes, devices, pools, queues, settings or hours. */
static inline uint64_t state_world(const struct state *state)
{
    return 1 + state->world + state->agenda.passed;
}

/* The slack of protected starts that looking ahead chose, while it counts; 0: none. */
static inline usec_t state_chosen_slack(const struct state *state)
{
    bool counts = state->settings.look_ahead && state->settings.order == ORDER_DEFAULT;

    return counts ? state->slack.least : 0;
}

/* The event that would submit this job again, alone: in no group, and without needs. */
struct event_submit state_submission(const struct state *state, const struct job *job);

int state_apply(struct state *state, const struct event *event, struct error *err);

struct job *state_job(const struct state *state, uint64_t id); /* NULL: none */
/* The innermost pipeline that the job is in; NULL: none. */
const struct group *state_pipeline_of(const struct state *state, const struct job *job);
struct group *state_group(const struct state *state, uint64_t id); /* NULL: none */
/* The job that was submitted to the engine under that name; NULL: none. */
struct job *state_external(const struct state *state, const char *name);
/* The last job that a job submitted, which need not exist any more; the others follow by
 * run->elder. NULL: none. */
struct job *state_submitted(const struct state *state, uint64_t by_job);
const struct request *state_request(const struct state *state, const struct job *job);
/* The description of a job that the history uses. */
void state_describe(const struct state *state, const struct job *job, struct history_job *ret);
/* The same with another request than its own. */
void job_describe(const struct job *job, const struct request *request, struct history_job *ret);
const char *state_user(const struct state *state, uint32_t user);
int64_t state_find_user(const struct state *state, const char *name);   /* -1: none */
int64_t state_find_node(const struct state *state, const char *name);   /* -1: none */
int64_t state_find_device(const struct state *state, const char *uuid); /* -1: none */
int64_t state_find_pool(const struct state *state, const char *name);   /* -1: none */
int64_t state_find_queue(const struct state *state, const char *name);  /* -1: none */

/* Whether the queue is `above` or below it. */
bool state_is_below(const struct state *state, uint32_t queue, uint32_t above);

/* Weight of a GPU relative to others, in micro: its price; 1 (a million) if it has none. */
int64_t state_worth(const struct state *state, uint32_t device);

/* Price of a device per hour, in micro: its node's, its model's, or that of `gpus`; 0: none. */
int64_t state_price(const struct state *state, const struct device *device);
/* The same of its node alone, and without its node. */
int64_t state_node_price(const struct state *state, const struct device *device);
int64_t state_model_price(const struct state *state, const struct device *device);

/* Add a type; one with numbers out of range is ignored. */
void state_add_node_type(struct state *state, const struct node_type *type);
void state_add_device_type(struct state *state, const struct device_type *type);
/* The kind of the devices that are asked for, by kind or by model; "": GPUs. */
const char *state_kind_of_ask(const struct state *state, const struct gpu_ask *ask);

/* An administrator's settings for the node of this name; NULL: none. */
const struct node_settings *state_node_settings(const struct state *state, const char *name);

/* The described type of a device; NULL: it is a driver's device. */
const struct device_type *state_device_type(const struct state *state, const char *uuid,
                                            uint32_t *ret_number);

/* As an event that changes nothing; its strings are the node's. */
void state_describe_node(const struct node *node, struct event_node *ret);
/* The same of a device. */
void state_describe_device(const struct state *state, const struct device *device,
                           struct event_device *ret);

/* Grace period of a job stopped now: its own, or the time until its nodes are interrupted. */
usec_t state_grace(const struct state *state, const struct job *job);

/* Mean time between interruptions of the nodes that an active job has. */
usec_t state_mtbf(const struct state *state, const struct job *job);
/* The limits of a queue at a future time, as far as windows are known. */
void state_quota_at(const struct state *state, uint32_t queue, uint32_t resource, usec_t at,
                    struct quota *ret);
/* The size of a dynamic pool at a time; 0: in force. USEC_NEVER: its least minimum and its largest
 * maximum from now on. A maximum of 0 is no bound. */
void state_pool_at(const struct state *state, uint32_t pool, usec_t at, struct pool_size *ret);

/* How much of each resource a lease takes. */
void amounts_of_lease(const struct state *state, const struct lease *lease, struct amounts *ret);

/* Price of a lease without the tariff's factor: millionths of the currency per hour. */
int64_t state_rate(const struct state *state, const struct lease *lease);
/* The least rate of amounts that are not placed yet. */
int64_t state_least_rate_of(const struct state *state, const struct amounts *wanted);
/* Cost of all attempts of a job up to a time, in millionths. Not before the state's time. */
int64_t state_cost(const struct state *state, const struct job *job, usec_t at);

/* The accounts of a payer at a time. Not before the state's time. */
void state_accounts(const struct state *state, uint32_t payer, usec_t at, struct account *ret);

/* The payers of a job: its queue, its user there, then the same for each queue above.
 *
 *     for (struct payer_walk at = payers_first(state, job); at.payer != PAYER_NONE;
 *          payers_next(state, &at))
 */
struct payer_walk {
    uint32_t payer; /* PAYER_NONE: there are no more */
    uint32_t queue, user;
    bool is_user;
};
struct payer_walk payers_first(const struct state *state, const struct job *job);
void payers_next(const struct state *state, struct payer_walk *at);
/* Whether the job is charged to this payer. */
bool state_is_paid_by(const struct state *state, const struct job *job, const struct payer *payer);

/* The capacity of a resource. */
int64_t state_capacity(const struct state *state, uint32_t resource);

/* Whether a lease may have one device instead of the other: equal, on one node, and present. */
bool state_may_exchange(const struct state *state, uint32_t from, uint32_t to);

/* Whether a need for the job or group `on` is decided. */
/* The stage that it is part of, at any depth; NULL: none. */
struct group *state_stage_of(const struct state *state, const struct job *job);
enum need_answer state_need_answer(const struct state *state, uint64_t on, enum need_kind kind);

bool device_is_usable(const struct state *state, const struct device *device);

#endif
