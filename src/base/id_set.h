/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ID_SET_H
#define BASE_ID_SET_H

/* id_set - a set of numbers that are near one another, in order
 *
 * A bit for each number between the first and the last one, a bit for each word of these that is
 * not 0, and so on: the next or previous number is found in three words, and few more for each
 * 262,144 numbers. A set that becomes empty frees its bits.
 */

#include <stdint.h>

#include "base/mem.h"

enum { ID_SET_LEVELS = 3 };

struct id_set {
    LIST(uint64_t) levels[ID_SET_LEVELS];
    uint64_t base; /* the number of the first bit; a multiple of 64^3 */
    uint64_t count;
};

void id_set_add(struct id_set *set, uint64_t id);    /* it is not in the set */
void id_set_remove(struct id_set *set, uint64_t id); /* it is */
void id_set_release(struct id_set *set);

/* The least number above, or the largest below, this one; 0: none. */
uint64_t id_set_next(const struct id_set *set, uint64_t after);
uint64_t id_set_previous(const struct id_set *set, uint64_t before);

#endif
