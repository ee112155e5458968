/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_MPS_H
#define DEVICE_MPS_H

/* mps - NVIDIA's server by which several processes use one GPU at the same time
 *
 * One control daemon a device, in a folder of its own, so that a failure or a restart of one does
 * not touch the others. How much each client gets is in its environment: the percentage of threads
 * and the memory that it may pin, which the server enforces. While it runs the device takes no
 * other processes (compute mode exclusive), and the default again afterwards.
 *
 * The program is nvidia-cuda-mps-control, or what TARN_MPS_CONTROL names (for tests). Calls wait
 * for it: they are for a worker.
 */

#include "core/probe.h"

struct mps_device {
    struct probe *probe; /* may be NULL */
    uint32_t device;     /* its place in the probe */
    const char *uuid;
    const char *folder; /* made if it is not there: pipes and log */
};

/* Whether the program is there at all. */
bool mps_is_there(void);

/* Start the device's server unless it answers. Fails with -ENOENT (no such program) or -EIO. */
int mps_start(const struct mps_device *mps, struct error *err);

/* Let it end. One that is not there is fine. */
void mps_stop(const struct mps_device *mps);

#endif
