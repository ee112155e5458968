/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_HTML_REPORT_H
#define SIM_REPORT_HTML_REPORT_H

/* report - results as one page of HTML with plots, that needs nothing else */

#include <jansson.h>

#include "base/text.h"

/* reports: a list of what batch_run gives, with series. */
void report_format(const json_t *reports, struct text *page);

#endif
