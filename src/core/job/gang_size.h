/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_GANG_SIZE_H
#define CORE_JOB_GANG_SIZE_H

/* gang_size - how many members a gang may have
 *
 * A gang needs request->members to start and never has fewer; request->members_max is the most that
 * it can use (0: it is not elastic). Everything that asks whether a job can run (quota, placement,
 * promises, estimates) goes by members and so does not have to know about elastic gangs.
 *
 * sizes says which counts between the two are allowed (Sia's configurations):
 *
 *   powers   powers of two, the minimum and the maximum; any count if each member has a node of its
 *            own ("whole nodes beyond one node")
 *   any      every count
 *
 * A job says how the count may change after its start (enum resize of job.h).
 */

#include "core/job/request.h"

enum request_sizes { SIZES_POWERS, SIZES_ANY };

static inline bool request_is_elastic(const struct request *request)
{
    return request->members_max > request->members;
}

/* Whether its members are ranks of a gang, also while an elastic one has one member. */
static inline bool request_is_gang(const struct request *request)
{
    return request->members > 1 || request_is_elastic(request) || request->roles_count > 0;
}

/* The most members that it can use. */
uint32_t request_most(const struct request *request);

/* Whether it may have this many. */
bool request_allows(const struct request *request, uint32_t members);

/* The largest allowed count that is at most `members`; 0: there is none. */
uint32_t request_fit(const struct request *request, uint32_t members);

/* The largest allowed count above `low`, up to `most`, that fits, found by bisection; `low` if none
 * does. It is also the argument of the last call of fits that returned true. */
typedef bool request_fits_fn(void *user, uint32_t members);
uint32_t request_search(const struct request *request, uint32_t low, uint32_t most,
                        request_fits_fn *fits, void *user);

/* The same request for exactly this many members, as a plain gang. */
void request_resize(const struct request *request, uint32_t members, struct request *ret);

#endif
