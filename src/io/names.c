/* SPDX-License-Identifier: Apache-2.0 */
#include "io/names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "io/workers.h"

enum { KEPT_MAX = 4096, GROUPS_MAX = 65536, ENTRY_BYTES = 1 << 16, PENDING_MAX = 64 };

enum subject { USER_NUMBER, USER_NAME, GROUP_NUMBER, GROUP_NAME };

/* A question, and its answer. */
struct lookup {
    struct work_item item;
    enum subject subject;
    char *key; /* the name, or the number as digits */
    uint32_t number;
    struct name_entry entry;
    int code;          /* 0, or -ENOENT */
    uint64_t answered; /* uv_hrtime() */
};

static struct {
    struct workers *workers; /* NULL: the caller waits */
    pid_t pid;               /* of the process that has the workers */
    LIST(struct lookup *) kept;
    struct lookup *alone; /* the answer of the last look-up without workers */
    unsigned pending;
} names;

static const char *const databases[] = { "user", "user", "group", "group" };

static void lookup_destroy(struct lookup *lookup)
{
    if (!lookup)
        return;
    free(lookup->key);
    free(lookup->entry.name);
    free(lookup->entry.home);
    free(lookup->entry.groups);
    free(lookup);
}

/* ---- the databases; in a thread ---- */

static void list_groups(struct name_entry *entry)
{
    int count = GROUPS_MAX;

    entry->groups = mem_zero(GROUPS_MAX, sizeof(entry->groups[0]));
    if (getgrouplist(entry->name, entry->gid, entry->groups, &count) < 0) {
        entry->groups[0] = entry->gid;
        count = 1;
    }
    entry->group_count = (size_t)count;
    entry->groups = mem_resize(entry->groups, entry->group_count, sizeof(entry->groups[0]));
}

static int ask_user(struct lookup *lookup, char *buffer)
{
    struct passwd space, *found = NULL;

    if (lookup->subject == USER_NUMBER)
        getpwuid_r(lookup->number, &space, buffer, ENTRY_BYTES, &found);
    else
        getpwnam_r(lookup->key, &space, buffer, ENTRY_BYTES, &found);
    if (!found)
        return -ENOENT;
    lookup->entry = (struct name_entry){ .name = mem_string(found->pw_name),
                                         .number = found->pw_uid,
                                         .gid = found->pw_gid,
                                         .home = mem_string(found->pw_dir) };
    list_groups(&lookup->entry);
    return 0;
}

static int ask_group(struct lookup *lookup, char *buffer)
{
    struct group space, *found = NULL;

    if (lookup->subject == GROUP_NUMBER)
        getgrgid_r(lookup->number, &space, buffer, ENTRY_BYTES, &found);
    else
        getgrnam_r(lookup->key, &space, buffer, ENTRY_BYTES, &found);
    if (!found)
        return -ENOENT;
    lookup->entry =
        (struct name_entry){ .name = mem_string(found->gr_name), .number = found->gr_gid };
    return 0;
}

static void ask(struct work_item *item)
{
    struct lookup *lookup = CONTAINER_OF(item, struct lookup, item);
    AUTO_FREE char *buffer = mem_zero(1, ENTRY_BYTES);

    lookup->code =
        lookup->subject <= USER_NAME ? ask_user(lookup, buffer) : ask_group(lookup, buffer);
    lookup->answered = uv_hrtime();
}

/* ---- in the loop ---- */

static int64_t find(enum subject subject, const char *key)
{
    for (size_t i = 0; i < names.kept.count; i++) {
        if (names.kept.items[i]->subject == subject && strcmp(names.kept.items[i]->key, key) == 0)
            return (int64_t)i;
    }
    return -1;
}

/* What does not exist may exist at the next question. */
static void keep(struct lookup *lookup)
{
    int64_t at = find(lookup->subject, lookup->key);

    if (at >= 0 || names.kept.count == KEPT_MAX) {
        size_t place = at >= 0 ? (size_t)at : 0;
        lookup_destroy(names.kept.items[place]);
        list_remove(&names.kept, place);
    }
    if (lookup->code == 0)
        list_add(&names.kept, lookup);
    else
        lookup_destroy(lookup);
}

static void on_asked(struct work_item *item)
{
    names.pending--;
    keep(CONTAINER_OF(item, struct lookup, item));
}

static struct lookup *lookup_create(enum subject subject, const char *key, uint32_t number)
{
    struct lookup *lookup = mem_zero(1, sizeof(*lookup));

    *lookup = (struct lookup){
        .item = { .run = ask, .done = on_asked, .kind = WORK_NAMES },
        .subject = subject,
        .key = mem_string(key),
        .number = number,
    };
    return lookup;
}

static int give(const struct lookup *lookup, const struct name_entry **ret, struct error *err)
{
    if (lookup->code < 0)
        return error_set(err, lookup->code, "no %s '%s'", databases[lookup->subject], lookup->key);
    *ret = &lookup->entry;
    return 0;
}

static bool is_fresh(const struct lookup *lookup)
{
    return uv_hrtime() - lookup->answered < NAMES_FRESH_S * UINT64_C(1000000000);
}

/* A copy of the process has no workers, and may have been made while one held a lock of the
 * databases. */
static bool is_copy(void)
{
    return names.workers && names.pid != getpid();
}

/* The one in this process, or by a worker that is waited for; NULL: it takes longer. */
static struct lookup *look_up(enum subject subject, const char *key, uint32_t number)
{
    struct lookup *lookup = lookup_create(subject, key, number);

    if (!names.workers || is_copy()) {
        ask(&lookup->item);
        lookup_destroy(names.alone);
        return names.alone = lookup;
    }
    bool is_stuck = workers_age_ms(names.workers, WORK_NAMES) >= NAMES_WAIT_MS;
    if (is_stuck && names.pending >= PENDING_MAX) {
        lookup_destroy(lookup);
        return NULL;
    }
    names.pending++;
    if (is_stuck)
        workers_add(names.workers, &lookup->item);
    else if (workers_wait(names.workers, &lookup->item, NAMES_WAIT_MS))
        return lookup;
    return NULL;
}

static int answer(enum subject subject, const char *key, uint32_t number,
                  const struct name_entry **ret, struct error *err)
{
    int64_t at = find(subject, key);
    const struct lookup *kept = at >= 0 ? names.kept.items[at] : NULL;

    if (kept && (is_fresh(kept) || is_copy()))
        return give(kept, ret, err);
    const struct lookup *found = look_up(subject, key, number);
    if (found || kept)
        return give(found ? found : kept, ret, err);
    return error_set(err, -ETIMEDOUT,
                     "the %s database of this machine does not answer for '%s'; try again later",
                     databases[subject], key);
}

static int answer_number(enum subject subject, uint32_t number, const struct name_entry **ret,
                         struct error *err)
{
    char digits[16];

    snprintf(digits, sizeof(digits), "%u", (unsigned)number);
    return answer(subject, digits, number, ret, err);
}

int names_user(uid_t uid, const struct name_entry **ret, struct error *err)
{
    return answer_number(USER_NUMBER, uid, ret, err);
}

int names_user_called(const char *name, const struct name_entry **ret, struct error *err)
{
    return answer(USER_NAME, name, 0, ret, err);
}

int names_group(gid_t gid, const struct name_entry **ret, struct error *err)
{
    return answer_number(GROUP_NUMBER, gid, ret, err);
}

int names_group_called(const char *name, const struct name_entry **ret, struct error *err)
{
    return answer(GROUP_NAME, name, 0, ret, err);
}

void names_start(struct workers *workers)
{
    names.workers = workers;
    names.pid = getpid();
}

void names_stop(void)
{
    names.workers = NULL;
    for (size_t i = 0; i < names.kept.count; i++)
        lookup_destroy(names.kept.items[i]);
    list_release(&names.kept);
    lookup_destroy(TAKE(names.alone));
}
