/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The C library's words begin with a capital; ours stand in the middle of a sentence. */
const char *words_errno(int code)
{
    static char text[96];
    const char *words = strerrordesc_np(code);

    if (!words) {
        snprintf(text, sizeof(text), "error %d", code);
        return text;
    }
    snprintf(text, sizeof(text), "%s", words);
    if (text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z')
        text[0] = (char)(text[0] - 'A' + 'a');
    return text;
}

void shim_fail(struct shim *shim, int code, const char *format, ...)
{
    va_list args;

    if (shim->failure_errno != 0)
        return;
    shim->failure_errno = code;
    shim->is_lacking = code == EAGAIN || code == ENOMEM || code == EMFILE || code == ENFILE;
    va_start(args, format);
    vsnprintf(shim->failure, sizeof(shim->failure), format, args);
    va_end(args);
}

int64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
