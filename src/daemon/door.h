/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DOOR_H
#define DAEMON_DOOR_H

/* door - the TCP socket of the API: TLS, or plain HTTP for this machine only
 *
 * Without certificate files, the state directory has a self-signed certificate (tls.pem, tls.key).
 */

#include "api/ports.h"
#include "daemon/daemon.h"

enum { DOOR_HOSTS_MAX = 32 };

struct door {
    struct api_door port;
    char *login; /* path of tarn-login; NULL: no passwords are taken */
    char *names, *hosts[DOOR_HOSTS_MAX + 1];
    struct text secret;
    int fd; /* listens; -1: there is no door, or the server has taken it */
};

/* Everything but the server: it is created with `fd`. */
int door_open(const struct door_options *options, const char *state_dir, struct door *ret,
              struct error *err);
void door_release(struct door *door);

#endif
