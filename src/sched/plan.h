/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLAN_H
#define SCHED_PLAN_H

/* plan - the steps of a plan that are about all jobs: who must stop, and who may start
 *
 * sched.h says in which order they and those of the policies follow each other.
 */

struct brain;
struct decisions;

/* Stop jobs at their limit, cancelled ones, and those whose machine or device goes. */
void plan_stops(struct brain *brain, struct decisions *decisions);
/* Start the jobs for which others were stopped. They come before all others. */
void plan_awaited(struct brain *brain, struct decisions *decisions);
/* Start waiting jobs in their order; promise the first that find no room a start. */
void plan_grants(struct brain *brain, struct decisions *decisions);

#endif
