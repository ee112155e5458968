/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/alert.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"

DEFINE_NAMES(alert_state_name, enum alert_state, "begins", "goes_on", "over")

const char *const alert_of_names[ALERT_OFS] = {
    "job-idle", "job-memory", "job-limit", "job-device", "budget",
};

DEFINE_NAMES(alert_severity_name, enum health_severity, "info", "warning", "critical")

bool alert_name_is_known(const char *name)
{
    static const char *const others[] = { ALERT_JOURNAL, ALERT_SHORTAGE, ALERT_FILE, NULL };
    bool is_known = string_is_in(name, others);

    for (enum alert_of i = 0; i < ALERT_OFS && !is_known; i++)
        is_known = strcmp(name, alert_of_names[i]) == 0;
    for (enum health_fault i = 0; i < FAULTS && !is_known; i++)
        is_known = strcmp(name, fault_name(i)) == 0;
    return is_known;
}

/* ---- silence ---- */

/* The next word of an entry, up to a blank, a comma or the end; at goes behind it. */
static bool word_is(const char **at, const char *wanted)
{
    size_t length = strcspn(*at, " ,");
    bool is_any = length == 1 && (*at)[0] == '*';
    bool is_it = is_any || (strlen(wanted) == length && strncmp(*at, wanted, length) == 0);

    *at += length;
    *at += **at == ' ';
    return is_it;
}

bool alert_is_silenced(const char *silence, const struct alert_thing *thing, usec_t wall)
{
    for (const char *at = silence; *at; at += *at == ',') {
        bool is_name = word_is(&at, thing->name);
        bool is_subject = word_is(&at, thing->subject);
        long long until = strtoll(at, NULL, 10);
        at += strcspn(at, ",");
        if (is_name && is_subject && (until == 0 || wall / USEC_PER_SEC < until))
            return true;
    }
    return false;
}

static bool is_like(const char *pattern, const char *word)
{
    return strcmp(pattern, "*") == 0 || strcmp(pattern, word) == 0;
}

const struct alert_silence *alert_find_silence(const struct alert_silence *silences, size_t count,
                                               const struct alert_thing *thing, usec_t wall)
{
    for (size_t i = 0; i < count; i++) {
        const struct alert_silence *silence = &silences[i];
        if (is_like(silence->name, thing->name) && is_like(silence->subject, thing->subject) &&
            (silence->until == 0 || wall < silence->until))
            return silence;
    }
    return NULL;
}

/* ---- what to tell ---- */

static bool is_same(const struct alert_thing *a, const struct alert_thing *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->subject, b->subject) == 0;
}

static uint64_t hash_of(const struct alert_thing *thing)
{
    uint64_t hashes[] = { map_hash(thing->name, strlen(thing->name)),
                          map_hash(thing->subject, strlen(thing->subject)) };

    return map_hash_words(hashes, COUNT_OF(hashes));
}

static struct alert_entry *find(struct alerts *alerts, const struct alert_thing *thing)
{
    uint64_t place;

    if (!map_get(&alerts->by_thing, hash_of(thing), &place))
        return NULL;
    if (is_same(&alerts->entries.items[place - 1].thing, thing))
        return &alerts->entries.items[place - 1];
    for (size_t i = 0; i < alerts->entries.count; i++) { /* another one hashes alike */
        if (is_same(&alerts->entries.items[i].thing, thing))
            return &alerts->entries.items[i];
    }
    return NULL;
}

static struct alert_entry *add(struct alerts *alerts, const struct alert_entry *entry)
{
    list_add(&alerts->entries, *entry);
    map_set(&alerts->by_thing, hash_of(&entry->thing), alerts->entries.count);
    return &alerts->entries.items[alerts->entries.count - 1];
}

static void note(struct alerts *alerts, const struct alert_thing *thing, usec_t now)
{
    struct alert_entry *entry = find(alerts, thing);

    if (!entry)
        entry = add(alerts, &(struct alert_entry){ .thing = *thing, .since = now });
    entry->thing = *thing;
    entry->seen = now;
    entry->is_seen = true;
}

static void tell(struct alert_entry *entry, enum alert_state state, usec_t now,
                 struct alert_messages *ret)
{
    list_add(&ret->list, (struct alert_message){ .state = state,
                                                 .thing = entry->thing,
                                                 .since = entry->since,
                                                 .told = entry->told,
                                                 .seen = entry->seen });
    entry->told = now;
    entry->was_told = true;
}

/* False: it is over, and may be forgotten. */
static bool consider(struct alert_entry *entry, const struct alert_ask *ask,
                     struct alert_messages *ret)
{
    if (!entry->is_seen) {
        if (ask->now - entry->seen < ALERT_HOLD_S * USEC_PER_SEC)
            return true;
        if (entry->was_told)
            tell(entry, ALERT_OVER, ask->now, ret);
        return false;
    }
    if (alert_is_silenced(ask->silence, &entry->thing, ask->wall) ||
        alert_find_silence(ask->silences, ask->silence_count, &entry->thing, ask->wall))
        return true;
    if (!entry->was_told)
        tell(entry, ALERT_BEGINS, ask->now, ret);
    else if (ask->now - entry->told >= ask->repeat)
        tell(entry, ALERT_GOES_ON, ask->now, ret);
    return true;
}

void alerts_look(struct alerts *alerts, const struct alert_ask *ask, struct alert_messages *ret)
{
    size_t kept = 0;

    for (size_t i = 0; i < alerts->entries.count; i++)
        alerts->entries.items[i].is_seen = false;
    for (size_t i = 0; i < ask->count; i++)
        note(alerts, &ask->things[i], ask->now);
    for (size_t i = 0; i < alerts->entries.count; i++) {
        if (consider(&alerts->entries.items[i], ask, ret))
            alerts->entries.items[kept++] = alerts->entries.items[i];
    }
    if (kept == alerts->entries.count)
        return;
    alerts->entries.count = kept;
    map_release(&alerts->by_thing); /* places changed */
    for (size_t i = 0; i < kept; i++)
        map_set(&alerts->by_thing, hash_of(&alerts->entries.items[i].thing), i + 1);
}

void alerts_take_back(struct alerts *alerts, const struct alert_message *message)
{
    struct alert_entry *entry = find(alerts, &message->thing);

    if (!entry)
        entry = add(alerts, &(struct alert_entry){ .thing = message->thing,
                                                   .since = message->since,
                                                   .seen = message->seen });
    entry->told = message->told;
    entry->was_told = message->state != ALERT_BEGINS;
}

void alerts_recall(struct alerts *alerts, const struct alert_thing *thing, usec_t since,
                   usec_t told, usec_t now)
{
    if (find(alerts, thing))
        return;
    add(alerts, &(struct alert_entry){ .thing = *thing,
                                       .since = since < now ? since : now,
                                       .told = told < now ? told : now,
                                       .seen = now + (ALERT_RECALL_S - ALERT_HOLD_S) * USEC_PER_SEC,
                                       .was_told = true });
}

void alerts_release(struct alerts *alerts)
{
    list_release(&alerts->entries);
    map_release(&alerts->by_thing);
}
