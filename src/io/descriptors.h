/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_DESCRIPTORS_H
#define IO_DESCRIPTORS_H

/* descriptors - pass open files to the peer of a Unix socket (SCM_RIGHTS)
 *
 * Limits:  DESCRIPTORS_MAX in one message
 */

#include <stddef.h>
#include <sys/types.h>

enum { DESCRIPTORS_MAX = 4 };

/* As send(2): at least one byte, with these descriptors, which stay open here. */
ssize_t descriptors_send(int socket, const void *bytes, size_t length, const int *fds,
                         size_t count);
/* As recv(2). *ret_count of the descriptors that came along are in ret_fds, closed on exec; any
 * more are closed. */
ssize_t descriptors_receive(int socket, void *bytes, size_t size, int *ret_fds, size_t max,
                            size_t *ret_count);

#endif
