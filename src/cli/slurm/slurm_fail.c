/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "cli/slurm/slurm.h"

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
