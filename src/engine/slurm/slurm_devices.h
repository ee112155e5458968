/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_DEVICES_H
#define ENGINE_SLURM_SLURM_DEVICES_H

/* slurm_devices - the GPUs of a node as devices of tarn */

#include <stdint.h>

#include "core/probe.h"
#include "engine/exporter/node_readings.h"
#include "engine/slurm/slurm_api.h"

/* "n1-gpu0" */
void slurm_device_name(const char *node, uint32_t index, char ret[PROBE_UUID_SIZE]);

/* The GPUs of a node, as Slurm describes them; malloc'd. */
struct probe_device *slurm_devices(const char *node, const char *gres, uint32_t *ret_count);

/* Ask the exporters of the nodes of the partition that are up, at this port; 0: none. */
void slurm_devices_follow(struct node_readings *readings, const struct slurm_nodes *nodes,
                          uint32_t port);

#endif
