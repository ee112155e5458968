/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_MODEL_SCORE_H
#define SCHED_PLACEMENT_MODEL_SCORE_H

/* model_score - which models a request without one may have, and which of them it should have
 *
 * The score is the logarithm of price per unit of speed: share of the device * its price *
 * scarcity / speed for the job's class. The cheapest comes first. A model on which the job would
 * miss its deadline or its time limit comes after the others. A job with a priority above 0, or
 * with a deadline and no known run time, takes the fastest. Where the job states its run times
 * (core/job/own_speed.h), a model on which its time limit would end it is left out, unless all are
 * so. doc/policies/choice.md
 *
 * There is no choice (0) where no price is set for a model, where its speed is not known, or where
 * all are worth the same: then the cost of the place alone decides. Where no model has a price, a
 * job that states its own speeds (core/job/own_speed.h) takes the fastest.
 */

#include "core/predict/speed.h"
#include "core/state/state.h"
#include "sched/capacity/layout.h"

struct fragmentation;

/* Why a job has its model; in leases. */
enum model_rule {
    MODEL_RULE_NONE,     /* it is the one asked for, or there is no choice */
    MODEL_RULE_CHEAPEST, /* least price per unit of speed */
    MODEL_RULE_NEXT,     /* the same of those that were free */
    MODEL_RULE_FASTEST,  /* for its priority, or where none has a price */
    MODEL_RULE_DEADLINE, /* to meet its deadline or its time limit */
    MODEL_RULES,
};

struct model_score {
    uint32_t model;     /* layout_kind.model */
    uint32_t device;    /* an example */
    int32_t score, run; /* log2: price per unit of speed; the expected run time in ms */
    int32_t speed;      /* log2 */
    uint32_t runs;      /* of its class on it */
    int64_t rate;       /* price of all its devices for an hour, in micro */
    bool is_unrated;    /* its speed is not known; only where all are listed */
    bool is_late;       /* it would miss its deadline or its time limit */
};

struct model_query {
    const struct state *state;
    const struct layout *layout;
    const struct fragmentation *typical;
    const struct job *job;
    const struct request *request; /* of all members */
    const struct request *part;    /* of the role */
    const struct gpu_ask *ask;
    bool is_listing; /* all models, also where there is no choice */
    bool with_one;   /* also where there is only one */
};

/* The use of its GPUs: as requested, else derived from its form. */
enum gpu_work model_work(const struct job *job, const struct request *request);

/* Best first; at most SPEED_MODELS. Returns how many; 0: there is no choice. */
uint32_t model_scores(const struct model_query *query, struct model_score *ret,
                      enum model_rule *ret_rule, bool *ret_is_known);

const char *model_rule_name(uint8_t rule);

#endif
