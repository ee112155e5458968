/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/command.h"

const struct option_entry options_version[] = { { 0 } };

int run_version(int argc, char **argv)
{
    struct options options;
    int status;

    if (!options_read(argc, argv, &options, &status))
        return status;
    if (options.is_json)
        printf("{\"version\":\"%s\"}\n", TARN_VERSION);
    else
        printf("tarn %s\n", TARN_VERSION);
    return 0;
}
