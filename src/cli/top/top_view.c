/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_view.h"

#include <stdio.h>
#include <string.h>

#include "cli/fields.h"

enum { NODE_WIDTH_MAX = 16, MAP_GAP = 2, PAGE = 10 };

void view_init(struct top_view *view, const char *user)
{
    *view = (struct top_view){ .user = user, .has_details = true };
    view->choice.words = view->words;
}

/* ---- the map ---- */

bool view_is_map(const struct top_view *view, const struct top_world *world)
{
    if (view->height == 0 || view->shape != SHAPE_AUTO)
        return view->height > 0 && view->shape == SHAPE_MAP;
    return world->gpus.count > view->height / 2 - 1;
}

size_t view_map_width(const struct top_world *world)
{
    size_t most = 0;

    for (size_t i = 0; i < world->nodes.count; i++) {
        if (world->nodes.items[i].count > most)
            most = world->nodes.items[i].count;
    }
    size_t name = world->node_width < NODE_WIDTH_MAX ? world->node_width : NODE_WIDTH_MAX;
    return name + 1 + most + MAP_GAP;
}

size_t view_map_columns(const struct top_view *view, const struct top_world *world)
{
    size_t width = view_map_width(world);

    return view->width > width + 1 ? (view->width - 1) / width : 1;
}

/* ---- the cursor ---- */

static void keep_key(struct top_view *view, const struct top_world *world)
{
    view->key[0] = '\0';
    if (world_count(world, view->list) > 0)
        snprintf(view->key, sizeof(view->key), "%s", world_key(world, view->list, view->place));
}

static bool find_key(struct top_view *view, const struct top_world *world)
{
    for (enum top_list list = 0; view->key[0] && list < TOP_LISTS; list++) {
        for (size_t i = 0; i < world_count(world, list); i++) {
            if (strcmp(world_key(world, list, i), view->key) == 0) {
                view->list = list;
                view->place = i;
                return true;
            }
        }
    }
    return false;
}

static void settle(struct top_view *view, const struct top_world *world)
{
    if (find_key(view, world))
        return;
    for (size_t i = 0; i < TOP_LISTS && world_count(world, view->list) == 0; i++)
        view->list = (view->list + 1) % TOP_LISTS;
    size_t count = world_count(world, view->list);
    if (view->place >= count)
        view->place = count > 0 ? count - 1 : 0;
    keep_key(view, world);
}

void view_arrange(struct top_view *view, struct top_world *world)
{
    struct top_choice choice = view->choice;

    world_arrange(world, &choice);
    if (choice.gpus != GPUS_BY_PLACE && view_is_map(view, world)) {
        choice.gpus = GPUS_BY_PLACE;
        world_arrange(world, &choice);
    }
    settle(view, world);
}

/* To the next list that is not empty, if any. */
static bool leave_list(struct top_view *view, const struct top_world *world, bool is_down)
{
    for (int list = (int)view->list + (is_down ? 1 : -1); list >= 0 && list < TOP_LISTS;
         list += is_down ? 1 : -1) {
        size_t count = world_count(world, (enum top_list)list);
        if (count == 0)
            continue;
        view->list = (enum top_list)list;
        view->place = is_down ? 0 : count - 1;
        return true;
    }
    return false;
}

static void move(struct top_view *view, const struct top_world *world, bool is_down)
{
    if (is_down && view->place + 1 < world_count(world, view->list))
        view->place++;
    else if (!is_down && view->place > 0)
        view->place--;
    else
        leave_list(view, world, is_down);
}

size_t view_node_of(const struct top_world *world, size_t place)
{
    size_t node = 0;

    while (node + 1 < world->nodes.count && world->nodes.items[node + 1].first <= place)
        node++;
    return node;
}

/* A line of the map up or down, to the same place on the machine there. */
static void move_in_map(struct top_view *view, const struct top_world *world, bool is_down)
{
    size_t columns = view_map_columns(view, world), node = view_node_of(world, view->place);
    size_t at = view->place - world->nodes.items[node].first;
    bool has_line = is_down ? node + columns < world->nodes.count : node >= columns;

    if (!has_line) {
        leave_list(view, world, is_down);
        return;
    }
    const struct top_node *to = &world->nodes.items[is_down ? node + columns : node - columns];
    view->place = to->first + (at < to->count ? at : to->count - 1);
}

static void move_cursor(struct top_view *view, const struct top_world *world, int key)
{
    bool is_down =
        key == KEY_IS_DOWN || key == 'j' || key == KEY_IS_RIGHT || key == KEY_IS_PAGE_DOWN;
    bool is_aside = key == KEY_IS_LEFT || key == KEY_IS_RIGHT;
    bool is_page = key == KEY_IS_PAGE_UP || key == KEY_IS_PAGE_DOWN;

    if (world_count(world, view->list) == 0)
        return;
    for (int i = 0; i < (is_page ? PAGE : 1); i++) {
        if (view->list == TOP_GPUS && !is_aside && view_is_map(view, world))
            move_in_map(view, world, is_down);
        else
            move(view, world, is_down);
    }
    keep_key(view, world);
}

static void next_list(struct top_view *view, const struct top_world *world)
{
    enum top_list list = view->list;

    do
        list = (list + 1) % TOP_LISTS;
    while (list != view->list && world_count(world, list) == 0);
    if (list == view->list)
        return;
    view->list = list;
    view->place = 0;
    keep_key(view, world);
}

/* ---- ending a job ---- */

/* The job that the cursor means; of a GPU the one that has it. NULL: none, or several. */
static const json_t *job_meant(const struct top_view *view, const struct top_world *world)
{
    if (view->place >= world_count(world, view->list))
        return NULL;
    if (view->list != TOP_GPUS)
        return world->jobs[view->list].items[view->place];
    const json_t *jobs = json_object_get(world->gpus.items[view->place].view, "jobs");
    return json_array_size(jobs) == 1 ? json_array_get(jobs, 0) : NULL;
}

static void ask_to_cancel(struct top_view *view, const struct top_world *world)
{
    const json_t *job = job_meant(view, world);

    if (!job) {
        snprintf(view->message, sizeof(view->message), "select a job, then press K");
        return;
    }
    if (strcmp(field_text(job, "user"), view->user) != 0) {
        snprintf(view->message, sizeof(view->message),
                 "job %s belongs to %s; you can cancel only your own jobs here",
                 field_text(job, "label"), field_text(job, "user"));
        return;
    }
    snprintf(view->target, sizeof(view->target), "%s", field_text(job, "label"));
    snprintf(view->message, sizeof(view->message), "end job %s (%.60s)? [y/N]", view->target,
             field_text(job, "name"));
    view->mode = MODE_CONFIRM;
}

static enum top_action key_in_confirm(struct top_view *view, int key)
{
    view->mode = MODE_WATCH;
    if (key == 'y' || key == 'Y')
        return ACTION_CANCEL;
    snprintf(view->message, sizeof(view->message), "job %s continues", view->target);
    return ACTION_NONE;
}

/* ---- the filter ---- */

/* The last character goes, with all its bytes. */
static void erase(char *words)
{
    size_t length = strlen(words);

    while (length > 0 && (words[length - 1] & 0xc0) == 0x80)
        length--;
    words[length > 0 ? length - 1 : 0] = '\0';
}

static enum top_action key_in_filter(struct top_view *view, int key)
{
    size_t length = strlen(view->words);

    if (key == KEY_IS_ENTER || key == KEY_IS_ESCAPE)
        view->mode = MODE_WATCH;
    if (key == KEY_IS_ESCAPE)
        view->words[0] = '\0';
    else if (key == KEY_IS_ERASE)
        erase(view->words);
    else if (key >= ' ' && key < 0x100 && key != 0x7f && length + 1 < sizeof(view->words)) {
        view->words[length] = (char)key; /* of UTF-8 byte after byte */
        view->words[length + 1] = '\0';
    }
    return ACTION_ARRANGE;
}

/* ---- everything else ---- */

static enum top_action sort(struct top_view *view, const struct top_world *world)
{
    if (view->list == TOP_GPUS && view_is_map(view, world)) {
        snprintf(view->message, sizeof(view->message),
                 "the map cannot be sorted; g shows the list");
        return ACTION_NONE;
    }
    if (view->list == TOP_GPUS) {
        view->choice.gpus = (view->choice.gpus + 1) % GPUS_ORDERS;
        snprintf(view->message, sizeof(view->message), "gpus by %s",
                 top_order_gpus_names[view->choice.gpus]);
    } else {
        view->choice.jobs = (view->choice.jobs + 1) % JOBS_ORDERS;
        snprintf(view->message, sizeof(view->message), "jobs by %s",
                 top_order_jobs_names[view->choice.jobs]);
    }
    return ACTION_ARRANGE;
}

static enum top_action change_shape(struct top_view *view, const struct top_world *world)
{
    view->shape = view_is_map(view, world) ? SHAPE_LIST : SHAPE_MAP;
    view->firsts[TOP_GPUS] = 0;
    if (view->shape == SHAPE_MAP)
        view->choice.gpus = GPUS_BY_PLACE;
    return ACTION_ARRANGE;
}

static enum top_action key_in_watch(struct top_view *view, const struct top_world *world, int key)
{
    switch (key) {
    case 'q':
        return ACTION_QUIT;
    case 's':
        return sort(view, world);
    case 'g':
        return change_shape(view, world);
    case 'K':
    case 'x':
        ask_to_cancel(view, world);
        return ACTION_NONE;
    case '/':
        view->mode = MODE_FILTER;
        return ACTION_NONE;
    case KEY_IS_ESCAPE:
        view->words[0] = '\0';
        return ACTION_ARRANGE;
    case '?':
    case 'h':
        view->mode = MODE_HELP;
        return ACTION_NONE;
    case ' ':
        view->is_paused = !view->is_paused;
        return ACTION_NONE;
    case KEY_IS_ENTER:
        view->has_details = !view->has_details;
        return ACTION_NONE;
    case '\t':
        next_list(view, world);
        return ACTION_NONE;
    default:
        if (key == 'j' || key == 'k' || (key >= KEY_IS_UP && key <= KEY_IS_PAGE_DOWN))
            move_cursor(view, world, key);
        return ACTION_NONE;
    }
}

enum top_action view_key(struct top_view *view, const struct top_world *world, int key)
{
    view->message[0] = '\0';
    switch (view->mode) {
    case MODE_FILTER:
        return key_in_filter(view, key);
    case MODE_CONFIRM:
        return key_in_confirm(view, key);
    case MODE_HELP:
        view->mode = MODE_WATCH;
        return key == 'q' ? ACTION_QUIT : ACTION_NONE;
    case MODE_WATCH:
        break;
    }
    return key_in_watch(view, world, key);
}
