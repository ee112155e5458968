/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_MODEL_H
#define DEVICE_MODEL_H

/* model - short names of GPU models, and the memory of common ones
 *
 * Users request a model by its short name: "h100", "rtx4090", "v100". Boards that differ only in
 * memory or form factor share the name; their memory distinguishes them.
 */

#include <stdint.h>

#include "core/probe.h"

struct model {
    const char *name;  /* the name for synthetic devices: "a100-40" */
    const char *model; /* "a100" */
    int64_t memory_mib;
};

/* NULL: not a known model. */
const struct model *model_find(const char *name);
/* All names, NULL-terminated. */
const char *const *model_names(void);

/* "NVIDIA A100-SXM4-40GB" -> "a100"; "gpu" if the product gives no name. */
void model_shorten(const char *product, char ret[PROBE_MODEL_SIZE]);

#endif
