/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_LISTING_H
#define SIM_REPORT_LISTING_H

/* listing - results as a table: one line per metric, one column per experiment or variant */

#include <jansson.h>

#include "base/table.h"

/* reports: a list of results of batch_run. */
void listing_format(const json_t *reports, const struct table_view *view, struct text *text);

#endif
