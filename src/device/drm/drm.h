/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_DRM_H
#define DEVICE_DRM_DRM_H

/* drm - what the probes for AMD and Intel share: devices on the PCI bus whose driver is one of the
 * kernel's for graphics, their sensors, and how they are linked to the machine
 *
 * All files are below a root, "" for this machine; a recorded tree is a machine for tests.
 */

#include "core/probe.h"
#include "device/drm/sysfs.h"

enum { DRM_DEVICES_MAX = 256 };

struct drm_device {
    char folder[SYSFS_PATH_SIZE]; /* root/sys/bus/pci/devices/0000:03:00.0 */
    char hwmon[SYSFS_PATH_SIZE];  /* "": it has no sensors */
    char address[PROBE_ADDRESS_SIZE];
    char driver[16];
    uint32_t device_id, revision;
    int32_t card, render; /* N of cardN, renderDN; PROBE_UNKNOWN */
};

/* Those with one of these drivers (NULL at the end), by address; malloc'd. */
struct drm_device *drm_find(const char *root, const char *const *drivers, uint32_t *ret_count);

/* Whether it is on the bus still. */
bool drm_is_there(const struct drm_device *device);

/* A probe's device with what is the same for all: address, NUMA node, minor, nothing known. */
void drm_describe(const char *root, const struct drm_device *device, const char *vendor,
                  struct probe_device *ret);

/* "temp" and "junction": the number of the sensor of this label, 0: none. */
unsigned drm_sensor(const struct drm_device *device, const char *kind, const char *label);
/* temp2_crit: "temp", 2, "crit". */
bool drm_sensor_read(const struct drm_device *device, const char *kind, unsigned number,
                     const char *what, int64_t *ret);

/* A sensor's value as a reading, in so many of the reading's units: value * up / down. Absent when
 * it is not there or negative. */
struct drm_reading {
    enum reading_id id;
    const char *file;
    int32_t up, down;
};
void drm_read_files(const char *folder, const struct drm_reading *files, size_t count,
                    struct reading *ret);
/* CLOCK_BOOTTIME */
usec_t drm_clock(void);
/* Generation and width of its PCIe link, and transfers that were done again. */
void drm_read_pcie(const struct drm_device *device, struct reading *ret);

#endif
