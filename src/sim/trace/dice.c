/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/dice.h"

#include <math.h>

static uint64_t dice_next(struct dice *dice)
{
    uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct dice dice_of(uint64_t seed)
{
    struct dice dice = { seed };

    dice_next(&dice); /* neighbouring seeds part at once */
    return dice;
}

uint64_t dice_below(struct dice *dice, uint64_t count)
{
    uint64_t rest = UINT64_MAX % count + 1, value; /* number of values to reject, to avoid a bias */

    do
        value = dice_next(dice);
    while (rest != count && value > UINT64_MAX - rest);
    return value % count;
}

double dice_unit(struct dice *dice)
{
    return (double)((dice_next(dice) >> 11) + 1) / 9007199254740992.0;
}

double dice_exponential(struct dice *dice, double mean)
{
    return -mean * log(dice_unit(dice));
}

double dice_normal(struct dice *dice)
{
    double radius = sqrt(-2.0 * log(dice_unit(dice)));

    return radius * cos(6.283185307179586 * dice_unit(dice));
}
