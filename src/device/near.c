/* SPDX-License-Identifier: Apache-2.0 */
#include "device/near.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "device/drm/sysfs.h"

static int64_t numa_of(const char *root, const char *address)
{
    AUTO_FREE char *folder = mem_printf("%s/sys/bus/pci/devices/%s", root, address);
    int64_t node = PROBE_UNKNOWN;

    return sysfs_number(folder, "numa_node", &node) && node >= 0 ? node : PROBE_UNKNOWN;
}

/* "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0": bridges from the host's down to it. */
static char *path_of(const char *root, const char *address)
{
    AUTO_FREE char *link = mem_printf("%s/sys/bus/pci/devices/%s", root, address);

    return realpath(link, NULL);
}

/* Where the last folder that both are below ends; 0: none. */
static size_t common_end(const char *a, const char *b)
{
    size_t end = 0;

    for (size_t i = 0; a[i] && a[i] == b[i]; i++) {
        if (a[i] == '/')
            end = i;
    }
    return end;
}

static unsigned steps_below(const char *path, size_t end)
{
    unsigned steps = 0;

    for (const char *s = path + end; *s; s++)
        steps += *s == '/';
    return steps;
}

static enum probe_near by_numa(const char *root, const char *a, const char *b)
{
    int64_t first = numa_of(root, a), second = numa_of(root, b);

    if (first == PROBE_UNKNOWN || second == PROBE_UNKNOWN)
        return PROBE_NEAR_UNKNOWN;
    return first == second ? PROBE_NEAR_NUMA : PROBE_NEAR_MACHINE;
}

/* A switch is a bridge with a bridge at each of its ports: two steps below it is a device. */
enum probe_near near_pci(const char *root, const char *a, const char *b)
{
    enum { BELOW_ONE_SWITCH = 2 };
    AUTO_FREE char *first = path_of(root, a), *second = path_of(root, b);

    if (!first || !second)
        return PROBE_NEAR_UNKNOWN;
    size_t end = common_end(first, second);
    const char *last = first + end;
    while (last > first && last[-1] != '/')
        last--;
    if (strncmp(last, "pci", 3) == 0)
        return PROBE_NEAR_BRIDGE;
    if (end == 0 || !strchr(last, ':') || strchr(last, ':') > first + end)
        return by_numa(root, a, b);
    return steps_below(first, end) <= BELOW_ONE_SWITCH &&
                   steps_below(second, end) <= BELOW_ONE_SWITCH
               ? PROBE_NEAR_SWITCH
               : PROBE_NEAR_SWITCHES;
}

struct probe_link near_parse(const char *word)
{
    static const enum probe_near plain[] = {
        PROBE_NEAR_SELF,   PROBE_NEAR_SWITCH, PROBE_NEAR_SWITCHES,
        PROBE_NEAR_BRIDGE, PROBE_NEAR_NUMA,   PROBE_NEAR_MACHINE,
    };
    unsigned long links;
    char known[16], *end;

    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        struct probe_link link = { .near = plain[i] };
        if (strcmp(probe_link_word(link, known, sizeof(known)), word) == 0)
            return link;
    }
    links = string_starts(word, "NV") ? strtoul(word + 2, &end, 10) : 0;
    if (links < 1 || links > 1024 || *end != '\0')
        return (struct probe_link){ .near = PROBE_NEAR_UNKNOWN };
    return (struct probe_link){ .near = PROBE_NEAR_LINK, .links = (uint32_t)links };
}

void near_group(uint32_t count, near_fn *is_near, const void *user, uint32_t *ret_groups)
{
    uint32_t groups = 0;

    for (uint32_t i = 0; i < count; i++) {
        ret_groups[i] = 0;
        for (uint32_t k = 0; k < i && ret_groups[i] == 0; k++) {
            if (!is_near(user, k, i))
                continue;
            if (ret_groups[k] == 0)
                ret_groups[k] = ++groups;
            ret_groups[i] = ret_groups[k];
        }
    }
}
