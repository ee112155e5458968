/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_SIMULATE_H
#define SIM_RUN_SIMULATE_H

/* simulate - the command tarn simulate: reads files; writes tables, JSON or a page */

#include "sim/run/run.h"

/* Returns the exit status: 0, 1 failed, 2 wrong usage, 130 interrupted. */
int simulate(int argc, char **argv, const struct sim_ports *ports);

#endif
