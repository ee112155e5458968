/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_REPORT_BAND_H
#define SIM_REPORT_BAND_H

/* band - sizes of jobs, by GPUs: "0", "<1", "1", "2-4", "5-8", "9-64", ">64" */

#include <stdint.h>

enum band { BAND_NONE, BAND_PART, BAND_ONE, BAND_FEW, BAND_NODE, BAND_MANY, BAND_MORE, BAND_COUNT };

enum band band_of(int64_t milli);
const char *band_name(enum band band);

#endif
