/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_screen.h"

#include <errno.h>
#include <ncurses.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <term.h>
#include <unistd.h>

#include "cli/screen.h"
#include "cli/top/top_view.h"

enum { ESCAPE_WAIT_MS = 25, ESCAPE = 27, ERASE = 127, BACKSPACE = 8 };

static SCREEN *screen;
static bool shows_colours;

/* Whether the cursor can be put somewhere at all. */
static int look_at_terminal(struct error *err)
{
    const char *name = getenv("TERM");
    int found;

    if (!name || !name[0])
        name = "dumb";
    bool is_known = setupterm(name, STDOUT_FILENO, &found) == OK;
    const char *address = is_known ? tigetstr("cup") : NULL;
    bool can_draw = address && address != (char *)-1;
    if (is_known)
        del_curterm(cur_term);
    if (can_draw)
        return 0;
    return error_set(
        err, -ENOTTY,
        "terminal '%s': %s; tarn top --once prints one frame, tarn gpus and tarn ls "
        "list",
        name, is_known ? "it cannot position the cursor" : "it is not in the terminfo database");
}

static void prepare_colours(void)
{
    static const short colours[] = { [TABLE_PLAIN] = -1,
                                     [TABLE_GOOD] = COLOR_GREEN,
                                     [TABLE_BAD] = COLOR_RED,
                                     [TABLE_WAITS] = COLOR_YELLOW,
                                     [TABLE_FAINT] = -1 };

    shows_colours = has_colors() && start_color() == OK && use_default_colors() == OK;
    for (short i = 1; shows_colours && i < (short)COUNT_OF(colours); i++)
        init_pair(i, colours[i], -1);
}

int top_screen_open(bool has_colours, struct error *err)
{
    int code = look_at_terminal(err);

    if (code < 0)
        return code;
    screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return error_set(err, -ENOTTY,
                         "the terminal cannot be used; tarn top --once prints one frame");
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(ESCAPE_WAIT_MS);
    curs_set(0);
    shows_colours = false;
    if (has_colours)
        prepare_colours();
    return 0;
}

void top_screen_close(void)
{
    if (!screen)
        return;
    endwin();
    delscreen(screen);
    screen = NULL;
}

void top_screen_resize(size_t *ret_width, size_t *ret_height)
{
    struct screen size;

    screen_look(stdout, &size);
    resizeterm((int)size.height, (int)size.width);
    *ret_width = size.width;
    *ret_height = size.height;
}

static attr_t attributes_of(unsigned style)
{
    unsigned colour = style & FRAME_STYLES;
    attr_t attributes = A_NORMAL;

    if (style & FRAME_BOLD)
        attributes |= A_BOLD;
    if (style & FRAME_SELECTED)
        attributes |= A_REVERSE;
    else if (shows_colours && colour == TABLE_FAINT)
        attributes |= A_DIM;
    else if (shows_colours && colour != TABLE_PLAIN)
        attributes |= COLOR_PAIR(colour);
    return attributes;
}

void top_screen_show(const struct frame *frame)
{
    size_t line = SIZE_MAX;

    erase();
    for (size_t i = 0; i < frame->spans.count; i++) {
        const struct frame_span *span = &frame->spans.items[i];

        if (span->line != line)
            move((int)span->line, 0);
        line = span->line;
        attrset((int)attributes_of(span->style));
        addnstr(frame_text(frame, span), (int)span->length);
    }
    attrset(A_NORMAL);
    refresh();
}

int top_screen_key(void)
{
    static const struct {
        int from, to;
    } keys[] = {
        { KEY_UP, KEY_IS_UP },           { KEY_DOWN, KEY_IS_DOWN },
        { KEY_LEFT, KEY_IS_LEFT },       { KEY_RIGHT, KEY_IS_RIGHT },
        { KEY_PPAGE, KEY_IS_PAGE_UP },   { KEY_NPAGE, KEY_IS_PAGE_DOWN },
        { KEY_ENTER, KEY_IS_ENTER },     { '\r', KEY_IS_ENTER },
        { '\n', KEY_IS_ENTER },          { ESCAPE, KEY_IS_ESCAPE },
        { KEY_BACKSPACE, KEY_IS_ERASE }, { ERASE, KEY_IS_ERASE },
        { BACKSPACE, KEY_IS_ERASE },
    };

    int key = getch();
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (key == keys[i].from)
            return keys[i].to;
    }
    if (key > 0xff) /* an unknown key */
        return 0;
    return key == ERR ? -1 : key;
}

/* ---- keyboard and signals ---- */

int input_open(struct top_input *input, struct error *err)
{
    static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        sigaddset(&set, wanted[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    input->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    input->any = epoll_create1(EPOLL_CLOEXEC);
    const int fds[] = { input->signals, STDIN_FILENO };
    bool is_open = input->signals >= 0 && input->any >= 0;
    for (size_t i = 0; is_open && i < COUNT_OF(fds); i++) {
        struct epoll_event event = { .events = EPOLLIN };
        is_open = epoll_ctl(input->any, EPOLL_CTL_ADD, fds[i], &event) == 0;
    }
    return is_open ? 0 : error_set(err, -errno, "waiting for keys: %s", strerror(errno));
}

void input_close(struct top_input *input)
{
    if (input->signals >= 0)
        close(input->signals);
    if (input->any >= 0)
        close(input->any);
    *input = (struct top_input){ -1, -1 };
}
