/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

/* screen - the capabilities of a stream, and output to it
 *
 * Results go to standard output, messages to standard error. Colours are for terminals only, unless
 * NO_COLOR is set or TERM is "dumb". In a locale other than UTF-8, signs beyond ASCII are replaced.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/table.h"

struct screen {
    bool is_terminal;
    bool has_colours;
    bool has_cursor;      /* supports cursor movement */
    size_t width, height; /* 0: no terminal */
};

void screen_look(FILE *stream, struct screen *ret);

/* Whether signs beyond ASCII may be written: false only if the locale is not UTF-8. */
bool screen_is_utf8(void);
/* Write text unchanged. */
void screen_put(FILE *stream, const char *text);
/* Write prose: on a terminal, lines are wrapped at words, and continued with an indent. */
void screen_prose(FILE *stream, const char *text);
/* Print a table on standard output, at most as wide as the terminal. */
void screen_table(const struct table *table);

/* "tarn: words" on standard error, without control characters: values of others are in messages. */
void say(const char *format, ...) PRINTF(1, 2);
/* A line on standard error, without a prefix. */
void talk(const char *format, ...) PRINTF(1, 2);
/* Print the error; returns 1, the exit status. */
int complain(const struct error *err);

#endif
