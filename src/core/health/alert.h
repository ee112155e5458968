/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_ALERT_H
#define CORE_HEALTH_ALERT_H

/* alert - when people are told of what is wrong: once when it begins, again after hours, once when
 * it is over
 *
 * Whoever looks says each time all that is wrong then; what to tell follows from how that differs
 * from the time before. What goes away and comes back within ALERT_HOLD_S never went away. Silence
 * keeps back that something begins or goes on; when it is at an end, what is wrong still begins.
 * What was told to begin is told to be over, silence or not; what was not, is not. It sends
 * nothing, and reads no clock. What there is that can be wrong is in health.h and alert_of.h.
 *
 * Order of calls:  recall*, (look, take_back*)*, release
 * Limits:          one entry for each name and subject that is wrong
 */

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/health/health.h"

enum {
    ALERT_NAME_SIZE = 32,
    ALERT_SUBJECT_SIZE = 96,
    ALERT_NODE_SIZE = 64,
    ALERT_WORDS_SIZE = 160,
    ALERT_OWNER_SIZE = 64,
    ALERT_COMMENT_SIZE = 200,
    ALERT_SILENCES_MAX = 256,
    ALERT_HOLD_S = 10,
    ALERT_RECALL_S = 180, /* heat, for one, is a fault only after two minutes */
};

#define ALERT_JOURNAL "journal" /* it can't be written */

/* One thing that is wrong; name and subject say which. */
struct alert_thing {
    char name[ALERT_NAME_SIZE];       /* a fault's, or one of alert_of.h, or ALERT_JOURNAL */
    char subject[ALERT_SUBJECT_SIZE]; /* UUID of the device, "job:7", "queue:a:money"; "": none */
    char node[ALERT_NODE_SIZE], words[ALERT_WORDS_SIZE];
    int64_t gpu; /* number of the device on its node; -1: none */
    enum health_severity severity;
    uint64_t job;                 /* that it is about; 0: none */
    char owner[ALERT_OWNER_SIZE]; /* the user who is told; "": the administrators are */
};

struct alert_things {
    LIST(struct alert_thing) list;
};

/* What somebody wants to hear nothing of for a while. */
struct alert_silence {
    char name[ALERT_NAME_SIZE];       /* "*": any */
    char subject[ALERT_SUBJECT_SIZE]; /* the same */
    usec_t until;                     /* wall time; 0: for ever */
    usec_t at;                        /* when it was said */
    char by[ALERT_OWNER_SIZE], comment[ALERT_COMMENT_SIZE];
};

enum alert_state { ALERT_BEGINS, ALERT_GOES_ON, ALERT_OVER };

struct alert_message {
    enum alert_state state;
    struct alert_thing thing; /* as it was seen last */
    usec_t since;
    usec_t told, seen; /* before this */
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
    struct map by_thing; /* hash of name and subject -> place plus one of one with it */
};

struct alert_ask {
    const struct alert_thing *things;
    size_t count;
    usec_t now, wall;    /* wall: for the end of a silence */
    usec_t repeat;       /* what goes on is told so often */
    const char *silence; /* as in watch_rules */
    const struct alert_silence *silences;
    size_t silence_count;
};

/* What to tell is added to ret, in the order in which it began. */
void alerts_look(struct alerts *alerts, const struct alert_ask *ask, struct alert_messages *ret);
/* Nobody could be told after all: as if that look had told nothing of it. The next one does. Before
 * that one. */
void alerts_take_back(struct alerts *alerts, const struct alert_message *message);
/* This was told before a restart, and not to be over: it is, unless it is seen again within
 * ALERT_RECALL_S. */
void alerts_recall(struct alerts *alerts, const struct alert_thing *thing, usec_t since,
                   usec_t told, usec_t now);
void alerts_release(struct alerts *alerts);

/* Whether a silence, "NAME SUBJECT UNTIL" with commas between, covers a thing: * is any, UNTIL
 * is in seconds since 1970, 0 for ever. */
bool alert_is_silenced(const char *silence, const struct alert_thing *thing, usec_t wall);

/* The first that covers a thing, or NULL. */
const struct alert_silence *alert_find_silence(const struct alert_silence *silences, size_t count,
                                               const struct alert_thing *thing, usec_t wall);

/* Whether there is an alert of that name. */
bool alert_name_is_known(const char *name);

/* What is wrong with jobs and budgets; the other alerts are faults of devices, and the journal. */
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

/* What was told. */
struct alert_counts {
    uint64_t sent, failed, dropped; /* by way, since the daemon runs */
};

#endif
