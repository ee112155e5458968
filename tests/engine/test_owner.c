/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a process is, in a /proc of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/local/owner.h"

static void put(const char *folder, const char *name, const char *bytes, size_t length)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void an_environment_counts_only_where_there_are_no_groups(void **state)
{
    static const char ours[] = "0::/tarn/k/12.1.0/sub\n",
                      others[] = "5:memory:/x\n0::/user.slice\n";
    static const char marked[] = "HOME=/\0TARN_MEMBER=k/7.2.1\0A=b";
    static const char strange[] = "TARN_MEMBER=other/7.2.1\0ATARN_MEMBER=k/7.2.1";
#define ENVIRONMENT(bytes) bytes, sizeof(bytes)
    static const struct {
        const char *groups, *environment;
        size_t length;
        bool has_groups;
        uint64_t job; /* 0: of no job */
        uint32_t uid;
    } cases[] = {
        { ours, ENVIRONMENT("A=b"), true, 12, UINT32_MAX },
        { ours, ENVIRONMENT(marked), true, 12, UINT32_MAX },
        { ours, ENVIRONMENT(marked), false, 12, UINT32_MAX }, /* of an earlier daemon's */
        { others, ENVIRONMENT(marked), true, 0, UINT32_MAX },
        { others, ENVIRONMENT(marked), false, 7, 1000 },
        { others, ENVIRONMENT(strange), false, 0, UINT32_MAX },
        { others, ENVIRONMENT("A=b"), false, 0, UINT32_MAX },
    };
    char root[] = "/tmp/tarn-owner-XXXXXX";
    (void)state;

    assert_non_null(mkdtemp(root));
    AUTO_FREE char *proc = mem_printf("%s/proc", root);
    AUTO_FREE char *folder = mem_printf("%s/42", proc);
    assert_int_equal(mkdir(proc, 0755), 0);
    assert_int_equal(mkdir(folder, 0755), 0);
    static const char status[] =
        "Name:\tx Uid: 5\nState:\tS\nUid:\t1000\t0\t0\t0\nGid:\t4\t4\t4\t4\n";
    put(folder, "status", status, strlen(status));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct owner_ask ask = {
            .root = root, .key = "k", .pid = 42, .has_groups = cases[i].has_groups
        };
        struct member_id id = { 0 };
        uint32_t uid = 0;

        put(folder, "cgroup", cases[i].groups, strlen(cases[i].groups));
        put(folder, "environ", cases[i].environment, cases[i].length);
        assert_int_equal(owner_find(&ask, &id, &uid), cases[i].job > 0);
        assert_int_equal(uid, cases[i].uid);
        if (cases[i].job > 0)
            assert_int_equal(id.job, cases[i].job);
        ask.pid = 43;
        assert_false(owner_find(&ask, &id, &uid));
    }
    AUTO_FREE char *remove = mem_printf("rm -rf %s", root);
    assert_int_equal(system(remove), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_environment_counts_only_where_there_are_no_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
