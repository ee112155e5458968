/* SPDX-License-Identifier: Apache-2.0 */
/* Machines and their GPUs when there are many: a sign a GPU. */
#include <math.h>

#include "cli/fields.h"
#include "cli/top/top_bar.h"
#include "cli/top/top_draw.h"

enum { NODE_WIDTH_MAX = 16 };

static const double idle_part = 0.05; /* less use than this is none */

/* Without a utilization reading, show the allocated share. */
static const char *sign_of(const struct frame *frame, const struct top_gpu *gpu,
                           unsigned *ret_style)
{
    double use = gpu->parts[TOP_USE];
    bool is_given = field_milli(gpu->view, "given") > 0;

    *ret_style = TABLE_FAINT;
    if (field_text(gpu->view, "sick")[0]) {
        *ret_style = TABLE_BAD;
        return "!";
    }
    if (!is_given && (isnan(use) || use < idle_part))
        return frame->is_utf8 ? "·" : ".";
    *ret_style = !isnan(use) && use < idle_part ? TABLE_WAITS : TABLE_GOOD;
    return level_sign(use, frame->is_utf8);
}

static void draw_node(struct frame *frame, const struct top_view *view,
                      const struct top_world *world, const struct top_node *node)
{
    size_t end = frame->column + view_map_width(world);
    size_t name = world->node_width < NODE_WIDTH_MAX ? world->node_width : NODE_WIDTH_MAX;

    frame_add_left(frame, TABLE_PLAIN, name, node->name);
    frame_pad(frame, frame->column + 1);
    for (size_t i = node->first; i < node->first + node->count; i++) {
        bool is_selected = view->list == TOP_GPUS && view->place == i;
        unsigned style;
        const char *sign = sign_of(frame, &world->gpus.items[i], &style);

        frame_add(frame, style | (is_selected ? FRAME_SELECTED : 0), sign);
    }
    frame_pad(frame, end);
}

void draw_map(struct frame *frame, const struct top_view *view, const struct top_world *world,
              struct top_window window)
{
    size_t columns = view_map_columns(view, world);

    frame_start_line(frame, FRAME_BOLD);
    frame_add(frame, TABLE_PLAIN, " GPUS BY NODE");
    frame_printf(frame, TABLE_FAINT, "  use: %s little %s all · - not known · %s free · ! drained",
                 level_sign(0, frame->is_utf8), level_sign(1, frame->is_utf8),
                 frame->is_utf8 ? "·" : ".");
    for (size_t line = window.first; line < window.first + window.count; line++) {
        frame_start_line(frame, TABLE_PLAIN);
        frame_pad(frame, 1);
        for (size_t i = line * columns; i < (line + 1) * columns && i < world->nodes.count; i++)
            draw_node(frame, view, world, &world->nodes.items[i]);
    }
}
