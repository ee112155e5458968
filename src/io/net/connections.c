/* SPDX-License-Identifier: Apache-2.0 */
#include "io/net/connections.h"

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

/* It stays in the list until the server has closed it. */
static void shut(struct stranger *stranger)
{
    shutdown(stranger->fd, SHUT_RDWR);
    stranger->deadline = UINT64_MAX;
}

/* The oldest that is not shut; of this network, or of any. */
static struct stranger *oldest(const struct strangers *strangers, const struct stranger *like,
                               unsigned *ret_count)
{
    struct stranger *found = NULL;

    *ret_count = 0;
    for (struct stranger *at = strangers->first; at; at = at->next) {
        if (at->deadline == UINT64_MAX || (like && at->network != like->network))
            continue;
        found = found ? found : at;
        ++*ret_count;
    }
    return found;
}

static void make_room(const struct strangers *strangers, const struct stranger *like, unsigned most)
{
    unsigned count;
    struct stranger *first = oldest(strangers, like, &count);

    if (count > most)
        shut(first);
}

void strangers_add(struct strangers *strangers, struct stranger *stranger, uint64_t deadline)
{
    stranger->deadline = deadline;
    stranger->previous = strangers->last;
    stranger->next = NULL;
    stranger->is_in = true;
    *(strangers->last ? &strangers->last->next : &strangers->first) = stranger;
    strangers->last = stranger;
    strangers->count++;
    make_room(strangers, stranger, STRANGERS_NETWORK_MAX);
    make_room(strangers, NULL, STRANGERS_MAX);
}

void strangers_remove(struct strangers *strangers, struct stranger *stranger)
{
    if (!stranger->is_in)
        return;
    *(stranger->previous ? &stranger->previous->next : &strangers->first) = stranger->next;
    *(stranger->next ? &stranger->next->previous : &strangers->last) = stranger->previous;
    stranger->is_in = false;
    strangers->count--;
}

void strangers_expire(const struct strangers *strangers, uint64_t now)
{
    for (struct stranger *at = strangers->first; at; at = at->next) {
        if (at->deadline != UINT64_MAX && now >= at->deadline)
            shut(at);
    }
}
