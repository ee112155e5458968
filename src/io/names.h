/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_NAMES_H
#define IO_NAMES_H

/* names - users and groups of this machine, as the system's databases have them
 *
 * The databases may be a directory server that is slow or down. After names_start, workers ask
 * them, and the loop waits for an answer for NAMES_WAIT_MS at most. While a look-up takes longer
 * than that, the loop waits for none. An answer is used without asking again for NAMES_FRESH_S,
 * and longer while the databases do not answer. Before names_start, and in a copy of the process
 * without its threads, the caller waits.
 *
 * Order of calls:  start once, look-ups, stop
 * Owner:           the process. What a look-up returns is good until the next one
 * On failure:      -ENOENT: there is no such name; -ETIMEDOUT: the databases do not answer
 */

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum { NAMES_WAIT_MS = 500, NAMES_FRESH_S = 5 };

struct workers;

struct name_entry {
    char *name;
    uint32_t number; /* of the user, or of the group */
    uint32_t gid;    /* of a user: the main group */
    char *home;      /* of a user */
    gid_t *groups;   /* of a user: all groups */
    size_t group_count;
};

void names_start(struct workers *workers);
void names_stop(void);

int names_user(uid_t uid, const struct name_entry **ret, struct error *err);
int names_user_called(const char *name, const struct name_entry **ret, struct error *err);
int names_group(gid_t gid, const struct name_entry **ret, struct error *err);
int names_group_called(const char *name, const struct name_entry **ret, struct error *err);

#endif
