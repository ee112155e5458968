/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, RETRY_MS = 1000, ROOM_EVERY_MS = 200 };

/* Give the file its name unless the name is taken: 0 or an errno. */
static int name_claim(const char *temporary, const char *path)
{
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    /* A file system without it (NFS) has link(), which does not replace either. */
    if (link(temporary, path) < 0)
        return errno;
    unlink(temporary);
    return 0;
}

static int status_create(const char *temporary)
{
    int flags = O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC;

    int fd = open(temporary, flags, 0600);
    if (fd >= 0 || errno != EEXIST)
        return fd;
    /* Its maker had our pid, so it is dead. */
    unlink(temporary);
    return open(temporary, flags, 0600);
}

static bool record_write(struct shim *shim, const char *record)
{
    size_t length = strlen(record);

    return write(shim->status_fd, record, length) == (ssize_t)length;
}

/* Everything that must hold before the name is visible: the lock is held, room for the end is
 * reserved (so that a full disk can't keep it out), and what a cleaner needs is written. */
static bool status_fill(struct shim *shim)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char record[ORDER_NOTE_MAX + 64];
    const char *note = shim->order.note ? shim->order.note : "";

    if (fcntl(shim->status_fd, F_SETLK, &lock) < 0)
        return false;
    if (fallocate(shim->status_fd, FALLOC_FL_KEEP_SIZE, 0, 4096) < 0 && errno == ENOSPC)
        return false;
    int length =
        snprintf(record, sizeof(record), "member shim=%d %s%s", getpid(), note, ORDER_RECORD_END);
    if (length >= (int)sizeof(record)) {
        errno = ENAMETOOLONG;
        return false;
    }
    errno = ENOSPC; /* a short write sets none */
    return record_write(shim, record);
}

/* 0, EEXIST: another shim has it, or what is wrong. */
static int status_try(struct shim *shim)
{
    char temporary[PATH_SIZE];

    snprintf(temporary, sizeof(temporary), "%s.new.%d", shim->order.status, getpid());
    shim->status_fd = status_create(temporary);
    if (shim->status_fd < 0)
        return errno;
    int code = status_fill(shim) ? name_claim(temporary, shim->order.status) : errno;
    if (code == 0)
        return 0;
    unlink(temporary);
    close(shim->status_fd);
    shim->status_fd = -1;
    return code;
}

/* A full disk is not the job's fault: it starts when there is room again. False: it was asked to
 * stop, or the engine is gone, which would start another shim. */
static bool wait_for_room(struct shim *shim, const sigset_t *stops, pid_t engine)
{
    struct timespec pause = { .tv_nsec = ROOM_EVERY_MS * 1000000L };

    if (sigtimedwait(stops, NULL, &pause) > 0) {
        shim->is_stopping = true;
        shim_fail(shim, ECANCELED, "stopped before it started");
        return false;
    }
    return getppid() == engine;
}

enum status_answer status_take(struct shim *shim)
{
    pid_t engine = getppid();
    sigset_t stops;

    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    sigprocmask(SIG_BLOCK, &stops, NULL); /* signals_open() reads what is pending */
    int code = status_try(shim);
    while ((code == ENOSPC || code == EDQUOT) && wait_for_room(shim, &stops, engine))
        code = status_try(shim);
    if (code == 0)
        return STATUS_OURS;
    if (code == EEXIST)
        return STATUS_TAKEN;
    shim_fail(shim, code, "cannot keep the job's status: %s: %s", shim->order.status,
              words_errno(code));
    return STATUS_FAILED;
}

void notify_flush(struct shim *shim)
{
    if (shim->pending_length == 0)
        return;
    ssize_t sent = write(ORDER_NOTIFY_FD, shim->pending, shim->pending_length);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    /* A note is below PIPE_BUF, so it is written whole, or there is no reader. */
    shim->pending_length = 0;
}

static void notify(struct shim *shim, const char *record)
{
    int length = snprintf(shim->pending, sizeof(shim->pending), "%s %s", shim->order.id, record);

    shim->pending_length =
        length < (int)sizeof(shim->pending) ? (size_t)length : sizeof(shim->pending) - 1;
    notify_flush(shim);
}

/* The successor of a killed shim must distinguish this process from a later one with the same pid.
 */
static uint64_t start_ticks(pid_t pid)
{
    char stat[STAT_SIZE];
    unsigned long long ticks = 0;

    sscanf(tree_stat(pid, stat),
           " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
           "%*d %llu",
           &ticks);
    return ticks;
}

void record_forked(struct shim *shim)
{
    char record[ORDER_RECORD_SIZE];

    snprintf(record, sizeof(record), "forked pid=%d ticks=%llu%s", shim->pid,
             (unsigned long long)start_ticks(shim->pid), ORDER_RECORD_END);
    record_write(shim, record);
}

void record_started(struct shim *shim)
{
    char record[ORDER_RECORD_SIZE];

    snprintf(record, sizeof(record), "started pid=%d%s", shim->pid, ORDER_RECORD_END);
    record_write(shim, record);
    notify(shim, record);
}

/* U+0080 to U+009F, which steer a terminal as ESC does. */
static bool is_c1(const char *text)
{
    unsigned char second = (unsigned char)text[1];

    return (unsigned char)text[0] == 0xc2 && second >= 0x80 && second <= 0x9f;
}

/* Text from a user's path must not look like the end of a record, nor control a terminal. */
static void text_clean(char *text)
{
    for (; *text != '\0'; text++) {
        if (is_c1(text)) {
            *text++ = '?';
            *text = '?';
        } else if ((unsigned char)*text < ' ' || *text == 0x7f) {
            *text = '?';
        }
    }
}

/* A full disk: the reserved block makes this rare. Wait for room until the file is removed, because
 * a reader may still need it. A torn line before is ended first. */
static void record_retry(struct shim *shim, char *record)
{
    struct stat info;

    record[0] = '\n';
    while (fstat(shim->status_fd, &info) == 0 && info.st_nlink > 0) {
        if (record_write(shim, record))
            break;
        poll(NULL, 0, RETRY_MS);
    }
}

void record_end(struct shim *shim, const char *usage)
{
    char line[ORDER_RECORD_SIZE] = "\n";
    char *record = line + 1;
    bool is_kept = true;

    if (shim->failure_errno != 0) {
        text_clean(shim->failure);
        snprintf(record, sizeof(line) - 1, "failed errno=%d stopped=%d lacking=%d text=%s%s",
                 shim->failure_errno, shim->is_stopping, shim->is_lacking, shim->failure,
                 ORDER_RECORD_END);
    } else {
        snprintf(record, sizeof(line) - 1, "ended %s%s", usage, ORDER_RECORD_END);
    }
    if (shim->status_fd >= 0)
        is_kept = record_write(shim, record);
    /* The daemon makes it durable in its journal; the file counts where none hears this. */
    notify_flush(shim);
    notify(shim, record);
    if (!is_kept)
        record_retry(shim, line);
    if (shim->status_fd >= 0)
        fsync(shim->status_fd);
}
