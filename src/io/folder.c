/* SPDX-License-Identifier: Apache-2.0 */
#include "io/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, MODE = 0700 };

int folder_open(const char *path, int *ret_fd, struct error *err)
{
    int fd = open(path, FOLDER);

    if (fd < 0)
        return error_set(err, -errno, "folder %s: %s", path, strerror(errno));
    *ret_fd = fd;
    return 0;
}

/* Asks the kernel alone: it is not known whether the other file system answers. */
static bool is_same_device(int a, int b)
{
    struct statx of_a, of_b;

    return statx(a, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &of_a) == 0 &&
           statx(b, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &of_b) == 0 &&
           of_a.stx_dev_major == of_b.stx_dev_major && of_a.stx_dev_minor == of_b.stx_dev_minor;
}

int folder_enter(int folder, const char *path, const char *name, int *ret_fd, struct error *err)
{
    if (mkdirat(folder, name, MODE) < 0 && errno != EEXIST)
        return error_set(err, -errno, "%s/%s: %s", path, name, strerror(errno));
    int fd = openat(folder, name, FOLDER);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return error_set(err, -ENOTDIR, "%s/%s: not a folder", path, name);
    if (fd < 0)
        return error_set(err, -errno, "%s/%s: %s", path, name, strerror(errno));
    if (!is_same_device(folder, fd)) {
        close(fd);
        return error_set(err, -EXDEV, "%s/%s: another file system is mounted there", path, name);
    }
    *ret_fd = fd;
    return 0;
}

int folder_make_in(int folder, const char *path, const char *name, struct error *err)
{
    int fd;
    int code = folder_enter(folder, path, name, &fd, err);

    if (code == 0)
        close(fd);
    return code;
}
