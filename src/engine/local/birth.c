/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/birth.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/child.h"

enum { LOOK_MS = 2 };

int birth_take(const char *run_dir, int *ret_fd, struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/birth", run_dir);
    int waited = 0;

    int fd = fd_raise(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (fd < 0)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    /* Of the open file, so that it lasts as long as any copy of the descriptor. */
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int code = -errno;
        if (code == -EWOULDBLOCK && waited < BIRTH_WAIT_MS) {
            waited += LOOK_MS;
            poll(NULL, 0, LOOK_MS);
            continue;
        }
        close(fd);
        if (code == -EWOULDBLOCK)
            return error_set(err, -EBUSY, "%s: an earlier supervisor hangs", path);
        return error_set(err, code, "%s: cannot be locked: %s", path, strerror(-code));
    }
    *ret_fd = fd;
    return 0;
}

int birth_share(const char *run_dir)
{
    AUTO_FREE char *path = mem_printf("%s/birth", run_dir);

    int fd = fd_raise(open(path, O_RDONLY | O_CLOEXEC));
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}
