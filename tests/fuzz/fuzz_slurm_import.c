/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "fuzz_config.h"
#include "wire/slurm/slurm_import.h"

/* slurm.conf, accounts, QOS, topology.conf and gres.conf, separated by lines of "----"; as listings
 * if the first begins with a space. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *all = mem_string_of((const char *)data, size);
    AUTO_RELEASE(text) struct text config = { 0 }, report = { 0 };
    char *parts[5] = { all, NULL, NULL, NULL, NULL };
    struct error err;

    if (!string_is_utf8(all, strlen(all))) /* the caller refuses that */
        return 0;
    for (size_t i = 1; i < COUNT_OF(parts); i++) {
        parts[i] = parts[i - 1] ? strstr(parts[i - 1], "\n----\n") : NULL;
        if (!parts[i])
            break;
        *parts[i] = '\0';
        parts[i] += strlen("\n----\n");
    }
    struct slurm_import from = { .conf = { "conf", parts[0] },
                                 .accounts = { "accounts", parts[1] },
                                 .qos = { "qos", parts[2] },
                                 .topology = { "topology", parts[3] },
                                 .gres = { "gres", parts[4] },
                                 .is_listing = parts[0][0] == ' ' };
    if (slurm_import(&from, &config, &report, &err) == 0)
        fuzz_check_config(&config);
    return 0;
}
