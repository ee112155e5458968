/* SPDX-License-Identifier: Apache-2.0 */
/* The disk of a played world: it is full now and then, and the files of users are on a server that
 * hangs. These functions stand in for those of the C library, for SQLite, too. What is written to
 * a log goes through the C library alone, and is not concerned. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/reserve.h"
#include "world.h"

enum { MODE_DEFAULT = 0666 };

/* ---- files of users ---- */

static bool is_of_user(const char *path)
{
    return world && path && strncmp(path, WORLD_HOME, strlen(WORLD_HOME)) == 0;
}

/* A process of its own that opens such a file hangs; the loop of the daemon never may. */
static void touch(const char *path)
{
    if (!is_of_user(path) || world->is_working)
        return;
    if (getpid() == world->daemon)
        world_break("the loop touches %s, which may hang", path);
    while (world->file_hangs_until > world->since_boot)
        pause();
}

/* ---- a full disk ---- */

static bool is_full(void)
{
    return world && world->full_until > world->since_boot;
}

/* Whether it may be made: a disk without free blocks may still have inodes. */
static bool is_refused(const char *path)
{
    return is_full() && world->lacks_inodes && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) < 0;
}

/* Whether a file would grow by more than there is room for. */
static bool is_too_much(int fd, int64_t end)
{
    struct stat status;

    if (!is_full() || fd <= STDERR_FILENO ||
        syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) < 0 || !S_ISREG(status.st_mode) ||
        end <= status.st_size)
        return false;
    if (end - status.st_size > world->room)
        return true;
    world->room -= end - status.st_size;
    return false;
}

/* The reserve of the state directory (io/reserve.h) is given up for a start; where there is none,
 * or it does not help, an administrator makes room. */
void world_disk_start(void)
{
    if (!is_full()) {
        world->has_reserve = true;
        return;
    }
    if (!world->has_reserve || world->lacks_inodes)
        world->full_until = 0;
    world->room = RESERVE_BYTES;
    world->has_reserve = false;
}

static int no_space(void)
{
    errno = ENOSPC;
    return -1;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    if (is_too_much(fd, at + (int64_t)size))
        return no_space();
    return syscall(SYS_pwrite64, fd, bytes, size, at);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    if (is_too_much(fd, lseek(fd, 0, SEEK_CUR) + (off_t)size))
        return no_space();
    return syscall(SYS_write, fd, bytes, size);
}

int ftruncate(int fd, off_t size)
{
    return is_too_much(fd, size) ? no_space() : (int)syscall(SYS_ftruncate, fd, size);
}

int fallocate(int fd, int mode, off_t at, off_t size)
{
    return is_too_much(fd, at + size) ? no_space()
                                      : (int)syscall(SYS_fallocate, fd, mode, at, size);
}

/* ---- both ---- */

static int open_at(int folder, const char *path, int flags, va_list args)
{
    unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, unsigned) : 0;

    touch(path);
    if ((flags & O_CREAT) && is_refused(path))
        return no_space();
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    int fd = open_at(AT_FDCWD, path, flags, args);
    va_end(args);
    return fd;
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    int fd = open_at(folder, path, flags, args);
    va_end(args);
    return fd;
}

int mkdir(const char *path, mode_t mode)
{
    touch(path);
    return is_refused(path) ? no_space() : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int symlink(const char *to, const char *path)
{
    touch(path);
    return is_refused(path) ? no_space() : (int)syscall(SYS_symlinkat, to, AT_FDCWD, path);
}

int stat(const char *restrict path, struct stat *restrict ret)
{
    touch(path);
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret, 0);
}

int lstat(const char *restrict path, struct stat *restrict ret)
{
    touch(path);
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}

int access(const char *path, int mode)
{
    touch(path);
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

int unlink(const char *path)
{
    touch(path);
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
