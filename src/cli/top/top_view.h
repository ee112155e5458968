/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_VIEW_H
#define CLI_TOP_TOP_VIEW_H

/* top_view - the selection of tarn top, and its reaction to keys
 *
 * One cursor moves through the GPUs, the running jobs and the waiting ones. It follows its GPU or
 * job; if that disappears, it keeps its position. Keys change only the view; actions on the world
 * are returned to the caller.
 *
 * Order of calls:  init, (arrange when the world or the choice has changed, key*)*
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/units.h"
#include "cli/select.h"
#include "cli/top/top_world.h"

enum { TOP_WORDS_SIZE = 64, TOP_MESSAGE_SIZE = 200, TOP_KEY_SIZE = 96 };

/* Keys that are not characters. */
enum {
    KEY_IS_UP = 0x110000,
    KEY_IS_DOWN,
    KEY_IS_LEFT,
    KEY_IS_RIGHT,
    KEY_IS_PAGE_UP,
    KEY_IS_PAGE_DOWN,
    KEY_IS_ENTER,
    KEY_IS_ESCAPE,
    KEY_IS_ERASE,
};

enum top_mode { MODE_WATCH, MODE_FILTER, MODE_CONFIRM, MODE_HELP };

enum top_action {
    ACTION_NONE,    /* draw again */
    ACTION_ARRANGE, /* the choice has changed */
    ACTION_QUIT,
    ACTION_CANCEL, /* cancel view->target */
};

enum top_shape { SHAPE_AUTO, SHAPE_LIST, SHAPE_MAP };

struct top_view {
    size_t width, height; /* of the screen; height 0: unlimited lines, no cursor */
    bool is_utf8;
    const char *user; /* the calling user, who may cancel their own jobs */
    struct top_choice choice;
    char words[TOP_WORDS_SIZE]; /* choice.words points here */
    enum top_mode mode;
    enum top_shape shape;
    bool is_paused, has_details;
    enum top_list list;
    size_t place;
    char key[TOP_KEY_SIZE];
    size_t firsts[TOP_LISTS]; /* the first visible row; set by top_draw */
    char target[ID_SIZE];     /* in MODE_CONFIRM */
    char message[TOP_MESSAGE_SIZE];
    char clock[16];  /* time of the shown data */
    usec_t jobs_age; /* how old the list of jobs is */
    long away_s;     /* time of the last answer if the daemon does not answer; else 0 */
};

void view_init(struct top_view *view, const char *user);
/* Arrange the world as chosen, and restore the cursor. */
void view_arrange(struct top_view *view, struct top_world *world);
enum top_action view_key(struct top_view *view, const struct top_world *world, int key);

/* Whether the GPUs are drawn as a map of nodes, and the number of nodes per line. */
bool view_is_map(const struct top_view *view, const struct top_world *world);
size_t view_map_columns(const struct top_view *view, const struct top_world *world);
size_t view_map_width(const struct top_world *world); /* of one node */
/* Which node a GPU is on. */
size_t view_node_of(const struct top_world *world, size_t place);

#endif
