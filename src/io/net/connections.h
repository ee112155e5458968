/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_NET_CONNECTIONS_H
#define IO_NET_CONNECTIONS_H

/* connections - the open connections of a server, by the kind and the key of their holder
 *
 * Each kind of holder may have only a part of all connections, and each holder only a part of
 * these. So no user shuts out another, all users together leave room to administrators, and
 * strangers (peers that have not shown who they are) leave room to known peers.
 *
 * A connection begins as a stranger's, whose key is its network: an address of IPv4, the first 64
 * bits of one of IPv6. A stranger has a deadline for what it is doing, however slowly bytes come.
 * If there are too many strangers, in all or of one network, the oldest of them is closed: a peer
 * that sends its token at once is known before that. A known holder that has too many connections
 * gets no further one: that connection stays a stranger's, so the refusal has a deadline, too.
 *
 * Order of calls:  add, (claim | extend | expire)*, remove
 * Owner:           the caller owns each connection
 */

#include <stdbool.h>
#include <stdint.h>

enum {
    STRANGER_HEAD_S = 10,  /* TLS, and the head of a request */
    STRANGER_BODY_S = 10,  /* its body */
    STRANGER_REPLY_S = 60, /* the reply */
};

enum holder_kind {
    HOLDER_STRANGER, /* of a network */
    HOLDER_USER,
    HOLDER_ADMIN, /* a user with all rights, over the network */
    HOLDER_OWNER, /* root, or the user of the daemon, at the Unix socket */
    HOLDER_KINDS,
};

struct connection_limits {
    unsigned each, all; /* of one holder, of all of the kind */
};

/* Owners may have what the others leave. The user of a server may not have all of it, so that root
 * can connect to a server of another user. */
extern const struct connection_limits connection_limits[HOLDER_KINDS];

enum claim {
    CLAIM_HELD,
    CLAIM_HOLDER_FULL, /* this holder has as many as one may have */
    CLAIM_KIND_FULL,   /* all holders of the kind together */
};

struct sockaddr;

struct connection {
    int fd;
    enum holder_kind kind;
    uint64_t key;
    uint64_t deadline; /* ms, of the caller's clock; of a stranger */
    struct connection *next, *previous;
    bool is_shut; /* it stays in the list until the server has closed it */
};

struct connections {
    struct connection *first, *last; /* in the order of arrival */
};

/* The network of an address, as a hash; an IPv4 address also if it came over IPv6. */
uint64_t network_of(const struct sockaddr *address);

/* With fd and key. The strangers that become too many are shut down; the server then closes them.
 */
void connections_add(struct connections *connections, struct connection *connection,
                     uint64_t deadline);
/* From now on it is this holder's. If it fails, it stays its present holder's. */
enum claim connections_claim(struct connections *connections, struct connection *connection,
                             enum holder_kind kind, uint64_t key);
/* The deadline of what it does from now on; of a stranger. */
void connection_extend(struct connection *connection, uint64_t deadline);
void connections_expire(const struct connections *connections, uint64_t now);
void connections_remove(struct connections *connections, struct connection *connection);

#endif
