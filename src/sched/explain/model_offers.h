/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_EXPLAIN_MODEL_OFFERS_H
#define SCHED_EXPLAIN_MODEL_OFFERS_H

/* model_offers - what each model of GPU would mean for a job that is not submitted
 *
 * The same scores as those of placement (model_score.h), in the same order, also where there is no
 * choice; with the expected wait for each. Models without enough memory come last.
 */

#include "sched/explain/questions.h"
#include "sched/placement/model_score.h"

/* What the expected run time is from. */
enum run_evidence { RUN_UNKNOWN, RUN_OF_CLASS, RUN_BY_SPEED, RUN_EVIDENCES };

struct model_offer {
    const char *model;
    int64_t memory_mib; /* of one device; 0: not known */
    bool fits;          /* the memory and the kind are enough */
    bool is_chosen;     /* it would be tried first */
    bool is_late;
    bool is_stated;      /* its speed is the job's own statement */
    uint8_t evidence;    /* enum run_evidence */
    uint32_t runs;       /* of its class on the model */
    usec_t run;          /* expected; USEC_NEVER: not known */
    usec_t wait;         /* expected; USEC_NEVER: not known */
    int64_t rate_micro;  /* for an hour, of all devices; 0: no price */
    int64_t speed_milli; /* relative to a T4; 0: not known */
};

/* Best first; at most SPEED_MODELS. Returns how many; the job asks for devices and has no roles. */
uint32_t sched_model_offers(const struct brain *brain, struct inquiry *inquiry,
                            const struct job *like, const struct request *request,
                            struct model_offer *ret, enum model_rule *ret_rule);

#endif
