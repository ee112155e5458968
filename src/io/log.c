/* SPDX-License-Identifier: Apache-2.0 */
#include "io/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

void log_line(int priority, const char *format, ...)
{
    static int is_terminal = -1;
    char line[1024];
    va_list args;

    if (is_terminal < 0)
        is_terminal = isatty(STDERR_FILENO);
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    string_clean(line, sizeof(line), line, strlen(line)); /* users and drivers wrote parts of it */
    if (is_terminal)
        fprintf(stderr, "%s\n", line);
    else
        fprintf(stderr, "<%d>%s\n", priority, line);
}
