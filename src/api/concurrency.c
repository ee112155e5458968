/* SPDX-License-Identifier: Apache-2.0 */
#include "api/concurrency.h"

#include "control/control.h"

int concurrency_check(const struct concurrency *limits, bool is_admin, unsigned own, unsigned count,
                      struct error *err)
{
    unsigned most = is_admin ? limits->most : limits->users;

    if (own >= limits->each)
        return error_set(err, REFUSED_TOO_MANY,
                         "%s: the user has %u open already, the most of one user; try again later",
                         limits->what, own);
    return count < most ? 0
                        : error_set(err, REFUSED_TOO_MANY,
                                    "%s: %u are open already, the most of all users; try again "
                                    "later",
                                    limits->what, count);
}
