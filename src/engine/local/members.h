/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_MEMBERS_H
#define ENGINE_LOCAL_MEMBERS_H

/* members - the members that the local engine knows, from the start of the shim until forgotten
 *
 * Internal to engine/local/local.h. A member is RUNNING while its shim lives, CLEARING while the
 * engine kills the leftovers of a killed shim, and DONE afterwards. It stays known until it is
 * forgotten, so that no outcome is reported twice. Outcomes wait in a queue, which only the event
 * loop empties.
 *
 * Order of calls:  init, (add | take_up | on_*)*, release
 * Owner:           the table owns its members
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/engine.h"
#include "engine/local/local.h"

enum {
    STATUS_FILE_SIZE = LOCAL_STATE_DIR_MAX + 64,
    BOOT_SIZE = 64,
    MARKER_SIZE = 96,
};

enum phase {
    PHASE_RUNNING,
    PHASE_CLEARING,
    PHASE_DONE,
};

struct member {
    struct member_id id;
    struct member *next; /* next member with the same hash */
    enum phase phase;
    int pidfd; /* of its shim while RUNNING, else -1 */
    bool sent_start, sent_end, forgotten;
    bool is_expected; /* is in members.expected, with this deadline */
    usec_t deadline;
    bool was_silent; /* its shim missed the deadline, so the engine killed it */
    struct engine_isolation isolation;
};

struct members {
    char *run_dir;
    char key[20];         /* distinguishes the daemons of one machine */
    char boot[BOOT_SIZE]; /* boot ID of the machine */
    struct map table;     /* hash of the id -> struct member, a chain */
    LIST(struct engine_outcome) queue;
    LIST(struct member *) clearing; /* handled by the timer */
    LIST(struct member_id)
    expected;        /* asked to stop; the timer drops members that have ended */
    usec_t deadline; /* at most the earliest deadline of `expected`; 0: none */
    struct text notes;
    int epoll_fd; /* readable when on_ready has something to do */
    int notify_fd, wake_fd, timer_fd;
    int birth_fd; /* birth.h */
};

/* The caller sets run_dir and key before. After a failure, release is permitted. */
int members_init(struct members *members, struct error *err);
void members_release(struct members *members);

/* Process what is ready; the results are in the queue. */
void members_on_ready(struct members *members);
void members_wake(const struct members *members); /* make the loop call on_ready */

struct member *member_find(const struct members *members, struct member_id id);
struct member *member_add(struct members *members, struct member_id id);
void member_remove(struct members *members, struct member *member);
/* Its shim runs; takes over the pidfd. */
void member_watch(struct members *members, struct member *member, int pidfd);
/* Act on the status file: watch a living shim, report an end, clean up after a killed shim.
 * was_watched: the shim has just died, while it was watched. */
void member_take_up(struct members *members, struct member *member, bool was_watched);
/* If the shim still runs after `wait` and has reported no end, kill it with its job; the member is
 * lost. If it is called again, the earlier time applies. */
void member_expect_end(struct members *members, struct member *member, usec_t wait);
void member_lose(struct members *members, struct member *member, const char *reason);
/* Report a member that was never started, and never will be: ENGINE_FAILED or ENGINE_RETURNED. */
void members_refuse(struct members *members, struct member_id id, enum engine_outcome_kind kind,
                    const char *reason);

char *member_path(const struct members *members, struct member_id id, char *buffer);
char *member_marker(const struct members *members, struct member_id id, char *buffer);

#endif
