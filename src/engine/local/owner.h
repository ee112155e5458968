/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_OWNER_H
#define ENGINE_LOCAL_OWNER_H

/* owner - finds the member that a process belongs to
 *
 * It uses the control group (.../tarn/KEY/MEMBER), which a process cannot leave. Without control
 * groups, it uses the marker in the environment of every process of a job. Any user can set that
 * marker, so the caller must accept it only for processes of the user of the job.
 */

#include <stdbool.h>

#include "engine/local/shim_launch.h"

struct owner_ask {
    const char *root; /* "", or the root directory of a test */
    const char *key;  /* struct members.key */
    uint32_t pid;
    bool has_groups; /* each member has a control group */
};

/* False: it belongs to no member of this daemon, or has ended. ret_uid: its user if only the
 * environment identifies it; UINT32_MAX if its control group does. */
bool owner_find(const struct owner_ask *ask, struct member_id *ret, uint32_t *ret_uid);

#endif
