/* SPDX-License-Identifier: Apache-2.0 */
#include "io/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"

/* A file system that cannot allocate in advance (EOPNOTSUPP) says nothing about its room. */
static bool has_room(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int code = fd < 0 ? errno : posix_fallocate(fd, 0, RESERVE_BYTES);

    if (fd >= 0)
        close(fd);
    return code != ENOSPC && code != EDQUOT;
}

enum reserve reserve_prepare(const char *dir)
{
    AUTO_FREE char *reserve = mem_printf("%s/reserve", dir);
    AUTO_FREE char *next = mem_printf("%s.new", reserve);

    /* A new one shows that there is room beside it; then it takes the place of the old one. */
    if (has_room(next)) {
        rename(next, reserve);
        return RESERVE_KEPT;
    }
    unlink(next);
    unlink(reserve);
    return RESERVE_USED;
}
