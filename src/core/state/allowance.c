/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/allowance.h"

uint64_t allowance_limit(const struct state *state)
{
    return (uint64_t)state->settings.watch.user_mib << 20;
}

/* Bytes that come back in a second. */
static uint64_t rate_of(const struct state *state)
{
    return allowance_limit(state) / (ALLOWANCE_PERIOD / USEC_PER_SEC);
}

static uint64_t left_at(const struct state *state, const struct allowance *allowance, usec_t now)
{
    usec_t passed = now - allowance->at;

    if (passed >= ALLOWANCE_PERIOD)
        return 0;
    /* In steps of a second, so that the product fits. */
    uint64_t back = rate_of(state) * (uint64_t)(passed / USEC_PER_SEC);
    return allowance->used > back ? allowance->used - back : 0;
}

uint64_t allowance_used(const struct state *state, const char *user, usec_t now)
{
    int64_t number = state_find_user(state, user);

    if (number < 0 || (size_t)number >= state->allowances.count)
        return 0;
    return left_at(state, &state->allowances.items[number], now);
}

usec_t allowance_wait(const struct state *state, uint64_t bytes)
{
    uint64_t rate = rate_of(state);

    return (usec_t)((bytes + rate - 1) / rate) * USEC_PER_SEC;
}

void allowance_take(struct state *state, uint32_t user, uint64_t bytes)
{
    if (bytes == 0)
        return;
    while (state->allowances.count <= user)
        list_add(&state->allowances, (struct allowance){ 0 });
    struct allowance *allowance = &state->allowances.items[user];
    *allowance = (struct allowance){ left_at(state, allowance, state->now) + bytes, state->now };
}
