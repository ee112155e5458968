/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mark.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

/* Always the same length: one write replaces it whole, also on a full disk. */
enum { MARK_LENGTH = 21 };

static int open_file(const char *dir, int flags)
{
    AUTO_FREE char *path = mem_printf("%s/journal.last", dir);

    return open(path, flags | O_CLOEXEC, 0600);
}

uint64_t mark_read(const char *dir)
{
    char text[MARK_LENGTH + 1] = "", *end;

    int fd = open_file(dir, O_RDONLY);
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, text, MARK_LENGTH);
    close(fd);
    uint64_t sequence = strtoull(text, &end, 10);
    return length == MARK_LENGTH && end == text + MARK_LENGTH - 1 && *end == '\n' ? sequence : 0;
}

int mark_open(const char *dir)
{
    return open_file(dir, O_WRONLY | O_CREAT);
}

void mark_write(int fd, uint64_t sequence)
{
    char text[MARK_LENGTH + 1];

    if (fd < 0)
        return;
    snprintf(text, sizeof(text), "%020" PRIu64 "\n", sequence);
    ssize_t written = pwrite(fd, text, MARK_LENGTH, 0);
    (void)written; /* the next one may succeed */
}
