/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_USER_ACCOUNT_H
#define NODE_USER_ACCOUNT_H

/* user_account - the accounts that jobs run as: home directory, shell, groups
 *
 * A worker looks users up, because the system may have to query a slow directory server. The
 * result is kept for USER_ACCOUNT_KEPT_S seconds, and longer while the system does not answer.
 *
 * Order of calls:  create, (refresh | find)*, destroy
 */

#include <stdbool.h>
#include <uv.h>

enum { USER_ACCOUNT_KEPT_S = 60, USER_ACCOUNT_LATE_MS = 1000 };

struct user_account {
    uint32_t uid, gid;
    char *name, *home, *shell; /* NULL: the system has no user with this number */
    uint32_t *groups;          /* all groups of the user; for an unknown user only gid */
    uint32_t group_count;
};

struct user_accounts;
struct workers;

struct user_accounts *user_accounts_create(uv_loop_t *loop, struct workers *workers);
/* looked: called when a look-up has ended. */
void user_accounts_listen(struct user_accounts *accounts, void *user, void (*looked)(void *user));
/* Look-ups in progress still refer to it: before the workers are stopped. NULL is fine. */
void user_accounts_destroy(struct user_accounts *accounts);

/* Look the user up, unless the result is fresh or a look-up is in progress. */
void user_accounts_refresh(struct user_accounts *accounts, uint32_t uid, uint32_t gid);
/* Whether the result is fresh, or an older one is there and the look-up hangs. */
bool user_accounts_is_ready(const struct user_accounts *accounts, uint32_t uid, uint32_t gid);
/* The last result, valid until the next turn of the loop; NULL: never looked up. */
const struct user_account *user_accounts_find(const struct user_accounts *accounts, uint32_t uid,
                                              uint32_t gid);

#endif
