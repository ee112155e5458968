/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STUB_H
#define TESTS_STUB_H

/* stub - a libnvidia-ml.so.1 for tests, which says what a script tells it to say
 *
 * The environment variable TARN_NVML_SCRIPT names the script. It is read when the library is
 * initialised, and again whenever the file is another, so that a test can change it under a
 * running program. Lines, with words in double quotes where they have spaces; # to the end of the
 * line is a comment. A line that begins with "at SECONDS" counts from then on (since the script
 * was read).
 *
 *   driver 550.54
 *   gpu 0 name "NVIDIA H100 80GB HBM3" uuid GPU-1 memory 81559 pci 00000000:17:00.0
 *   gpu 0 use 85 power 612000 temp 64 sm 70.5         values: values.def; those not given are not
 *                                                     supported
 *   gpu 0 power none                                  not supported from then on
 *   gpu 0 process 1234 memory 20000 use 40 instance 1 a process that uses it, in MiB and percent
 *   gpu 0 no-process 1234
 *   gpu 1 error GPU_IS_LOST                           every call about it fails
 *   gpu 1 fail nvmlDeviceGetName UNKNOWN              one call about it fails
 *   gpu 1 hang 30                                     every call about it takes so many seconds
 *   gpu 1 xid 79                                      an event
 *   link 0 1 4                                        NVLinks between two; "link 0 switch 18"
 *   near 0 1 10                                       their common ancestor on PCIe
 *   missing nvmlDeviceGetMemoryInfo_v2                as if the library had no such function
 *   init error DRIVER_NOT_LOADED
 *
 * A program that plays whole worlds on it (tests/daemon) loads the library, lets it live on in
 * memory that its children share, and says lines itself.
 *
 * Energy grows with the power that is drawn. MIG instances are made and removed by the tables of
 * the 7-slice boards. Mistakes in the script are told on standard error, and make the
 * initialisation fail.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/nvml/nvml_abi.h"

#define VALUE(name) STUB_##name,
enum stub_value {
#include "values.def"
    STUB_VALUES,
};
#undef VALUE

enum {
    STUB_GPUS = 64,
    STUB_PROCESSES = 64,
    STUB_FAILS = 64,
    STUB_INSTANCES = 8,
    STUB_XIDS = 64,
};

#define STUB_NONE (-1.0)

struct stub_process {
    unsigned pid;
    unsigned long long memory_mib;
    unsigned use;
    unsigned instance; /* NVML_NO_INSTANCE */
};

struct nvml_compute {
    nvml_instance_t instance;
    unsigned id, profile;
};

struct nvml_instance {
    nvml_device_t device;
    unsigned id, profile; /* index in the table of profiles */
    struct nvml_placement placement;
    bool is_there, has_compute;
    struct nvml_compute compute;
};

struct nvml_device {
    char name[NVML_NAME_SIZE], uuid[NVML_UUID_SIZE], pci[32];
    double values[STUB_VALUES];
    struct stub_process processes[STUB_PROCESSES];
    unsigned process_count;
    unsigned links[STUB_GPUS]; /* NVLinks to each */
    unsigned to_switch;
    int near[STUB_GPUS]; /* -1: not said */
    int error;
    double hang_until; /* seconds since the script was read */
    /* A handle of a MIG device: */
    nvml_device_t parent;
    nvml_instance_t of;
};

/* Lives on when the script is read again, as a driver does. */
struct stub_mig {
    bool is_on;
    struct nvml_instance instances[STUB_INSTANCES];
    struct nvml_device devices[STUB_INSTANCES];
};

struct stub_fail {
    char call[64];
    int gpu; /* -1: for all */
    int result;
};

struct stub_xid {
    int gpu;
    unsigned xid;
    double at;
};

/* Whole pages, so that they can be shared. */
struct stub {
    pthread_mutex_t lock;
    bool is_shared;
    char path[512], driver[NVML_DRIVER_SIZE];
    int init_error;
    struct nvml_device gpus[STUB_GPUS];
    struct stub_mig migs[STUB_GPUS];
    unsigned gpu_count;
    struct stub_fail fails[STUB_FAILS];
    int fail_count;
    struct stub_xid xids[STUB_XIDS];
    int xid_count, xid_next;
    double energy_at[STUB_GPUS], energy[STUB_GPUS]; /* joules so far, and until when */
    unsigned refused;                               /* MIG calls that asked for what can't be */
    char refusal[128];
} __attribute__((aligned(4096)));

extern struct stub stub;

/* Bring everything to this moment; called with the lock. False: the script is no good. */
bool script_read(void);
bool script_pass(void);
double script_now(void); /* seconds since it was read */

/* What a call about a device (or none) has to answer before it says anything; waits where the
 * device hangs. SUCCESS: the lock is held, and stub_done() gives it back. */
int stub_begin(const char *call, nvml_device_t device);
int stub_done(int result);

/* ---- for programs that play whole worlds on it, in one thread ---- */

/* Read the script; all that is known lives on in memory that children share, whichever of them
 * initialises the library. Once, before the first child. */
bool stub_share(void);
bool stub_say(const char *line);    /* a line of a script, at once */
bool stub_is_hanging(unsigned gpu); /* whether a call about it would wait */
void stub_restart(bool keeps_mig);  /* the machine: no process, no instance, counters from 0 */

#endif
