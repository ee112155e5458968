/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_CHECK_H
#define WORLDS_FUZZ_CHECK_H

/* fuzz_check - the invariants, each a small named function in one table (fuzz_check.def)
 *
 * They use the shadow (fuzz_shadow.h), and only the outputs of the brain: decisions, reasons, its
 * next wakeup. Checks that need more (a second run, a snapshot) are part of the run
 * itself (fuzz_run.c).
 */

#include "worlds/fuzz_run.h"

enum fuzz_when {
    FUZZ_BEFORE,  /* a decision counts in the shadow */
    FUZZ_AFTER,   /* it does */
    FUZZ_SETTLED, /* all of an instant was told, and the brain wants no plan */
    FUZZ_SAMPLED, /* the same, now and then: what takes long */
    FUZZ_END,     /* of the world */
};

struct fuzz_invariant {
    const char *name;
    const char *meaning;
    enum fuzz_when when;
    enum event_kind decision; /* BEFORE, AFTER: which one; else EVENT_NONE */
    /* False: it does not hold, found says what was expected and what is. */
    bool (*holds)(struct fuzz_run *run, const struct event *decision, struct error *found);
};

extern const struct fuzz_invariant fuzz_invariants[];
extern const size_t fuzz_invariant_count;

/* Jobs that could not start, and the room at that time: checked again when there is more. */
struct fuzz_checks {
    LIST(uint64_t) misfits; /* by kind of job: shadow->more_room */
    struct map seen;        /* bucket -> settled, when its head was looked at */
    uint64_t settled;       /* instants */
    uint64_t head;          /* the oldest that waits and can run */
    usec_t head_since;
    bool lacked_room, lacked_quota; /* since then */
    size_t asked_from;              /* which job is asked first why it waits */
    usec_t limit_most;              /* of all jobs so far */
};

struct fuzz_checks *fuzz_checks_create(void);
void fuzz_checks_destroy(struct fuzz_checks *checks); /* NULL is fine */

/* All of this kind; the first that does not hold is noted as the run's failure. */
void fuzz_check(struct fuzz_run *run, enum fuzz_when when, const struct event *decision);

#define INVARIANT(name, when, decision, meaning)                                                   \
    bool check_##name(struct fuzz_run *run, const struct event *event, struct error *found);
#include "worlds/fuzz_check.def"
#undef INVARIANT

/* One line, and false. */
#define NOT_HELD(found, ...) (error_set(found, -EINVAL, __VA_ARGS__), false)

#endif
