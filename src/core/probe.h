/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROBE_H
#define CORE_PROBE_H

/* probe - the port that says which devices a machine has
 *
 * A reading that can't be had is absent: an empty string, PROBE_UNKNOWN, never 0.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { PROBE_UUID_SIZE = 96, PROBE_MODEL_SIZE = 64, PROBE_ADDRESS_SIZE = 32, PROBE_UNKNOWN = -1 };

struct probe_device {
    char uuid[PROBE_UUID_SIZE];       /* "GPU-…": what CUDA_VISIBLE_DEVICES takes */
    char model[PROBE_MODEL_SIZE];     /* short, lower case: "h100", "a100", "rtx4090" */
    char product[PROBE_MODEL_SIZE];   /* as the driver says it: "NVIDIA H100 80GB HBM3" */
    char address[PROBE_ADDRESS_SIZE]; /* PCI "00000000:17:00.0" */
    char vendor[16];                  /* "nvidia" */
    int64_t memory_mib;               /* PROBE_UNKNOWN */
    int32_t numa_node;                /* PROBE_UNKNOWN */
    bool mig_enabled;
    bool is_synthetic; /* made up: said in every listing */
    char sick[96];     /* why it must not be given out; "" when it is well */
};

/* The machine itself. */
struct probe_machine {
    char name[64]; /* host name without domain */
    int64_t cpu_milli;
    int64_t memory_mib;
    int32_t numa_count; /* PROBE_UNKNOWN */
};

struct probe;

struct probe_ops {
    const char *name; /* "nvml", "synthetic" */
    /* Fill devices, malloc'd, in the driver's order. None is an answer, not a failure. */
    int (*devices)(struct probe *probe, struct probe_device **ret_devices, uint32_t *ret_count,
                   struct error *err);
    void (*destroy)(struct probe *probe); /* NULL is fine */
};

struct probe {
    const struct probe_ops *ops;
};

#endif
