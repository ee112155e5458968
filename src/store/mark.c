/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/mem.h"
#include "io/file.h"

/* Each line has the same length, so that a write needs no more room on a full disk. */
enum { LINES = 2, DIGITS = 20, LINE_LENGTH = DIGITS + 1 + 16 + 1, OLD_LENGTH = DIGITS + 1 };

/* With room for the text's end. */
struct line {
    char text[LINE_LENGTH + 1];
};

static struct line line_of(uint64_t sequence)
{
    struct line line;

    snprintf(line.text, sizeof(line.text), "%020" PRIu64 " %016" PRIx64 "\n", sequence,
             (uint64_t)XXH3_64bits(&sequence, sizeof(sequence)));
    return line;
}

static bool parse_line(const char *text, uint64_t *ret)
{
    uint64_t sequence = strtoull(text, NULL, 10);

    if (memcmp(text, line_of(sequence).text, LINE_LENGTH) != 0)
        return false;
    *ret = sequence;
    return true;
}

/* An earlier version wrote the number alone. */
static bool parse_old(const char *text, uint64_t *ret)
{
    char *end;

    *ret = strtoull(text, &end, 10);
    return end == text + OLD_LENGTH - 1 && *end == '\n';
}

static bool parse(const char *text, ssize_t length, uint64_t *ret)
{
    bool is_good = length == OLD_LENGTH && parse_old(text, ret);

    for (ssize_t at = 0; at + LINE_LENGTH <= length; at += LINE_LENGTH) {
        uint64_t sequence = 0;
        bool is_one = parse_line(text + at, &sequence);
        if (is_one && (!is_good || sequence > *ret))
            *ret = sequence;
        is_good |= is_one;
    }
    return is_good;
}

static int unreadable(const char *path, const char *why, struct error *err)
{
    return error_set(err, -EBADMSG, "%s: damaged: %s", path, why);
}

int mark_read(const char *dir, uint64_t *ret, struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/journal.last", dir);
    char text[LINES * LINE_LENGTH + 1] = "";
    uint64_t sequence = 0;

    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    ssize_t length = fd < 0 ? -1 : read(fd, text, LINES * LINE_LENGTH);
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (length < 0)
        return unreadable(path, strerror(why), err);
    if (!parse(text, length, &sequence))
        return unreadable(path, "expected the number of the last record", err);
    *ret = sequence;
    return 1;
}

static int write_all(int fd, uint64_t sequence)
{
    char text[LINES * LINE_LENGTH];

    for (int i = 0; i < LINES; i++)
        memcpy(text + i * LINE_LENGTH, line_of(sequence).text, LINE_LENGTH);
    ssize_t written = pwrite(fd, text, sizeof(text), 0);
    if (written != (ssize_t)sizeof(text))
        return written < 0 ? -errno : -EIO;
    return fsync(fd) < 0 ? -errno : 0;
}

/* The file itself is made durable while it has a number that is never too high. */
static int make_file(const char *path, struct error *err)
{
    struct line none = line_of(0);

    return file_replace(path, none.text, LINE_LENGTH, err);
}

int mark_open(const char *dir, uint64_t sequence, struct mark *ret, struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/journal.last", dir);
    uint64_t unused;
    int code = 0;

    int found = mark_read(dir, &unused, NULL);
    if (found < 0)
        code = file_put_aside(path, "damaged", NULL, err);
    if (code == 0 && found <= 0)
        code = make_file(path, err);
    if (code < 0)
        return code;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    code = fd < 0 ? -errno : write_all(fd, sequence);
    if (code < 0) {
        if (fd >= 0)
            close(fd);
        return error_set(err, code, "%s: %s", path, strerror(-code));
    }
    *ret = (struct mark){ .fd = fd };
    return 0;
}

void mark_write(struct mark *mark, uint64_t sequence)
{
    struct line line = line_of(sequence);

    if (mark->fd < 0)
        return;
    mark->turn = (mark->turn + 1) % LINES;
    ssize_t written = pwrite(mark->fd, line.text, LINE_LENGTH, mark->turn * LINE_LENGTH);
    (void)written; /* the next one may succeed */
}

void mark_close(struct mark *mark)
{
    if (mark->fd >= 0)
        close(mark->fd);
    mark->fd = -1;
}

int mark_set(const char *dir, uint64_t sequence, struct error *err)
{
    struct mark mark;

    int code = mark_open(dir, sequence, &mark, err);
    if (code == 0)
        mark_close(&mark);
    return code;
}

void mark_remove(const char *dir)
{
    AUTO_FREE char *path = mem_printf("%s/journal.last", dir);

    unlink(path);
}
