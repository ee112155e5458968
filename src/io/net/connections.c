/* SPDX-License-Identifier: Apache-2.0 */
#include "io/net/connections.h"

#include <limits.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/map.h"

enum { NETWORK_BYTES = 8 }; /* of an IPv6 address */

uint64_t network_of(const struct sockaddr *address)
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;

    if (address->sa_family != AF_INET6)
        return map_hash(&four->sin_addr, sizeof(four->sin_addr));
    return IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)
               ? map_hash(&six->sin6_addr.s6_addr[12], sizeof(four->sin_addr))
               : map_hash(&six->sin6_addr, NETWORK_BYTES);
}

const struct connection_limits connection_limits[HOLDER_KINDS] = {
    [HOLDER_STRANGER] = { .each = 64, .all = 192 },
    [HOLDER_USER] = { .each = 48, .all = 640 },
    [HOLDER_ADMIN] = { .each = 96, .all = 128 },
    [HOLDER_OWNER] = { .each = 576, .all = UINT_MAX },
};

struct tally {
    unsigned own, all;
    struct connection *own_oldest, *oldest;
};

/* Of those that are not shut. */
static struct tally tally_of(const struct connections *connections, enum holder_kind kind,
                             uint64_t key)
{
    struct tally tally = { 0 };

    for (struct connection *at = connections->first; at; at = at->next) {
        if (at->is_shut || at->kind != kind)
            continue;
        tally.oldest = tally.oldest ? tally.oldest : at;
        tally.all++;
        if (at->key != key)
            continue;
        tally.own_oldest = tally.own_oldest ? tally.own_oldest : at;
        tally.own++;
    }
    return tally;
}

static void shut(struct connection *connection)
{
    shutdown(connection->fd, SHUT_RDWR);
    connection->is_shut = true;
}

void connections_add(struct connections *connections, struct connection *connection,
                     uint64_t deadline)
{
    const struct connection_limits *limits = &connection_limits[HOLDER_STRANGER];

    connection->kind = HOLDER_STRANGER;
    connection->deadline = deadline;
    connection->previous = connections->last;
    connection->next = NULL;
    *(connections->last ? &connections->last->next : &connections->first) = connection;
    connections->last = connection;
    struct tally tally = tally_of(connections, HOLDER_STRANGER, connection->key);
    if (tally.own > limits->each)
        shut(tally.own_oldest);
    else if (tally.all > limits->all)
        shut(tally.oldest);
}

enum claim connections_claim(struct connections *connections, struct connection *connection,
                             enum holder_kind kind, uint64_t key)
{
    const struct connection_limits *limits = &connection_limits[kind];

    if (connection->kind == kind && connection->key == key)
        return CLAIM_HELD;
    struct tally tally = tally_of(connections, kind, key);
    if (tally.own >= limits->each)
        return CLAIM_HOLDER_FULL;
    if (tally.all >= limits->all)
        return CLAIM_KIND_FULL;
    connection->kind = kind;
    connection->key = key;
    return CLAIM_HELD;
}

void connection_extend(struct connection *connection, uint64_t deadline)
{
    connection->deadline = deadline;
}

void connections_expire(const struct connections *connections, uint64_t now)
{
    for (struct connection *at = connections->first; at; at = at->next) {
        if (at->kind == HOLDER_STRANGER && !at->is_shut && now >= at->deadline)
            shut(at);
    }
}

void connections_remove(struct connections *connections, struct connection *connection)
{
    *(connection->previous ? &connection->previous->next : &connections->first) = connection->next;
    *(connection->next ? &connection->next->previous : &connections->last) = connection->previous;
}
