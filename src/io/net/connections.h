/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_NET_CONNECTIONS_H
#define IO_NET_CONNECTIONS_H

/* connections - connections of a server whose peer has not shown who it is
 *
 * They may have a part of all connections only, so that known peers always find room. Each has a
 * deadline for what it is doing, however slowly bytes come. If there are too many, in all or of one
 * network (an address of IPv4, the first 64 bits of one of IPv6), the oldest of them is closed: a
 * peer that sends its token at once is known before that.
 *
 * Order of calls:  add, (extend | expire)*, remove
 * Owner:           the caller owns each stranger
 */

#include <stdbool.h>
#include <stdint.h>

enum {
    STRANGERS_MAX = 256,
    STRANGERS_NETWORK_MAX = 64,
    STRANGER_HEAD_S = 10,  /* TLS, and the head of a request */
    STRANGER_BODY_S = 10,  /* its body */
    STRANGER_REPLY_S = 60, /* the reply */
};

struct sockaddr;

struct stranger {
    int fd;
    uint64_t network;
    uint64_t deadline; /* ms, of the caller's clock */
    struct stranger *next, *previous;
    bool is_in;
};

struct strangers {
    struct stranger *first, *last; /* in the order of arrival */
    unsigned count;
};

/* The network of an address, as a hash; an IPv4 address also if it came over IPv6. */
uint64_t network_of(const struct sockaddr *address);

/* The strangers that become too many are shut down; the server then closes them. */
void strangers_add(struct strangers *strangers, struct stranger *stranger, uint64_t deadline);
void strangers_remove(struct strangers *strangers, struct stranger *stranger); /* if it is there */
void strangers_expire(const struct strangers *strangers, uint64_t now);

#endif
