/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sbatch/sbatch_variables.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "base/units.h"
#include "wire/job/sbatch/sbatch_given.h"

static void put_text(json_t *slurm, const char *name, const char *value)
{
    json_object_set_new(slurm, name, json_string(value));
}

static void put_number(json_t *slurm, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    put_text(slurm, name, text);
}

/* Sizes are in MiB in Slurm's variables, and CPUs are whole. */
static void put_amounts(const struct sbatch *sbatch, json_t *slurm)
{
    static const struct {
        enum sbatch_id id;
        const char *variable;
        bool is_size;
    } amounts[] = {
        { SBATCH_MEM, "SLURM_MEM_PER_NODE", true },
        { SBATCH_MEM_PER_CPU, "SLURM_MEM_PER_CPU", true },
        { SBATCH_MEM_PER_GPU, "SLURM_MEM_PER_GPU", true },
        { SBATCH_CPUS_PER_TASK, "SLURM_CPUS_PER_TASK", false },
        { SBATCH_CPUS_PER_GPU, "SLURM_CPUS_PER_GPU", false },
    };

    for (size_t i = 0; i < COUNT_OF(amounts); i++) {
        const struct sbatch_given *option = given_find(sbatch, amounts[i].id);
        int64_t amount = 0;
        if (!option)
            continue;
        if (amounts[i].is_size)
            units_parse_mib(option->value, &amount, NULL);
        else if (units_parse_milli(option->value, CPU_MILLI_MAX, &amount, NULL) == 0)
            amount = (amount + 999) / 1000;
        if (amount > 0)
            put_number(slurm, amounts[i].variable, amount);
    }
}

/* What sbatch(1) lists with "only set if the option is specified". */
static void put_given(const struct sbatch *sbatch, const struct sbatch_shape *shape, json_t *slurm)
{
    static const struct {
        enum sbatch_id id;
        const char *variable;
    } plain[] = {
        { SBATCH_NTASKS_PER_NODE, "SLURM_NTASKS_PER_NODE" },
        { SBATCH_TASKS_PER_NODE, "SLURM_NTASKS_PER_NODE" },
        { SBATCH_GPUS, "SLURM_GPUS" },
        { SBATCH_GPUS_PER_NODE, "SLURM_GPUS_PER_NODE" },
        { SBATCH_GPUS_PER_TASK, "SLURM_GPUS_PER_TASK" },
        { SBATCH_GPU_BIND, "SLURM_GPU_BIND" },
        { SBATCH_EXPORT, "SLURM_EXPORT_ENV" },
        { SBATCH_DEPENDENCY, "SLURM_JOB_DEPENDENCY" },
        { SBATCH_QOS, "SLURM_JOB_QOS" },
    };

    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        const struct sbatch_given *option = given_find(sbatch, plain[i].id);
        if (option)
            put_text(slurm, plain[i].variable, option->value);
    }
    put_amounts(sbatch, slurm);
    if (!given_find(sbatch, SBATCH_NTASKS) && !json_object_get(slurm, "SLURM_NTASKS_PER_NODE"))
        return;
    const int64_t tasks = shape->tasks > 0 ? shape->tasks : shape->members;
    put_number(slurm, "SLURM_NTASKS", tasks);
    put_number(slurm, "SLURM_NPROCS", tasks);
}

/* A gang on the command line of tarn is not Slurm's, but its tasks on each node are asked for. */
void sbatch_set_variables(struct sbatch *sbatch, const struct sbatch_shape *shape)
{
    const struct sbatch_given *per_node =
        given_either(sbatch, SBATCH_NTASKS_PER_NODE, SBATCH_TASKS_PER_NODE);
    json_t *slurm = json_object();

    if (sbatch->is_slurm || sbatch->has_lines)
        put_given(sbatch, shape, slurm);
    else if (per_node && shape->members > 1)
        put_text(slurm, "SLURM_NTASKS_PER_NODE", per_node->value);
    if (sbatch->is_slurm || sbatch->has_lines || json_object_size(slurm) > 0)
        json_object_set(sbatch->job, "slurm", slurm);
    json_decref(slurm);
}
