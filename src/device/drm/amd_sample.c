/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "device/drm/amd.h"

enum { PERCENT = READING_RATIO_ONE / 100, HERTZ_A_MHZ = 1000000 };

static void read_percent(const struct drm_device *device, const char *file, enum reading_id id,
                         struct reading *ret)
{
    int64_t percent = 0;

    if (sysfs_number(device->folder, file, &percent) && percent >= 0 && percent <= 100)
        reading_set(ret, id, percent * PERCENT);
}

static void read_memory(const struct drm_device *device, struct reading *ret)
{
    static const struct drm_reading files[] = {
        { READING_MEMORY_TOTAL, "mem_info_vram_total", 1, 1 },
        { READING_MEMORY_USED, "mem_info_vram_used", 1, 1 },
    };

    drm_read_files(device->folder, files, COUNT_OF(files), ret);
    if (!reading_has(ret, READING_MEMORY_TOTAL) || !reading_has(ret, READING_MEMORY_USED))
        return;
    int64_t left = ret->values[READING_MEMORY_TOTAL] - ret->values[READING_MEMORY_USED];
    if (left >= 0)
        reading_set(ret, READING_MEMORY_FREE, left);
}

/* Lines "1: 2100Mhz *": the one with the star is now. PROBE_UNKNOWN: none. */
static void read_levels(const struct drm_device *device, const char *file, int64_t *ret_now,
                        int64_t *ret_most)
{
    char text[SYSFS_TEXT_SIZE];
    char *rest = text;

    *ret_now = *ret_most = PROBE_UNKNOWN;
    if (!sysfs_text(device->folder, file, text, sizeof(text)))
        return;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        const char *value = strchr(line, ':');
        char *end;
        int64_t mhz = value ? strtol(value + 1, &end, 10) : 0;
        if (mhz <= 0 || mhz > 100000 || strncasecmp(end, "mhz", 3) != 0)
            continue;
        *ret_most = mhz > *ret_most ? mhz : *ret_most;
        if (strchr(end, '*'))
            *ret_now = mhz;
    }
}

static void set_clock(int64_t mhz, enum reading_id id, struct reading *ret)
{
    if (mhz > 0)
        reading_set(ret, id, mhz * HERTZ_A_MHZ);
}

static void read_clocks(const struct drm_device *device, struct reading *ret)
{
    static const struct drm_reading sensors[] = {
        { READING_SM_CLOCK, "freq1_input", 1, 1 },
        { READING_MEMORY_CLOCK, "freq2_input", 1, 1 },
    };
    int64_t now, most;

    read_levels(device, "pp_dpm_sclk", &now, &most);
    set_clock(now, READING_SM_CLOCK, ret);
    set_clock(most, READING_SM_CLOCK_MAX, ret);
    read_levels(device, "pp_dpm_mclk", &now, &most);
    set_clock(now, READING_MEMORY_CLOCK, ret);
    drm_read_files(device->hwmon, sensors, COUNT_OF(sensors), ret);
}

/* The edge of the chip; boards that do not measure there have the junction. Old drivers give no
 * labels: there the order is edge, junction, memory. */
static void read_temperatures(const struct drm_device *device, struct reading *ret)
{
    unsigned edge = drm_sensor(device, "temp", "edge");
    unsigned junction = drm_sensor(device, "temp", "junction");
    unsigned memory = drm_sensor(device, "temp", "mem");
    bool has_labels = edge || junction || memory;
    unsigned chip = edge ? edge : junction;

    if (!has_labels) {
        chip = 1;
        memory = 3;
    }
    drm_set_temperature(device, chip, "input", READING_TEMPERATURE, ret);
    drm_set_temperature(device, memory, "input", READING_MEMORY_TEMPERATURE, ret);
    drm_set_temperature(device, chip, "crit", READING_SLOWDOWN_TEMPERATURE, ret);
    drm_set_temperature(device, chip, "emergency", READING_SHUTDOWN_TEMPERATURE, ret);
}

static void read_fan(const struct drm_device *device, struct reading *ret)
{
    static const struct {
        const char *kind, *now, *most;
    } ways[] = { { "fan", "input", "max" }, { "pwm", NULL, "max" } };
    int64_t now = 0, most = 0;

    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        bool has_now = ways[i].now ? drm_sensor_read(device, ways[i].kind, 1, ways[i].now, &now)
                                   : device->hwmon[0] && sysfs_number(device->hwmon, "pwm1", &now);
        if (!has_now || !drm_sensor_read(device, ways[i].kind, 1, ways[i].most, &most))
            continue;
        if (now < 0 || most <= 0 || most > INT32_MAX || now > INT32_MAX)
            continue;
        now = now < most ? now : most;
        reading_set(ret, READING_FAN_SPEED, now * READING_RATIO_ONE / most);
        return;
    }
}

/* Microwatts and microjoules. */
static void read_power(const struct drm_device *device, struct reading *ret)
{
    static const struct drm_reading files[] = {
        { READING_POWER, "power1_average", 1, 1000 },
        { READING_POWER, "power1_input", 1, 1000 },
        { READING_POWER_LIMIT, "power1_cap", 1, 1000 },
        { READING_ENERGY, "energy1_input", 1, 1000 },
    };

    drm_read_files(device->hwmon, files, COUNT_OF(files), ret);
}

/* Each block of the chip counts for itself: umc (memory), gfx, sdma ... */
static void read_errors(const struct drm_device *device, struct reading *ret)
{
    AUTO_FREE char *folder = mem_printf("%s/ras", device->folder);
    char **names = sysfs_names(folder, "");
    int64_t corrected = 0, uncorrected = 0;
    bool is_any = false;

    for (char **name = names; *name; name++) {
        char text[256];
        int64_t ue = 0, ce = 0;
        if (!strstr(*name, "_err_count") || !sysfs_text(folder, *name, text, sizeof(text)) ||
            !sysfs_key(text, "ue", &ue) || !sysfs_key(text, "ce", &ce) || ue < 0 || ce < 0 ||
            ue > INT32_MAX || ce > INT32_MAX)
            continue;
        corrected += ce;
        uncorrected += ue;
        is_any = true;
    }
    sysfs_names_free(names);
    if (!is_any)
        return;
    reading_set(ret, READING_ECC_CORRECTED, corrected);
    reading_set(ret, READING_ECC_UNCORRECTED, uncorrected);
}

void amd_sample(const struct drm_probe *amd, struct drm_gpu *gpu, struct reading *ret)
{
    const struct drm_device *at = &gpu->at;

    (void)amd;
    read_percent(at, "gpu_busy_percent", READING_GPU_USE, ret);
    read_percent(at, "mem_busy_percent", READING_MEMORY_BUS_USE, ret);
    read_memory(at, ret);
    read_clocks(at, ret);
    read_temperatures(at, ret);
    read_fan(at, ret);
    read_power(at, ret);
    read_errors(at, ret);
}
