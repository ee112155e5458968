/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_LISTING_H
#define SIM_REPORT_LISTING_H

/* listing - results for people: a metric a line, a column for each experiment or variant */

#include <jansson.h>

#include "base/table.h"

/* reports: a list of what batch_run gives. */
void listing_format(const json_t *reports, const struct table_view *view, struct text *text);

#endif
