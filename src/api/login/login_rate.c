/* SPDX-License-Identifier: Apache-2.0 */
#include "api/login/login_rate.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

enum { NETWORK_BYTES = 8 };

static const usec_t user_step = RATE_USER_STEP_S * USEC_PER_SEC;
static const usec_t address_step = RATE_ADDRESS_STEP_S * USEC_PER_SEC;

void login_rate_release(struct login_rate *rate)
{
    map_release(&rate->due);
}

struct login_keys login_keys_of(const char *user, const char *address)
{
    struct in6_addr six;
    bool is_six = inet_pton(AF_INET6, address, &six) == 1;

    return (struct login_keys){
        .user = map_hash(user, strlen(user)),
        .address = is_six ? map_hash(&six, NETWORK_BYTES) : ~map_hash(address, strlen(address)),
    };
}

static usec_t due(const struct login_rate *rate, uint64_t key, usec_t now)
{
    uint64_t at = 0;

    map_get(&rate->due, key, &at);
    return (usec_t)at > now ? (usec_t)at : now;
}

/* Time until the key has room for one more; 0: it has. */
static usec_t wait_of(const struct login_rate *rate, uint64_t key, usec_t step, int burst,
                      usec_t now)
{
    usec_t debt = due(rate, key, now) - now, most = step * (burst - 1);

    return debt > most ? debt - most : 0;
}

static void drop_paid(struct login_rate *rate, usec_t now)
{
    struct map kept = { 0 };
    struct map_slot slot;

    for (size_t at = 0; map_next(&rate->due, &at, &slot);) {
        if ((usec_t)slot.value > now)
            map_set(&kept, slot.key, slot.value);
    }
    map_release(&rate->due);
    rate->due = kept;
}

usec_t login_rate_take(struct login_rate *rate, struct login_keys keys, usec_t now)
{
    if (rate->due.count >= RATE_KEYS_MAX)
        drop_paid(rate, now);
    if (rate->due.count >= RATE_KEYS_MAX)
        return user_step;
    usec_t of_user = wait_of(rate, keys.user, user_step, RATE_USER_BURST, now);
    usec_t of_address = wait_of(rate, keys.address, address_step, RATE_ADDRESS_BURST, now);
    if (of_user > 0 || of_address > 0)
        return of_user > of_address ? of_user : of_address;
    map_set(&rate->due, keys.user, (uint64_t)(due(rate, keys.user, now) + user_step));
    map_set(&rate->due, keys.address, (uint64_t)(due(rate, keys.address, now) + address_step));
    return 0;
}

static void give_back(struct login_rate *rate, uint64_t key, usec_t step)
{
    uint64_t at = 0;

    if (map_get(&rate->due, key, &at) && at > (uint64_t)step)
        map_set(&rate->due, key, at - (uint64_t)step);
}

void login_rate_return(struct login_rate *rate, struct login_keys keys)
{
    give_back(rate, keys.user, user_step);
    give_back(rate, keys.address, address_step);
}
