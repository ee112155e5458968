/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOURNAL_EVENT_H
#define CORE_JOURNAL_EVENT_H

/* event - one thing that happened, or one decision, as the journal keeps it
 *
 * The list is event.def. Time is journal time: microseconds that never go backwards, whatever the
 * wall clock does (daemon/clock.h). The arena owns texts and lists of a decoded event.
 */

#include <stdint.h>

#include "base/arena.h"
#include "base/record.h"
#include "base/units.h"
#include "core/cluster/device_type.h"
#include "core/cluster/node.h"
#include "core/cluster/queue_rules.h"
#include "core/cluster/quota.h"
#include "core/health/usage.h"
#include "core/health/watch_rules.h"
#include "core/job/lease.h"
#include "core/job/request.h"

extern const struct record_type request_record, cell_record, node_type_record, device_type_record,
    node_settings_record, queue_name_record, where_term_record, span_record;

/* A queue's quota of a resource other than all GPUs. */
struct event_quota {
    const char *resource;
    struct quota quota;
};

/* enum subject_kind */
struct event_subject {
    const char *name; /* of a user */
    const char *resource;
    int64_t limit;
    uint32_t gid;
    uint8_t kind;
};

/* Other limits of a queue while a window is open. */
struct event_during {
    const char *window, *resource;
    struct quota quota; /* ABSENT: unchanged */
};

/* Another size of a dynamic pool while a window is open. */
struct event_pool_during {
    const char *window;
    int64_t milli_min, milli_max; /* ABSENT: unchanged */
};

/* What a queue, or a user in it, may spend in each period. */
struct event_budget {
    const char *window; /* a period begins whenever this opens or closes; empty: never */
    int64_t most;       /* of money: millionths of the currency; of GPU-time: microseconds */
    uint8_t account;    /* enum account_kind */
    uint8_t firmness;   /* enum firmness */
    const char *user;   /* NULL, empty: the queue; EACH_USER */
};

struct event_span {
    int64_t from, until;
};

/* A device that a member has. */
struct event_held {
    uint32_t device; /* number in the state */
};

enum event_kind {
    EVENT_NONE,
#define EVENT(number, ID, name, subject, meaning) EVENT_##ID = number,
#include "core/journal/event.def"
    EVENT_KIND_MAX,
};

#define EVENT(number, ID, name, subject, meaning)         struct event_##name {
#define MEMBER(event, type, member)                       type member;
#define UINT(event, tag, type, member, meaning)           type member;
#define SWITCH(event, tag, type, member, meaning)         type member;
#define INT(event, tag, type, member, meaning)            type member;
#define TEXT(event, tag, member, meaning)                 const char *member;
#define RECORD(event, tag, type, member, meaning, record) type member;
#define RECORDS(event, tag, type, member, meaning, record)                                         \
    const type *member;                                                                            \
    uint32_t member##_count;
#define END(name)                                                                                  \
    char empty_;                                                                                   \
    }                                                                                              \
    ;
#include "core/journal/event.def"

struct event {
    enum event_kind kind;
    usec_t at;
    union {
#define EVENT(number, ID, name, subject, meaning) struct event_##name name;
#include "core/journal/event.def"
    };
};

/* About nodes, pools, queues, settings and times; the others are about jobs. */
bool event_is_of_world(enum event_kind kind);

/* Decisions of the brain, as opposed to facts reported to it. */
bool event_is_decision(enum event_kind kind);

/* The job that the event is about; 0: none. */
uint64_t event_job(const struct event *event);

const char *event_name(enum event_kind kind);
const char *event_meaning(enum event_kind kind); /* for the documents (tools/gen_spec.c) */
const struct record_type *event_type(enum event_kind kind); /* NULL: no such kind */
const void *event_body(const struct event *event);

enum { EVENT_ROW_BYTES = 16 }; /* about what the journal needs for a record besides its bytes */

void event_encode(const struct event *event, struct text *out);
/* What its record adds to the journal. */
uint64_t event_size(const struct event *event);
int event_decode(const void *bytes, size_t length, struct arena *arena, struct event *ret,
                 struct error *err);

/* The event as a reader of the journal gets it: encoded into bytes (cleared first) and decoded from
 * them into the arena (cleared first). It shares no pointer with the original. */
void event_settle(const struct event *event, struct text *bytes, struct arena *arena,
                  struct event *ret);

#endif
