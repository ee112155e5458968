/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/watch_rules.h"

#include <string.h>

#define RULE_INT(tag, member, meaning, fallback)                                                   \
    RECORD_OPTION(struct watch_rules, tag, member, #member, meaning, 0, fallback)
#define RULE_UINT(tag, member, meaning, fallback)                                                  \
    RECORD_UINT(struct watch_rules, tag, member, meaning)
#define RULE_CHARS(tag, member, meaning, fallback)                                                 \
    RECORD_CHARS(struct watch_rules, tag, member, meaning)

static const struct field rules_fields[] = {
#define RULE(tag, form, type, member, section, key, label, kind, flags, least, most, fallback,     \
             words, unit, example, sentence)                                                       \
    RULE_##form(tag, member, sentence words, fallback),
#include "core/config.def"
};
const struct record_type watch_rules_record =
    RECORD_TYPE("watch_rules", struct watch_rules, rules_fields);

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
