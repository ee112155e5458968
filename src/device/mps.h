/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_MPS_H
#define DEVICE_MPS_H

/* mps - NVIDIA's MPS server, through which several processes use one GPU at the same time
 *
 * Each device has its own control daemon with its own folder, so that a failure or a restart of one
 * does not affect the others. The environment of each client states its percentage of threads and
 * the memory that it may pin; the server enforces both. While the server runs, the device accepts
 * no other processes (compute mode exclusive); afterwards it has the default mode again.
 *
 * The program is nvidia-cuda-mps-control, or the one that TARN_MPS_CONTROL names (for tests). The
 * functions wait for it, so they must be called from a worker.
 */

#include "core/probe.h"

struct mps_device {
    struct probe *probe; /* may be NULL */
    uint32_t device;     /* its place in the probe */
    const char *uuid;
    const char *folder; /* for pipes and log; made if it does not exist */
};

/* Whether the program is installed. */
bool mps_is_there(void);

/* Start the device's server unless it answers. Fails with -ENOENT (no such program) or -EIO. */
int mps_start(const struct mps_device *mps, struct error *err);

/* Stop the device's server, if it runs. */
void mps_stop(const struct mps_device *mps);

/* Whether the process is the server of the control daemon of this folder. It holds memory of the
 * device, for all its clients. Does not wait. */
bool mps_is_server(const char *folder, uint32_t pid);

#endif
