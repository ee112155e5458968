/* SPDX-License-Identifier: Apache-2.0 */
#include "io/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

/* systemd says which stream is the journal's; a shell below may have sent stderr elsewhere. */
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uint64_t device, inode;
    struct stat status;

    return stream && sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

void log_line(int priority, const char *format, ...)
{
    static int has_prefix = -1;
    char line[1024];
    va_list args;

    if (has_prefix < 0)
        has_prefix = is_journal();
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    string_clean(line, sizeof(line), line, strlen(line)); /* users and drivers wrote parts of it */
    if (has_prefix)
        fprintf(stderr, "<%d>%s\n", priority, line);
    else
        fprintf(stderr, "%s\n", line);
}
