/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_ALERT_H
#define CORE_HEALTH_ALERT_H

/* alert - decides which alerts to send: when a problem begins, reminders, and when it has ended
 *
 * Each call gets the complete list of current problems; the messages follow from the difference to
 * the list before. A problem that returns within ALERT_HOLD_S has not ended. A silence suppresses
 * the messages for begin and reminder; if the problem outlasts the silence, its begin is sent then.
 * An end is sent if and only if the begin was sent, also during a silence. This module sends
 * nothing and reads no clock. The problems are defined in health.h and job_alert.h.
 *
 * Order of calls:  recall*, (look, take_back*)*, release
 * Limits:          one entry for each combination of name and subject
 */

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/health/health.h"

enum {
    ALERT_NAME_SIZE = 32,
    ALERT_SUBJECT_SIZE = 160,
    ALERT_NODE_SIZE = 64,
    ALERT_WORDS_SIZE = 160,
    ALERT_OWNER_SIZE = 64,
    ALERT_COMMENT_SIZE = 200,
    ALERT_SILENCES_MAX = 256,
    ALERT_HOLD_S = 10,
    ALERT_RECALL_S = 180, /* heat, for instance, is a fault only after two minutes */
};

#define ALERT_JOURNAL  "journal"  /* it cannot be written */
#define ALERT_SHORTAGE "shortage" /* no job can be started on a node for now */
#define ALERT_FILE     "file"     /* a file of the state is not used, because it is damaged */

/* One problem, identified by name and subject. */
struct alert_thing {
    char name[ALERT_NAME_SIZE];       /* of a fault, or one of job_alert.h, or one of the above */
    char subject[ALERT_SUBJECT_SIZE]; /* UUID of the device, "job:7", "queue:a:money",
                                         "queue:a:ana:money", "file:NAME"; "": none */
    char node[ALERT_NODE_SIZE], words[ALERT_WORDS_SIZE];
    int64_t gpu; /* number of the device on its node; -1: none */
    enum health_severity severity;
    uint64_t job;                 /* the job concerned; 0: none */
    char owner[ALERT_OWNER_SIZE]; /* the user who gets the alert; "": the administrators */
};

struct alert_things {
    LIST(struct alert_thing) list;
};

/* Alerts that a user or an administrator has silenced. */
struct alert_silence {
    char name[ALERT_NAME_SIZE];       /* "*": any */
    char subject[ALERT_SUBJECT_SIZE]; /* the same */
    usec_t until;                     /* wall time; 0: for ever */
    usec_t at;                        /* when it was set */
    char by[ALERT_OWNER_SIZE], comment[ALERT_COMMENT_SIZE];
};

enum alert_state { ALERT_BEGINS, ALERT_GOES_ON, ALERT_OVER };

struct alert_message {
    enum alert_state state;
    struct alert_thing thing; /* as last seen */
    usec_t since;
    usec_t told, seen; /* the last time before this message */
};

struct alert_messages {
    LIST(struct alert_message) list;
};

struct alert_entry {
    struct alert_thing thing;
    usec_t since, seen, told;
    bool is_seen, was_told;
};

struct alerts {
    LIST(struct alert_entry) entries;
    struct map by_thing; /* hash of name and subject -> place of an entry, plus one */
};

struct alert_ask {
    const struct alert_thing *things;
    size_t count;
    usec_t now, wall;    /* wall: for the end of a silence */
    usec_t repeat;       /* time between reminders */
    const char *silence; /* as in watch_rules */
    const struct alert_silence *silences;
    size_t silence_count;
};

/* Append the messages to ret, in the order in which the problems began. */
void alerts_look(struct alerts *alerts, const struct alert_ask *ask, struct alert_messages *ret);
/* The message could not be delivered: the next alerts_look() sends it again. To be called before
 * that. */
void alerts_take_back(struct alerts *alerts, const struct alert_message *message);
/* The begin of this problem was sent before a restart, and its end was not: the problem has ended
 * unless it is seen again within ALERT_RECALL_S. */
void alerts_recall(struct alerts *alerts, const struct alert_thing *thing, usec_t since,
                   usec_t told, usec_t now);
void alerts_release(struct alerts *alerts);

/* Whether one of the silences, "NAME SUBJECT UNTIL" separated by commas, covers a problem: * means
 * any, UNTIL is in seconds since 1970, 0 for ever. */
bool alert_is_silenced(const char *silence, const struct alert_thing *thing, usec_t wall);

/* The first silence that covers a problem, or NULL. */
const struct alert_silence *alert_find_silence(const struct alert_silence *silences, size_t count,
                                               const struct alert_thing *thing, usec_t wall);

/* Whether there is an alert of that name. */
bool alert_name_is_known(const char *name);

/* Alerts about jobs and budgets; the others are faults of devices, and the journal. */
enum alert_of {
    ALERT_OF_IDLE,
    ALERT_OF_MEMORY,
    ALERT_OF_LIMIT,
    ALERT_OF_DEVICE,
    ALERT_OF_BUDGET,
    ALERT_OFS,
};
extern const char *const alert_of_names[ALERT_OFS];

const char *alert_state_name(enum alert_state state); /* "begins", "goes_on", "over" */
const char *alert_severity_name(enum health_severity severity);

/* Messages, counted. */
struct alert_counts {
    uint64_t sent, failed, dropped; /* since the daemon was started */
};

#endif
