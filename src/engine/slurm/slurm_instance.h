/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_INSTANCE_H
#define ENGINE_SLURM_SLURM_INSTANCE_H

/* slurm_instance - names this daemon in the comments of its Slurm jobs; kept with its state */

#include <stdint.h>

#include "base/error.h"
#include "core/probe.h"

enum { SLURM_INSTANCE_SIZE = 17 };

int slurm_instance_open(const char *state_dir, char ret[SLURM_INSTANCE_SIZE], struct error *err);

/* "n1-gpu0" */
void slurm_device_name(const char *node, uint32_t index, char ret[PROBE_UUID_SIZE]);

/* The GPUs of a node, as Slurm describes them; malloc'd. */
struct probe_device *slurm_devices(const char *node, const char *gres, uint32_t *ret_count);

#endif
