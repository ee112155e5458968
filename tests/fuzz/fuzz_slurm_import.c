/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "wire/slurm/slurm_import.h"

/* Three files, separated by lines of "----". */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *all = mem_string_of((const char *)data, size);
    AUTO_RELEASE(text) struct text config = { 0 }, report = { 0 };
    char *parts[3] = { all, NULL, NULL };
    struct error err;

    for (size_t i = 1; i < 3; i++) {
        parts[i] = parts[i - 1] ? strstr(parts[i - 1], "\n----\n") : NULL;
        if (!parts[i])
            break;
        *parts[i] = '\0';
        parts[i] += strlen("\n----\n");
    }
    struct slurm_import from = { .conf = parts[0], .accounts = parts[1], .qos = parts[2] };
    if (slurm_import(&from, &config, &report, &err) < 0)
        abort(); /* only a partition that was asked for can be missing */
    return 0;
}
