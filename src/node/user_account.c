/* SPDX-License-Identifier: Apache-2.0 */
#include "node/user_account.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

#include "base/mem.h"
#include "io/workers.h"

enum { ACCOUNTS_MAX = 4096, GROUPS_MAX = 65536, ENTRY_BYTES = 65536 };

/* One account, and its look-up. */
struct known {
    struct work_item item;
    struct user_accounts *accounts;
    struct user_account account, found; /* found: by the worker */
    uint64_t read_at;                   /* uv_now() */
    bool is_read, is_reading;
    bool is_late; /* the look-up hangs */
};

struct user_accounts {
    uv_loop_t *loop;
    uv_timer_t *late; /* runs while something is looked up */
    struct workers *workers;
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

static void on_work(struct work_item *item)
{
    struct known *known = CONTAINER_OF(item, struct known, item);
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

static void after_work(struct work_item *item)
{
    struct known *known = CONTAINER_OF(item, struct known, item);
    struct user_accounts *accounts = known->accounts;

    user_account_release(&known->account);
    known->account = known->found;
    known->read_at = uv_now(accounts->loop);
    known->is_read = true;
    known->is_reading = known->is_late = false;
    accounts->reading--;
    if (!accounts->is_ending && accounts->looked)
        accounts->looked(accounts->user);
    free_when_over(accounts);
}

/* What is known of a user is used while the system does not answer. */
static void on_late(uv_timer_t *timer)
{
    struct user_accounts *accounts = timer->data;
    bool is_any = false;

    for (size_t i = 0; i < accounts->known.count; i++) {
        struct known *known = accounts->known.items[i];
        bool is_late = known->is_reading && known->is_read;
        is_any |= is_late && !known->is_late;
        known->is_late = is_late;
    }
    if (is_any && accounts->looked)
        accounts->looked(accounts->user);
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
    known->item = (struct work_item){ .run = on_work, .done = after_work, .kind = WORK_NAMES };
    accounts->reading++;
    if (!uv_is_active((uv_handle_t *)accounts->late))
        uv_timer_start(accounts->late, on_late, USER_ACCOUNT_LATE_MS, 0);
    workers_add(accounts->workers, &known->item);
}

bool user_accounts_is_ready(const struct user_accounts *accounts, uint32_t uid, uint32_t gid)
{
    const struct known *known = find(accounts, uid, gid);

    return known && (is_fresh(accounts, known) || known->is_late);
}

const struct user_account *user_accounts_find(const struct user_accounts *accounts, uint32_t uid,
                                              uint32_t gid)
{
    const struct known *known = find(accounts, uid, gid);

    return known && known->is_read ? &known->account : NULL;
}

struct user_accounts *user_accounts_create(uv_loop_t *loop, struct workers *workers)
{
    struct user_accounts *accounts = mem_zero(1, sizeof(*accounts));

    accounts->loop = loop;
    accounts->workers = workers;
    accounts->late = mem_zero(1, sizeof(*accounts->late));
    accounts->late->data = accounts;
    uv_timer_init(loop, accounts->late);
    return accounts;
}

void user_accounts_listen(struct user_accounts *accounts, void *user, void (*looked)(void *user))
{
    accounts->user = user;
    accounts->looked = looked;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

void user_accounts_destroy(struct user_accounts *accounts)
{
    if (!accounts)
        return;
    accounts->is_ending = true;
    uv_close((uv_handle_t *)accounts->late, on_closed);
    free_when_over(accounts);
}
