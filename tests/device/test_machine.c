/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/text.h"
#include "device/host.h"

static int set_up(void **state)
{
    char *root = mem_string("/tmp/tarn-machine-XXXXXX");

    *state = root;
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    AUTO_FREE char *command = mem_printf("rm -r '%s'", (const char *)*state);
    int code = system(command);

    free(*state);
    return code;
}

/* A file below root, with the folders above it. */
static void put(const char *root, const char *path, const char *content)
{
    AUTO_FREE char *name = mem_printf("%s%s", root, path);

    for (char *slash = name + strlen(root) + 1; *slash; slash++) {
        if (*slash != '/')
            continue;
        *slash = '\0';
        if (mkdir(name, 0700) < 0)
            assert_int_equal(errno, EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static struct probe_machine machine_of(const char *root)
{
    struct probe_machine machine;
    struct error err = { "" };

    if (probe_machine_below(root, &machine, &err) < 0)
        fail_msg("%s", err.text);
    return machine;
}

static void a_machine_without_limits_is_ours_as_a_whole(void **state)
{
    put(*state, "/proc/meminfo", "MemFree: 7 kB\nMemTotal:       32768000 kB\n");
    put(*state, "/proc/sys/kernel/hostname", "box.example.org\n");
    put(*state, "/sys/devices/system/node/online", "0-1,4\n");

    struct probe_machine machine = machine_of(*state);
    assert_string_equal(machine.name, "box");
    assert_int_equal(machine.memory_mib, 32000);
    assert_int_equal(machine.numa_count, 3);
    assert_true(machine.cpu_milli >= 1000);
}

/* Of two nodes' CPUs those that we may run on; there is a CPU 0 or we would not be here. */
static void cpus_of_a_memory_node_are_those_that_are_ours(void **state)
{
    char cpus[MACHINE_CPUS_SIZE], first[16];
    cpu_set_t ours;
    unsigned cpu = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
    while (!CPU_ISSET(cpu, &ours))
        cpu++;
    snprintf(first, sizeof(first), "%u", cpu);
    put(*state, "/sys/devices/system/node/node0/cpulist", first);
    put(*state, "/sys/devices/system/node/node1/cpulist", "0-8000\n");
    put(*state, "/sys/devices/system/node/node2/cpulist", "\n"); /* memory alone */
    put(*state, "/sys/devices/system/node/node3/cpulist", "0-x\n");
    put(*state, "/sys/devices/system/node/node4/cpulist", "8001-8100\n");
    assert_int_equal(probe_node_cpus(*state, 0, cpus), 1);
    assert_string_equal(cpus, first);
    assert_int_equal(probe_node_cpus(*state, 1, cpus), CPU_COUNT(&ours));
    assert_int_equal(strncmp(cpus, first, strlen(first)), 0);
    for (uint32_t i = 2; i < 6; i++)
        assert_int_equal(probe_node_cpus(*state, i, cpus), 0);
}

static void what_the_machine_does_not_say_is_unknown(void **state)
{
    put(*state, "/proc/meminfo", "MemTotal: 1024 kB\n");
    struct probe_machine machine = machine_of(*state);

    assert_string_equal(machine.name, "localhost");
    assert_int_equal(machine.memory_mib, 1);
    assert_int_equal(machine.numa_count, PROBE_UNKNOWN);
}

static void limits_of_cgroup_v2_count_up_to_the_root(void **state)
{
    put(*state, "/proc/meminfo", "MemTotal: 32768000 kB\n");
    put(*state, "/proc/self/cgroup", "0::/user.slice/ana.service\n");
    put(*state, "/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
    put(*state, "/sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
    put(*state, "/sys/fs/cgroup/user.slice/ana.service/cpu.max", "max 100000\n");
    put(*state, "/sys/fs/cgroup/user.slice/ana.service/memory.max", "max\n");
    struct probe_machine machine = machine_of(*state);
    assert_int_equal(machine.cpu_milli, 500);
    assert_int_equal(machine.memory_mib, 1024);

    put(*state, "/sys/fs/cgroup/user.slice/ana.service/memory.max", "536870912\n");
    assert_int_equal(machine_of(*state).memory_mib, 512);
}

static void limits_of_cgroup_v1_count(void **state)
{
    put(*state, "/proc/meminfo", "MemTotal: 32768000 kB\n");
    put(*state, "/proc/self/cgroup", "5:memory:/box\n3:cpu,cpuacct:/box\n2:cpuset:/\n0::/\n");
    put(*state, "/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "25000\n");
    put(*state, "/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    put(*state, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put(*state, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put(*state, "/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "268435456\n");
    put(*state, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    struct probe_machine machine = machine_of(*state);

    assert_int_equal(machine.cpu_milli, 250);
    assert_int_equal(machine.memory_mib, 256);
}

/* In a container the group is named as the host sees it, and only its own files are there. */
static void a_group_that_is_not_there_leaves_the_mount(void **state)
{
    put(*state, "/proc/meminfo", "MemTotal: 32768000 kB\n");
    put(*state, "/proc/self/cgroup", "0::/../../docker/123\nnonsense\n:::\n");
    put(*state, "/sys/fs/cgroup/memory.max", "134217728\n");
    assert_int_equal(machine_of(*state).memory_mib, 128);
}

static void a_machine_that_cannot_be_read_says_so(void **state)
{
    AUTO_FREE char *expected = mem_printf("%s/proc/meminfo: no MemTotal in it", (char *)*state);
    struct probe_machine machine;
    struct error err;

    assert_int_equal(probe_machine_below(*state, &machine, &err), -ENODATA);
    assert_string_equal(err.text, expected);
    put(*state, "/proc/meminfo", "MemTotal: lots\n");
    assert_int_equal(probe_machine_below(*state, &machine, &err), -ENODATA);
    assert_string_equal(err.text, expected);
}

static void this_machine_can_be_read(void **state)
{
    struct probe_machine machine;
    struct error err = { "" };

    (void)state;
    assert_int_equal(probe_machine(&machine, &err), 0);
    assert_true(machine.cpu_milli > 0);
    assert_true(machine.memory_mib > 0);
    assert_true(machine.name[0] != '\0');
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(a_machine_without_limits_is_ours_as_a_whole),
        WITH_ROOT(cpus_of_a_memory_node_are_those_that_are_ours),
        WITH_ROOT(what_the_machine_does_not_say_is_unknown),
        WITH_ROOT(limits_of_cgroup_v2_count_up_to_the_root),
        WITH_ROOT(limits_of_cgroup_v1_count),
        WITH_ROOT(a_group_that_is_not_there_leaves_the_mount),
        WITH_ROOT(a_machine_that_cannot_be_read_says_so),
        cmocka_unit_test(this_machine_can_be_read),
    };

    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
