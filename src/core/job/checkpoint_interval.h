/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_CHECKPOINT_INTERVAL_H
#define CORE_JOB_CHECKPOINT_INTERVAL_H

/* checkpoint_interval - how often to save work that may be interrupted
 *
 * With d, the time that one checkpoint takes, and M, the mean time between interruptions of all the
 * nodes of the job together, both in microseconds:
 *
 *   tau = sqrt(2 d M) [1 + 1/3 sqrt(d / 2M) + 1/9 (d / 2M)] - d     for d < 2M, else M
 *
 * which is sqrt(2 d M) - 2d/3 + sqrt(2 d M) d / 18M: integers, rounded down. J. T. Daly, A higher
 * order estimate of the optimum checkpoint interval, 2006; the first term is Young's, 1974.
 */

#include "base/units.h"

#define DALY_TAKES_DEFAULT (30 * USEC_PER_SEC)

enum { DALY_WASTE_ONE = 1000000 };

/* Run time between the end of one checkpoint and the start of the next; at least a second. */
usec_t daly_interval(usec_t takes, usec_t between);

/* The share of the run time that checkpoints and repeated work will cost with one checkpoint every
 * `every`, in parts of DALY_WASTE_ONE: d / every + every / 2M, at most DALY_WASTE_ONE. */
uint32_t daly_waste(usec_t takes, usec_t every, usec_t between);

#endif
