/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_NVML_NVML_H
#define DEVICE_NVML_NVML_H

/* nvml - the NVIDIA GPUs of this machine, through the driver's library
 *
 * The library is the given path; else the file that the environment variable TARN_NVML_LIBRARY
 * names (for tests); else libnvidia-ml.so.1 or libnvidia-ml.so. Machines without a library are
 * common, so that is an answer and not a failure.
 *
 * A device that fails is listed as faulty (`sick`), with its last known properties; the others are
 * not affected. A device that failed from the start may have no UUID: it is listed, but cannot be
 * allocated.
 *
 * A call into the driver may block for seconds if a GPU is faulty. Call these functions only at the
 * start of the daemon or from a worker, not from the event loop.
 */

#include "core/probe.h"

enum nvml_answer {
    NVML_READY,
    NVML_NO_LIBRARY, /* no NVIDIA driver is installed */
    NVML_NO_DRIVER,  /* the library exists, but the driver does not work; may be temporary */
    NVML_NO_USE,     /* the file is not a library, or lacks a required function */
};

/* *ret is written for NVML_READY only; for all other answers, why has the reason. */
enum nvml_answer probe_nvml_create(const char *library, struct probe **ret, struct error *why);

/* The driver's version; "": not known. */
const char *probe_nvml_driver(const struct probe *probe);

#endif
