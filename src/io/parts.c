/* SPDX-License-Identifier: Apache-2.0 */
#include "io/parts.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

int part_find(const char *name, const char *built, char **ret, struct error *err)
{
    const char *const places[] = { ".", built, "../libexec/tarn" };
    char self[PATH_MAX];

    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return error_set(err, -errno, "/proc/self/exe: %s", strerror(errno));
    self[length] = '\0';
    const char *folder = dirname(self);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        AUTO_FREE char *path = mem_printf("%s/%s/%s", folder, places[i], name);
        if (access(path, R_OK) == 0) {
            *ret = TAKE(path);
            return 0;
        }
    }
    return error_set(err, -ENOENT, "%s: not found beside %s, nor in ../libexec/tarn", name, folder);
}

int part_find_shim(char **ret, struct error *err)
{
    const char *named = getenv("TARN_SHIM");

    if (!named || !named[0])
        return part_find("tarn-shim", "src/shim", ret, err);
    *ret = mem_string(named);
    return 0;
}

int part_find_slurm(char **ret, struct error *err)
{
    AUTO_FREE char *srun = NULL;

    int code = part_find("slurm/srun", "src/cli", &srun, err);
    if (code == 0)
        *ret = mem_string_of(srun, strlen(srun) - strlen("/srun"));
    return code;
}
