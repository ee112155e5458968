/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices the programs of a job are told of, as each maker's runtime reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "node/job_environment.h"
#include "node/prepare.h"

/* Machine a has two devices of each maker, b two of AMD's, c one of NVIDIA's. */
static const struct {
    const char *node, *uuid, *vendor;
    uint32_t index;
} devices[] = {
    { "a", "GPU-0", "nvidia", 0 },
    { "a", "GPU-1", "nvidia", 1 },
    { "a", "AMD-1122334455667788", "amd", 2 },
    { "a", "AMD-0000:44:00.0", "amd", 3 },
    { "a", "INTEL-0", "intel", 4 },
    { "a", "INTEL-1", "intel", 5 },
    { "a", "tpu-0", "google", 6 },
    { "a", "tpu-1", "google", 7 },
    { "b", "AMD-b0", "amd", 0 },
    { "b", "AMD-b1", "amd", 1 },
    { "c", "GPU-c", "nvidia", 0 },
};

enum { ON_A, ON_B, ON_C };

static void tell(struct state *state, struct event event)
{
    struct error err;

    event.at = USEC_PER_SEC;
    if (state_apply(state, &event, &err) < 0)
        fail_msg("%s", err.text);
}

static struct state *make_state(void)
{
    static const char *const nodes[] = { "a", "b", "c" };
    static const struct device_type tpu = { .name = "tpu",
                                            .model = "v5e",
                                            .vendor = "google",
                                            .env = "TPU_CHIPS=${indices}\nTPU_ALL=${count} of "
                                                   "${uuids}\nTPU_KIND=lite\n",
                                            .count = 2 };
    struct state *state = state_create();

    state_add_device_type(state, &tpu);
    for (size_t i = 0; i < COUNT_OF(nodes); i++)
        tell(state,
             (struct event){ .kind = EVENT_NODE, .node = { .name = nodes[i], .cpu_milli = 8000 } });
    for (size_t i = 0; i < COUNT_OF(devices); i++)
        tell(state, (struct event){ .kind = EVENT_DEVICE,
                                    .device = { .node = devices[i].node,
                                                .uuid = devices[i].uuid,
                                                .vendor = devices[i].vendor,
                                                .model = "x",
                                                .index = devices[i].index,
                                                .memory_mib = 80000 } });
    return state;
}

/* A job on one machine that holds these slices. */
struct hold {
    struct slice slices[3];
    uint32_t count, members, node;
};

static struct job *start_members(struct state *state, struct lease_member *members, uint32_t count,
                                 const struct slice *slices, uint32_t slice_count)
{
    struct event submit = { .kind = EVENT_SUBMIT,
                            .submit = { .id = 1, .name = "j", .user = "ana", .queue = "default" } };

    request_default(&submit.submit.request);
    submit.submit.request.members = count;
    tell(state, submit);
    tell(state, (struct event){ .kind = EVENT_GRANT,
                                .grant = { .job = 1,
                                           .attempt = 1,
                                           .lease = { .members = members,
                                                      .members_count = count,
                                                      .slices = (struct slice *)(uintptr_t)slices,
                                                      .slices_count = slice_count } } });
    return state_job(state, 1);
}

static struct job *start(struct state *state, const struct hold *hold)
{
    struct lease_member members[2] = { { .node = hold->node }, { .node = hold->node } };

    return start_members(state, members, hold->members, hold->slices, hold->count);
}

static char **make(const struct state *state, const struct job *job, struct job_environment more,
                   const char *left)
{
    static const struct job_folders folders = { 0 };
    char **base = mem_zero(3, sizeof(base[0]));

    base[0] = mem_string("HOME=/home/ana");
    base[1] = left ? mem_string(left) : NULL;
    more.state = state;
    more.job = job;
    more.folders = &folders;
    more.cwd = "/";
    more.socket = "/run/tarn.sock";
    more.has_exact_devices = true;
    return job_environment_make(&more, base);
}

/* NULL: there is none of that name. */
static const char *value_of(char **env, const char *name)
{
    size_t length = strlen(name);

    for (; *env; env++) {
        if (strncmp(*env, name, length) == 0 && (*env)[length] == '=')
            return *env + length + 1;
    }
    return NULL;
}

static void assert_value(char **env, const char *name, const char *expected)
{
    const char *value = value_of(env, name);

    if ((value == NULL) != (expected == NULL) || (value && strcmp(value, expected) != 0))
        fail_msg("%s: '%s', expected '%s'", name, value ? value : "(none)",
                 expected ? expected : "(none)");
}

static void free_env(char **env)
{
    for (size_t i = 0; env[i]; i++)
        free(env[i]);
    free(env);
}

#define WHOLE(number)                                                                              \
    {                                                                                              \
        .device = number, .milli = 1000, .kind = SHARE_WHOLE                                       \
    }

static void each_maker_s_programs_see_what_is_theirs(void **unused)
{
    static const struct {
        struct hold hold;
        bool is_fenced;
        const char *cuda, *rocr, *ze, *gpus, *chips, *all, *kind;
    } cases[] = {
        { { .members = 1 }, false, "", "", "", "", "", "", NULL },
        { { { WHOLE(1) }, 1, 1, ON_A }, false, "GPU-1", "", "", "1", "", "", NULL },
        { { { WHOLE(1), WHOLE(0) }, 2, 1, ON_A },
          false,
          "GPU-1,GPU-0",
          "",
          "",
          "1,0",
          "",
          "",
          NULL },
        { { { WHOLE(2) }, 1, 1, ON_A }, false, "", "GPU-1122334455667788", "", "2", "", "", NULL },
        { { { WHOLE(3) }, 1, 1, ON_A }, false, "", "1", "", "3", "", "", NULL },
        { { { WHOLE(5) }, 1, 1, ON_A }, false, "", "", "1", "5", "", "", NULL },
        { { { WHOLE(5) }, 1, 1, ON_A }, true, "", "", "0", "5", "", "", NULL },
        { { { WHOLE(4), WHOLE(5) }, 2, 1, ON_A }, true, "", "", "0,1", "4,5", "", "", NULL },
        { { { WHOLE(7) }, 1, 1, ON_A }, false, "", "", "", "7", "1", "1 of tpu-1", "lite" },
        { { { WHOLE(7), WHOLE(6) }, 2, 1, ON_A },
          false,
          "",
          "",
          "",
          "7,6",
          "1,0",
          "2 of tpu-1,tpu-0",
          "lite" },
        /* AMD's libraries look at CUDA's variable too. */
        { { { WHOLE(9) }, 1, 1, ON_B }, false, NULL, "GPU-b1", NULL, "1", "", "", NULL },
        { { { WHOLE(10) }, 1, 1, ON_C }, false, "GPU-c", NULL, NULL, "0", "", "", NULL },
    };
    (void)unused;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(state) struct state *state = make_state();
        const struct job *job = start(state, &cases[i].hold);
        char **env =
            make(state, job, (struct job_environment){ .is_fenced = cases[i].is_fenced }, NULL);
        assert_value(env, "CUDA_VISIBLE_DEVICES", cases[i].cuda);
        assert_value(env, "ROCR_VISIBLE_DEVICES", cases[i].rocr);
        assert_value(env, "ZE_AFFINITY_MASK", cases[i].ze);
        assert_value(env, "TARN_GPUS", cases[i].gpus);
        assert_value(env, "TPU_CHIPS", cases[i].chips);
        assert_value(env, "TPU_ALL", cases[i].all);
        assert_value(env, "TPU_KIND", cases[i].kind);
        assert_value(env, "HOME", "/home/ana");
        free_env(env);
    }
}

static void a_member_sees_its_own_devices_alone(void **unused)
{
    static const struct hold hold = { { { .device = 0, .rank = 0, .milli = 1000 },
                                        { .device = 1, .rank = 1, .milli = 1000 } },
                                      2,
                                      2,
                                      ON_A };
    (void)unused;
    AUTO(state) struct state *state = make_state();
    const struct job *job = start(state, &hold);

    for (uint32_t i = 0; i < 2; i++) {
        char **env = make(state, job, (struct job_environment){ .place = i }, NULL);
        assert_value(env, "CUDA_VISIBLE_DEVICES", i == 0 ? "GPU-0" : "GPU-1");
        assert_value(env, "TARN_GPU_COUNT", "1");
        assert_value(env, "RANK", i == 0 ? "0" : "1");
        free_env(env);
    }
}

static void a_part_of_a_device_is_named_and_served_as_it_was_prepared(void **unused)
{
    static const struct hold hold = {
        { { .device = 0, .milli = 250, .kind = SHARE_MPS, .memory_mib = 10240 } }, 1, 1, ON_A
    };
    char visible[1][PROBE_UUID_SIZE] = { "MIG-7" };
    char folder[] = "/run/mps/GPU-0";
    char *mps[] = { folder };
    struct prepared prepared = {
        .job = 1, .attempt = 1, .count = 1, .visible = visible, .mps = mps
    };
    (void)unused;
    AUTO(state) struct state *state = make_state();
    const struct job *job = start(state, &hold);

    char **env = make(state, job, (struct job_environment){ .prepared = &prepared }, NULL);
    assert_value(env, "CUDA_VISIBLE_DEVICES", "MIG-7");
    assert_value(env, "CUDA_MPS_PIPE_DIRECTORY", "/run/mps/GPU-0");
    assert_value(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25");
    assert_value(env, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=10240M");
    assert_value(env, "TARN_GPU_MILLI", "250");
    assert_value(env, "TARN_GPU_MEMORY_MIB", "10240");
    free_env(env);
}

static const struct gang_case {
    uint32_t nodes[4];
    uint32_t count;
    const char *hosts, *tasks;
    uint32_t node_of[4];
} gangs[] = {
    { { ON_A, ON_A, ON_B, ON_B }, 4, "a,b", "2(x2)", { 0, 0, 1, 1 } },
    { { ON_A, ON_A, ON_B, ON_C }, 4, "a,b,c", "2,1(x2)", { 0, 0, 1, 2 } },
    { { ON_C, ON_A, ON_A }, 3, "c,a", "1,2", { 0, 1, 1 } },
};

/* SLURM_NODEID is that of the member's node, and each node has its number of tasks. */
static void a_gang_knows_its_nodes(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT_OF(gangs); i++) {
        const struct gang_case *gang = &gangs[i];
        AUTO(state) struct state *state = make_state();
        struct lease_member members[4] = { 0 };
        for (uint32_t k = 0; k < gang->count; k++)
            members[k].node = gang->nodes[k];
        const struct job *job = start_members(state, members, gang->count, NULL, 0);
        for (uint32_t k = 0; k < gang->count; k++) {
            char number[2] = { (char)('0' + gang->node_of[k]), '\0' };
            char **env = make(state, job, (struct job_environment){ .place = k }, NULL);
            assert_value(env, "SLURM_NODEID", number);
            assert_value(env, "TARN_NODE_RANK", number);
            assert_value(env, "SLURM_JOB_NODELIST", gang->hosts);
            assert_value(env, "SLURM_TASKS_PER_NODE", gang->tasks);
            assert_value(env, "SLURM_STEP_TASKS_PER_NODE", gang->tasks);
            assert_value(env, "SLURM_STEP_ID", NULL);
            free_env(env);
        }
    }
}

static void what_the_job_itself_sets_stays(void **unused)
{
    static const struct hold hold = { { WHOLE(10) }, 1, 1, ON_C };
    static char *const left[] = { "RANK=5", "CUDA_VISIBLE_DEVICES=5", "TARN_RANK=5",
                                  "ROCR_VISIBLE_DEVICES=5" };
    (void)unused;

    for (size_t i = 0; i < COUNT_OF(left); i++) {
        AUTO(state) struct state *state = make_state();
        AUTO_FREE char *name = mem_string_of(left[i], strcspn(left[i], "="));
        char *const own[] = { name, NULL }, *const role[] = { left[i], NULL };
        const struct job *job = start(state, &hold);
        for (int k = 0; k < 2; k++) {
            struct job_environment more = { .own = k == 0 ? own : NULL,
                                            .role_env = k == 1 ? role : NULL };
            char **env = make(state, job, more, left[i]);
            assert_value(env, name, "5");
            free_env(env);
        }
    }
}

/* Sent from inside another job: what that one holds is not this one's. */
static void an_outer_job_leaves_nothing(void **unused)
{
    static const struct hold hold = { { WHOLE(10) }, 1, 1, ON_C };
    static const char *const left[] = { "ROCR_VISIBLE_DEVICES=9",
                                        "ZE_AFFINITY_MASK=9",
                                        "CUDA_MPS_PIPE_DIRECTORY=9",
                                        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=9",
                                        "MASTER_ADDR=9",
                                        "TARN_GPU_MILLI=9" };
    (void)unused;

    for (size_t i = 0; i < COUNT_OF(left); i++) {
        AUTO(state) struct state *state = make_state();
        AUTO_FREE char *name = mem_string(left[i]);
        char **env = make(state, start(state, &hold), (struct job_environment){ 0 }, left[i]);
        *strchr(name, '=') = '\0';
        assert_value(env, name, NULL);
        assert_value(env, "CUDA_VISIBLE_DEVICES", "GPU-c");
        free_env(env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_maker_s_programs_see_what_is_theirs),
        cmocka_unit_test(a_member_sees_its_own_devices_alone),
        cmocka_unit_test(a_part_of_a_device_is_named_and_served_as_it_was_prepared),
        cmocka_unit_test(a_gang_knows_its_nodes),
        cmocka_unit_test(what_the_job_itself_sets_stays),
        cmocka_unit_test(an_outer_job_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
