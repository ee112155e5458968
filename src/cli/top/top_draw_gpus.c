/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU a line, and all of one; or a map of nodes, a sign a GPU. */
#include <inttypes.h>
#include <math.h>

#include "cli/fields.h"
#include "cli/top/top_draw.h"

enum { WIDTH_USUAL = 80, JOB_WIDTH_MIN = 10, NODE_WIDTH_MAX = 16, BAR_MAX = 24, SPARK_MAX = 60 };

/* The parts of a line. */
enum gpu_part { PART_INDEX, PART_NODE, PART_MODEL, PART_VALUE, PART_BAR, PART_SPARK };
enum gpu_column {
    COLUMN_INDEX,
    COLUMN_NODE,
    COLUMN_MODEL,
    COLUMN_USE,
    COLUMN_USE_BAR,
    COLUMN_SPARK,
    COLUMN_MEMORY,
    COLUMN_MEMORY_BAR,
    COLUMN_POWER,
    COLUMN_TEMPERATURE,
    GPU_COLUMNS,
};

static const struct {
    const char *title;
    size_t width; /* on a screen of the usual width */
    enum gpu_part part;
    enum top_reading reading;
    enum top_order_gpus order; /* that has its title marked; GPUS_ORDERS: none */
} gpu_columns[GPU_COLUMNS] = {
    [COLUMN_INDEX] = { "GPU", 3, PART_INDEX, TOP_USE, GPUS_BY_PLACE },
    [COLUMN_NODE] = { "NODE", 0, PART_NODE, TOP_USE, GPUS_ORDERS },
    [COLUMN_MODEL] = { "MODEL", 0, PART_MODEL, TOP_USE, GPUS_ORDERS },
    [COLUMN_USE] = { "USE", 4, PART_VALUE, TOP_USE, GPUS_BY_USE },
    [COLUMN_USE_BAR] = { "", 8, PART_BAR, TOP_USE, GPUS_ORDERS },
    [COLUMN_SPARK] = { "", 8, PART_SPARK, TOP_USE, GPUS_ORDERS },
    [COLUMN_MEMORY] = { "MEMORY", 11, PART_VALUE, TOP_MEMORY, GPUS_BY_MEMORY },
    [COLUMN_MEMORY_BAR] = { "", 6, PART_BAR, TOP_MEMORY, GPUS_ORDERS },
    [COLUMN_POWER] = { "POWER", 9, PART_VALUE, TOP_POWER, GPUS_BY_POWER },
    [COLUMN_TEMPERATURE] = { "TEMP", 5, PART_VALUE, TOP_TEMPERATURE, GPUS_BY_TEMPERATURE },
};

/* "4 ana, 9 ben" */
static void gpu_jobs_add(const json_t *gpu, struct text *text)
{
    const json_t *job;
    size_t i;

    json_array_foreach(json_object_get(gpu, "jobs"), i, job) text_printf(
        text, "%s%s %s", i > 0 ? ", " : "", field_text(job, "label"), field_text(job, "user"));
}

static void add_memory(const struct top_gpu *gpu, struct text *text)
{
    double used = gpu->values[TOP_MEMORY], most = gpu->mosts[TOP_MEMORY];
    bool is_small = most < 1024;
    double unit = is_small ? 1 : 1024;

    if (isnan(most))
        text_printf(text, "%.0f %s", used / unit, is_small ? "MiB" : "GiB");
    else
        text_printf(text, "%.0f/%.0f %s", used / unit, most / unit, is_small ? "MiB" : "GiB");
}

/* "71/80 GiB", "612/700 W", "92%"; "-" for an unknown value. */
static void gpu_value_add(const struct top_gpu *gpu, enum top_reading reading, struct text *text)
{
    double value = gpu->values[reading];

    if (isnan(value))
        text_add(text, "-");
    else if (reading == TOP_USE)
        text_printf(text, "%.0f%%", value * 100);
    else if (reading == TOP_MEMORY)
        add_memory(gpu, text);
    else if (reading == TOP_TEMPERATURE)
        text_printf(text, "%.0f°C", value);
    else if (isnan(gpu->mosts[TOP_POWER]) || value >= 1000)
        text_printf(text, "%.0f W", value);
    else
        text_printf(text, "%.0f/%.0f W", value, gpu->mosts[TOP_POWER]);
}

/* ---- how wide: 0 leaves a column out ---- */

static size_t total_width(const size_t *widths)
{
    size_t total = 1;

    for (size_t i = 0; i < GPU_COLUMNS; i++)
        total += widths[i] > 0 ? widths[i] + 1 : 0;
    return total;
}

static size_t at_most(size_t value, size_t most)
{
    return value < most ? value : most;
}

static void widen(size_t *widths, size_t spare)
{
    widths[COLUMN_MODEL] = spare > 20 ? 10 : 0;
    widths[COLUMN_USE_BAR] += at_most(spare / 8, BAR_MAX);
    widths[COLUMN_MEMORY_BAR] += at_most(spare / 8, BAR_MAX);
    if (widths[COLUMN_SPARK] > 0)
        widths[COLUMN_SPARK] += at_most(spare / 4, SPARK_MAX);
}

static void choose_widths(const struct top_view *view, const struct top_world *world,
                          size_t *widths)
{
    /* What a narrow screen can do without, the least wanted first. */
    static const enum gpu_column optional[] = {
        COLUMN_SPARK, COLUMN_MEMORY_BAR, COLUMN_USE_BAR,
        COLUMN_NODE,  COLUMN_POWER,      COLUMN_TEMPERATURE
    };

    for (size_t i = 0; i < GPU_COLUMNS; i++)
        widths[i] = gpu_columns[i].width;
    if (world->index_width > widths[COLUMN_INDEX])
        widths[COLUMN_INDEX] = world->index_width;
    if (view->height == 0)
        widths[COLUMN_SPARK] = 0;
    if (world->nodes.count > 1)
        widths[COLUMN_NODE] = at_most(world->node_width, NODE_WIDTH_MAX);
    if (widths[COLUMN_NODE] > 0 && widths[COLUMN_NODE] < 4)
        widths[COLUMN_NODE] = 4;
    if (view->width > WIDTH_USUAL)
        widen(widths, view->width - WIDTH_USUAL);
    for (size_t i = 0; i < COUNT_OF(optional); i++) {
        if (total_width(widths) + JOB_WIDTH_MIN <= view->width)
            return;
        widths[optional[i]] = 0;
    }
}

/* ---- a line ---- */

static void add_field(struct frame *frame, size_t width, bool is_right, unsigned style,
                      const char *words)
{
    if (width == 0)
        return;
    if (is_right)
        frame_add_right(frame, style, width, words);
    else
        frame_add_left(frame, style, width, words);
    frame_pad(frame, frame->column + 1);
}

static bool is_right(enum gpu_part part)
{
    return part == PART_INDEX || part == PART_VALUE;
}

static void add_part(struct frame *frame, const struct top_world *world, const struct top_gpu *gpu,
                     enum gpu_part part, enum top_reading reading, size_t width)
{
    AUTO_RELEASE(text) struct text words = { 0 };
    const struct top_history *history;

    switch (part) {
    case PART_INDEX:
        text_printf(&words, "%" PRId64, field_number(gpu->view, "index"));
        break;
    case PART_NODE:
        text_add(&words, field_text(gpu->view, "node"));
        break;
    case PART_MODEL:
        upper_add(field_text(gpu->view, "model"), &words);
        break;
    case PART_VALUE:
        gpu_value_add(gpu, reading, &words);
        break;
    case PART_BAR:
        bar_add(&words, gpu->parts[reading], width, frame->is_utf8);
        break;
    case PART_SPARK:
        history = world_history(world, field_text(gpu->view, "uuid"));
        if (history)
            spark_add(&words, history->parts[reading], history->count, width, frame->is_utf8);
        break;
    }
    add_field(frame, width, is_right(part),
              part == PART_BAR || part == PART_SPARK ? TABLE_GOOD : TABLE_PLAIN,
              text_string(&words));
}

/* Why it is not allocated, its jobs, its fault. */
static void add_fate(struct frame *frame, const struct top_gpu *gpu)
{
    AUTO_RELEASE(text) struct text jobs = { 0 };
    const char *sick = field_text(gpu->view, "sick");
    const json_t *fault = json_array_get(json_object_get(gpu->view, "faults"), 0);

    gpu_jobs_add(gpu->view, &jobs);
    frame_pad(frame, frame->column + 1);
    bool is_occupied = field_is_true(gpu->view, "occupied");
    if (sick[0])
        frame_printf(frame, is_occupied ? TABLE_WAITS : TABLE_BAD, "%s%s%s",
                     is_occupied ? "" : "drained: ", sick, jobs.length > 0 ? " · " : "");
    else if (fault && jobs.length == 0)
        frame_add(frame, TABLE_WAITS, field_text(fault, "words"));
    if (jobs.length > 0)
        frame_add(frame, TABLE_PLAIN, text_string(&jobs));
    else if (!sick[0] && !fault)
        frame_add(frame, TABLE_FAINT, "free");
}

static void draw_gpu(struct frame *frame, const struct top_world *world, const size_t *widths,
                     const struct top_gpu *gpu, bool is_selected)
{
    frame_start_line(frame, is_selected ? FRAME_SELECTED : TABLE_PLAIN);
    frame_add(frame, TABLE_PLAIN, is_selected ? ">" : " ");
    for (size_t i = 0; i < GPU_COLUMNS; i++)
        add_part(frame, world, gpu, gpu_columns[i].part, gpu_columns[i].reading, widths[i]);
    add_fate(frame, gpu);
    if (is_selected)
        frame_pad(frame, frame->width);
}

void draw_gpus(struct frame *frame, const struct top_view *view, const struct top_world *world,
               struct top_window window)
{
    size_t widths[GPU_COLUMNS];

    choose_widths(view, world, widths);
    frame_start_line(frame, FRAME_BOLD);
    frame_pad(frame, 1);
    for (size_t i = 0; i < GPU_COLUMNS; i++)
        add_field(frame, widths[i], is_right(gpu_columns[i].part),
                  gpu_columns[i].order == view->choice.gpus ? TABLE_GOOD : TABLE_PLAIN,
                  gpu_columns[i].title);
    frame_add(frame, TABLE_PLAIN, " JOB");
    for (size_t i = window.first; i < window.first + window.count; i++)
        draw_gpu(frame, world, widths, &world->gpus.items[i],
                 view->height > 0 && view->list == TOP_GPUS && view->place == i);
}

/* ---- all of one ---- */

void draw_details(struct frame *frame, const struct top_view *view, const struct top_world *world,
                  const struct top_gpu *gpu)
{
    static const char *const names[TOP_READINGS] = { "use", "memory", "power", "temp" };
    const size_t label = 8, value = 14, bar = view->width / 5, taken = 2 + label + 1 + value + 1;
    AUTO_RELEASE(text) struct text jobs = { 0 };

    gpu_jobs_add(gpu->view, &jobs);
    frame_start_line(frame, FRAME_BOLD);
    frame_printf(frame, TABLE_PLAIN, " gpu %" PRId64 " · %s · %s · pool %s · %s",
                 field_number(gpu->view, "index"), field_text(gpu->view, "product"),
                 field_text(gpu->view, "node"), field_text(gpu->view, "pool"),
                 jobs.length > 0 ? text_string(&jobs) : "free");
    for (enum top_reading i = 0; i < TOP_READINGS; i++) {
        frame_start_line(frame, TABLE_PLAIN);
        frame_pad(frame, 2);
        add_field(frame, label, false, TABLE_FAINT, names[i]);
        add_part(frame, world, gpu, PART_VALUE, i, value);
        add_part(frame, world, gpu, PART_BAR, i, bar);
        size_t rest = view->width > taken + bar + 2 ? view->width - taken - bar - 2 : 0;
        add_part(frame, world, gpu, PART_SPARK, i, at_most(rest, HISTORY_MAX));
    }
}

/* ---- the map ---- */

static const double idle_part = 0.05; /* less use than this is none */

/* Without a utilization reading, show the allocated share. */
static const char *sign_of(const struct frame *frame, const struct top_gpu *gpu,
                           unsigned *ret_style)
{
    double use = gpu->parts[TOP_USE];
    bool is_given = field_milli(gpu->view, "given") > 0;

    *ret_style = TABLE_FAINT;
    if (field_text(gpu->view, "sick")[0] && !field_is_true(gpu->view, "occupied")) {
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
