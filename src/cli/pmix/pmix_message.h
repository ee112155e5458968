/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PMIX_PMIX_MESSAGE_H
#define CLI_PMIX_PMIX_MESSAGE_H

/* pmix_message - what the PMIx server of a step reports about a task, through a pipe */

#include <stdint.h>

struct pmix_message {
    uint8_t is_abort; /* the task asks to end the step; else it was lost: it ended without the
                         end that the others wait for */
    uint8_t status;   /* of the abort */
    uint16_t rank;
};

enum { PMIX_TASKS_MAX = 4096 };

#endif
