/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_WATCH_RULES_H
#define CORE_HEALTH_WATCH_RULES_H

/* watch_rules - rules for jobs that leave their GPUs idle or use more GPU memory than allocated
 *
 * Off unless configured. A job is stopped only after a warning; with dry_run it is only reported
 * what would have been done. A plain value, as the configuration and the journal have it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/record.h"
#include "base/units.h"

enum idle_action {
    IDLE_WARN,    /* no more than that */
    IDLE_REQUEUE, /* it saves its work, and waits again */
    IDLE_CANCEL,
    IDLE_ACTIONS,
};

/* Which jobs leave a sick device (rescue.h). */
enum sick_jobs {
    SICK_ABLE, /* of those that save their work or have retries left */
    SICK_ALL,  /* of a dead one all, but those that are never to run twice */
    SICK_STAY, /* none */
    SICK_RULES,
};

enum { WATCH_NAMES_SIZE = 512, WATCH_TEXT_SIZE = 512 };

typedef char watch_names[WATCH_NAMES_SIZE], watch_text[WATCH_TEXT_SIZE];

/* Members, defaults and what they mean: config.def. Names and addresses have a comma between; an
 * empty text means none. alert_silence is as alert_is_silenced() reads it. */
struct watch_rules {
#define RULE(tag, form, type, member, ...) type member;
#include "core/config.def"
};

enum {
    WATCH_IDLE_LEAST_S = 60,   /* shorter stretches are no idling, unless that is what was meant */
    WATCH_WARNED_LEAST_S = 30, /* between the second warning and the stop; of short times a part */
};

extern const struct record_type watch_rules_record;

/* Shorter stretches than this are no idling: a minute, or less where the rules say so. */
usec_t watch_idle_least(const struct watch_rules *rules);
/* So long the second warning comes before the stop, whatever was missed. */
usec_t watch_warned_least(const struct watch_rules *rules);

/* Whether a name is in a list of names with commas between. */
bool watch_names_have(const char *names, const char *name);

#endif
