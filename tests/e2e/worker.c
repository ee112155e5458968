/* SPDX-License-Identifier: Apache-2.0 */
/* worker - what the fault tests run as a job
 *
 *   worker FOLDER MILLISECONDS EXIT_STATUS [stay]
 *
 * It appends to FOLDER/log a line when it starts and one when it ends, each in one write, and
 * holds a lock on FOLDER/DEVICE for each whole GPU that it was given, as long as it or its child
 * lives: a job that gets the same GPU meanwhile finds it locked and reports it. With "stay" it
 * leaves a child in another session behind, which holds the locks as well.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const char *folder;

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "?";
}

static void say(const char *what, const char *detail)
{
    char path[512], line[512];

    snprintf(path, sizeof(path), "%s/log", folder);
    int length = snprintf(line, sizeof(line), "%s %s %s %s %s\n", what, variable("TARN_JOB_ID"),
                          variable("TARN_ATTEMPT"), variable("TARN_RANK"), detail);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        _exit(120);
    close(fd);
}

static void lock_devices(void)
{
    char devices[4096], path[1024];
    char *rest = devices;

    snprintf(devices, sizeof(devices), "%s", variable("CUDA_VISIBLE_DEVICES"));
    if (getenv("TARN_GPU_MILLI"))
        return; /* a part: others may be there */
    for (char *device = strsep(&rest, ","); device; device = strsep(&rest, ",")) {
        if (device[0] == '\0')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, device);
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
            say("conflict", device);
    }
}

static void wait_for(long milliseconds)
{
    struct timespec left = { milliseconds / 1000, milliseconds % 1000 * 1000000 };

    while (nanosleep(&left, &left) < 0)
        ;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 121;
    folder = argv[1];
    say("start", "-");
    lock_devices();
    if (argc > 4 && fork() == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        if (fork() == 0)
            wait_for(600000);
        _exit(0);
    }
    wait_for(atol(argv[2]));
    say("end", argv[3]);
    return atoi(argv[3]);
}
