/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/alert/alerter.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/state/job_alert.h"
#include "daemon/alert/alert_memory.h"
#include "daemon/alert/job_notes.h"
#include "io/log.h"
#include "store/side.h"
#include "wire/json.h"

enum {
    EVERY_MS = 1000,
    JOBS_EVERY = 5,   /* times: there may be very many */
    NOTES_EVERY = 60, /* times, where none is sent */
    MORE_MAX = 100
};

struct alerter {
    uv_timer_t timer;
    uv_async_t delivered; /* a message about a job */
    unsigned handle_count;
    struct hub *hub;
    const struct watch *watch;
    struct alerts alerts;
    struct alert_memory memory;
    struct alert_things of_jobs, files;
    char *state_dir;
    unsigned looks;
    struct alert_sender *sender;
    struct job_notes notes;
};

/* ---- what is wrong ---- */

/* It becomes a line of a mail's head, and an argument. */
static void put_words(char *ret, size_t size, const char *words)
{
    snprintf(ret, size, "%s", words);
    for (char *at = ret; *at; at++)
        *at = iscntrl((unsigned char)*at) ? ' ' : *at;
}

static void add_faults(const struct alerter *alerter, uint32_t number, struct alert_things *things)
{
    const struct state *state = hub_state(alerter->hub);
    const struct device *device = &state->devices.items[number];
    struct watch_device watched;

    if (!alerter->watch->ops->device(alerter->watch, number, &watched))
        return;
    for (enum health_fault i = 0; i < FAULTS; i++) {
        struct alert_thing thing = { .gpu = device->index, .severity = fault_severity(i) };
        if ((watched.health->faults >> i & 1) == 0 || thing.severity == HEALTH_INFO)
            continue;
        snprintf(thing.name, sizeof(thing.name), "%s", fault_name(i));
        snprintf(thing.subject, sizeof(thing.subject), "%s", device->uuid);
        put_words(thing.node, sizeof(thing.node), state->nodes.items[device->node].name);
        char words[HEALTH_WORDS_SIZE];
        health_say(watched.health, i, words, sizeof(words));
        put_words(thing.words, sizeof(thing.words), words);
        list_add(&things->list, thing);
    }
}

static void add_trouble(const struct alerter *alerter, struct alert_things *things)
{
    const char *trouble = hub_trouble(alerter->hub);
    struct alert_thing thing = { .name = ALERT_JOURNAL, .gpu = -1, .severity = HEALTH_CRITICAL };

    if (!trouble)
        return;
    char words[ALERT_WORDS_SIZE];
    snprintf(words, sizeof(words), "the journal cannot be written, requests are refused: %.80s",
             trouble);
    put_words(thing.words, sizeof(thing.words), words);
    list_add(&things->list, thing);
}

static void add_shortages(const struct alerter *alerter, struct alert_things *things)
{
    LIST_EACH (const struct node, node, &hub_state(alerter->hub)->nodes) {
        struct alert_thing thing = { .name = ALERT_SHORTAGE,
                                     .gpu = -1,
                                     .severity = HEALTH_WARNING };
        if (!node_is_short(node))
            continue;
        char words[ALERT_WORDS_SIZE];
        snprintf(words, sizeof(words), "jobs cannot be started: %.110s", node->reason);
        put_words(thing.words, sizeof(thing.words), words);
        put_words(thing.node, sizeof(thing.node), node->name);
        snprintf(thing.subject, sizeof(thing.subject), "node:%.150s", node->name);
        list_add(&things->list, thing);
    }
}

static void note_aside(void *user, const char *name, const char *why)
{
    struct alerter *alerter = user;
    struct alert_thing thing = { .name = ALERT_FILE, .gpu = -1, .severity = HEALTH_WARNING };
    char words[ALERT_WORDS_SIZE];

    snprintf(words, sizeof(words), "a file of the state is %s and not used; see tarn doctor: %.60s",
             strcmp(why, "newer") == 0 ? "of a newer version" : why, name);
    put_words(thing.words, sizeof(thing.words), words);
    snprintf(thing.subject, sizeof(thing.subject), "file:%.150s", name);
    list_add(&alerter->files.list, thing);
}

/* They remain until an administrator has looked at them. */
static void look_at_files(struct alerter *alerter)
{
    alerter->files.list.count = 0;
    side_each_aside(alerter->state_dir, note_aside, alerter);
}

/* Those that hold something are among the first of many, or all have been looked at. */
static void look_at_jobs(struct alerter *alerter, usec_t now)
{
    const struct state *state = hub_state(alerter->hub);

    alerter->of_jobs.list.count = 0;
    for (const struct job *job = state->first_active; job; job = job->run->active_next)
        alert_of_job(state, job, now, &alerter->of_jobs);
}

/* ---- what is told ---- */

static void write_sentence(const struct alert_message *message, char *ret, size_t size)
{
    static const char *const openings[] = { "", "still: ", "over: " };
    const struct alert_thing *thing = &message->thing;
    char place[ALERT_NODE_SIZE + 40] = "";

    if (thing->job > 0)
        snprintf(place, sizeof(place), "job %" PRIu64 ": ", thing->job);
    else if (thing->gpu >= 0)
        snprintf(place, sizeof(place), "GPU %" PRId64 " of %s: ", thing->gpu, thing->node);
    snprintf(ret, size, "tarn: %s%s%s", openings[message->state], place, thing->words);
    string_clean(ret, size, ret, strlen(ret)); /* it is a line of a mail's head */
}

static json_t *view(const struct alert_message *message, const char *sentence, usec_t now,
                    usec_t ahead)
{
    const struct alert_thing *thing = &message->thing;
    json_t *gpu = thing->gpu >= 0 ? json_integer(thing->gpu) : json_null();

    json_t *job = thing->job > 0 ? json_integer((json_int_t)thing->job) : json_null();
    bool is_device = thing->gpu >= 0 && thing->job == 0;

    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s*, s:s*, s:o, s:o, s:s*, s:s*, s:s, s:o, s:o}", "text", sentence,
        "state", alert_state_name(message->state), "fault", thing->name, "severity",
        alert_severity_name(thing->severity), "uuid", is_device ? thing->subject : NULL, "subject",
        thing->subject[0] ? thing->subject : NULL, "gpu", gpu, "job", job, "user",
        thing->owner[0] ? thing->owner : NULL, "node", thing->node[0] ? thing->node : NULL, "words",
        thing->words, "since", json_time(message->since + ahead), "at", json_time(now + ahead));
}

/* One letter is about one thing of the administrators', or about all that an owner is to be told in
 * a look of one kind: the first, and of the others `more`. False: no way takes it now. */
struct letter {
    const struct alert_message **messages;
    size_t count;
};

static json_t *view_letter(const struct letter *letter, usec_t now, usec_t ahead, struct text *ret)
{
    char sentence[ALERT_WORDS_SIZE + ALERT_NODE_SIZE + 64];
    json_t *more = json_array();

    write_sentence(letter->messages[0], sentence, sizeof(sentence));
    text_add(ret, sentence);
    if (letter->count > 1)
        text_printf(ret, ", and %zu more", letter->count - 1);
    json_t *value = view(letter->messages[0], text_string(ret), now, ahead);
    for (size_t i = 1; i < letter->count && i <= MORE_MAX; i++) {
        write_sentence(letter->messages[i], sentence, sizeof(sentence));
        json_array_append_new(more, view(letter->messages[i], sentence, now, ahead));
    }
    if (value && letter->count > 1) {
        json_object_set(value, "more", more);
        json_object_set_new(value, "count", json_integer((json_int_t)letter->count));
    }
    json_decref(more);
    return value;
}

static bool tell(struct alerter *alerter, const struct letter *letter, usec_t now, usec_t ahead)
{
    const struct watch_rules *rules = &hub_state(alerter->hub)->settings.watch;
    const struct alert_thing *thing = &letter->messages[0]->thing;
    AUTO_RELEASE(text) struct text sentence = { 0 };
    AUTO(json) json_t *value = view_letter(letter, now, ahead, &sentence);
    AUTO_FREE char *json = value ? json_dumps(value, JSON_COMPACT) : NULL;

    if (!json)
        log_line(LOG_WARNING, "an alert cannot be written fault=%s", thing->name);
    else if (thing->owner[0])
        return alert_sender_send_owner(alerter->sender, rules, thing->owner, text_string(&sentence),
                                       json, USEC_NEVER);
    else
        return alert_sender_send(alerter->sender, rules, text_string(&sentence), json);
    return true;
}

static bool is_in_letter(const struct alert_message *first, const struct alert_message *message)
{
    return first == message || (first->thing.owner[0] && first->state == message->state &&
                                strcmp(first->thing.owner, message->thing.owner) == 0);
}

/* How many were told; the others will be at the next look. */
static size_t tell_all(struct alerter *alerter, const struct alert_messages *messages, usec_t now,
                       usec_t ahead)
{
    size_t count = messages->list.count, told = 0;
    const struct alert_message **items = mem_zero(count + 1, sizeof(const void *));
    bool *is_done = mem_zero(count + 1, sizeof(bool));

    for (size_t i = 0; i < count; i++) {
        struct letter letter = { .messages = items };
        for (size_t k = i; k < count && !is_done[i]; k++) {
            const struct alert_message *message = &messages->list.items[k];
            if (is_in_letter(&messages->list.items[i], message))
                items[letter.count++] = message;
            if (!messages->list.items[i].thing.owner[0])
                break;
        }
        if (letter.count == 0)
            continue;
        for (size_t k = 0; k < letter.count; k++)
            is_done[items[k] - messages->list.items] = true;
        bool is_told = tell(alerter, &letter, now, ahead);
        told += is_told ? letter.count : 0;
        for (size_t k = 0; k < letter.count && !is_told; k++)
            alerts_take_back(&alerter->alerts, items[k]);
    }
    free(items);
    free(is_done);
    return told;
}

static void save_notes(struct alerter *alerter)
{
    alert_memory_save_notes(&alerter->memory,
                            job_notes_told_until(&alerter->notes, alerter->sender));
}

static void on_delivered(uv_async_t *async)
{
    struct alerter *alerter = async->data;

    job_notes_send(&alerter->notes, alerter->sender);
    save_notes(alerter);
}

/* In a thread of the sender. */
static void on_done(void *user)
{
    uv_async_send(user);
}

static void add_all(const struct alert_things *from, struct alert_things *to)
{
    for (size_t i = 0; i < from->list.count; i++)
        list_add(&to->list, from->list.items[i]);
}

static void on_timer(uv_timer_t *timer)
{
    struct alerter *alerter = timer->data;
    const struct state *state = hub_state(alerter->hub);
    const struct watch_rules *rules = &state->settings.watch;
    const struct clock *clock = hub_clock(alerter->hub);
    usec_t now = clock_now(clock), ahead = clock_wall_ahead(clock);
    struct alert_messages messages = { 0 };
    struct alert_things things = { 0 };

    job_notes_send(&alerter->notes, alerter->sender);
    if (alerter->looks % NOTES_EVERY == 0) {
        save_notes(alerter);
        look_at_files(alerter);
    }
    for (uint32_t i = 0; alerter->watch && i < state->devices.count; i++)
        add_faults(alerter, i, &things);
    add_trouble(alerter, &things);
    add_shortages(alerter, &things);
    alert_of_budgets(state, now, &things);
    if (alerter->looks++ % JOBS_EVERY == 0)
        look_at_jobs(alerter, now);
    add_all(&alerter->of_jobs, &things);
    add_all(&alerter->files, &things);
    struct alert_ask ask = {
        .things = things.list.items,
        .count = things.list.count,
        .now = now,
        .wall = now + ahead,
        .repeat = rules->alert_repeat,
        .silence = rules->alert_silence,
        .silences = alerter->memory.silences.list.items,
        .silence_count = alerter->memory.silences.list.count,
    };
    alerts_look(&alerter->alerts, &ask, &messages);
    if (tell_all(alerter, &messages, now, ahead) > 0 || alerter->memory.is_behind)
        alert_memory_save(&alerter->memory, &alerter->alerts);
    list_release(&messages.list);
    list_release(&things.list);
}

int alerter_create(uv_loop_t *loop, struct hub *hub, const char *state_dir, struct alerter **ret,
                   struct error *err)
{
    struct alert_sender *sender;

    int code = alert_sender_create(&sender, err);
    if (code < 0)
        return code;
    struct alerter *alerter = mem_zero(1, sizeof(*alerter));
    alerter->hub = hub;
    alerter->sender = sender;
    alerter->state_dir = mem_string(state_dir);
    alert_memory_load(&alerter->memory, state_dir, &alerter->alerts, clock_now(hub_clock(hub)));
    usec_t now = hub_state(hub)->now;
    job_notes_init(&alerter->notes, hub, alerter->memory.notes < now ? alerter->memory.notes : now);
    save_notes(alerter);
    uv_timer_init(loop, &alerter->timer);
    uv_async_init(loop, &alerter->delivered, on_delivered);
    uv_unref((uv_handle_t *)&alerter->delivered);
    alerter->timer.data = alerter->delivered.data = alerter;
    alerter->handle_count = 2;
    alert_sender_on_done(alerter->sender, on_done, &alerter->delivered);
    *ret = alerter;
    return 0;
}

void alerter_watch(struct alerter *alerter, const struct watch *watch)
{
    alerter->watch = watch;
    uv_timer_start(&alerter->timer, on_timer, EVERY_MS, EVERY_MS);
}

static void on_closed(uv_handle_t *handle)
{
    struct alerter *alerter = handle->data;

    if (--alerter->handle_count == 0)
        free(alerter);
}

void alerter_destroy(struct alerter *alerter)
{
    if (!alerter)
        return;
    uv_timer_stop(&alerter->timer);
    save_notes(alerter);
    alert_sender_destroy(alerter->sender);
    alert_memory_release(&alerter->memory);
    list_release(&alerter->of_jobs.list);
    list_release(&alerter->files.list);
    free(alerter->state_dir);
    job_notes_release(&alerter->notes);
    alerts_release(&alerter->alerts);
    uv_close((uv_handle_t *)&alerter->timer, on_closed);
    uv_close((uv_handle_t *)&alerter->delivered, on_closed);
}

void alerter_changed(struct alerter *alerter, const uint64_t *jobs, size_t count)
{
    job_notes_changed(&alerter->notes, jobs, count);
    job_notes_send(&alerter->notes, alerter->sender);
}

struct alert_counts alerter_counts(const void *user)
{
    const struct alerter *alerter = user;
    return alert_sender_counts(alerter->sender);
}

const struct alerts *alerter_look(const void *user, const struct alert_silence **ret_silences,
                                  size_t *ret_count)
{
    const struct alerter *alerter = user;
    *ret_silences = alerter->memory.silences.list.items;
    *ret_count = alerter->memory.silences.list.count;
    return &alerter->alerts;
}

static usec_t wall_of(const struct alerter *alerter)
{
    const struct clock *clock = hub_clock(alerter->hub);

    return clock_now(clock) + clock_wall_ahead(clock);
}

int alerter_silence(void *user, const struct alert_silence *silence, struct error *err)
{
    struct alerter *alerter = user;
    int code = alert_memory_silence(&alerter->memory, silence, wall_of(alerter), err);

    if (code == 0)
        log_line(LOG_NOTICE, "alerts are silenced name=%s subject=%s by=%s", silence->name,
                 silence->subject, silence->by);
    return code;
}

int alerter_unsilence(void *user, const char *name, const char *subject, unsigned *ret_count,
                      struct error *err)
{
    struct alerter *alerter = user;
    return alert_memory_unsilence(&alerter->memory, name, subject, wall_of(alerter), ret_count,
                                  err);
}
