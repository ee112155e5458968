/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_BATCH_H
#define SIM_RUN_BATCH_H

/* batch - executes the runs of an experiment, each in its own process, several at a time
 *
 * The results are in the order of seeds and slices. SIGINT ends all runs at once, with status 130.
 */

#include <jansson.h>

#include "sim/run/run.h"

struct batch_options {
    unsigned jobs; /* processes at a time */
    bool skip_bad;
    bool has_series;   /* results include the data of the plots */
    bool has_progress; /* a line on standard error */
};

/* {experiment, variant?, runs: [...], mean: {...}, workload: {...}}; new reference. */
int batch_run(const struct experiment *experiment, const struct sim_ports *ports,
              const struct batch_options *options, json_t **ret, struct error *err);

#endif
