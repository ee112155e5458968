/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_DRAW_H
#define CLI_TOP_TOP_DRAW_H

/* top_draw - draws the frame of tarn top: a line with totals, the GPUs, the jobs, the queue, the
 * keys
 *
 * The same world and view give the same frame. The lists share the available lines: each gets what
 * it needs until none are left; the cursor scrolls the rest. An unknown number is '-'.
 */

#include "cli/top/top_frame.h"
#include "cli/top/top_view.h"
#include "cli/top/top_world.h"

/* The frame must be initialized with the view's width. Stores the scroll positions in view. */
void top_draw(struct frame *frame, struct top_view *view, const struct top_world *world);

/* ---- its parts ---- */

/* The rows of a list that are shown. */
struct top_window {
    size_t first, count;
};

/* A title line and the window's rows. */
void draw_gpus(struct frame *frame, const struct top_view *view, const struct top_world *world,
               struct top_window window);
/* All details of one GPU, in DETAIL_LINES lines. */
enum { DETAIL_LINES = 5 };
void draw_details(struct frame *frame, const struct top_view *view, const struct top_world *world,
                  const struct top_gpu *gpu);
/* A title line and the window's lines of nodes. */
void draw_map(struct frame *frame, const struct top_view *view, const struct top_world *world,
              struct top_window window);

#endif
