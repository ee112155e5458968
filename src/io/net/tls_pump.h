/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_NET_TLS_PUMP_H
#define IO_NET_TLS_PUMP_H

/* tls_pump - copies between a TLS session that was established and a socket, in a libuv loop
 *
 * It reads from one side only when the other one has taken all that was read. The end of what the
 * peer sends becomes the end of the socket's input. on_over comes once: the socket's other end was
 * closed and all of it was sent, or the session is broken.
 *
 * Order of calls:  start, end at most once, on_over, stop
 * Owner:           the caller of session and fd, which stay open until stop
 */

#include <uv.h>

struct tls_pump;

struct tls_pump_plan {
    uv_loop_t *loop;
    void *session; /* of GnuTLS */
    int fd;        /* its connection; never waits */
    int socket;    /* taken over */
    void (*on_over)(void *user);
    void *user;
};

struct tls_pump *tls_pump_start(const struct tls_pump_plan *plan);
/* The socket's other end is closed: what was read from it has ten seconds to go out. */
void tls_pump_end(struct tls_pump *pump);
void tls_pump_stop(struct tls_pump *pump); /* NULL is fine */

#endif
