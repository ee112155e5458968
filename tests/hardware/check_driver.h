/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_HARDWARE_CHECK_DRIVER_H
#define TESTS_HARDWARE_CHECK_DRIVER_H

/* check_driver - what the files of check-driver share */

#include "device/nvml/nvml.h"
#include "device/nvml/nvml_inside.h"
#include "hardware/answer.h"

/* tarn's own probe of NVIDIA's driver. */
struct check {
    struct probe *probe;
    struct probe_device *devices;
    uint32_t count;
};

/* Ends the program, with the reason as its answer, where there is no driver or no GPU. */
struct check check_begin(void);
void check_wait_ms(long ms);

/* How long each call takes: for each at most so many seconds, a table in the file. */
int check_latency(double seconds, const char *path);

#endif
