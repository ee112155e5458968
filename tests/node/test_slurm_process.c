/* SPDX-License-Identifier: Apache-2.0 */
/* The Slurm job and step of a process, from its control groups or its environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "node/slurm_process.h"

static void test_groups_of_all_versions(void **state)
{
    static const struct {
        const char *groups;
        uint32_t job;
        const char *step;
    } cases[] = {
        { "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_1\n", 4711, "0" },
        { "0::/system.slice/n1_slurmstepd.scope/job_12/step_batch/user/task_special\n", 12,
          "batch" },
        { "9:cpuset:/\n4:memory:/slurm/uid_1000/job_7/step_extern/task_0\n", 7, "extern" },
        { "4:memory:/slurm_n1/uid_0/job_8/step_interactive\n", 8, "interactive" },
        { "4:devices:/slurm/uid_0/job_9\n", 9, "" },
        { "0::/slurm/job_5/step_an-extremely-long-name/x", 5, "" },
        { "0::/user.slice/user-1000.slice\n", 0, "" },
        { "0::/job_4/step_0\n", 0, "" }, /* somebody else's */
        { "0::/slurm/job_x/step_0\n", 0, "" },
        { "0::/slurm/job_12x/step_0\n", 0, "" },
        { "0::/slurm/job_99999999999/step_0\n", 0, "" },
        { "0::/slurm/job_0/step_0\n", 0, "" },
        { "", 0, "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct watch_slurm slurm;
        assert_int_equal(slurm_process_of_groups(cases[i].groups, &slurm), cases[i].job != 0);
        if (cases[i].job == 0)
            continue;
        assert_int_equal(slurm.job, cases[i].job);
        assert_string_equal(slurm.step, cases[i].step);
    }
}

static void write_file(const char *root, const char *name, const char *bytes, size_t length)
{
    AUTO_FREE char *path = mem_printf("%s/proc/12/%s", root, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

#define ENVIRONMENT(text) (text), sizeof(text)

static void test_environment_where_there_is_no_group(void **state)
{
    char root[] = "/tmp/slurm-process-XXXXXX";
    struct watch_slurm slurm;

    (void)state;
    assert_non_null(mkdtemp(root));
    AUTO_FREE char *proc = mem_printf("%s/proc", root);
    AUTO_FREE char *folder = mem_printf("%s/proc/12", root);
    mkdir(proc, 0700);
    mkdir(folder, 0700);
    assert_false(slurm_process_find(root, 12, &slurm)); /* it is gone */
    write_file(root, "cgroup", "0::/\n", 5);
    write_file(root, "environ", ENVIRONMENT("PATH=/bin\0SLURM_JOB_ID=33\0SLURM_STEP_ID=2"));
    assert_true(slurm_process_find(root, 12, &slurm));
    assert_int_equal(slurm.job, 33);
    assert_string_equal(slurm.step, "2");
    write_file(root, "environ", ENVIRONMENT("SLURM_JOB_ID=34\0SLURM_STEP_IDS=2"));
    assert_true(slurm_process_find(root, 12, &slurm));
    assert_string_equal(slurm.step, "batch");
    write_file(root, "environ", ENVIRONMENT("XSLURM_JOB_ID=35\0SLURM_JOB_ID=many"));
    assert_false(slurm_process_find(root, 12, &slurm));
    write_file(root, "environ", "", 0);
    assert_false(slurm_process_find(root, 12, &slurm));
    /* The group is slurmd's word, the environment the user's. */
    write_file(root, "environ", ENVIRONMENT("SLURM_JOB_ID=36"));
    write_file(root, "cgroup", "0::/slurm/job_37/step_1\n", 24);
    assert_true(slurm_process_find(root, 12, &slurm));
    assert_int_equal(slurm.job, 37);
    AUTO_FREE char *command = mem_printf("rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_of_all_versions),
        cmocka_unit_test(test_environment_where_there_is_no_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
