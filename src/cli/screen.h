/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

/* screen - what a stream can show, and what we say on it
 *
 * Results go to standard output, talk to standard error. Colours are used on a terminal only, and
 * not where NO_COLOR is set or TERM is "dumb". Where the locale is set to one that is not UTF-8,
 * our few signs beyond ASCII are replaced.
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
    bool has_cursor;      /* can be drawn on */
    size_t width, height; /* 0: it is no terminal */
};

void screen_look(FILE *stream, struct screen *ret);

/* Whether signs beyond ASCII may be written: unless the locale says that it is another one. */
bool screen_is_utf8(void);
/* Write text; nothing is added. */
void screen_put(FILE *stream, const char *text);
/* Print a table on standard output, as wide as its terminal. */
void screen_table(const struct table *table);

/* "tarn: words" on standard error. */
void say(const char *format, ...) PRINTF(1, 2);
/* A line on standard error, as it is. */
void talk(const char *format, ...) PRINTF(1, 2);
/* Say what went wrong; returns 1, the exit status. */
int complain(const struct error *err);

#endif
