/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_USER_ACCOUNT_H
#define NODE_USER_ACCOUNT_H

/* user_account - the users of this machine as jobs run as them: home, shell, groups
 *
 * The system may ask a directory server, which takes its time, so a worker looks a user up. The
 * answer is kept for USER_ACCOUNT_KEPT_S seconds.
 *
 * Order of calls:  create, (refresh | find)*, destroy
 */

#include <stdbool.h>
#include <uv.h>

enum { USER_ACCOUNT_KEPT_S = 60 };

struct user_account {
    uint32_t uid, gid;
    char *name, *home, *shell; /* NULL: the system has no user of that number */
    uint32_t *groups;          /* all that the user is in; of an unknown user gid alone */
    uint32_t group_count;
};

struct user_accounts;

struct user_accounts *user_accounts_create(uv_loop_t *loop);
/* looked: a look-up is over. */
void user_accounts_listen(struct user_accounts *accounts, void *user, void (*looked)(void *user));
/* Look-ups under way are waited for by the loop. NULL is fine. */
void user_accounts_destroy(struct user_accounts *accounts);

/* Look it up, unless it is fresh or that is under way. */
void user_accounts_refresh(struct user_accounts *accounts, uint32_t uid, uint32_t gid);
bool user_accounts_is_fresh(const struct user_accounts *accounts, uint32_t uid, uint32_t gid);
/* As it was looked up last, good until the next turn of the loop; NULL: never. */
const struct user_account *user_accounts_find(const struct user_accounts *accounts, uint32_t uid,
                                              uint32_t gid);

#endif
