/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_SERIES_H
#define SIM_REPORT_SERIES_H

/* series - the data of a run that a report plots */

#include <jansson.h>

#include "sim/run/run.h"

/* New reference. */
json_t *series_of(const struct run *run);

#endif
