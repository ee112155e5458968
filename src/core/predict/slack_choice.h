/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PREDICT_SLACK_CHOICE_H
#define CORE_PREDICT_SLACK_CHOICE_H

/* slack_choice - the slack of protected starts that looking ahead chose last (forecast/lookahead.h)
 *
 * Part of the state, from the event SLACK. It holds for queues that set no slack of their own,
 * while the setting `look_ahead` is on.
 */

#include <stdint.h>

#include "base/units.h"

struct slack_choice {
    usec_t least;    /* 0: none was chosen */
    usec_t at;       /* when it was chosen */
    uint32_t waited; /* jobs that waited then */
    /* Mean and longest wait of the jobs in the two simulations: with this slack, with the other. */
    usec_t mean, mean_other;
    usec_t longest, longest_other;
};

#endif
