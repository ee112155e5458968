/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU a line, and all of one; or a map of nodes, a sign a GPU. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/fields.h"
#include "cli/top/top_draw.h"

enum { WIDTH_USUAL = 80, JOB_WIDTH_MIN = 10, NODE_WIDTH_MAX = 16, BAR_MAX = 24, SPARK_MAX = 60 };

/* Columns of each part of a line; 0: it is left out. */
struct gpu_columns {
    size_t index, node, model, use, use_bar, spark, memory, memory_bar, power, temperature;
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

/* ---- how wide ---- */

static size_t total_width(const struct gpu_columns *columns)
{
    const size_t widths[] = { columns->index,      columns->node,       columns->model,
                              columns->use,        columns->use_bar,    columns->spark,
                              columns->memory,     columns->memory_bar, columns->power,
                              columns->temperature };
    size_t total = 1;

    for (size_t i = 0; i < COUNT_OF(widths); i++)
        total += widths[i] > 0 ? widths[i] + 1 : 0;
    return total;
}

/* What a narrow screen can do without, the least wanted first. */
static void drop_columns(struct gpu_columns *columns, size_t width)
{
    size_t *const optional[] = { &columns->spark, &columns->memory_bar, &columns->use_bar,
                                 &columns->node,  &columns->power,      &columns->temperature };

    for (size_t i = 0; i < COUNT_OF(optional); i++) {
        if (total_width(columns) + JOB_WIDTH_MIN <= width)
            return;
        *optional[i] = 0;
    }
}

static void widen(struct gpu_columns *columns, size_t spare)
{
    columns->model = spare > 20 ? 10 : 0;
    columns->use_bar += spare / 8 < BAR_MAX ? spare / 8 : BAR_MAX;
    columns->memory_bar += spare / 8 < BAR_MAX ? spare / 8 : BAR_MAX;
    if (columns->spark > 0)
        columns->spark += spare / 4 < SPARK_MAX ? spare / 4 : SPARK_MAX;
}

static struct gpu_columns choose_columns(const struct top_view *view, const struct top_world *world)
{
    struct gpu_columns columns = {
        .index = world->index_width > 3 ? world->index_width : 3,
        .use = 4,
        .use_bar = 8,
        .spark = view->height > 0 ? 8 : 0,
        .memory = 11,
        .memory_bar = 6,
        .power = 9,
        .temperature = 5,
    };

    if (world->nodes.count > 1)
        columns.node = world->node_width < NODE_WIDTH_MAX ? world->node_width : NODE_WIDTH_MAX;
    if (columns.node > 0 && columns.node < 4)
        columns.node = 4;
    if (view->width > WIDTH_USUAL)
        widen(&columns, view->width - WIDTH_USUAL);
    drop_columns(&columns, view->width);
    return columns;
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

static void draw_title(struct frame *frame, const struct top_view *view,
                       const struct gpu_columns *columns)
{
    const enum top_order_gpus order = view->choice.gpus;
    const struct {
        size_t width;
        bool is_right;
        const char *title;
        enum top_order_gpus order;
    } titles[] = {
        { columns->index, true, "GPU", GPUS_BY_PLACE },
        { columns->node, false, "NODE", GPUS_ORDERS },
        { columns->model, false, "MODEL", GPUS_ORDERS },
        { columns->use, true, "USE", GPUS_BY_USE },
        { columns->use_bar, false, "", GPUS_ORDERS },
        { columns->spark, false, "", GPUS_ORDERS },
        { columns->memory, true, "MEMORY", GPUS_BY_MEMORY },
        { columns->memory_bar, false, "", GPUS_ORDERS },
        { columns->power, true, "POWER", GPUS_BY_POWER },
        { columns->temperature, true, "TEMP", GPUS_BY_TEMPERATURE },
    };

    frame_start_line(frame, FRAME_BOLD);
    frame_pad(frame, 1);
    for (size_t i = 0; i < COUNT_OF(titles); i++)
        add_field(frame, titles[i].width, titles[i].is_right,
                  titles[i].order == order ? TABLE_GOOD : TABLE_PLAIN, titles[i].title);
    frame_add(frame, TABLE_PLAIN, " JOB");
}

static void add_value(struct frame *frame, size_t width, const struct top_gpu *gpu,
                      enum top_reading reading)
{
    AUTO_RELEASE(text) struct text words = { 0 };

    gpu_value_add(gpu, reading, &words);
    add_field(frame, width, true, TABLE_PLAIN, text_string(&words));
}

static void add_bar(struct frame *frame, size_t width, const struct top_gpu *gpu,
                    enum top_reading reading)
{
    AUTO_RELEASE(text) struct text bar = { 0 };

    bar_add(&bar, gpu->parts[reading], width, frame->is_utf8);
    add_field(frame, width, false, TABLE_GOOD, text_string(&bar));
}

static void add_spark(struct frame *frame, size_t width, const struct top_world *world,
                      const struct top_gpu *gpu, enum top_reading reading)
{
    AUTO_RELEASE(text) struct text spark = { 0 };
    const struct top_history *history = world_history(world, field_text(gpu->view, "uuid"));

    if (history)
        spark_add(&spark, history->parts[reading], history->count, width, frame->is_utf8);
    add_field(frame, width, false, TABLE_GOOD, text_string(&spark));
}

/* Why it is not allocated, its jobs, its fault. */
static void add_fate(struct frame *frame, const struct top_gpu *gpu)
{
    AUTO_RELEASE(text) struct text jobs = { 0 };
    const char *sick = field_text(gpu->view, "sick");
    const json_t *fault = json_array_get(json_object_get(gpu->view, "faults"), 0);

    gpu_jobs_add(gpu->view, &jobs);
    frame_pad(frame, frame->column + 1);
    if (sick[0])
        frame_printf(frame, TABLE_BAD, "drained: %s%s", sick, jobs.length > 0 ? " · " : "");
    else if (fault && jobs.length == 0)
        frame_add(frame, TABLE_WAITS, field_text(fault, "words"));
    if (jobs.length > 0)
        frame_add(frame, TABLE_PLAIN, text_string(&jobs));
    else if (!sick[0] && !fault)
        frame_add(frame, TABLE_FAINT, "free");
}

static void add_model(struct frame *frame, size_t width, const json_t *gpu)
{
    AUTO_FREE char *model = mem_string(field_text(gpu, "model"));

    for (char *s = model; *s; s++)
        *s = (char)toupper((unsigned char)*s);
    add_field(frame, width, false, TABLE_PLAIN, model);
}

static void draw_gpu(struct frame *frame, const struct top_world *world,
                     const struct gpu_columns *columns, const struct top_gpu *gpu, bool is_selected)
{
    char index[UNITS_TEXT_SIZE];

    frame_start_line(frame, is_selected ? FRAME_SELECTED : TABLE_PLAIN);
    frame_add(frame, TABLE_PLAIN, is_selected ? ">" : " ");
    snprintf(index, sizeof(index), "%" PRId64, field_number(gpu->view, "index"));
    add_field(frame, columns->index, true, TABLE_PLAIN, index);
    add_field(frame, columns->node, false, TABLE_PLAIN, field_text(gpu->view, "node"));
    add_model(frame, columns->model, gpu->view);
    add_value(frame, columns->use, gpu, TOP_USE);
    add_bar(frame, columns->use_bar, gpu, TOP_USE);
    add_spark(frame, columns->spark, world, gpu, TOP_USE);
    add_value(frame, columns->memory, gpu, TOP_MEMORY);
    add_bar(frame, columns->memory_bar, gpu, TOP_MEMORY);
    add_value(frame, columns->power, gpu, TOP_POWER);
    add_value(frame, columns->temperature, gpu, TOP_TEMPERATURE);
    add_fate(frame, gpu);
    if (is_selected)
        frame_pad(frame, frame->width);
}

void draw_gpus(struct frame *frame, const struct top_view *view, const struct top_world *world,
               struct top_window window)
{
    struct gpu_columns columns = choose_columns(view, world);

    draw_title(frame, view, &columns);
    for (size_t i = window.first; i < window.first + window.count; i++)
        draw_gpu(frame, world, &columns, &world->gpus.items[i],
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
        add_value(frame, value, gpu, i);
        add_bar(frame, bar, gpu, i);
        size_t rest = view->width > taken + bar + 2 ? view->width - taken - bar - 2 : 0;
        add_spark(frame, rest < HISTORY_MAX ? rest : HISTORY_MAX, world, gpu, i);
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
