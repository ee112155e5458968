/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/gang_size.h"

#include <assert.h>

uint32_t request_most(const struct request *request)
{
    return request_is_elastic(request) ? request->members_max : request->members;
}

bool request_allows(const struct request *request, uint32_t members)
{
    if (members < request->members || members > request_most(request))
        return false;
    return members == request->members || members == request_most(request) ||
           request->sizes == SIZES_ANY || request->per_node || (members & (members - 1)) == 0;
}

uint32_t request_fit(const struct request *request, uint32_t members)
{
    uint32_t most = request_most(request);

    members = members < most ? members : most;
    while (members >= request->members && !request_allows(request, members))
        members--;
    return members >= request->members ? members : 0;
}

/* The least allowed count above `low`; there is one below `high`, or high is handed back. */
static uint32_t next_size(const struct request *request, uint32_t low, uint32_t high)
{
    assert(low < high);
    for (low++; low < high && !request_allows(request, low);)
        low++;
    return low;
}

uint32_t request_search(const struct request *request, uint32_t low, uint32_t most,
                        request_fits_fn *fits, void *user)
{
    uint32_t high = request_fit(request, most);

    if (high <= low)
        return low;
    if (fits(user, high))
        return high;
    for (;;) { /* low fits, high does not */
        uint32_t middle = request_fit(request, low + (high - low) / 2);
        if (middle <= low)
            middle = next_size(request, low, high);
        if (middle >= high)
            return low;
        if (fits(user, middle))
            low = middle;
        else
            high = middle;
    }
}

void request_resize(const struct request *request, uint32_t members, struct request *ret)
{
    assert(request_allows(request, members));
    *ret = *request;
    ret->members = members;
    ret->members_max = 0;
    if (request->per_node)
        ret->nodes_min = ret->nodes_max = members;
}
