/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_RESULT_H
#define SIM_REPORT_RESULT_H

/* result - the metrics of a run as JSON, with the names in metrics.def
 *
 * Formulas: doc/spec/07-experiment.md. Times are seconds, shares of the cluster are percent.
 */

#include <jansson.h>

#include "sim/run/run.h"

/* New reference. has_series: with the data of the plots, under "series". */
json_t *result_of(const struct run *run, bool has_series);

/* The element-wise mean of the numbers that all objects have; new reference. */
json_t *result_mean(const json_t *runs);

/* series.c: the data of a run that a report plots; new reference. */
json_t *series_of(const struct run *run);

#endif
