/* SPDX-License-Identifier: Apache-2.0 */
#include "device/drm/drm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "device/numa.h"

/* A line "KEY=value" of a file such as uevent. */
static bool take_value(const char *text, const char *key, char *ret, size_t size)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!string_starts(line, key))
            continue;
        const char *value = line + strlen(key);
        size_t length = strcspn(value, "\n");
        if (length == 0 || length >= size)
            return false;
        memcpy(ret, value, length);
        ret[length] = '\0';
        return true;
    }
    return false;
}

/* card3 -> 3; connectors (card3-DP-1) are none. */
static int32_t find_node(const char *folder, const char *prefix)
{
    AUTO_FREE char *drm = mem_printf("%s/drm", folder);
    char **names = sysfs_names(drm, prefix);
    int32_t found = PROBE_UNKNOWN;

    for (char **name = names; *name && found == PROBE_UNKNOWN; name++) {
        const char *number = *name + strlen(prefix);
        if (number[0] && strlen(number) < 6 && strspn(number, "0123456789") == strlen(number))
            found = (int32_t)strtol(number, NULL, 10);
    }
    sysfs_names_free(names);
    return found;
}

static void find_hwmon(struct drm_device *device)
{
    AUTO_FREE char *folder = mem_printf("%s/hwmon", device->folder);
    char **names = sysfs_names(folder, "hwmon");

    if (names[0] && strlen(folder) + strlen(names[0]) + 2 <= sizeof(device->hwmon))
        snprintf(device->hwmon, sizeof(device->hwmon), "%.400s/%.64s", folder, names[0]);
    sysfs_names_free(names);
}

static bool read_device(const char *root, const char *address, const char *const *drivers,
                        struct drm_device *ret)
{
    char uevent[SYSFS_TEXT_SIZE];
    uint64_t id = 0, revision = 0;

    *ret = (struct drm_device){ 0 };
    int length =
        snprintf(ret->folder, sizeof(ret->folder), "%s/sys/bus/pci/devices/%s", root, address);
    if ((size_t)length >= sizeof(ret->folder) || strlen(address) >= sizeof(ret->address) ||
        !sysfs_text(ret->folder, "uevent", uevent, sizeof(uevent)) ||
        !take_value(uevent, "DRIVER=", ret->driver, sizeof(ret->driver)) ||
        !string_is_in(ret->driver, drivers))
        return false;
    memcpy(ret->address, address, strlen(address) + 1);
    if (sysfs_hex(ret->folder, "device", &id) && id <= UINT16_MAX)
        ret->device_id = (uint32_t)id;
    if (sysfs_hex(ret->folder, "revision", &revision) && revision <= UINT8_MAX)
        ret->revision = (uint32_t)revision;
    ret->card = find_node(ret->folder, "card");
    ret->render = find_node(ret->folder, "renderD");
    find_hwmon(ret);
    return true;
}

struct drm_device *drm_find(const char *root, const char *const *drivers, uint32_t *ret_count)
{
    AUTO_FREE char *folder = mem_printf("%s/sys/bus/pci/devices", root);
    LIST(struct drm_device) found = { 0 };
    char **names = sysfs_names(folder, "");

    for (char **name = names; *name && found.count < DRM_DEVICES_MAX; name++) {
        struct drm_device device;
        if (read_device(root, *name, drivers, &device))
            list_add(&found, device);
    }
    sysfs_names_free(names);
    *ret_count = (uint32_t)found.count;
    return found.items;
}

bool drm_is_there(const struct drm_device *device)
{
    struct stat status;

    return stat(device->folder, &status) == 0;
}

/* hwloc knows this machine, not a recorded one. */
static int32_t numa_of(const char *root, const struct drm_device *device)
{
    int64_t node = PROBE_UNKNOWN;

    if (sysfs_number(device->folder, "numa_node", &node) && node >= 0 && node <= INT32_MAX)
        return (int32_t)node;
    if (root[0])
        return PROBE_UNKNOWN;
    AUTO(numa) struct numa *numa = numa_create();
    return numa_node_of(numa, device->address);
}

void drm_describe(const char *root, const struct drm_device *device, const char *vendor,
                  struct probe_device *ret)
{
    *ret = (struct probe_device){
        .memory_mib = PROBE_UNKNOWN,
        .numa_node = numa_of(root, device),
        .minor = device->render >= 0 ? device->render : device->card,
    };
    snprintf(ret->address, sizeof(ret->address), "%s", device->address);
    snprintf(ret->vendor, sizeof(ret->vendor), "%s", vendor);
}

unsigned drm_sensor(const struct drm_device *device, const char *kind, const char *label)
{
    enum { SENSORS_MAX = 16 };

    for (unsigned i = 1; i <= SENSORS_MAX && device->hwmon[0]; i++) {
        AUTO_FREE char *file = mem_printf("%s%u_label", kind, i);
        char text[32];
        if (sysfs_text(device->hwmon, file, text, sizeof(text)) && strcasecmp(text, label) == 0)
            return i;
    }
    return 0;
}

bool drm_sensor_read(const struct drm_device *device, const char *kind, unsigned number,
                     const char *what, int64_t *ret)
{
    AUTO_FREE char *file = mem_printf("%s%u_%s", kind, number, what);

    return number > 0 && device->hwmon[0] && sysfs_number(device->hwmon, file, ret);
}

void drm_read_files(const char *folder, const struct drm_reading *files, size_t count,
                    struct reading *ret)
{
    for (size_t i = 0; i < count && folder[0]; i++) {
        int64_t value = 0;
        if (!reading_has(ret, files[i].id) && sysfs_number(folder, files[i].file, &value) &&
            value >= 0 && value <= INT64_MAX / files[i].up)
            reading_set(ret, files[i].id, value * files[i].up / files[i].down);
    }
}

usec_t drm_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (usec_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

/* "16.0 GT/s PCIe" is of generation 4. */
static void read_generation(const struct drm_device *device, const char *file, enum reading_id id,
                            struct reading *ret)
{
    static const long speeds[] = { 2, 5, 8, 16, 32, 64 };
    char text[64];

    if (!sysfs_text(device->folder, file, text, sizeof(text)) || !strstr(text, "GT/s"))
        return;
    for (size_t i = 0; i < COUNT_OF(speeds); i++) {
        if (strtol(text, NULL, 10) == speeds[i])
            reading_set(ret, id, (int64_t)i + 1);
    }
}

static void read_width(const struct drm_device *device, const char *file, enum reading_id id,
                       struct reading *ret)
{
    enum { LANES_MAX = 32 }; /* the kernel says 63 or 255 when it does not know */
    int64_t lanes = 0;

    if (sysfs_number(device->folder, file, &lanes) && lanes > 0 && lanes <= LANES_MAX)
        reading_set(ret, id, lanes);
}

void drm_read_pcie(const struct drm_device *device, struct reading *ret)
{
    static const struct drm_reading files[] = { { READING_PCIE_REPLAYS, "pcie_replay_count", 1,
                                                  1 } };

    read_generation(device, "current_link_speed", READING_PCIE_GENERATION, ret);
    read_generation(device, "max_link_speed", READING_PCIE_GENERATION_MAX, ret);
    read_width(device, "current_link_width", READING_PCIE_WIDTH, ret);
    read_width(device, "max_link_width", READING_PCIE_WIDTH_MAX, ret);
    drm_read_files(device->folder, files, COUNT_OF(files), ret);
}
