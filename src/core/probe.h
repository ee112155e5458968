/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROBE_H
#define CORE_PROBE_H

/* probe - the port to the devices of a machine: which devices exist, and their readings
 *
 * A reading that is not available is absent: an empty string, PROBE_UNKNOWN, or a mark that is not
 * set; never 0. An operation that a probe does not support is NULL in its ops.
 *
 * A device is identified by its place in the last result of devices(); places do not change while
 * the machine runs. Every call may block for as long as the driver does, so no function may be
 * called from an event loop (the sampler has a thread for each device). Calls about different
 * devices may come from different threads at the same time. Call devices() and destroy() only while
 * no other call is in progress.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/health/reading.h"

enum { PROBE_UUID_SIZE = 96, PROBE_MODEL_SIZE = 64, PROBE_ADDRESS_SIZE = 32, PROBE_UNKNOWN = -1 };

struct probe_device {
    char uuid[PROBE_UUID_SIZE];       /* "GPU-…", as in CUDA_VISIBLE_DEVICES */
    char model[PROBE_MODEL_SIZE];     /* short, lower case: "h100", "a100", "rtx4090" */
    char product[PROBE_MODEL_SIZE];   /* as the driver reports it: "NVIDIA H100 80GB HBM3" */
    char address[PROBE_ADDRESS_SIZE]; /* PCI "00000000:17:00.0" */
    char vendor[16];                  /* "nvidia", "amd", "intel", or as configured */
    int64_t memory_mib;               /* PROBE_UNKNOWN */
    int32_t numa_node;                /* PROBE_UNKNOWN */
    int32_t minor;   /* of its device file (/dev/nvidia3, /dev/dri/renderD131); PROBE_UNKNOWN */
    uint32_t island; /* devices with the same number are linked at full speed; 0: none */
    uint32_t bridge; /* devices with the same number share a PCIe switch; 0: not known */
    bool mig_enabled;
    bool is_synthetic; /* simulated; every listing marks it */
    bool is_recorded;  /* is_synthetic, and replayed from a recording */
    char sick[96];     /* why it must not be allocated; "": it is healthy */
    bool is_occupied;  /* it is not faulty: others use it, as sick says */
};

/* The machine itself. */
struct probe_machine {
    char name[64]; /* host name without domain */
    int64_t cpu_milli;
    int64_t memory_mib;
    int32_t numa_count; /* PROBE_UNKNOWN */
};

/* A process that has a device open, according to the driver. */
struct probe_process {
    uint32_t pid;         /* in the initial PID namespace */
    int64_t memory_bytes; /* PROBE_UNKNOWN */
    int64_t use;          /* millionths of the time since the last reading; PROBE_UNKNOWN */
    int64_t instance;     /* MIG GPU instance; PROBE_UNKNOWN: none */
    bool is_graphics;     /* a display, not a compute program */
};

/* The distance of two devices, nearest first; probe_link_word() has nvidia-smi's terms. */
enum probe_near {
    PROBE_NEAR_SELF,
    PROBE_NEAR_LINK,     /* NVLink, xGMI: `links` of them */
    PROBE_NEAR_BOARD,    /* on one board */
    PROBE_NEAR_SWITCH,   /* behind one PCIe switch */
    PROBE_NEAR_SWITCHES, /* behind several */
    PROBE_NEAR_BRIDGE,   /* at one host bridge */
    PROBE_NEAR_NUMA,     /* of one NUMA node */
    PROBE_NEAR_MACHINE,
    PROBE_NEAR_UNKNOWN,
};

struct probe_link {
    enum probe_near near;
    uint32_t links; /* of PROBE_NEAR_LINK */
};

/* An event that a driver reports. */
struct probe_event {
    uint32_t device;
    uint32_t xid;     /* NVIDIA's number */
    int64_t instance; /* MIG GPU instance; PROBE_UNKNOWN */
    uint32_t pid;     /* 0: not known */
};

/* An existing MIG instance, in memory slices (mig.h). */
struct probe_instance {
    char uuid[PROBE_UUID_SIZE]; /* "MIG-…"; "" while it has no compute instance */
    uint32_t gpu_instance;
    uint32_t compute_instance;
    uint8_t start, size; /* memory slices */
    uint8_t compute;     /* compute slices */
    bool media;          /* it has the media engines */
    int64_t memory_mib;
};

struct probe;

/* Numbered as in the driver. */
enum probe_compute {
    PROBE_COMPUTE_DEFAULT = 0,   /* any number of processes */
    PROBE_COMPUTE_EXCLUSIVE = 3, /* one process: the MPS server */
};

struct probe_ops {
    const char *name; /* "nvml", "amd", "intel", "recorded", "synthetic" */
    /* List the devices (malloc'd) in the driver's order. No device is an answer, not a failure. */
    int (*devices)(struct probe *probe, struct probe_device **ret_devices, uint32_t *ret_count,
                   struct error *err);
    /* Read all readings of a device. ret->at is not changed. Fails with -ENODEV (it is lost from
     * the bus) or -EIO (it needs a reset, or the driver failed). */
    int (*sample)(struct probe *probe, uint32_t device, struct reading *ret, struct error *err);
    /* List its processes; malloc'd. Fails like sample, and with -ENOTSUP (not supported). */
    int (*processes)(struct probe *probe, uint32_t device, struct probe_process **ret,
                     uint32_t *ret_count, struct error *err);
    /* Wait for an event of the driver; 1: ret is filled, 0: no event in this time. */
    int (*wait)(struct probe *probe, uint32_t timeout_ms, struct probe_event *ret,
                struct error *err);
    /* The distance of two devices. */
    struct probe_link (*link)(struct probe *probe, uint32_t a, uint32_t b);
    /* Set the MIG mode of a device. -EBUSY: it is in use; -EAGAIN: takes effect after a reset. */
    int (*mig_mode)(struct probe *probe, uint32_t device, bool is_on, struct error *err);
    /* List the MIG instances of a device; malloc'd. */
    int (*mig_list)(struct probe *probe, uint32_t device, struct probe_instance **ret,
                    uint32_t *ret_count, struct error *err);
    /* Create the instance with start, size, compute and media of ret; fills the rest of ret. */
    int (*mig_create)(struct probe *probe, uint32_t device, struct probe_instance *ret,
                      struct error *err);
    /* Remove an instance. Fails with -EBUSY while a process uses it. */
    int (*mig_remove)(struct probe *probe, uint32_t device, uint32_t gpu_instance,
                      struct error *err);
    /* Set how many processes may use the device at the same time. */
    int (*compute_mode)(struct probe *probe, uint32_t device, enum probe_compute mode,
                        struct error *err);
    void (*destroy)(struct probe *probe); /* NULL is fine */
};

struct probe {
    const struct probe_ops *ops;
};

/* "X", "NV4", "PIX", "PXB", "PHB", "NODE", "SYS", "?"; size: at least 8. */
const char *probe_link_word(struct probe_link link, char *buffer, size_t size);

#endif
