/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/watch_rules.h"

#include <string.h>

static const struct field rules_fields[] = {
    RECORD_INT(struct watch_rules, 1, idle_warn, "a job whose GPUs are idle for so long is warned"),
    RECORD_INT(struct watch_rules, 2, idle_stop, "and stopped after so long"),
    RECORD_INT(struct watch_rules, 3, memory_grace, "so long with more GPU memory than given"),
    RECORD_UINT(struct watch_rules, 4, idle_action, "0 warn, 1 requeue, 2 cancel"),
    RECORD_UINT(struct watch_rules, 5, idle_dry_run, "tell, and stop nobody"),
    RECORD_CHARS(struct watch_rules, 6, idle_exempt, "queues and users"),
    RECORD_CHARS(struct watch_rules, 7, alert_command, ""),
    RECORD_CHARS(struct watch_rules, 8, alert_webhook, ""),
    RECORD_CHARS(struct watch_rules, 9, alert_mail, "addresses"),
    RECORD_CHARS(struct watch_rules, 10, alert_mail_server, ""),
    RECORD_INT(struct watch_rules, 11, alert_repeat, "the same alert again no sooner"),
    RECORD_CHARS(struct watch_rules, 12, alert_silence,
                 "what is not told: fault, device (`*`: any) and until when, in seconds since 1970 "
                 "(0: for ever), with commas between"),
    RECORD_UINT(struct watch_rules, 13, sick_jobs,
                "which jobs leave a sick device: 0 those that can, 1 all, 2 none"),
    RECORD_CHARS(struct watch_rules, 14, health_before, "run on each device before a job"),
    RECORD_CHARS(struct watch_rules, 15, health_after, "run on each device after a job"),
    RECORD_UINT(struct watch_rules, 17, cpus_anywhere, "jobs are not kept near to their devices"),
    RECORD_INT(struct watch_rules, 16, health_timeout, "of each of them"),
    RECORD_CHARS(struct watch_rules, 30, alert_owner_command, "for the owners of jobs"),
    RECORD_CHARS(struct watch_rules, 31, alert_owner_mail, "the domain of their addresses"),
};
const struct record_type watch_rules_record = { "watch_rules", sizeof(struct watch_rules),
                                                rules_fields, COUNT_OF(rules_fields) };

static usec_t least_of(usec_t a, usec_t b)
{
    return a < b ? a : b;
}

usec_t watch_idle_least(const struct watch_rules *rules)
{
    return least_of(WATCH_IDLE_LEAST_S * USEC_PER_SEC, rules->idle_warn);
}

usec_t watch_warned_least(const struct watch_rules *rules)
{
    return least_of(WATCH_WARNED_LEAST_S * USEC_PER_SEC, (rules->idle_stop - rules->idle_warn) / 4);
}

const char *idle_action_name(uint8_t action)
{
    static const char *const names[IDLE_ACTIONS] = { "warn", "requeue", "cancel" };

    return names[action < IDLE_ACTIONS ? action : IDLE_WARN];
}

const char *sick_jobs_name(uint8_t rule)
{
    static const char *const names[SICK_RULES] = { "able", "all", "stay" };

    return names[rule < SICK_RULES ? rule : SICK_ABLE];
}

bool watch_names_have(const char *names, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = names; *at;) {
        size_t here = strcspn(at, ",");
        if (here == length && strncmp(at, name, length) == 0)
            return true;
        at += here + (at[here] == ',');
    }
    return false;
}
