/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_NET_DIAL_H
#define IO_NET_DIAL_H

/* dial - connections to a daemon: to its Unix socket, or through a program
 *
 * A program connects with its standard input and output (ssh HOST tarn proxy). Each connection runs
 * the program once. It gets a process group of its own, so that ^C does not end the connection
 * before this process has sent its last request.
 *
 * On failure:  a negative errno, as of connect(2) or posix_spawn(3); nothing is open
 */

struct dial_place {
    const char *name;     /* for messages: the path of the socket, or the host */
    char *const *program; /* NULL: the name is the path of a socket */
    const char *headers;  /* of each request, each with its CRLF; NULL: only Host */
};

int dial(const struct dial_place *place, int *ret_fd);

#endif
