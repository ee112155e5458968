/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/slurm/slurm.h"
#include "core/engine.h"

const char *slurm_name = "tarn";

int slurm_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    AUTO_FREE char *words = mem_vprintf(format, args);
    va_end(args);
    fprintf(stderr, "%s: error: %s\n", slurm_name, words);
    return 1;
}

bool slurm_is_own_cluster(const char *list)
{
    bool is_own = !list || strcmp(list, ENGINE_CLUSTER) == 0 || strcmp(list, "all") == 0;

    if (!is_own)
        slurm_fail("No cluster '%.60s' known; expected all or %s", list, ENGINE_CLUSTER);
    return is_own;
}
