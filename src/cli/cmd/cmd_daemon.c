/* SPDX-License-Identifier: Apache-2.0 */
/* up, down: the daemon in the background */
#include <errno.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/fields.h"
#include "cli/screen.h"
#include "cli/session.h"

enum { UP_DEVICES };
enum { DOWN_KILL };
enum { DOWN_TIMEOUT_S = 60 };

const struct option_entry options_up[] = {
    [UP_DEVICES] = { "devices", 0, "DEVICES", "devices to manage: synthetic:h100:4" },
    { 0 },
};
const struct option_entry options_down[] = {
    [DOWN_KILL] = { "kill", 0, NULL, "also end running jobs" },
    { 0 },
};

static int tell_daemon(struct session *session, bool is_json, struct error *err)
{
    AUTO(json) json_t *daemon = NULL;

    int code = session_get(session, "/v1/daemon", &daemon, err);
    if (code == 0 && is_json)
        reply_print(daemon);
    else if (code == 0)
        say("the daemon is running · pid %" PRId64 " · gpus: %s · state in %s",
            field_number(daemon, "pid"), field_text(daemon, "devices"),
            field_text(daemon, "state_dir"));
    return code;
}

int run_up(const struct options *options)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    struct error err;

    int code = session_open(&session, &err);
    bool is_far = code == 0 && session_is_remote(&session);
    bool was_there = is_far || (code == 0 && paths_is_listening(session.paths.socket));
    if (code == 0 && !is_far)
        code = session_start(&session, options->values[UP_DEVICES], &err);
    if (code == 0 && (was_there || options->is_json))
        code = tell_daemon(&session, options->is_json, &err);
    if (code < 0 && is_far)
        error_prefix(&err, code, "tarn up starts no daemon over HTTPS");
    return code < 0 ? complain(&err) : 0;
}

/* It says that it will; this is when it has. */
static int wait_until_gone(const struct session *session, struct error *err)
{
    const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

    for (int i = 0; i < DOWN_TIMEOUT_S * 100; i++) {
        /* The file goes last: then the state is free for another daemon. One that was killed leaves
         * it behind, but holds the state no more. */
        bool is_gone = access(session->paths.socket, F_OK) < 0 || !session_is_held(session);
        if (is_gone && !paths_is_listening(session->paths.socket))
            return 0;
        nanosleep(&pause, NULL);
    }
    return error_set(err, -ETIMEDOUT, "the daemon is still running after %d seconds",
                     DOWN_TIMEOUT_S);
}

/* From another machine, it is gone when it does not answer. */
static int wait_until_silent(struct session *session, struct error *err)
{
    const struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };

    for (int i = 0; i < DOWN_TIMEOUT_S * 10; i++) {
        if (session_get(session, "/v1/daemon", NULL, NULL) < 0)
            return 0;
        nanosleep(&pause, NULL);
    }
    return error_set(err, -ETIMEDOUT, "the daemon still answers after %d seconds", DOWN_TIMEOUT_S);
}

int run_down(const struct options *options)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    struct error err;
    bool kills = options->values[DOWN_KILL] != NULL;

    int code = session_open(&session, &err);
    if (code == 0)
        code = session_send(&session, "POST", kills ? "/v1/stop?kill=1" : "/v1/stop", NULL, NULL,
                            &err);
    if (code == -ENODATA) {
        say("no daemon is running");
        return 0;
    }
    if (code == 0)
        code = session_is_remote(&session) ? wait_until_silent(&session, &err)
                                           : wait_until_gone(&session, &err);
    if (code < 0)
        return complain(&err);
    say(kills ? "stopped, with its running jobs; waiting jobs start after tarn up"
              : "stopped; running jobs continue; tarn up finds them again");
    return 0;
}
