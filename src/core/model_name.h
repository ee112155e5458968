/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_MODEL_NAME_H
#define CORE_MODEL_NAME_H

/* model_name - short names of GPU models
 *
 * Users request a model by its short name: "h100", "rtx4090", "v100". Boards that differ only in
 * memory or form factor share the name.
 */

#include "core/probe.h"

/* "NVIDIA A100-SXM4-40GB" -> "a100"; "gpu" if the product gives no name. */
void model_shorten(const char *product, char ret[PROBE_MODEL_SIZE]);

#endif
