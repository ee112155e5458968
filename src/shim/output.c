/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_SIZE = 4096,
    DRAIN_CHUNKS_MAX = 64, /* more than any pipe of ours holds */
};

static int file_open(const struct order *order, struct stream *stream, bool truncate)
{
    /* Not blocking: opening a FIFO without a reader must fail, not wait. */
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
    struct stat info;

    stream->file_fd = open(stream->path, flags | (truncate ? O_TRUNC : 0), 0666);
    if (stream->file_fd < 0)
        return errno;
    bool is_file = fstat(stream->file_fd, &info) == 0 && S_ISREG(info.st_mode);
    stream->rotates = is_file && order->bytes_max > 0;
    stream->size = is_file ? info.st_size : 0;
    return 0;
}

static bool stream_open(struct shim *shim, struct stream *stream, const char *path)
{
    int ends[2];

    stream->path = path;
    user_begin(&shim->order);
    int code = file_open(&shim->order, stream, !shim->order.append);
    user_end(&shim->order);
    if (code != 0) {
        shim_fail(shim, code, "output not writable: %s: %s", path, words_errno(code));
        return false;
    }
    bool is_terminal = shim->order.attach == ATTACH_TERMINAL;
    if (is_terminal)
        code = terminal_open(&shim->order, ends);
    else if (pipe2(ends, O_CLOEXEC) < 0)
        code = errno;
    if (code != 0) {
        shim_fail(shim, code, "cannot make a %s for the output: %s",
                  is_terminal ? "terminal" : "pipe", words_errno(code));
        return false;
    }
    /* Only our end: whether the job's blocks is the job's affair. */
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    stream->pipe_fd = ends[0];
    stream->job_fd = ends[1];
    return true;
}

bool streams_open(struct shim *shim)
{
    const struct order *order = &shim->order;

    umask(order->umask); /* to stay: rotated files are made with it too, and the job gets it */
    if (!stream_open(shim, &shim->streams[0], order->output))
        return false;
    if (order->attach == ATTACH_STDIN && !input_open(shim))
        return false;
    if (!order->error || order->attach == ATTACH_TERMINAL ||
        strcmp(order->error, order->output) == 0)
        return true;
    return stream_open(shim, &shim->streams[1], order->error);
}

/* PATH.1 is the youngest. */
static int files_shift(const struct stream *stream, unsigned keep)
{
    char from[PATH_SIZE], to[PATH_SIZE];

    for (unsigned i = keep; i > 1; i--) {
        snprintf(from, sizeof(from), "%s.%u", stream->path, i - 1);
        snprintf(to, sizeof(to), "%s.%u", stream->path, i);
        rename(from, to);
    }
    if (snprintf(to, sizeof(to), "%s.1", stream->path) >= (int)sizeof(to))
        return ENAMETOOLONG;
    if (keep == 0)
        return unlink(stream->path) < 0 && errno != ENOENT ? errno : 0;
    /* Its owner may have removed it; a new one follows. */
    return rename(stream->path, to) < 0 && errno != ENOENT ? errno : 0;
}

/* 0 or an errno; the stream then goes on losing its output and tries again. */
static int stream_rotate(const struct order *order, struct stream *stream)
{
    int code = files_shift(stream, order->keep);
    if (code != 0)
        return code;
    close(stream->file_fd);
    return file_open(order, stream, true);
}

/* How many of these bytes go into the file before the next rotation: whole lines if there are. */
static size_t share_before_rotation(const struct order *order, const struct stream *stream,
                                    const char *bytes, size_t length)
{
    if (!stream->rotates || stream->size + (int64_t)length <= order->bytes_max)
        return length;
    int64_t room = order->bytes_max - stream->size;
    if (room <= 0)
        return 0;
    const char *newline = memrchr(bytes, '\n', (size_t)room);
    if (newline)
        return (size_t)(newline - bytes) + 1;
    return stream->size > 0 ? 0 : (size_t)room;
}

/* One write: 0 or an errno. *ret_done counts what the file took. */
static int file_write(struct stream *stream, const char *bytes, size_t length, size_t *ret_done)
{
    *ret_done = 0;
    ssize_t done = write(stream->file_fd, bytes, length);
    if (done < 0)
        return errno;
    stream->size += done;
    *ret_done = (size_t)done;
    return (size_t)done == length ? 0 : ENOSPC;
}

static int loss_note(struct stream *stream)
{
    char note[160];
    size_t done;

    int length = snprintf(note, sizeof(note), "\ntarn: %lld bytes of output were lost here: %s\n",
                          (long long)stream->lost_bytes, words_errno(stream->lost_errno));
    int code = file_write(stream, note, (size_t)length, &done);
    if (code == 0)
        stream->lost_bytes = 0;
    return code;
}

static int stream_write(const struct order *order, struct stream *stream, const char *bytes,
                        size_t length, size_t *ret_done)
{
    int code = 0;

    *ret_done = 0;
    if (stream->file_fd < 0)
        code = file_open(order, stream, false);
    /* While a full file can't be rotated, notes must not make it longer either. */
    if (code == 0 && stream->lost_bytes > 0 && stream->rotates && stream->size >= order->bytes_max)
        code = stream_rotate(order, stream);
    if (code == 0 && stream->lost_bytes > 0)
        code = loss_note(stream);
    while (code == 0 && *ret_done < length) {
        size_t done = 0;
        size_t share = share_before_rotation(order, stream, bytes + *ret_done, length - *ret_done);

        if (share > 0)
            code = file_write(stream, bytes + *ret_done, share, &done);
        *ret_done += done;
        if (code == 0 && *ret_done < length)
            code = stream_rotate(order, stream);
    }
    return code;
}

/* A disk that is full takes nothing from the job but its output. All of it is done as the user,
 * writing too: quotas count, and what is kept free for root stays free. */
static void stream_store(const struct order *order, struct stream *stream, const char *bytes,
                         size_t length)
{
    size_t done;

    user_begin(order);
    int code = stream_write(order, stream, bytes, length, &done);
    user_end(order);
    if (code == 0)
        return;
    stream->lost_bytes += (int64_t)(length - done);
    stream->lost_errno = code;
}

/* False at the end of what is there. */
static bool stream_read(struct shim *shim, struct stream *stream)
{
    static char chunk[STREAM_CHUNK];

    ssize_t length = read(stream->pipe_fd, chunk, sizeof(chunk));
    if (length > 0) {
        stream_store(&shim->order, stream, chunk, (size_t)length);
        attach_show(shim, chunk, (size_t)length);
        return true;
    }
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    close(stream->pipe_fd);
    stream->pipe_fd = -1;
    return false;
}

void stream_pump(struct shim *shim, struct stream *stream)
{
    stream_read(shim, stream);
}

void streams_drain(struct shim *shim)
{
    for (size_t i = 0; i < 2; i++) {
        struct stream *stream = &shim->streams[i];
        unsigned chunks = 0;

        while (stream->pipe_fd >= 0 && stream_read(shim, stream) && chunks < DRAIN_CHUNKS_MAX)
            chunks++;
    }
    attach_drain(shim);
}
