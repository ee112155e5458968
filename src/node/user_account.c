/* SPDX-License-Identifier: Apache-2.0 */
#include "node/user_account.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

#include "base/mem.h"

enum { ACCOUNTS_MAX = 4096, GROUPS_MAX = 65536, ENTRY_BYTES = 65536 };

/* One account, and its look-up. */
struct known {
    uv_work_t request;
    struct user_accounts *accounts;
    struct user_account account, found; /* found: by the worker */
    uint64_t read_at;                   /* uv_now() */
    bool is_read, is_reading;
};

struct user_accounts {
    uv_loop_t *loop;
    void *user;
    void (*looked)(void *user);
    LIST(struct known *) known;
    uint32_t reading;
    bool is_ending;
};

static void user_account_release(struct user_account *account)
{
    free(account->name);
    free(account->home);
    free(account->shell);
    free(account->groups);
}

static void known_destroy(struct known *known)
{
    user_account_release(&known->account);
    free(known);
}

static struct known *find(const struct user_accounts *accounts, uint32_t uid, uint32_t gid)
{
    for (size_t i = 0; i < accounts->known.count; i++) {
        struct known *known = accounts->known.items[i];
        if (known->account.uid == uid && known->account.gid == gid)
            return known;
    }
    return NULL;
}

static bool is_fresh(const struct user_accounts *accounts, const struct known *known)
{
    return known->is_read &&
           uv_now(accounts->loop) - known->read_at < (uint64_t)USER_ACCOUNT_KEPT_S * 1000;
}

/* ---- in the worker ---- */

static void on_work(uv_work_t *request)
{
    struct known *known = request->data;
    struct user_account *found = &known->found;
    struct passwd entry, *user = NULL;
    AUTO_FREE char *buffer = mem_zero(1, ENTRY_BYTES);
    int count = GROUPS_MAX;

    found->groups = mem_zero(GROUPS_MAX, sizeof(found->groups[0]));
    if (getpwuid_r(found->uid, &entry, buffer, ENTRY_BYTES, &user) == 0 && user) {
        found->name = mem_string(user->pw_name);
        found->home = mem_string(user->pw_dir);
        found->shell = mem_string(user->pw_shell[0] ? user->pw_shell : "/bin/sh");
    }
    if (!user || getgrouplist(user->pw_name, found->gid, found->groups, &count) < 0) {
        found->groups[0] = found->gid;
        count = 1;
    }
    found->group_count = (uint32_t)count;
    found->groups = mem_resize(found->groups, found->group_count, sizeof(found->groups[0]));
}

/* ---- in the loop ---- */

static void free_when_over(struct user_accounts *accounts)
{
    if (!accounts->is_ending || accounts->reading > 0)
        return;
    for (size_t i = 0; i < accounts->known.count; i++)
        known_destroy(accounts->known.items[i]);
    list_release(&accounts->known);
    free(accounts);
}

static void after_work(uv_work_t *request, int status)
{
    struct known *known = request->data;
    struct user_accounts *accounts = known->accounts;

    (void)status;
    user_account_release(&known->account);
    known->account = known->found;
    known->read_at = uv_now(accounts->loop);
    known->is_read = true;
    known->is_reading = false;
    accounts->reading--;
    if (!accounts->is_ending && accounts->looked)
        accounts->looked(accounts->user);
    free_when_over(accounts);
}

static void drop_old(struct user_accounts *accounts)
{
    for (size_t i = accounts->known.count; i-- > 0;) {
        struct known *known = accounts->known.items[i];
        if (known->is_reading || is_fresh(accounts, known))
            continue;
        list_remove(&accounts->known, i);
        known_destroy(known);
    }
}

static struct known *claim(struct user_accounts *accounts, uint32_t uid, uint32_t gid)
{
    struct known *known = find(accounts, uid, gid);

    if (known)
        return known;
    if (accounts->known.count >= ACCOUNTS_MAX)
        drop_old(accounts);
    known = mem_zero(1, sizeof(*known));
    known->accounts = accounts;
    known->account.uid = uid;
    known->account.gid = gid;
    list_add(&accounts->known, known);
    return known;
}

void user_accounts_refresh(struct user_accounts *accounts, uint32_t uid, uint32_t gid)
{
    struct known *known = claim(accounts, uid, gid);

    if (known->is_reading || is_fresh(accounts, known))
        return;
    known->is_reading = true;
    known->found = (struct user_account){ .uid = uid, .gid = gid };
    known->request.data = known;
    accounts->reading++;
    uv_queue_work(accounts->loop, &known->request, on_work, after_work);
}

bool user_accounts_is_fresh(const struct user_accounts *accounts, uint32_t uid, uint32_t gid)
{
    const struct known *known = find(accounts, uid, gid);

    return known && is_fresh(accounts, known);
}

const struct user_account *user_accounts_find(const struct user_accounts *accounts, uint32_t uid,
                                              uint32_t gid)
{
    const struct known *known = find(accounts, uid, gid);

    return known && known->is_read ? &known->account : NULL;
}

struct user_accounts *user_accounts_create(uv_loop_t *loop)
{
    struct user_accounts *accounts = mem_zero(1, sizeof(*accounts));

    accounts->loop = loop;
    return accounts;
}

void user_accounts_listen(struct user_accounts *accounts, void *user, void (*looked)(void *user))
{
    accounts->user = user;
    accounts->looked = looked;
}

void user_accounts_destroy(struct user_accounts *accounts)
{
    if (!accounts)
        return;
    accounts->is_ending = true;
    free_when_over(accounts);
}
