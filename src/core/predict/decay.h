/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PREDICT_DECAY_H
#define CORE_PREDICT_DECAY_H

/* decay - exponential decay in integers */

#include <stdint.h>

#include "base/units.h"

/* value * 2^-(elapsed / half_life); elapsed below 0 counts as 0 */
uint64_t usage_decay(uint64_t value, usec_t elapsed, usec_t half_life);

#endif
