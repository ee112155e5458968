/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_SLURM_TERMS_H
#define CONTROL_SLURM_TERMS_H

/* slurm_terms - partitions, QOS and whole nodes, as pools, queues and numbers of this cluster
 *
 * A partition is the pool of that name, else the queue. Of a list, the job gets the first that can
 * run it: Slurm selects the one with the earliest start, and that is said in a note. A QOS is the
 * queue of that name, and the account is one above it. A whole node has the CPUs, devices and
 * memory of the nodes that can run the job; if these differ, the request is refused.
 */

#include "control/control.h"

struct job_draft;
struct submission;

/* Before the queue's policy. Fails with a refusal that names the term and its value. */
int slurm_terms_settle(const struct control *control, const struct identity *who,
                       struct submission *submission, struct job_draft *draft, struct error *err);

#endif
