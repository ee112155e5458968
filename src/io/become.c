/* SPDX-License-Identifier: Apache-2.0 */
#include "io/become.h"

#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

int become_user(uid_t uid, gid_t gid)
{
    if (geteuid() == 0 && uid != 0 &&
        (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0))
        return -errno;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return 0;
}
