/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

/* remote - the daemon of another machine, which $TARN_HOST names
 *
 *   ssh://[USER@]HOST[:PORT][/PATH]   through ssh, which runs `tarn proxy` there; PATH: that of
 *                                     tarn
 *   https://HOST[:PORT]               with a token (https.h)
 *
 * With ssh, the user is the one who logs in there. All connections of the next minutes share one
 * login: the first one asks for a password, if ssh has to ask. $TARN_SSH is the ssh command with
 * its options (default: ssh); the shell splits it.
 *
 * Owner: remote_release(); `place` is valid until then
 */

#include <stdbool.h>

#include "base/error.h"
#include "io/net/dial.h"

enum { REMOTE_WORDS_MAX = 20 };

struct remote {
    bool may_start;                /* a daemon, if none runs there */
    char *words[REMOTE_WORDS_MAX]; /* of the program; NULL-terminated */
    char *name;                    /* ssh://ana@box */
    char *headers;                 /* of each request; NULL: none */
    struct dial_place place;
};

/* Whether $TARN_HOST names another machine. */
bool remote_is_given(void);
/* --socket PATH: a socket of this machine, whatever the environment names. */
void use_socket(const char *path);
/* Log in where that is not done yet. devices: NULL, or what the proxy starts a daemon with if none
 * runs; "": a daemon as it starts by default. Fails with -EINVAL (not such a name) or as ssh does.
 */
int remote_open(const char *devices, struct remote *ret, struct error *err);
void remote_release(struct remote *remote);

/* Whether the command, with its arguments, acts on the machine of the daemon itself: then the whole
 * command runs there. */
bool remote_takes(char *const *words);
/* Replace this process by the command on that machine, with its arguments. Returns only on failure:
 * the exit status. */
int remote_exec(char *const *argv);

#endif
