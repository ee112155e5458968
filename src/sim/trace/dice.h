/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_DICE_H
#define SIM_TRACE_DICE_H

/* dice - reproducible random numbers from a seed, the same on every machine (splitmix64) */

#include <stdint.h>

struct dice {
    uint64_t state;
};

struct dice dice_of(uint64_t seed);
uint64_t dice_below(struct dice *dice, uint64_t count); /* 0 to count - 1; count above 0 */
double dice_unit(struct dice *dice);                    /* above 0, at most 1 */
double dice_exponential(struct dice *dice, double mean);
double dice_normal(struct dice *dice); /* mean 0, deviation 1 */

#endif
