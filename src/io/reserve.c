/* SPDX-License-Identifier: Apache-2.0 */
#include "io/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/mem.h"

enum { STEP_BYTES = RESERVE_BYTES / 16 };

/* A file system that cannot allocate in advance (EOPNOTSUPP) says nothing about its room. */
static bool has_room(const char *path, off_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int code = fd < 0 ? errno : posix_fallocate(fd, 0, bytes);

    if (fd >= 0)
        close(fd);
    return code != ENOSPC && code != EDQUOT;
}

enum reserve reserve_prepare(const char *dir)
{
    AUTO_FREE char *reserve = mem_printf("%s/reserve", dir);
    AUTO_FREE char *next = mem_printf("%s.new", reserve);

    /* A new one shows that there is room beside it; then it takes the place of the old one. */
    if (has_room(next, RESERVE_BYTES)) {
        rename(next, reserve);
        return RESERVE_KEPT;
    }
    unlink(next);
    return unlink(reserve) == 0 ? RESERVE_USED : RESERVE_NONE;
}

void reserve_keep(const char *dir)
{
    AUTO_FREE char *reserve = mem_printf("%s/reserve", dir);
    off_t bytes = RESERVE_BYTES;

    while (bytes > 0 && !has_room(reserve, bytes))
        bytes -= STEP_BYTES;
    if (bytes == 0)
        unlink(reserve);
}
