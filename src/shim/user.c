/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

#include <grp.h>
#include <unistd.h>

enum { GROUPS_MAX = 65536 };

/* Root needs no groups of its own, so the job's are taken once; only the user changes to and fro.
 */
void user_take_groups(const struct order *order)
{
    static gid_t groups[GROUPS_MAX];

    if (!order->has_user)
        return;
    size_t count = order_groups(order, groups, GROUPS_MAX);
    if (setgroups(count, groups) < 0 || setresgid((gid_t)-1, order->gid, (gid_t)-1) < 0)
        _exit(SHIM_EXIT_ORDER);
}

/* The effective user, not that for files alone: the kernel asks for it at /proc/sys and the like.
 * Leaving user 0 clears all effective capabilities; returning restores them. */
void user_begin(const struct order *order)
{
    if (order->has_user && setresuid((uid_t)-1, order->uid, (uid_t)-1) < 0)
        _exit(SHIM_EXIT_ORDER);
}

void user_end(const struct order *order)
{
    if (order->has_user && setresuid((uid_t)-1, 0, (uid_t)-1) < 0)
        _exit(SHIM_EXIT_ORDER);
}
