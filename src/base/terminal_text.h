/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TERMINAL_TEXT_H
#define BASE_TERMINAL_TEXT_H

/* terminal_text - what a program wrote for a terminal, as text that acts on no terminal
 *
 * Of a progress bar, which overwrites its line with carriage returns or cursor movements, only the
 * last state remains. Colors, titles, and all other sequences are left out. Invalid UTF-8 becomes
 * '?'.
 *
 * Limits:  cursor movements to the right end at column 1000, and leave a million blanks in all
 */

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Add the lines as a terminal would show them; each ends with a newline. */
void terminal_text_add(struct text *out, const char *bytes, size_t length);

/* A stream that is shown on a terminal as it comes. Colors, and movements within some lines, pass;
 * what changes the title, the mode or the rest of the screen does not. Invisible characters and
 * invalid UTF-8 become '?'. */
struct terminal_filter {
    char sequence[32]; /* an escape sequence so far */
    size_t length;     /* 0: none */
    bool is_string;    /* within a title or the like */
    char character[4]; /* a character of several bytes so far */
    size_t held;       /* its bytes; 0: none */
    uint32_t before;   /* the character before it */
};

void terminal_filter_add(struct terminal_filter *filter, struct text *out, const char *bytes,
                         size_t length);

#endif
