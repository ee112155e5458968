/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_WATCH_RULES_H
#define CORE_HEALTH_WATCH_RULES_H

/* watch_rules - what is done about jobs that leave their GPUs idle or take more than they were
 * given
 *
 * Off unless configured. Nobody is stopped who was not warned before; with dry_run people are told
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

/* Whose jobs leave a sick device (rescue.h). */
enum sick_jobs {
    SICK_ABLE, /* of those that save their work or have retries left */
    SICK_ALL,  /* of a dead one all, but those that are never to run twice */
    SICK_STAY, /* none */
    SICK_RULES,
};

enum { WATCH_NAMES_SIZE = 512, WATCH_TEXT_SIZE = 512 };

struct watch_rules {
    usec_t idle_warn;    /* of idling; warned again half way to the stop; 0: never */
    usec_t idle_stop;    /* 0: never */
    usec_t memory_grace; /* with more GPU memory than it was given; 0: a minute */
    uint8_t idle_action; /* enum idle_action */
    bool idle_dry_run;
    char idle_exempt[WATCH_NAMES_SIZE]; /* queues and users, with a comma between */
    /* Whom to tell of what is wrong; "": nobody. */
    char alert_command[WATCH_TEXT_SIZE];
    char alert_webhook[WATCH_TEXT_SIZE];
    char alert_mail[WATCH_TEXT_SIZE];        /* addresses, with a comma between */
    char alert_mail_server[WATCH_TEXT_SIZE]; /* smtp://host:port */
    usec_t alert_repeat;                     /* the same again no sooner; 0: four hours */
    char alert_silence[WATCH_TEXT_SIZE];     /* as alert_is_silenced() reads it */
    uint8_t sick_jobs;                       /* enum sick_jobs */
    char health_before[WATCH_TEXT_SIZE];     /* run on each device before a job; "": nothing */
    char health_after[WATCH_TEXT_SIZE];      /* and after it */
    bool cpus_anywhere;                      /* jobs are not kept near to their devices */
    usec_t health_timeout;                   /* of each; 0: WATCH_HEALTH_TIMEOUT_S */
    /* How the owner of a job is told of what is wrong with it; "": not that way. */
    char alert_owner_command[WATCH_TEXT_SIZE];
    char alert_owner_mail[WATCH_NAMES_SIZE]; /* the domain behind the user's name */
};

enum {
    WATCH_MEMORY_GRACE_S = 60,
    WATCH_ALERT_REPEAT_S = 4 * 3600,
    WATCH_HEALTH_TIMEOUT_S = 30,
    WATCH_IDLE_LEAST_S = 60,   /* shorter stretches are no idling, unless that is what was meant */
    WATCH_WARNED_LEAST_S = 30, /* between the second warning and the stop; of short times a part */
};

extern const struct record_type watch_rules_record;

/* Shorter stretches than this are no idling: a minute, or less where the rules say so. */
usec_t watch_idle_least(const struct watch_rules *rules);
/* So long the second warning comes before the stop, whatever was missed. */
usec_t watch_warned_least(const struct watch_rules *rules);

const char *idle_action_name(uint8_t action);
const char *sick_jobs_name(uint8_t rule);

/* Whether a name is in a list of names with commas between. */
bool watch_names_have(const char *names, const char *name);

#endif
