/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_GANG_SIZE_H
#define CORE_JOB_GANG_SIZE_H

/* gang_size - how many members a gang may have
 *
 * request->members is what a gang needs to start, and is never less; request->members_max is the
 * most that it can use (0: it is not elastic). Everything that asks whether a job can run (quota,
 * place, promises, estimates) goes by members, and so needs to know nothing of elastic gangs.
 *
 * Between the two, sizes says which counts are allowed (policies 2.9, Sia's configurations):
 *
 *   powers   powers of two, and the least and the most; any count for a gang by nodes, where each
 *            member is one machine ("whole nodes beyond one node")
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

/* The most members that it can use. */
uint32_t request_most(const struct request *request);

/* May it have so many? */
bool request_allows(const struct request *request, uint32_t members);

/* The largest allowed count that is not above `members`; 0: that is less than it needs. */
uint32_t request_fit(const struct request *request, uint32_t members);

/* The largest allowed count above `low`, up to `most`, that fits, by halving; `low` when none does.
 * It is also that of the last call of fits that said yes. */
typedef bool request_fits_fn(void *user, uint32_t members);
uint32_t request_search(const struct request *request, uint32_t low, uint32_t most,
                        request_fits_fn *fits, void *user);

/* The same for exactly so many members, as a plain gang. */
void request_resize(const struct request *request, uint32_t members, struct request *ret);

#endif
