/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/srun_share.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Places in the file: the number and its lock, then a byte a CPU, then a byte a GPU. */
enum { NUMBER_AT = 0, CPUS_AT = 16, GPUS_AT = 1 << 20, PAUSE_MS = 50 };

static int lock(int fd, int type, off_t at, off_t length, bool waits)
{
    struct flock range = {
        .l_type = (short)type, .l_whence = SEEK_SET, .l_start = at, .l_len = length
    };

    while (fcntl(fd, waits ? F_OFD_SETLKW : F_OFD_SETLK, &range) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return 0;
}

/* The first free ones; ret_places may be NULL. Returns how many. */
static uint32_t take_bytes(int fd, off_t at, uint32_t total, uint32_t wanted, uint32_t *ret_places)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < total && count < wanted; i++) {
        if (lock(fd, F_WRLCK, at + i, 1, false) < 0)
            continue;
        if (ret_places)
            ret_places[count] = i;
        count++;
    }
    return count;
}

static bool try_take(struct srun_share *share)
{
    if (take_bytes(share->fd, CPUS_AT, share->cpus_total, share->cpus, NULL) == share->cpus &&
        take_bytes(share->fd, GPUS_AT, share->gpus_total, share->gpus, share->gpu_places) ==
            share->gpus)
        return true;
    lock(share->fd, F_UNLCK, CPUS_AT, 0, true);
    return false;
}

static uint32_t next_number(int fd)
{
    uint32_t number = 0, next;

    if (pread(fd, &number, sizeof(number), NUMBER_AT) != (ssize_t)sizeof(number))
        number = 0;
    next = number + 1;
    return pwrite(fd, &next, sizeof(next), NUMBER_AT) == (ssize_t)sizeof(next) ? number : 0;
}

int srun_share_take(struct srun_share *share, const char *path, void (*told)(void),
                    struct error *err)
{
    const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
    bool is_first = true, has_taken = false;

    share->fd = -1;
    if (!path)
        return 0;
    share->fd = open(path, O_RDWR | O_CLOEXEC);
    if (share->fd < 0)
        return error_set(err, -errno, "steps of the job: %s: %s", path, strerror(errno));
    while (!has_taken) {
        int code = lock(share->fd, F_WRLCK, NUMBER_AT, CPUS_AT, true);
        if (code < 0) {
            srun_share_give(share);
            return error_set(err, code, "steps of the job: %s: %s", path, strerror(-code));
        }
        has_taken = try_take(share);
        if (has_taken)
            share->number = next_number(share->fd);
        lock(share->fd, F_UNLCK, NUMBER_AT, CPUS_AT, true);
        if (!has_taken && is_first)
            told();
        is_first = false;
        if (!has_taken)
            nanosleep(&pause, NULL);
    }
    return 0;
}

void srun_share_give(struct srun_share *share)
{
    if (share->fd >= 0)
        close(share->fd);
    share->fd = -1;
}
