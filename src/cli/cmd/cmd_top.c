/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/fields.h"
#include "cli/follow/ctrl_c.h"
#include "cli/screen.h"
#include "cli/top/top_draw.h"
#include "cli/top/top_feed.h"
#include "cli/top/top_screen.h"

enum { INTERVAL, ONCE, POOL, USER };
enum { PLAIN_WIDTH = 132, PLAIN_WIDTH_MAX = 1000, RECALLED_MAX = 16 };

const struct option_entry options_top[] = {
    [INTERVAL] = { "interval", 'd', "SECONDS", "refresh interval, 0.1 to 3600; default 1" },
    [ONCE] = { "once", '1', NULL, "print one frame and exit" },
    [POOL] = { "pool", 'p', "NAME", "only GPUs of this pool" },
    [USER] = { "user", 'u', "NAME", "only jobs of this user" },
    { 0 },
};

static const usec_t interval_min = USEC_PER_SEC / 10, interval_max = USEC_PER_HOUR;

struct top {
    struct session *session;
    struct top_feed feed;
    struct top_world world;
    struct top_view view;
    usec_t interval;
    usec_t due;       /* when to ask again */
    usec_t answered;  /* when the last answer came */
    usec_t jobs_came; /* when the last list of jobs did */
    usec_t drawn;     /* when the screen was */
    bool has_failed;  /* what was asked last */
    struct top_input input;
    int signal; /* that ends it; 0: none */
    bool is_over;
};

/* ---- drawing ---- */

/* An unset locale says nothing about the terminal: assume UTF-8, and tell ncurses. */
static bool prepare_locale(void)
{
    if (!screen_is_utf8())
        return false;
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
        return true;
    return setlocale(LC_CTYPE, "C.UTF-8") != NULL;
}

static void draw(struct top *top)
{
    AUTO_RELEASE(frame) struct frame frame;
    usec_t away = clock_read(CLOCK_MONOTONIC) - top->answered;
    bool is_away = top->has_failed || away > top->interval + 2 * USEC_PER_SEC;

    top->drawn = clock_read(CLOCK_MONOTONIC);
    top->view.away_s = 0;
    if (is_away && !top->view.is_paused)
        top->view.away_s = away < USEC_PER_SEC ? 1 : away / USEC_PER_SEC;
    frame_init(&frame, top->view.width, top->view.is_utf8);
    top_draw(&frame, &top->view, &top->world);
    top_screen_show(&frame);
}

static void take(struct top *top, json_t *gpus, json_t *jobs)
{
    time_t now = time(NULL);
    struct tm parts;

    world_take(&top->world, gpus, jobs);
    view_arrange(&top->view, &top->world);
    localtime_r(&now, &parts);
    strftime(top->view.clock, sizeof(top->view.clock), "%H:%M:%S", &parts);
    top->answered = clock_read(CLOCK_MONOTONIC);
    if (jobs)
        top->jobs_came = top->answered;
    top->view.jobs_age = top->answered - top->jobs_came;
    top->has_failed = false;
}

/* What was read before this began. Of many GPUs it would take too long, and the map has no room
 * for it; what can't be had is not missed. */
static void recall(struct top *top)
{
    const json_t *gpus = json_object_get(top->world.gpus_reply, "gpus"), *gpu;
    int64_t step_s = (top->interval + USEC_PER_SEC / 2) / USEC_PER_SEC;
    size_t i;

    if (step_s < 1 || json_array_size(gpus) > RECALLED_MAX)
        return;
    json_array_foreach(gpus, i, gpu)
    {
        AUTO(json) json_t *reply = NULL;
        if (!field_is_null(gpu, "reading") &&
            feed_history(&top->feed, field_text(gpu, "uuid"), step_s, &reply, NULL) == 0)
            world_recall(&top->world, gpu, reply, time(NULL), step_s);
    }
}

/* ---- one picture ---- */

static size_t plain_width(void)
{
    struct screen screen;
    const char *columns = getenv("COLUMNS");
    long number = columns ? strtol(columns, NULL, 10) : 0;

    screen_look(stdout, &screen);
    if (screen.width > 0)
        return screen.width;
    return number > 0 && number <= PLAIN_WIDTH_MAX ? (size_t)number : PLAIN_WIDTH;
}

static void print_once(struct top *top)
{
    AUTO_RELEASE(frame) struct frame frame;
    AUTO_RELEASE(text) struct text text = { 0 };

    top->view.width = plain_width();
    frame_init(&frame, top->view.width, top->view.is_utf8);
    top_draw(&frame, &top->view, &top->world);
    frame_format(&frame, &text);
    fputs(text_string(&text), stdout);
}

static void print(struct top *top, const struct options *options)
{
    if (options->is_json) {
        AUTO(json)
        json_t *both =
            json_pack("{s:O, s:O}", "gpus", json_object_get(top->world.gpus_reply, "gpus"), "jobs",
                      json_object_get(top->world.jobs_reply, "jobs"));
        reply_print(both);
    } else if (!options->is_quiet) {
        print_once(top);
    } else {
        for (enum top_list list = TOP_RUNNING; list < TOP_LISTS; list++) {
            for (size_t i = 0; i < world_count(&top->world, list); i++)
                printf("%s\n", world_key(&top->world, list, i));
        }
    }
}

/* ---- keys and signals ---- */

static void cancel(struct top *top)
{
    struct top_view *view = &top->view;
    struct client *client = top->session->client;
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s/cancel", view->target);
    struct error err;

    client_watch(client, top->input.signals);
    int code = session_send(top->session, "POST", path, NULL, NULL, &err);
    client_watch(client, top->input.any);
    if (code < 0)
        snprintf(view->message, sizeof(view->message), "%.*s", TOP_MESSAGE_SIZE - 1, err.text);
    else
        snprintf(view->message, sizeof(view->message), "job %s is being ended", view->target);
    top->due = 0;
}

/* Whether there were any; so do the others. */
static bool take_keys(struct top *top)
{
    bool has_any = false;

    for (int key = top_screen_key(); key >= 0; key = top_screen_key()) {
        has_any = true;
        switch (view_key(&top->view, &top->world, key)) {
        case ACTION_QUIT:
            top->is_over = true;
            break;
        case ACTION_CANCEL:
            cancel(top);
            break;
        case ACTION_ARRANGE:
            view_arrange(&top->view, &top->world);
            break;
        case ACTION_NONE:
            break;
        }
    }
    return has_any;
}

static bool take_signals(struct top *top)
{
    bool has_any = false;

    for (int number = interrupt_take(top->input.signals); number > 0;
         number = interrupt_take(top->input.signals)) {
        has_any = true;
        if (number != SIGWINCH) {
            top->signal = number;
            top->is_over = true;
            continue;
        }
        top_screen_resize(&top->view.width, &top->view.height);
        view_arrange(&top->view, &top->world);
    }
    return has_any;
}

/* ---- the loop ---- */

static void ask(struct top *top, usec_t now)
{
    top->due = now + top->interval;
    feed_ask(&top->feed, now);
}

static bool look_for_answer(struct top *top, usec_t now)
{
    json_t *gpus = NULL, *jobs = NULL;
    struct error err;

    switch (feed_take(&top->feed, now, &gpus, &jobs, &err)) {
    case FEED_CAME:
        take(top, gpus, jobs);
        return true;
    case FEED_FAILED:
        top->has_failed = true;
        return true;
    case FEED_NONE:
        break;
    }
    return false;
}

/* Time until the next request; without an answer the display counts the seconds. */
static int wait_ms(const struct top *top, usec_t now)
{
    usec_t wait = USEC_PER_SEC;

    if (!top->feed.is_asking && !top->view.is_paused && top->due < now + wait)
        wait = top->due > now ? top->due - now : 0;
    return (int)((wait + USEC_PER_MS - 1) / USEC_PER_MS);
}

static int go_on(struct top *top, struct error *err)
{
    while (!top->is_over) {
        usec_t now = clock_read(CLOCK_MONOTONIC);

        if (!top->feed.is_asking && !top->view.is_paused && now >= top->due)
            ask(top, now);
        int code = client_wait(top->session->client, wait_ms(top, now), err);
        if (code < 0 && code != -EINTR)
            return code;
        bool has_news = take_signals(top);
        has_news = take_keys(top) || has_news;
        now = clock_read(CLOCK_MONOTONIC);
        has_news = look_for_answer(top, now) || has_news;
        if (!top->is_over && (has_news || now - top->drawn >= USEC_PER_SEC))
            draw(top);
    }
    return 0;
}

static int watch(struct top *top, bool has_colours, struct error *err)
{
    recall(top);
    int code = input_open(&top->input, err);
    if (code == 0)
        code = top_screen_open(has_colours, err);
    if (code == 0) {
        client_watch(top->session->client, top->input.any);
        top_screen_resize(&top->view.width, &top->view.height);
        view_arrange(&top->view, &top->world);
        draw(top);
        code = go_on(top, err);
        top_screen_close();
    }
    input_close(&top->input);
    return code;
}

/* ---- the command ---- */

static int read_interval(const char *text, usec_t *ret)
{
    char *end = NULL;
    double seconds = text ? strtod(text, &end) : 1;

    if (text && (end == text || (*end && strcmp(end, "s") != 0)))
        return usage_wrong("top", "--interval '%.40s': expected seconds", text);
    if (!(seconds >= (double)interval_min / 1e6 && seconds <= (double)interval_max / 1e6))
        return usage_wrong("top", "--interval '%.40s': expected 0.1 to 3600 seconds", text);
    *ret = (usec_t)(seconds * 1e6);
    return 0;
}

/* A name that stands for nothing is a mistake, and not an empty view. */
static int check_names(const struct top *top, const struct options *options, struct error *err)
{
    const char *pool = options->values[POOL], *user = options->values[USER];
    AUTO(json) json_t *reply = NULL;
    const json_t *one;
    bool is_known = !pool;
    size_t i;

    int code = pool ? session_get(top->session, "/v1/pools", &reply, err) : 0;
    json_array_foreach(json_object_get(reply, "pools"), i, one) is_known |=
        strcmp(field_text(one, "name"), pool) == 0;
    if (code == 0 && !is_known)
        return error_set(err, -ENOENT, "pool %.60s: no such pool", pool);
    if (code == 0 && user && !getpwnam(user) &&
        json_array_size(json_object_get(top->world.jobs_reply, "jobs")) == 0)
        return error_set(err, -ENOENT, "user %.60s: no such user, and no job of that name", user);
    return code;
}

static int run(struct top *top, const struct options *options, struct error *err)
{
    json_t *gpus = NULL, *jobs = NULL;
    struct screen screen;

    screen_look(stdout, &screen);
    int code = feed_get(&top->feed, &gpus, &jobs, err);
    if (code < 0)
        return code;
    take(top, gpus, jobs);
    code = check_names(top, options, err);
    if (code < 0)
        return code;
    if (screen.is_terminal && isatty(STDIN_FILENO) && !options->values[ONCE] && !options->is_json &&
        !options->is_quiet)
        return watch(top, screen.has_colours, err);
    print(top, options);
    return 0;
}

int run_top(const struct options *options)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    const struct passwd *me = getpwuid(geteuid());
    struct top top = { .session = &session, .input = { -1, -1 } };
    struct error err;

    int status = read_interval(options->values[INTERVAL], &top.interval);
    if (status != 0)
        return status;
    view_init(&top.view, me ? me->pw_name : "");
    top.view.choice.pool = options->values[POOL];
    top.view.is_utf8 = prepare_locale();
    int code = session_open(&session, &err);
    if (code < 0)
        return complain(&err);
    feed_open(&top.feed, &session, options->values[USER]);
    code = run(&top, options, &err);
    feed_close(&top.feed);
    world_release(&top.world);
    if (code < 0)
        return complain(&err);
    return top.signal > 0 ? INTERRUPT_STATUS + top.signal : 0;
}
