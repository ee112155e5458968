/* SPDX-License-Identifier: Apache-2.0 */
#include "device/host.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"

enum { FILE_BYTES_MAX = 16384, CPUS_MAX = 8192 };

#define NO_LIMIT INT64_MAX

/* The beginning of root/path as a string; false when it can't be read. */
static bool read_file(const char *root, const char *path, char *ret, size_t size)
{
    AUTO_FREE char *name = mem_printf("%s%s", root, path);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    size_t length = 0;

    if (fd < 0)
        return false;
    while (length + 1 < size) {
        ssize_t got = read(fd, ret + length, size - 1 - length);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    close(fd);
    ret[length] = '\0';
    return length > 0;
}

/* A number of a control group's file; NO_LIMIT for "max", -1, or no such file. */
static int64_t read_limit(const char *root, const char *group, const char *file)
{
    AUTO_FREE char *path = mem_printf("%s/%s", group, file);
    char text[64];

    if (!read_file(root, path, text, sizeof(text)) || text[0] < '0' || text[0] > '9')
        return NO_LIMIT;
    return strtoll(text, NULL, 10);
}

struct limits {
    int64_t cpu_milli;
    int64_t memory_bytes;
};

static void lower(int64_t *limit, int64_t to)
{
    if (to < *limit)
        *limit = to;
}

/* cpu.max is "QUOTA PERIOD" or "max PERIOD". */
static void read_v2(const char *root, const char *group, struct limits *limits)
{
    AUTO_FREE char *path = mem_printf("%s/cpu.max", group);
    char text[64];
    int64_t quota, period;

    lower(&limits->memory_bytes, read_limit(root, group, "memory.max"));
    if (read_file(root, path, text, sizeof(text)) &&
        sscanf(text, "%" SCNd64 " %" SCNd64, &quota, &period) == 2 && quota > 0 && period > 0)
        lower(&limits->cpu_milli, quota * 1000 / period);
}

static void read_v1_cpu(const char *root, const char *group, struct limits *limits)
{
    int64_t quota = read_limit(root, group, "cpu.cfs_quota_us");
    int64_t period = read_limit(root, group, "cpu.cfs_period_us");

    if (quota != NO_LIMIT && period != NO_LIMIT && quota > 0 && period > 0)
        lower(&limits->cpu_milli, quota * 1000 / period);
}

static void read_v1_memory(const char *root, const char *group, struct limits *limits)
{
    lower(&limits->memory_bytes, read_limit(root, group, "memory.limit_in_bytes"));
}

typedef void read_group_fn(const char *root, const char *group, struct limits *limits);

/* The group and all above it: each may limit. A group that is not below mount (we are in a
 * container that shows its own only) reads as no limit; mount itself is then ours. */
static void read_groups(const char *root, const char *mount, const char *group, read_group_fn *fn,
                        struct limits *limits)
{
    AUTO_FREE char *path = mem_printf("%s%s", mount, group);
    size_t end = strlen(mount);

    while (strlen(path) > end) {
        fn(root, path, limits);
        *strrchr(path, '/') = '\0';
    }
    fn(root, mount, limits);
}

static bool has_controller(const char *controllers, const char *wanted)
{
    AUTO_FREE char *list = mem_string(controllers);
    char *rest = list;

    for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ",")) {
        if (strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

/* A line "ID:CONTROLLERS:/GROUP"; no controllers is version 2. */
static void read_cgroup_line(const char *root, char *line, struct limits *limits)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;

    if (!group || group[1] != '/')
        return;
    *group++ = '\0';
    controllers++;
    if (controllers[0] == '\0') {
        read_groups(root, "/sys/fs/cgroup", group, read_v2, limits);
        read_groups(root, "/sys/fs/cgroup/unified", group, read_v2, limits);
    }
    if (has_controller(controllers, "cpu"))
        read_groups(root, "/sys/fs/cgroup/cpu", group, read_v1_cpu, limits);
    if (has_controller(controllers, "memory"))
        read_groups(root, "/sys/fs/cgroup/memory", group, read_v1_memory, limits);
}

static struct limits read_limits(const char *root)
{
    struct limits limits = { NO_LIMIT, NO_LIMIT };
    char text[FILE_BYTES_MAX];
    char *rest = text;

    if (!read_file(root, "/proc/self/cgroup", text, sizeof(text)))
        return limits;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        read_cgroup_line(root, line, &limits);
    return limits;
}

static int64_t usable_cpus(void)
{
    cpu_set_t *cpus = CPU_ALLOC(CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    int64_t count = 0;

    if (cpus && sched_getaffinity(0, size, cpus) == 0)
        count = CPU_COUNT_S(size, cpus);
    CPU_FREE(cpus);
    return count > 0 ? count : sysconf(_SC_NPROCESSORS_ONLN);
}

/* Runs of numbers, as the kernel writes them; false: more than fits. */
static bool format_cpus(const uint32_t *cpus, size_t count, char *ret, size_t size)
{
    size_t length = 0;

    ret[0] = '\0';
    for (size_t i = 0, last = 0; i < count && length < size; i = last + 1) {
        for (last = i; last + 1 < count && cpus[last + 1] == cpus[last] + 1;)
            last++;
        length +=
            (size_t)snprintf(ret + length, size - length, "%s%" PRIu32, i > 0 ? "," : "", cpus[i]);
        if (last > i && length < size)
            length += (size_t)snprintf(ret + length, size - length, "-%" PRIu32, cpus[last]);
    }
    return length < size;
}

uint32_t probe_node_cpus(const char *root, uint32_t node, char ret[MACHINE_CPUS_SIZE])
{
    AUTO_FREE char *path = mem_printf("/sys/devices/system/node/node%" PRIu32 "/cpulist", node);
    char text[MACHINE_CPUS_SIZE];
    cpu_set_t *ours = CPU_ALLOC(CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX), count = 0, kept = 0;
    uint32_t *cpus = NULL;

    if (!ours || !read_file(root, path, text, sizeof(text)) ||
        sched_getaffinity(0, size, ours) < 0) {
        CPU_FREE(ours);
        return 0;
    }
    text[strcspn(text, "\n")] = '\0';
    if (units_parse_set(text, CPUS_MAX, CPUS_MAX - 1, &cpus, &count, NULL) < 0)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        if (CPU_ISSET_S(cpus[i], size, ours))
            cpus[kept++] = cpus[i];
    }
    CPU_FREE(ours);
    bool fits = format_cpus(cpus, kept, ret, MACHINE_CPUS_SIZE);
    mem_resize(cpus, 0, 1);
    return fits ? (uint32_t)kept : 0;
}

static int32_t numa_count(const char *root)
{
    char text[256];
    uint32_t *nodes;
    size_t count;

    if (!read_file(root, "/sys/devices/system/node/online", text, sizeof(text)))
        return PROBE_UNKNOWN;
    text[strcspn(text, "\n")] = '\0';
    if (units_parse_set(text, 4096, 65535, &nodes, &count, NULL) < 0)
        return PROBE_UNKNOWN;
    mem_resize(nodes, 0, 1);
    return (int32_t)count;
}

static void host_name(const char *root, struct probe_machine *machine)
{
    char text[256];

    if (!read_file(root, "/proc/sys/kernel/hostname", text, sizeof(text)))
        return;
    text[strcspn(text, ".\n")] = '\0';
    snprintf(machine->name, sizeof(machine->name), "%.*s", (int)sizeof(machine->name) - 1, text);
}

int probe_machine_below(const char *root, struct probe_machine *ret, struct error *err)
{
    struct probe_machine machine = { .name = "localhost" };
    char text[FILE_BYTES_MAX];
    int64_t total_kib = 0;

    const char *line = NULL;
    if (read_file(root, "/proc/meminfo", text, sizeof(text)))
        line = strstr(text, "MemTotal:");
    if (!line || sscanf(line, "MemTotal: %" SCNd64, &total_kib) != 1 || total_kib <= 0)
        return error_set(err, -ENODATA, "%s/proc/meminfo: no MemTotal in it", root);

    struct limits limits = read_limits(root);
    machine.cpu_milli = usable_cpus() * 1000;
    lower(&machine.cpu_milli, limits.cpu_milli);
    machine.memory_mib = total_kib / 1024;
    lower(&machine.memory_mib, limits.memory_bytes >> 20);
    machine.numa_count = numa_count(root);
    host_name(root, &machine);
    *ret = machine;
    return 0;
}

int probe_machine(struct probe_machine *ret, struct error *err)
{
    return probe_machine_below("", ret, err);
}
