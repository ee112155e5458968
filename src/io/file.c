/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

enum { ASIDE_BYTES_MAX = 1 << 30 };

static int failed(struct error *err, const char *path)
{
    int code = errno;

    return error_set(err, -code, "%s: %s", path, strerror(code));
}

int file_read(const char *path, size_t bytes_max, struct text *text, struct error *err)
{
    char chunk[16384];
    size_t total = 0;
    ssize_t length = 0;

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return failed(err, path);
    while (total <= bytes_max) {
        length = read(fd, chunk, sizeof(chunk));
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            break;
        text_add_bytes(text, chunk, (size_t)length);
        total += (size_t)length;
    }
    int code = length < 0 ? failed(err, path) : 0;
    close(fd);
    if (code == 0 && total > bytes_max)
        return error_set(err, -EFBIG, "%s: more than %zu bytes", path, bytes_max);
    return code;
}

int file_put(const char *path, const char *value, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return failed(err, path);
    int code = write(fd, value, strlen(value)) < 0 ? failed(err, path) : 0;
    close(fd);
    return code;
}

static int bytes_write(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t done = write(fd, bytes, length);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        bytes += done;
        length -= (size_t)done;
    }
    return fsync(fd);
}

int folder_sync(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int code = fd < 0 || fsync(fd) < 0 ? failed(err, path) : 0;

    if (fd >= 0)
        close(fd);
    return code;
}

/* The rename itself is only safe once the folder is on disk. */
static int parent_sync(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *parent = slash ? mem_string_of(path, (size_t)(slash - path) + 1) : NULL;

    return folder_sync(parent ? parent : ".", err);
}

int file_replace(const char *path, const char *bytes, size_t length, struct error *err)
{
    AUTO_FREE char *temporary = mem_printf("%s.new", path);

    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return failed(err, path);
    int code = bytes_write(fd, bytes, length) < 0 ? failed(err, path) : 0;
    close(fd);
    if (code == 0)
        code = rename(temporary, path) < 0 ? failed(err, path) : parent_sync(path, err);
    if (code != 0)
        unlink(temporary);
    return code;
}

static char *name_aside(const char *path, const char *word)
{
    char *aside = NULL;

    for (int64_t at = time(NULL); !aside || access(aside, F_OK) == 0; at++) {
        free(aside);
        aside = mem_printf("%s.%s-%" PRId64, path, word, at);
    }
    return aside;
}

int file_put_aside(const char *path, const char *word, char **ret_name, struct error *err)
{
    static const char *const beside[] = { "-wal", "-shm" };
    AUTO_FREE char *aside = name_aside(path, word);

    if (rename(path, aside) < 0)
        return failed(err, path);
    for (size_t i = 0; i < COUNT_OF(beside); i++) {
        AUTO_FREE char *from = mem_printf("%s%s", path, beside[i]);
        AUTO_FREE char *to = mem_printf("%s%s", aside, beside[i]);
        rename(from, to); /* of a database that was not closed */
    }
    if (ret_name)
        *ret_name = TAKE(aside);
    return 0;
}

int file_copy_aside(const char *path, const char *word, char **ret_name, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO_FREE char *aside = name_aside(path, word);

    int code = file_read(path, ASIDE_BYTES_MAX, &bytes, err);
    if (code == 0)
        code = file_replace(aside, text_string(&bytes), bytes.length, err);
    if (code == 0)
        *ret_name = TAKE(aside);
    return code;
}

int folder_make(const char *path, unsigned mode, struct error *err)
{
    struct stat info;

    if (mkdir(path, (mode_t)mode) == 0)
        return 0;
    if (errno != EEXIST)
        return failed(err, path);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return 0;
    return error_set(err, -ENOTDIR, "%s: not a folder", path);
}

int folder_is_empty(const char *path)
{
    DIR *folder = opendir(path);
    int is_empty = 1;

    if (!folder)
        return -errno;
    for (struct dirent *entry = readdir(folder); entry && is_empty; entry = readdir(folder))
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(folder);
    return is_empty;
}
