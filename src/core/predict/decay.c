/* SPDX-License-Identifier: Apache-2.0 */
#include "core/predict/decay.h"

#include <assert.h>

#include "base/wide.h"

#define ONE  (UINT64_C(1) << 32)
#define FINE (UINT64_C(1) << 62)

/* 2^-(1/2^k) in parts of 2^32, k = 1, 2 ... */
static const uint32_t roots[] = {
    3037000500, 3611622603, 3938502376, 4112874773, 4202935003, 4248701965,
    4271771996, 4283353945, 4289156690, 4292061010, 4293513907, 4294240540,
};

/* 2^-(elapsed / half_life) in parts of 2^62, for elapsed below half_life: the first twelve bits
 * of the quotient by the table, what is left by the series of e^-x, which is short there. */
static uint64_t fraction_of_half(usec_t elapsed, usec_t half_life)
{
    assert(elapsed >= 0 && elapsed < half_life);

    const uint64_t ln2 = UINT64_C(3196577161300663915); /* in parts of 2^62 */
    const unsigned tail_bits = 62 - COUNT_OF(roots);
    uint64_t position = wide_scale((uint64_t)elapsed, FINE, (uint64_t)half_life);
    uint64_t factor = ONE;

    for (size_t k = 0; k < COUNT_OF(roots); k++) {
        if (position >> (61 - k) & 1)
            factor = wide_scale(factor, roots[k], ONE);
    }
    uint64_t x = wide_scale(position & ((UINT64_C(1) << tail_bits) - 1), ln2, FINE);
    return wide_scale(FINE - x + wide_scale(x, x, FINE) / 2, factor, ONE);
}

uint64_t usage_decay(uint64_t value, usec_t elapsed, usec_t half_life)
{
    assert(half_life > 0);
    if (elapsed <= 0)
        return value;
    usec_t halvings = elapsed / half_life;
    if (halvings >= 63)
        return 0;
    return wide_scale(value >> halvings, fraction_of_half(elapsed % half_life, half_life), FINE);
}
