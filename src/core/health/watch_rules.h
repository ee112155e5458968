/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_WATCH_RULES_H
#define CORE_HEALTH_WATCH_RULES_H

/* watch_rules - rules for jobs that leave their GPUs idle or use more GPU memory than allocated
 *
 * Off unless configured. A job is stopped only after a warning; with dry_run, actions are only
 * reported, not taken. A plain value, as the configuration and the journal have it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/record.h"
#include "base/units.h"

enum idle_action {
    IDLE_WARN,    /* only warn */
    IDLE_REQUEUE, /* the job saves its work and is queued again */
    IDLE_CANCEL,
    IDLE_ACTIONS,
};

/* Which jobs leave a sick device (rescue.h). */
enum sick_jobs {
    SICK_ABLE, /* those that save their work or have retries left */
    SICK_ALL,  /* of a dead device, all except jobs that must not run twice */
    SICK_STAY, /* none */
    SICK_RULES,
};

/* How the engine slurm runs jobs. */
enum slurm_mode {
    SLURM_MODE_JOB,        /* each attempt is a Slurm job */
    SLURM_MODE_ALLOCATION, /* tarn holds nodes, and runs attempts on them itself */
    SLURM_MODES,
};

enum { WATCH_NAMES_SIZE = 512, WATCH_TEXT_SIZE = 512 };

typedef char watch_names[WATCH_NAMES_SIZE], watch_text[WATCH_TEXT_SIZE];

/* Members, defaults and their meaning: config.def. Names and addresses are separated by commas; an
 * empty text means none. alert_silence has the form that alert_is_silenced() reads. */
struct watch_rules {
#define RULE(tag, form, type, member, ...) type member;
#include "core/config.def"
};

enum {
    WATCH_IDLE_LEAST_S = 60,   /* shorter periods are not idling, unless so configured */
    WATCH_WARNED_LEAST_S = 30, /* from the second warning to the stop; less for short limits */
};

extern const struct record_type watch_rules_record;

/* Periods shorter than this are not idling: a minute, or less if the rules say so. */
usec_t watch_idle_least(const struct watch_rules *rules);
/* The least time from the second warning to the stop, whatever happened before. */
usec_t watch_warned_least(const struct watch_rules *rules);

/* Whether a name is in a comma-separated list of names. */
bool watch_names_have(const char *names, const char *name);

#endif
