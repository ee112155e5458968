/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_HTML_REPORT_H
#define SIM_REPORT_HTML_REPORT_H

/* html_report - results as one self-contained HTML page with plots */

#include <jansson.h>

#include "base/text.h"

/* reports: a list of results of batch_run, with series. */
void report_format(const json_t *reports, struct text *page);

#endif
