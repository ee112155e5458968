/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "device/drm/intel.h"

enum { HERTZ_A_MHZ = 1000000 };

/* What a counter grew by, and in which time; false: it is seen for the first time. */
static bool grew(struct drm_counter *past, const struct drm_counter *now, int64_t *ret_by,
                 usec_t *ret_in)
{
    struct drm_counter before = *past;

    *past = *now;
    *ret_by = now->value - before.value;
    *ret_in = now->at - before.at;
    return before.at > 0 && before.count == now->count && *ret_by >= 0 && *ret_in > 0;
}

/* ---- the parts of the chip that compute ---- */

/* xe: the first part of each tile (the others are for video), as the driver names it "gt0-rc". */
static bool computes(const char *gt, bool is_first)
{
    char name[32];

    if (!sysfs_text(gt, "gtidle/name", name, sizeof(name)))
        return is_first;
    return strstr(name, "-rc") != NULL;
}

typedef void gt_fn(const char *gt, void *user);

static void for_tile(const char *tile, gt_fn *fn, void *user)
{
    char **names = sysfs_names(tile, "gt");

    for (char **name = names; *name; name++) {
        AUTO_FREE char *gt = mem_printf("%s/%s", tile, *name);
        if (computes(gt, name == names))
            fn(gt, user);
    }
    sysfs_names_free(names);
}

static void for_each_gt(const struct drm_gpu *gpu, gt_fn *fn, void *user)
{
    char **names = sysfs_names(gpu->at.folder, "tile");

    for (char **name = names; *name; name++) {
        AUTO_FREE char *tile = mem_printf("%s/%s", gpu->at.folder, *name);
        for_tile(tile, fn, user);
    }
    sysfs_names_free(names);
    AUTO_FREE char *tile = mem_printf("%s/gt", gpu->card); /* i915: all of them compute */
    names = sysfs_names(tile, "gt");
    for (char **name = names; *name; name++) {
        AUTO_FREE char *gt = mem_printf("%s/%s", tile, *name);
        fn(gt, user);
    }
    sysfs_names_free(names);
}

/* ---- clocks ---- */

static void take_clock(const char *folder, const char *file, enum reading_id id,
                       struct reading *ret)
{
    int64_t mhz = 0;

    if (reading_has(ret, id) || !sysfs_number(folder, file, &mhz) || mhz < 0 || mhz > 100000)
        return;
    reading_set(ret, id, mhz * HERTZ_A_MHZ);
}

/* Of several parts the first: they go together. */
static void add_clocks(const char *gt, void *user)
{
    take_clock(gt, "freq0/cur_freq", READING_SM_CLOCK, user);
    take_clock(gt, "freq0/max_freq", READING_SM_CLOCK_MAX, user);
    take_clock(gt, "rps_cur_freq_mhz", READING_SM_CLOCK, user);
    take_clock(gt, "rps_max_freq_mhz", READING_SM_CLOCK_MAX, user);
}

static void read_clocks(const struct drm_gpu *gpu, struct reading *ret)
{
    take_clock(gpu->card, "gt_cur_freq_mhz", READING_SM_CLOCK, ret);
    take_clock(gpu->card, "gt_max_freq_mhz", READING_SM_CLOCK_MAX, ret);
    for_each_gt(gpu, add_clocks, ret);
}

/* ---- use ---- */

/* A part that was never idle since the machine started has its counter switched off. */
static void add_idle(const char *gt, void *user)
{
    static const char *const files[] = { "gtidle/idle_residency_ms", "rc6_residency_ms" };
    struct drm_counter *idle = user;
    int64_t ms = 0;

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (!sysfs_number(gt, files[i], &ms) || ms <= 0 || ms > INT64_MAX / 4 - idle->value)
            continue;
        idle->value += ms;
        idle->count++;
        return;
    }
}

static void read_use(struct drm_gpu *gpu, usec_t now, struct reading *ret)
{
    struct drm_counter idle = { .at = now };
    int64_t by;
    usec_t in;

    for_each_gt(gpu, add_idle, &idle);
    if (idle.count == 0)
        add_idle(gpu->card, &idle);
    if (idle.count == 0) {
        AUTO_FREE char *power = mem_printf("%s/power", gpu->card);
        add_idle(power, &idle);
    }
    if (!grew(&gpu->idle, &idle, &by, &in) || idle.count == 0)
        return;
    int64_t whole = in / USEC_PER_MS * idle.count;
    if (whole <= 0 || by > INT64_MAX / READING_RATIO_ONE)
        return;
    by = by < whole ? by : whole;
    reading_set(ret, READING_GPU_USE, READING_RATIO_ONE - by * READING_RATIO_ONE / whole);
}

/* ---- sensors ---- */

/* Microjoules: of the board, else of the chip. */
static void read_power(struct drm_gpu *gpu, usec_t now, struct reading *ret)
{
    static const struct drm_reading limits[] = { { READING_POWER_LIMIT, "power1_max", 1, 1000 },
                                                 { READING_POWER_LIMIT, "power2_max", 1, 1000 } };
    struct drm_counter energy = { .at = now };
    int64_t by;
    usec_t in;

    drm_read_files(gpu->at.hwmon, limits, COUNT_OF(limits), ret);
    for (unsigned i = 1; i <= 2 && energy.count == 0; i++) {
        if (drm_sensor_read(&gpu->at, "energy", i, "input", &energy.value) && energy.value >= 0)
            energy.count = i;
    }
    if (energy.count == 0)
        return;
    reading_set(ret, READING_ENERGY, energy.value / 1000);
    if (grew(&gpu->energy, &energy, &by, &in) && by <= INT64_MAX / 1000)
        reading_set(ret, READING_POWER, by * 1000 / in);
}

static void read_temperatures(const struct drm_gpu *gpu, struct reading *ret)
{
    unsigned package = drm_sensor(&gpu->at, "temp", "pkg");
    unsigned memory = drm_sensor(&gpu->at, "temp", "vram");

    package = package ? package : 1;
    drm_set_temperature(&gpu->at, package, "input", READING_TEMPERATURE, ret);
    drm_set_temperature(&gpu->at, package, "crit", READING_SLOWDOWN_TEMPERATURE, ret);
    drm_set_temperature(&gpu->at, package, "emergency", READING_SHUTDOWN_TEMPERATURE, ret);
    drm_set_temperature(&gpu->at, memory, "input", READING_MEMORY_TEMPERATURE, ret);
}

static void read_memory(const struct drm_gpu *gpu, struct reading *ret)
{
    int64_t left = 0;

    if (gpu->memory_bytes <= 0)
        return;
    reading_set(ret, READING_MEMORY_TOTAL, gpu->memory_bytes);
    if (!sysfs_number(gpu->card, "lmem_avail_bytes", &left) || left < 0 || left > gpu->memory_bytes)
        return;
    reading_set(ret, READING_MEMORY_FREE, left);
    reading_set(ret, READING_MEMORY_USED, gpu->memory_bytes - left);
}

void intel_sample(const struct drm_probe *intel, struct drm_gpu *gpu, struct reading *ret)
{
    usec_t now = intel->now();

    read_use(gpu, now, ret);
    read_clocks(gpu, ret);
    read_memory(gpu, ret);
    read_power(gpu, now, ret);
    read_temperatures(gpu, ret);
}
