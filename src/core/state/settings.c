/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/settings.h"

#include "core/journal/event.h"

static bool is_within(int64_t value, int64_t least, int64_t most)
{
    return value >= least && value <= most;
}

void settings_default(struct settings *ret)
{
    *ret = (struct settings){ 0 };
    record_clear(&watch_rules_record, &ret->watch);
#define SETTING(event_tag, world_tag, form, type, member, section, key, label, kind, flags, least, \
                most, fallback, words, unit, example, sentence)                                    \
    ret->member = fallback;
#include "core/config.def"
}

void settings_take(struct settings *settings, const struct event_settings *event)
{
#define SETTING(event_tag, world_tag, form, type, member, section, key, label, kind, flags, least, \
                most, fallback, words, unit, example, sentence)                                    \
    if (is_within((int64_t)event->member, least, most))                                            \
        settings->member = event->member;
#include "core/config.def"
    if (event->watch_count > 0)
        settings->watch = event->watch[0];
    else
        record_clear(&watch_rules_record, &settings->watch);
}

void settings_to_event(const struct settings *settings, struct event_settings *ret)
{
#define SETTING(event_tag, world_tag, form, type, member, ...) ret->member = settings->member;
#include "core/config.def"
    ret->watch = &settings->watch;
    ret->watch_count = 1;
}

void settings_repair(struct settings *settings)
{
#define SETTING(event_tag, world_tag, form, type, member, section, key, label, kind, flags, least, \
                most, fallback, words, unit, example, sentence)                                    \
    if (!is_within((int64_t)settings->member, least, most))                                        \
        settings->member = fallback;
#include "core/config.def"
}
