/* SPDX-License-Identifier: Apache-2.0 */
#include "device/drm/drm_fdinfo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/health/reading.h"

/* The same number in several words; the first is the best. */
enum { RESIDENT, MEMORY, TOTAL, MEMORIES };

struct parsing {
    struct drm_client *client;
    int64_t memory[MEMORIES];
    bool has_memory[MEMORIES], has_id;
};

/* A whole number from 0, with what is behind it. */
static bool take_number(const char *value, int64_t *ret, const char **ret_unit)
{
    char *end;

    errno = 0;
    int64_t number = strtoll(value, &end, 10);
    if (end == value || errno != 0 || number < 0)
        return false;
    *ret = number;
    *ret_unit = end + strspn(end, " \t");
    return true;
}

static bool take_bytes(const char *value, int64_t *ret)
{
    const char *unit;
    int64_t number;

    if (!take_number(value, &number, &unit))
        return false;
    int shift = strcmp(unit, "KiB") == 0 ? 10 : strcmp(unit, "MiB") == 0 ? 20 : 0;
    if (number > INT64_MAX >> shift)
        return false;
    *ret = number << shift;
    return true;
}

/* Computing and drawing, as amdgpu, i915 and xe call them; -1: another engine. */
static int engine_of(const char *name)
{
    static const char *const names[][DRM_ENGINES] = { { "compute", "gfx" },
                                                      { "ccs", "rcs" },
                                                      { "", "render" } };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        for (int k = 0; k < DRM_ENGINES; k++) {
            if (name[0] && strcmp(names[i][k], name) == 0)
                return k;
        }
    }
    return -1;
}

static void take_engine(struct parsing *parsing, const char *key, const char *value)
{
    static const struct {
        const char *prefix;
        enum { CAPACITY, BUSY, CYCLES, CYCLES_TOTAL } what;
    } kinds[] = { { "drm-engine-capacity-", CAPACITY },
                  { "drm-engine-", BUSY },
                  { "drm-cycles-", CYCLES },
                  { "drm-total-cycles-", CYCLES_TOTAL } };
    int64_t number;
    const char *unit;

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (!string_starts(key, kinds[i].prefix))
            continue;
        int engine = engine_of(key + strlen(kinds[i].prefix));
        if (engine < 0 || !take_number(value, &number, &unit))
            return;
        struct drm_engine *to = &parsing->client->engines[engine];
        if (kinds[i].what == CAPACITY)
            to->capacity = number > 0 && number < 1024 ? number : 1;
        else if (kinds[i].what == CYCLES_TOTAL)
            to->total = number;
        else {
            to->busy = number;
            to->is_there = true;
        }
        return;
    }
}

static void take_memory(struct parsing *parsing, const char *key, const char *value)
{
    static const char *const prefixes[MEMORIES] = { "drm-resident-", "drm-memory-", "drm-total-" };
    int64_t bytes;

    for (int i = 0; i < MEMORIES; i++) {
        const char *region = key + strlen(prefixes[i]);
        if (!string_starts(key, prefixes[i]))
            continue;
        if ((string_starts(region, "vram") || string_starts(region, "local")) &&
            take_bytes(value, &bytes) && bytes <= INT64_MAX - parsing->memory[i]) {
            parsing->memory[i] += bytes;
            parsing->has_memory[i] = true;
        }
        return;
    }
}

static void take_line(struct parsing *parsing, const char *key, const char *value)
{
    struct drm_client *client = parsing->client;
    const char *unit;
    int64_t number;

    if (strcmp(key, "drm-pdev") == 0 && strlen(value) < sizeof(client->address))
        snprintf(client->address, sizeof(client->address), "%.31s", value);
    else if (strcmp(key, "drm-client-id") == 0 && take_number(value, &number, &unit)) {
        client->id = (uint64_t)number;
        parsing->has_id = true;
    } else {
        take_engine(parsing, key, value);
        take_memory(parsing, key, value);
    }
}

bool drm_fdinfo_parse(char *text, struct drm_client *ret)
{
    struct parsing parsing = { .client = ret };
    bool has_driver = false;

    *ret = (struct drm_client){ .memory_bytes = PROBE_UNKNOWN };
    for (int i = 0; i < DRM_ENGINES; i++)
        ret->engines[i].capacity = 1;
    for (char *line = strsep(&text, "\n"); line; line = strsep(&text, "\n")) {
        char *value = strchr(line, ':');
        if (!value)
            continue;
        *value++ = '\0';
        value += strspn(value, " \t");
        has_driver |= strcmp(line, "drm-driver") == 0;
        take_line(&parsing, line, value);
    }
    for (int i = MEMORIES - 1; i >= 0; i--) {
        if (parsing.has_memory[i])
            ret->memory_bytes = parsing.memory[i];
    }
    return has_driver && parsing.has_id && ret->address[0];
}

/* Of one engine, or PROBE_UNKNOWN. */
static int64_t engine_use(const struct drm_engine *before, const struct drm_engine *now,
                          usec_t between)
{
    int64_t busy = now->busy - before->busy, whole = now->total - before->total;

    if (!before->is_there || !now->is_there || (now->total == 0) != (before->total == 0))
        return PROBE_UNKNOWN;
    if (now->total == 0)
        whole = between <= INT64_MAX / 1000 / now->capacity ? between * 1000 * now->capacity : 0;
    if (whole <= 0 || busy < 0)
        return PROBE_UNKNOWN;
    if (busy >= whole)
        return READING_RATIO_ONE;
    while (busy > INT64_MAX / READING_RATIO_ONE) {
        busy >>= 1;
        whole >>= 1;
    }
    return busy * READING_RATIO_ONE / whole;
}

int64_t drm_fdinfo_use(const struct drm_client *before, const struct drm_client *now,
                       usec_t between)
{
    int64_t most = PROBE_UNKNOWN;

    for (int i = 0; i < DRM_ENGINES; i++) {
        int64_t use = engine_use(&before->engines[i], &now->engines[i], between);
        most = use > most ? use : most;
    }
    return most;
}
