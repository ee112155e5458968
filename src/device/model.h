/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_MODEL_H
#define DEVICE_MODEL_H

/* model - short names of GPUs, and what the common ones are
 *
 * The short name is what people ask for: "h100", "rtx4090", "v100". Boards that differ in memory
 * or form only share it; memory tells them apart.
 */

#include <stdint.h>

#include "core/probe.h"

struct model {
    const char *name;  /* what a synthetic device is asked for by: "a100-40" */
    const char *model; /* "a100" */
    int64_t memory_mib;
};

/* NULL when it is not one of the known ones. */
const struct model *model_find(const char *name);
/* All names, NULL at the end. */
const char *const *model_names(void);

/* "NVIDIA A100-SXM4-40GB" -> "a100". What has no better name is "gpu". */
void model_shorten(const char *product, char ret[PROBE_MODEL_SIZE]);

#endif
