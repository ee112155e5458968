/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_SCREEN_H
#define CLI_TOP_TOP_SCREEN_H

/* top_screen - a terminal that frames are shown on, through ncurses; the only file that knows it
 *
 * Signals do not come while it is open: whoever opens it has them blocked, and sees to it that
 * close is called whatever ends the program.
 *
 * Order of calls:  open, (resize | show | key)*, close
 * Limits:          one at a time
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cli/top/top_frame.h"

/* Fails with -ENOTTY where nothing can be drawn, in words that say what to do instead. */
int top_screen_open(bool has_colours, struct error *err);
void top_screen_close(void); /* one that is not open is fine */

/* Look how large the terminal is now. */
void top_screen_resize(size_t *ret_width, size_t *ret_height);
void top_screen_show(const struct frame *frame);
/* The next key that was pressed, one of top_view.h's; -1: none is there. */
int top_screen_key(void);

#endif
