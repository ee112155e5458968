/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_WORLD_H
#define WORLDS_FUZZ_WORLD_H

/* fuzz_world - a random world from a seed: machines, queues, pools, settings and actions
 *
 * A world is a list of actions, each at its time: events as people, probes and the configuration
 * send them, and what happens to the programs (restarts, lost memory). Reports of the engine are
 * not in it: the engine (fuzz_engine.h) derives them from the seed, the job and the attempt. So any
 * part of the list is a world of its own, in which the engine behaves as before. This makes
 * minimisation possible (fuzz_shrink.h).
 *
 * To add a policy: a line in the table of parts or of acts (fuzz_world.c), and its invariants
 * (fuzz_check.c).
 *
 * As text, one action per line:  "TIME NAME field=value ...", after a line "world ..."
 * (fuzz_text.h)
 */

#include "base/mem.h"
#include "core/journal/event.h"

/* How the world behaves, beyond its actions. Percent, unless it says otherwise. */
struct fuzz_temper {
    uint64_t seed;
    usec_t quantum;      /* times are multiples of it: large, and much happens at once */
    usec_t run_usual;    /* how long jobs run that say nothing of it */
    uint8_t is_obedient; /* jobs start at once and end by their limits; no surprises */
    uint8_t is_twin;     /* at a restart the old brain goes on beside the new one */
    uint8_t is_repeated; /* the run is done twice, the second time without looking */
    uint8_t fails;       /* attempts that end badly */
    uint8_t late;        /* outcomes that come much too late */
    uint8_t doubled;     /* outcomes that come twice */
    uint8_t silent;      /* members with an end that is not reported */
    uint8_t chooses;     /* members that get another device than their lease has */
    uint8_t old;         /* events with a time before the last one's */
};

extern const struct record_type fuzz_temper_record;

enum fuzz_action_kind {
    FUZZ_EVENT,
    FUZZ_SNAPSHOT,       /* the state is saved; what follows is kept for a restart */
    FUZZ_RESTART,        /* of the brain: the snapshot, what followed, BOOT */
    FUZZ_ENGINE_RESTART, /* what it had not said yet it says again, or never */
    FUZZ_FORGET,         /* all that is over leaves the state */
    FUZZ_REFRESH,        /* the brain has idle time */
    FUZZ_ACTION_KINDS,
};

struct fuzz_action {
    usec_t at;
    uint8_t kind;       /* enum fuzz_action_kind */
    struct event event; /* of FUZZ_EVENT */
};

struct fuzz_world {
    struct fuzz_temper temper;
    LIST(struct fuzz_action) actions; /* by time */
    struct arena strings;
};

enum { FUZZ_STEPS_DEFAULT = 300, FUZZ_STEPS_MAX = 1000000 };

/* So many things are done to it; each may be several actions. */
struct fuzz_world *fuzz_world_make(uint64_t seed, uint32_t steps);
/* A part of a world: actions with `is_kept` set. Shares its strings, which must outlive it. */
struct fuzz_world *fuzz_world_part(const struct fuzz_world *world, const bool *is_kept);
void fuzz_world_destroy(struct fuzz_world *world); /* NULL is fine */
DEFINE_AUTO(fuzz_world)

void fuzz_world_format(const struct fuzz_world *world, struct text *out);
/* source names it in errors: "FILE:LINE: submit: 'gpu': no such field". */
int fuzz_world_parse(const char *bytes, size_t length, const char *source, struct fuzz_world **ret,
                     struct error *err);

#endif
