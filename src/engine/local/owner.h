/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_OWNER_H
#define ENGINE_LOCAL_OWNER_H

/* owner - which member a process belongs to
 *
 * By its control group (.../tarn/KEY/MEMBER), which it can't leave; where members have none, by the
 * marker that every process of a job has in its environment. Any user can set it: it counts
 * for processes of the job's user only, which is up to the caller.
 */

#include <stdbool.h>

#include "engine/local/shim_launch.h"

struct owner_ask {
    const char *root; /* "", or that of a test */
    const char *key;  /* of members.h */
    uint32_t pid;
    bool has_groups; /* each member has a control group */
};

/* False: it belongs to none of ours, or is gone. ret_uid: its user, where only its environment says
 * so; UINT32_MAX where its control group does. */
bool owner_find(const struct owner_ask *ask, struct member_id *ret, uint32_t *ret_uid);

#endif
