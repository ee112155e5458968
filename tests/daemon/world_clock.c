/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon sees of the machine besides its GPUs: clocks, and which run of it this is. */
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "device/numa.h"
#include "io/file.h"
#include "node/user_account.h"
#include "world.h"

int clock_gettime(clockid_t which, struct timespec *ret)
{
    if (!world || which == CLOCK_PROCESS_CPUTIME_ID)
        return (int)syscall(SYS_clock_gettime, which, ret);
    bool is_wall = which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE;
    usec_t now = is_wall ? world->wall : world->since_boot;
    *ret = (struct timespec){ .tv_sec = now / USEC_PER_SEC, .tv_nsec = now % USEC_PER_SEC * 1000 };
    return 0;
}

int __real_file_read(const char *path, size_t bytes_max, struct text *text, struct error *err);
int __wrap_file_read(const char *path, size_t bytes_max, struct text *text, struct error *err);
int __wrap_file_read(const char *path, size_t bytes_max, struct text *text, struct error *err)
{
    if (!world || strcmp(path, "/proc/sys/kernel/random/boot_id") != 0)
        return __real_file_read(path, bytes_max, text, err);
    text_add(text, world->boot);
    return 0;
}

/* The accounts of users have no part in a world: a worker that waits for a device would delay them.
 */
void __wrap_user_accounts_refresh(struct user_accounts *accounts, uint32_t uid, uint32_t gid);
void __wrap_user_accounts_refresh(struct user_accounts *accounts, uint32_t uid, uint32_t gid)
{
    (void)accounts;
    (void)uid;
    (void)gid;
}

bool __wrap_user_accounts_is_ready(const struct user_accounts *accounts, uint32_t uid,
                                   uint32_t gid);
bool __wrap_user_accounts_is_ready(const struct user_accounts *accounts, uint32_t uid, uint32_t gid)
{
    (void)accounts;
    (void)uid;
    (void)gid;
    return true;
}

/* Looking for the machine's own takes longer than all the rest. */
struct numa *__wrap_numa_create(void);
struct numa *__wrap_numa_create(void)
{
    return NULL;
}
