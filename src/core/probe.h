/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PROBE_H
#define CORE_PROBE_H

/* probe - the port that says which devices a machine has, and how they do
 *
 * A reading that can't be had is absent: an empty string, PROBE_UNKNOWN, a mark that is not set;
 * never 0. What a probe can't do at all is a NULL among its ops.
 *
 * Devices are named by their place in what devices() said last; places stay while the machine
 * runs. Every call may block for as long as the driver likes: nothing here is for an event loop
 * (the sampler has a thread for each device). Calls about different devices may come from
 * different threads at a time; devices() and destroy() only while no other call is under way.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/health/reading.h"

enum { PROBE_UUID_SIZE = 96, PROBE_MODEL_SIZE = 64, PROBE_ADDRESS_SIZE = 32, PROBE_UNKNOWN = -1 };

struct probe_device {
    char uuid[PROBE_UUID_SIZE];       /* "GPU-…": what CUDA_VISIBLE_DEVICES takes */
    char model[PROBE_MODEL_SIZE];     /* short, lower case: "h100", "a100", "rtx4090" */
    char product[PROBE_MODEL_SIZE];   /* as the driver says it: "NVIDIA H100 80GB HBM3" */
    char address[PROBE_ADDRESS_SIZE]; /* PCI "00000000:17:00.0" */
    char vendor[16];                  /* "nvidia", "amd", "intel", or what an administrator says */
    int64_t memory_mib;               /* PROBE_UNKNOWN */
    int32_t numa_node;                /* PROBE_UNKNOWN */
    int32_t minor;   /* of its device file (/dev/nvidia3, /dev/dri/renderD131); PROBE_UNKNOWN */
    uint32_t island; /* linked at full speed with those that have the same; 0: with none */
    uint32_t bridge; /* behind the same PCIe switch; 0: not known */
    bool mig_enabled;
    bool is_synthetic; /* not hardware: said in every listing */
    bool is_recorded;  /* is_synthetic: played from a recording */
    char sick[96];     /* why it must not be given out; "" when it is well */
};

/* The machine itself. */
struct probe_machine {
    char name[64]; /* host name without domain */
    int64_t cpu_milli;
    int64_t memory_mib;
    int32_t numa_count; /* PROBE_UNKNOWN */
};

/* A process that has a device open, as its driver says. */
struct probe_process {
    uint32_t pid;         /* of this machine's first namespace */
    int64_t memory_bytes; /* PROBE_UNKNOWN */
    int64_t use;          /* millionths since it was asked last; PROBE_UNKNOWN */
    int64_t instance;     /* MIG GPU instance; PROBE_UNKNOWN: none */
    bool is_graphics;     /* a display, not work */
};

/* How near two devices are, nearest first; nvidia-smi's words are in probe_link_word(). */
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

/* What a driver reports by itself. */
struct probe_event {
    uint32_t device;
    uint32_t xid;     /* NVIDIA's number */
    int64_t instance; /* MIG GPU instance; PROBE_UNKNOWN */
    uint32_t pid;     /* 0: not known */
};

/* A MIG instance as it is there now, in memory slices (mig.h). */
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

/* As the driver numbers them. */
enum probe_compute {
    PROBE_COMPUTE_DEFAULT = 0,   /* any number of processes */
    PROBE_COMPUTE_EXCLUSIVE = 3, /* one: MPS's server */
};

struct probe_ops {
    const char *name; /* "nvml", "amd", "intel", "recorded", "synthetic" */
    /* Fill devices, malloc'd, in the driver's order. None is an answer, not a failure. */
    int (*devices)(struct probe *probe, struct probe_device **ret_devices, uint32_t *ret_count,
                   struct error *err);
    /* Everything that can be read of one device. ret->at is left alone. Fails with -ENODEV (it is
     * lost from the bus), -EIO (it needs a reset, or the driver failed); words in err. */
    int (*sample)(struct probe *probe, uint32_t device, struct reading *ret, struct error *err);
    /* Its processes; malloc'd. Fails as sample does, and with -ENOTSUP (this driver can't say). */
    int (*processes)(struct probe *probe, uint32_t device, struct probe_process **ret,
                     uint32_t *ret_count, struct error *err);
    /* Wait for something that the driver reports; 1: ret is filled, 0: nothing in this time. */
    int (*wait)(struct probe *probe, uint32_t timeout_ms, struct probe_event *ret,
                struct error *err);
    /* How near two devices are. */
    struct probe_link (*link)(struct probe *probe, uint32_t a, uint32_t b);
    /* MIG. The mode of an unused device (-EBUSY else; -EAGAIN: after a reset). */
    int (*mig_mode)(struct probe *probe, uint32_t device, bool is_on, struct error *err);
    /* The instances of a device; malloc'd. */
    int (*mig_list)(struct probe *probe, uint32_t device, struct probe_instance **ret,
                    uint32_t *ret_count, struct error *err);
    /* Make the one that ret describes by start, size, compute and media; the rest is filled. */
    int (*mig_create)(struct probe *probe, uint32_t device, struct probe_instance *ret,
                      struct error *err);
    /* Fails with -EBUSY while a process uses it. */
    int (*mig_remove)(struct probe *probe, uint32_t device, uint32_t gpu_instance,
                      struct error *err);
    /* How many processes may use it at a time. */
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
