/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_MEMBERS_H
#define ENGINE_LOCAL_MEMBERS_H

/* members - what the local engine knows of each member, from its shim's start to its forgetting
 *
 * The inside of engine/local/local.h, not for others. A member is RUNNING while its
 * shim lives, CLEARING while what a killed shim left is being killed, and DONE
 * afterwards; it stays known until it is forgotten, so that no outcome is told
 * twice. Outcomes wait in a queue, which only the event loop empties.
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
    struct member *next; /* of the same hash */
    enum phase phase;
    int pidfd; /* of its shim while RUNNING, else -1 */
    bool sent_start, sent_end, forgotten;
    bool is_expected; /* is in members.expected, with this deadline */
    usec_t deadline;
    bool was_silent; /* its shim let the deadline pass, so we killed it */
    struct engine_isolation isolation;
};

struct members {
    char *run_dir;
    char key[20];         /* tells apart the daemons of one machine */
    char boot[BOOT_SIZE]; /* which run of the machine this is */
    struct map table;     /* hash of the id -> struct member, a chain */
    LIST(struct engine_outcome) queue;
    LIST(struct member *) clearing; /* what the timer looks after */
    LIST(struct member_id)
    expected;        /* asked to stop; those that have ended are dropped with the timer */
    usec_t deadline; /* no later than the first of expected; 0: none */
    struct text notes;
    int epoll_fd; /* readable when on_ready has something to do */
    int notify_fd, wake_fd, timer_fd;
    int birth_fd; /* birth.h */
};

/* run_dir and key are set by the caller before. Fails with words; release is fine after. */
int members_init(struct members *members, struct error *err);
void members_release(struct members *members);

/* Do what is ready; what came of it is in the queue. */
void members_on_ready(struct members *members);
void members_wake(const struct members *members); /* let on_ready be called */

struct member *member_find(const struct members *members, struct member_id id);
struct member *member_add(struct members *members, struct member_id id);
void member_remove(struct members *members, struct member *member);
/* Its shim runs; the pidfd is the member's from here on. */
void member_watch(struct members *members, struct member *member, int pidfd);
/* Act on what the status file says: watch a shim that lives, tell an end, clear up after a kill.
 * was_watched: the shim died just now, under our eyes. */
void member_take_up(struct members *members, struct member *member, bool was_watched);
/* A shim that was asked to stop and still runs after that long, with no end told, is killed with
 * its job, and the member is lost. Asked again, the earlier time counts. */
void member_expect_end(struct members *members, struct member *member, usec_t wait);
void member_lose(struct members *members, struct member *member, const char *reason);
/* One that was never started, and will not be. */
void members_refuse(struct members *members, struct member_id id, const char *reason);

char *member_path(const struct members *members, struct member_id id, char *buffer);
char *member_marker(const struct members *members, struct member_id id, char *buffer);

#endif
