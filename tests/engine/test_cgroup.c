/* SPDX-License-Identifier: Apache-2.0 */
/* Where control groups are found, and what is ordered for a member. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/local/cgroup.h"
#include "engine/local/shim_launch.h"

static const char systemd_mounts[] =
    "24 30 0:22 / /proc rw,nosuid - proc proc rw\n"
    "28 24 0:25 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char systemd_self[] = "0::/user.slice/user-1000.slice/user@1000.service/app.slice\n";

static const char hybrid_mounts[] =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime master:1 - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char hybrid_self[] = "5:memory:/jobs/one\n4:cpu,cpuacct:/\n0::/\n";

static const char docker_mounts[] =
    "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
static const char docker_self[] = "5:memory:/docker/abc/inner\n";

static void mounts_are_found_by_controller(void **state)
{
    static const struct {
        const char *mounts, *self, *controller, *path, *own;
    } cases[] = {
        { systemd_mounts, systemd_self, "", "/sys/fs/cgroup",
          "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice" },
        { systemd_mounts, systemd_self, "memory", NULL, NULL },
        { hybrid_mounts, hybrid_self, "", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified" },
        { hybrid_mounts, hybrid_self, "memory", "/sys/fs/cgroup/memory",
          "/sys/fs/cgroup/memory/jobs/one" },
        { hybrid_mounts, hybrid_self, "cpu", "/sys/fs/cgroup/cpu,cpuacct",
          "/sys/fs/cgroup/cpu,cpuacct" },
        { hybrid_mounts, hybrid_self, "cp", NULL, NULL },
        { docker_mounts, docker_self, "memory", "/sys/fs/cgroup/memory",
          "/sys/fs/cgroup/memory/inner" },
        { docker_mounts, "5:memory:/../other\n", "memory", "/sys/fs/cgroup/memory",
          "/sys/fs/cgroup/memory" },
        { "", "", "", NULL, NULL },
        { "1 2 3\n- cgroup2\n\n", "0::\n:::\n", "", NULL, NULL },
        { systemd_mounts, "0:name", "", NULL, NULL },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct cgroup_mount mount;

        cgroup_find_mount(cases[i].mounts, cases[i].self, cases[i].controller, &mount);
        if (cases[i].path) {
            assert_string_equal(mount.path, cases[i].path);
            assert_string_equal(mount.own, cases[i].own);
        } else {
            assert_null(mount.path);
            assert_null(mount.own);
        }
        cgroup_mount_release(&mount);
    }
}

/* The order as one line: its NULs as '|'. */
static char *order_of(const struct cgroup *cgroup, int64_t cpu_milli, int64_t memory_mib,
                      char **ret_note, struct engine_isolation *ret_isolation)
{
    struct engine_launch launch = { .cpu_milli = cpu_milli, .memory_mib = memory_mib };
    struct text order = { 0 };
    struct text note = { 0 };

    cgroup_add(cgroup, "1.1.0", &launch, &order, &note, ret_isolation);
    for (size_t i = 0; i < order.length; i++) {
        if (order.bytes[i] == '\0')
            order.bytes[i] = '|';
    }
    *ret_note = text_take(&note);
    return text_take(&order);
}

static void limits_are_ordered_only_when_asked(void **state)
{
    struct cgroup v2 = { .tree = (char *)"/t", .has_memory = true, .has_cpu = true };
    struct cgroup v1 = { .tree = (char *)"/t", .memory = (char *)"/m", .cpu = (char *)"/c" };
    struct cgroup counted = { .tree = (char *)"/t", .pids_max = 8192 };
    struct cgroup watched = { .pids = (char *)"/p", .pids_max = 8192 };
    struct cgroup none = { 0 };
    const struct {
        const struct cgroup *cgroup;
        int64_t cpu_milli, memory_mib;
        const char *order, *note;
        enum isolation processes, cpu, memory;
    } cases[] = {
        { &v2, 0, 0, "mkdir|/t/1.1.0|into|/t/1.1.0|kill|/t/1.1.0|", " kill=/t/1.1.0",
          ISOLATION_ISOLATED, ISOLATION_ACCOUNTED, ISOLATION_ACCOUNTED },
        { &v2, 1500, 2,
          "mkdir|/t/1.1.0|into|/t/1.1.0|kill|/t/1.1.0|write|/t/1.1.0/memory.max=2097152|"
          "try_write|/t/1.1.0/memory.swap.max=0|try_write|/t/1.1.0/memory.oom.group=1|"
          "oom|/t/1.1.0/memory.events|write|/t/1.1.0/cpu.max=150000 100000|",
          " kill=/t/1.1.0", ISOLATION_ISOLATED, ISOLATION_ISOLATED, ISOLATION_ISOLATED },
        { &v1, 1, 2,
          "mkdir|/t/1.1.0|into|/t/1.1.0|kill|/t/1.1.0|mkdir|/m/1.1.0|join|/m/1.1.0|"
          "write|/m/1.1.0/memory.limit_in_bytes=2097152|"
          "try_write|/m/1.1.0/memory.memsw.limit_in_bytes=2097152|"
          "oom|/m/1.1.0/memory.oom_control|mkdir|/c/1.1.0|join|/c/1.1.0|"
          "write|/c/1.1.0/cpu.cfs_period_us=100000|write|/c/1.1.0/cpu.cfs_quota_us=1000|",
          " kill=/t/1.1.0 dir=/m/1.1.0 dir=/c/1.1.0", ISOLATION_ISOLATED, ISOLATION_ISOLATED,
          ISOLATION_ISOLATED },
        { &counted, 500, 0,
          "mkdir|/t/1.1.0|into|/t/1.1.0|kill|/t/1.1.0|write|/t/1.1.0/pids.max=8192|",
          " kill=/t/1.1.0", ISOLATION_ISOLATED, ISOLATION_ACCOUNTED, ISOLATION_ACCOUNTED },
        { &watched, 500, 0, "mkdir|/p/1.1.0|join|/p/1.1.0|write|/p/1.1.0/pids.max=8192|",
          " dir=/p/1.1.0", ISOLATION_WATCHED, ISOLATION_ACCOUNTED, ISOLATION_ACCOUNTED },
        { &none, 500, 64, "", "", ISOLATION_WATCHED, ISOLATION_ACCOUNTED, ISOLATION_ACCOUNTED },
        { &v2, INT64_MAX, 0,
          "mkdir|/t/1.1.0|into|/t/1.1.0|kill|/t/1.1.0|"
          "write|/t/1.1.0/cpu.max=9223372036854700 100000|",
          " kill=/t/1.1.0", ISOLATION_ISOLATED, ISOLATION_ISOLATED, ISOLATION_ACCOUNTED },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct engine_isolation isolation;
        AUTO_FREE char *note = NULL;
        AUTO_FREE char *order =
            order_of(cases[i].cgroup, cases[i].cpu_milli, cases[i].memory_mib, &note, &isolation);

        assert_string_equal(order, cases[i].order);
        assert_string_equal(note, cases[i].note);
        assert_int_equal(isolation.processes, cases[i].processes);
        assert_int_equal(isolation.cpu, cases[i].cpu);
        assert_int_equal(isolation.memory, cases[i].memory);
        assert_int_equal(isolation.gpu, ISOLATION_ACCOUNTED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mounts_are_found_by_controller),
        cmocka_unit_test(limits_are_ordered_only_when_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
