/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_SCREEN_H
#define CLI_TOP_TOP_SCREEN_H

/* top_screen - shows frames on a terminal; the only file that uses ncurses
 *
 * The caller blocks signals while it is open, and calls close whatever ends the program.
 *
 * Order of calls:  open, (resize | show | key)*, close
 * Limits:          one at a time
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cli/top/top_frame.h"

/* Fails with -ENOTTY if the terminal cannot be drawn on; the message names an alternative. */
int top_screen_open(bool has_colours, struct error *err);
void top_screen_close(void); /* accepts one that is not open */

/* Read the current size of the terminal. */
void top_screen_resize(size_t *ret_width, size_t *ret_height);
void top_screen_show(const struct frame *frame);
/* The next key pressed, one of top_view.h's; -1: none. */
int top_screen_key(void);

/* ---- keyboard and signals as descriptors, so that a signal interrupts nothing ---- */

struct top_input {
    int signals; /* readable when a signal is pending */
    int any;     /* readable when a signal or a key is */
};

/* Block SIGINT, SIGTERM, SIGHUP and SIGWINCH; close must be called even after a failure. */
int input_open(struct top_input *input, struct error *err);
void input_close(struct top_input *input);

#endif
