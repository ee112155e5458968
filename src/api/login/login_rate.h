/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_LOGIN_LOGIN_RATE_H
#define API_LOGIN_LOGIN_RATE_H

/* login_rate - how many wrong passwords may be tried for a user, and from an address
 *
 * A name counts whether or not an account has it. An attempt counts until it succeeds. Of IPv6, the
 * network of 64 bits counts as one address.
 *
 * Limits: RATE_KEYS_MAX names and addresses at the same time; further ones wait
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/units.h"

enum {
    RATE_USER_BURST = 5,
    RATE_USER_STEP_S = 30, /* then one attempt in this time */
    RATE_ADDRESS_BURST = 10,
    RATE_ADDRESS_STEP_S = 10,
    RATE_KEYS_MAX = 100000,
};

struct login_rate {
    struct map due; /* name or address -> when all its attempts are paid for */
};

struct login_keys {
    uint64_t user, address;
};

void login_rate_release(struct login_rate *rate);
/* address: as http_address() gives it. */
struct login_keys login_keys_of(const char *user, const char *address);
/* Count an attempt. 0: it is allowed; else the time until the next one is. */
usec_t login_rate_take(struct login_rate *rate, struct login_keys keys, usec_t now);
/* It was right. */
void login_rate_return(struct login_rate *rate, struct login_keys keys);

#endif
