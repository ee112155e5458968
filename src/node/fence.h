/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_FENCE_H
#define NODE_FENCE_H

/* fence - the device files of each GPU, and which of them a job must not open
 *
 * NVIDIA: /dev/nvidiaN, by its minor. AMD and Intel: the card and render nodes under the PCI
 * device. Described devices: the files that the configuration says. Control files that all programs
 * need (nvidiactl, nvidia-uvm, kfd) are not a GPU's own. Files are looked up once; a test may give
 * another root ($TARN_DEVICE_ROOT).
 */

#include "core/engine.h"
#include "core/job/job.h"
#include "core/probe.h"
#include "core/state/state.h"

struct fence;

struct fence *fence_create(const struct probe_device *devices, uint32_t count);
void fence_destroy(struct fence *fence); /* NULL is fine */

/* Those of all devices but the ones that the member at that place of the lease holds; malloc'd.
 * ret_is_whole: each device that it holds, and each that it does not, has a file, so that with
 * those kept from it its GPUs are its own. */
void fence_denied(const struct fence *fence, const struct state *state, const struct job *job,
                  uint32_t place, struct engine_device **ret, uint32_t *ret_count,
                  bool *ret_is_whole);

#endif
