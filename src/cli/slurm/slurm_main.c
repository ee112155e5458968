/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/slurm.h"

#include <stdio.h>
#include <string.h>

static const struct slurm_front fronts[] = {
#define FRONT(name, usage, summary) { #name, usage, summary, slurm_##name },
#include "cli/slurm/slurm_fronts.def"
#undef FRONT
};

const struct slurm_front *slurm_find(const char *path)
{
    const char *slash = strrchr(path, '/');

    for (size_t i = 0; i < COUNT_OF(fronts); i++) {
        if (strcmp(slash ? slash + 1 : path, fronts[i].name) == 0)
            return &fronts[i];
    }
    return NULL;
}

int slurm_run(const struct slurm_front *front, int argc, char **argv)
{
    slurm_name = front->name;
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "--usage") == 0)) {
        printf("%s %s\n  %s (tarn's front end; see doc/slurm.md and tarn-slurm(7))\n", front->name,
               front->usage, front->summary);
        return 0;
    }
    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        printf("tarn %s\n", TARN_VERSION);
        return 0;
    }
    return front->run(argc, argv);
}
