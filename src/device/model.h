/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_MODEL_H
#define DEVICE_MODEL_H

/* model - the memory of common GPU models, by their short names (core/model_name.h)
 *
 * Boards that differ only in memory share the name; their memory distinguishes them.
 */

#include <stdint.h>

struct model {
    const char *name;  /* the name for synthetic devices: "a100-40" */
    const char *model; /* "a100" */
    int64_t memory_mib;
};

/* NULL: not a known model. */
const struct model *model_find(const char *name);
/* All names, NULL-terminated. */
const char *const *model_names(void);

#endif
