/* SPDX-License-Identifier: Apache-2.0 */
/* clock_shift - the clocks of one process, set by a test
 *
 * To be preloaded. The file $CLOCK_SHIFT begins with two numbers of seconds: by the first the wall
 * clock is ahead, by the second the clock since the start of the machine (CLOCK_BOOTTIME). Others
 * are as they are.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { OF_WALL, OF_BOOT };

static long shift(int which)
{
    const char *path = getenv("CLOCK_SHIFT");
    char bytes[64] = "", *rest;

    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, bytes, sizeof(bytes) - 1);
    close(fd);
    if (length <= 0)
        return 0;
    long wall = strtol(bytes, &rest, 10), boot = strtol(rest, NULL, 10);
    return which == OF_WALL ? wall : boot;
}

int clock_gettime(clockid_t which, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, which, time);

    if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        time->tv_sec += shift(OF_WALL);
    if (result == 0 && which == CLOCK_BOOTTIME)
        time->tv_sec += shift(OF_BOOT);
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *ret)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}
