/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_JOB_SPEED_H
#define CORE_STATE_JOB_SPEED_H

/* job_speed - how fast a job that states its speeds (own_speed.h) may run on this cluster
 *
 * Over the models that its request may have and the cluster has, also where those are down. Where
 * it has none of them, over those that the job states.
 *
 * Units: thousandths; 1000 for a job that states none
 */

#include "core/state/state.h"

struct job_speeds {
    uint32_t least, mean, most;
};

struct job_speeds job_speeds_of(const struct state *state, const struct request *request);

/* On the devices of a lease: that of the slowest. 0: it states none, or has no devices. */
uint32_t job_speed_on(const struct state *state, const struct request *request,
                      const struct lease *lease);

#endif
