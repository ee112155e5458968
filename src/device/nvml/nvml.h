/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_NVML_NVML_H
#define DEVICE_NVML_NVML_H

/* nvml - the NVIDIA GPUs of this machine, through the driver's library
 *
 * The library is looked for as: the path that is given; else what the environment variable
 * TARN_NVML_LIBRARY names (for tests); else libnvidia-ml.so.1, libnvidia-ml.so. Machines without
 * one are common, so that is an answer and not a failure.
 *
 * A device that fails is listed as sick, with what was known of it before; the others go on. One
 * that failed from the start may have no UUID: it can be shown, not given out.
 *
 * A call into the driver may block for seconds when a GPU is sick: nothing here is for the event
 * loop of a daemon that serves, only for its start and for a worker.
 */

#include "core/probe.h"

enum nvml_answer {
    NVML_READY,
    NVML_NO_LIBRARY, /* no NVIDIA driver is installed */
    NVML_NO_DRIVER,  /* the library is there, the driver does not work; may get better */
    NVML_NO_USE,     /* the library is none, or lacks what we need */
};

/* The probe is written for NVML_READY only; the words of all other answers are in why. */
enum nvml_answer probe_nvml_create(const char *library, struct probe **ret, struct error *why);

/* The driver's version, "" when it can't be had. */
const char *probe_nvml_driver(const struct probe *probe);

#endif
