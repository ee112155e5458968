/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
    va_list args;

    if (!err)
        return code;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    return code;
}

int error_prefix(struct error *err, int code, const char *format, ...)
{
    char after[ERROR_TEXT_SIZE];
    va_list args;

    if (!err)
        return code;
    memcpy(after, err->text, sizeof(after));
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);

    size_t length = strlen(err->text);
    int room = (int)(sizeof(err->text) - length) - 3;
    if (room > 0)
        snprintf(err->text + length, sizeof(err->text) - length, ": %.*s", room, after);
    return code;
}

bool error_is_shortage(int code)
{
    return code == -EAGAIN || code == -ENOMEM || code == -EMFILE || code == -ENFILE ||
           code == -ENOSPC;
}
