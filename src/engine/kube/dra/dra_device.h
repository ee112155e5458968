/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_DRA_DRA_DEVICE_H
#define ENGINE_KUBE_DRA_DRA_DEVICE_H

/* dra_device - the devices of a ResourceSlice, which a driver publishes for a node
 *
 * What tarn cannot allocate is left out, and named: slices that are not of one node; devices that
 * share counters, that several claims may have, or that need conditions before a pod is bound.
 *
 * Model, memory and kind come from the driver's attributes and capacity (productName, model, type,
 * profile, memory), in any domain. A device of gpu.nvidia.com has its UUID as its name, so that
 * readings of it are found; others have "DEVICE.POOL.DRIVER".
 *
 * Source: the Kubernetes API reference, ResourceSlice v1
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/job/request.h"
#include "core/probe.h"

struct dra_device {
    uint32_t references;
    char *driver, *pool, *name;
    char *key;                     /* "DRIVER/POOL/NAME" */
    json_t *attributes, *capacity; /* as in the API; NULL: none */
    struct probe_device probe;     /* sick: a taint */
    char kind[REQUEST_KIND_SIZE];  /* "": a GPU */
    /* by dra_filters: which of them hold, as bits, at which version of them */
    uint64_t version;
    uint32_t matched;
};

struct dra_slice {
    char *name, *driver, *pool, *node;
    int64_t generation, slice_count; /* of its pool */
    char *left_out;                  /* what is not used of it, and why; NULL: nothing */
    struct dra_device **devices;
    uint32_t device_count;
    bool is_seen;
};

/* NULL: no slice. Runs in the thread of the client. */
void *dra_slice_read(const json_t *object);
void dra_slice_destroy(void *slice); /* NULL is fine */

struct dra_device *dra_device_keep(struct dra_device *device);
void dra_device_release(struct dra_device *device);

/* By driver, pool and name; numbers in names count as such. */
int dra_device_compare(const void *a, const void *b);

/* "nvidia" of gpu.nvidia.com: the vendor of a driver's devices. */
void dra_vendor(const char *driver, char *ret, size_t size);

#endif
