/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_DRM_H
#define DEVICE_DRM_DRM_H

/* drm - functions that the probes for AMD and Intel share: finding devices with a graphics driver
 * of the kernel on the PCI bus, reading their sensors and their PCIe links
 *
 * All files are below a root directory: "" for this machine, or a recorded tree for tests.
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

/* The devices with one of these drivers (NULL-terminated), by address; malloc'd. */
struct drm_device *drm_find(const char *root, const char *const *drivers, uint32_t *ret_count);

/* Whether the device is still on the bus. */
bool drm_is_there(const struct drm_device *device);

/* Fill the common properties (address, NUMA node, minor); all others are set to not known. */
void drm_describe(const char *root, const struct drm_device *device, const char *vendor,
                  struct probe_device *ret);

/* The number of the sensor with this label, as for "temp" and "junction"; 0: none. */
unsigned drm_sensor(const struct drm_device *device, const char *kind, const char *label);
/* Read a value of a sensor: temp2_crit is "temp", 2, "crit". */
bool drm_sensor_read(const struct drm_device *device, const char *kind, unsigned number,
                     const char *what, int64_t *ret);

/* A sensor's value as a reading, in the unit of the reading: value * up / down. The reading is
 * absent if the file is missing or the value is negative. */
struct drm_reading {
    enum reading_id id;
    const char *file;
    int32_t up, down;
};
void drm_read_files(const char *folder, const struct drm_reading *files, size_t count,
                    struct reading *ret);
/* CLOCK_BOOTTIME */
usec_t drm_clock(void);
/* Generation and width of its PCIe link, and repeated transfers. */
void drm_read_pcie(const struct drm_device *device, struct reading *ret);

#endif
