/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_CONCURRENCY_H
#define API_CONCURRENCY_H

/* concurrency - how many of a thing that costs something may be open at once
 *
 * One user may have a part of them only, and all users together leave the rest to administrators.
 */

#include <stdbool.h>

#include "base/error.h"

struct concurrency {
    const char *what;     /* "exec: connections to jobs" */
    unsigned each;        /* of one user */
    unsigned users, most; /* of all users; of these and of administrators */
};

/* Whether there may be one more. own: those of the user; 0 for one without a limit. Fails with
 * REFUSED_TOO_MANY. */
int concurrency_check(const struct concurrency *limits, bool is_admin, unsigned own, unsigned count,
                      struct error *err);

#endif
