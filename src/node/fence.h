/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_FENCE_H
#define NODE_FENCE_H

/* fence - the device files of each GPU, and which of them a job must not open
 *
 * NVIDIA: /dev/nvidiaN, by minor number. AMD and Intel: the card and render nodes of the PCI
 * device. Described devices: the files in the configuration. Control files that all programs need
 * (nvidiactl, nvidia-uvm, kfd) do not belong to a GPU. The files are looked up once. Tests may set
 * another root directory ($TARN_DEVICE_ROOT).
 */

#include "core/engine.h"
#include "core/job/job.h"
#include "core/probe.h"
#include "core/state/state.h"

struct fence;

struct fence *fence_create(const struct probe_device *devices, uint32_t count);
void fence_destroy(struct fence *fence); /* NULL is fine */

/* The files of all devices that the member at this place of the lease does not hold; malloc'd.
 * ret_is_whole: every device, held or not, has a file, so that denying these files isolates the
 * GPUs of the member. */
void fence_denied(const struct fence *fence, const struct state *state, const struct job *job,
                  uint32_t place, struct engine_device **ret, uint32_t *ret_count,
                  bool *ret_is_whole);

#endif
