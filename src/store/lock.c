/* SPDX-License-Identifier: Apache-2.0 */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Always the same length, so that a full disk has room for it the second time. */
enum { PID_LENGTH = 20 };

static int refuse(const char *dir, int fd, struct error *err)
{
    char text[PID_LENGTH + 1] = "";

    ssize_t length = pread(fd, text, PID_LENGTH, 0);
    long pid = length > 0 ? strtol(text, NULL, 10) : 0;
    if (pid <= 0)
        return error_set(err, -EBUSY, "state %s: another tarn daemon uses it", dir);
    return error_set(err, -EBUSY, "state %s: the tarn daemon with pid %ld uses it", dir, pid);
}

int lock_take(const char *dir, int *ret_fd, struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/lock", dir);
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char text[PID_LENGTH + 1];

    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(err, -errno, "state %s: can't be used: %s", dir, strerror(errno));
    if (fcntl(fd, F_OFD_SETLK, &whole) < 0) {
        int code =
            errno == EAGAIN || errno == EACCES
                ? refuse(dir, fd, err)
                : error_set(err, -errno, "state %s: can't be locked: %s", dir, strerror(errno));
        close(fd);
        return code;
    }

    snprintf(text, sizeof(text), "%-*ld\n", PID_LENGTH - 1, (long)getpid());
    ssize_t written = pwrite(fd, text, PID_LENGTH, 0);
    (void)written; /* only words are lost */
    *ret_fd = fd;
    return 0;
}
