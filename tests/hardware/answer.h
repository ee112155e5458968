/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_HARDWARE_ANSWER_H
#define TESTS_HARDWARE_ANSWER_H

/* answer - how check-driver and check-cuda tell check-hardware what came of a check
 *
 * One line on standard output says what was seen, and the exit status says what it means.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/compiler.h"

enum answer {
    ANSWER_OK = 0,
    ANSWER_FAILED = 1,
    ANSWER_USAGE = 2,
    ANSWER_IMPOSSIBLE = 77, /* on this machine; the line says why */
};

PRINTF(2, 3) static inline int answer(enum answer answer, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    return (int)answer;
}

#endif
