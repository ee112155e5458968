/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/alert/alert_memory.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "io/file.h"
#include "io/log.h"
#include "store/side.h"
#include "wire/json.h"

enum { FILE_MAX = 4 << 20 };

static int open_store(struct alert_memory *memory, struct error *err)
{
    return memory->store ? 0 : alert_store_open(memory->path, &memory->store, err);
}

/* ---- the files of earlier versions ---- */

static void recall_told(struct alerts *alerts, json_t *value, usec_t now)
{
    const char *fault, *uuid, *node, *words, *user = "";
    json_int_t gpu, since, told, job = 0;
    int severity;

    if (json_unpack(value, "{s:s, s?s, s?I, s:s, s:s, s:s, s:I, s:i, s:I, s:I}", "fault", &fault,
                    "user", &user, "job", &job, "uuid", &uuid, "node", &node, "words", &words,
                    "gpu", &gpu, "severity", &severity, "since", &since, "told", &told) < 0 ||
        !alert_name_is_known(fault) || severity < HEALTH_INFO || severity > HEALTH_CRITICAL)
        return;
    struct alert_thing thing = { .gpu = gpu,
                                 .severity = (enum health_severity)severity,
                                 .job = (uint64_t)job };
    snprintf(thing.owner, sizeof(thing.owner), "%s", user);
    snprintf(thing.name, sizeof(thing.name), "%s", fault);
    snprintf(thing.subject, sizeof(thing.subject), "%s", uuid);
    snprintf(thing.node, sizeof(thing.node), "%s", node);
    snprintf(thing.words, sizeof(thing.words), "%s", words);
    alerts_recall(alerts, &thing, since, told, now);
}

static void recall_silence(struct alert_silences *silences, json_t *value)
{
    const char *name, *subject, *by, *comment;
    struct alert_silence silence = { 0 };
    json_int_t until, at;

    if (silences->list.count >= ALERT_SILENCES_MAX ||
        json_unpack(value, "{s:s, s:s, s:I, s:I, s:s, s:s}", "name", &name, "subject", &subject,
                    "until", &until, "at", &at, "by", &by, "comment", &comment) < 0)
        return;
    silence.until = until;
    silence.at = at;
    snprintf(silence.name, sizeof(silence.name), "%s", name);
    snprintf(silence.subject, sizeof(silence.subject), "%s", subject);
    snprintf(silence.by, sizeof(silence.by), "%s", by);
    snprintf(silence.comment, sizeof(silence.comment), "%s", comment);
    list_add(&silences->list, silence);
}

/* NULL: there is none, or it can't be read. */
static json_t *read_old(const char *path)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    json_t *list = NULL;
    struct error err;

    int code = file_read(path, FILE_MAX, &text, &err);
    if (code == -ENOENT)
        return NULL;
    if (code == 0)
        code = json_parse(text_string(&text), text.length, FILE_MAX, path, &list, &err);
    if (code == 0 && !json_is_array(list))
        code = error_set(&err, -EBADMSG, "%s: expected a list", path);
    if (code == 0)
        return list;
    side_put_aside(path, &err);
    json_decref(list);
    return NULL;
}

static void take_over(struct alert_memory *memory, const char *state_dir, struct alerts *alerts,
                      usec_t now)
{
    AUTO_FREE char *told_path = mem_printf("%s/alerts.json", state_dir);
    AUTO_FREE char *silences_path = mem_printf("%s/silences.json", state_dir);
    AUTO(json) json_t *told = read_old(told_path);
    AUTO(json) json_t *silences = read_old(silences_path);
    struct error err;

    for (size_t i = 0; i < json_array_size(told); i++)
        recall_told(alerts, json_array_get(told, i), now);
    for (size_t i = 0; i < json_array_size(silences); i++)
        recall_silence(&memory->silences, json_array_get(silences, i));
    if (told && alert_store_put_told(memory->store, alerts, &err) == 0)
        unlink(told_path);
    if (silences && alert_store_put_silences(memory->store, &memory->silences, &err) == 0)
        unlink(silences_path);
}

/* ---- what was told ---- */

void alert_memory_load(struct alert_memory *memory, const char *state_dir, struct alerts *alerts,
                       usec_t now)
{
    struct error err;

    *memory =
        (struct alert_memory){ .path = mem_printf("%s/alerts.db", state_dir), .notes = USEC_NEVER };
    int code = open_store(memory, &err);
    if (code == 0)
        code =
            alert_store_load(memory->store, alerts, now, &memory->silences, &memory->notes, &err);
    if (code == 0)
        take_over(memory, state_dir, alerts, now);
    else
        log_line(LOG_WARNING, "the sent alerts cannot be read reason='%s'", err.text);
    if (code != -EBADMSG)
        return;
    alert_store_close(memory->store); /* begun anew by what is saved next */
    memory->store = NULL;
    side_put_aside(memory->path, &err);
}

void alert_memory_save(struct alert_memory *memory, const struct alerts *alerts)
{
    struct error err;

    int code = open_store(memory, &err);
    if (code == 0)
        code = alert_store_put_told(memory->store, alerts, &err);
    if (code < 0 && !memory->is_behind)
        log_line(LOG_WARNING, "the sent alerts cannot be saved reason='%s'", err.text);
    memory->is_behind = code < 0;
}

/* If it fails, the next time does it. */
void alert_memory_save_notes(struct alert_memory *memory, usec_t until)
{
    if (until != memory->notes && open_store(memory, NULL) == 0 &&
        alert_store_put_notes(memory->store, until, NULL) == 0)
        memory->notes = until;
}

/* ---- silences ---- */

static bool is_over(const struct alert_silence *silence, usec_t wall)
{
    return silence->until != 0 && silence->until <= wall;
}

/* The new list counts once it is on disk. Takes it. */
static int settle(struct alert_memory *memory, struct alert_silences *changed, struct error *err)
{
    int code = open_store(memory, err);

    if (code == 0)
        code = alert_store_put_silences(memory->store, changed, err);
    struct alert_silences *old = code < 0 ? changed : &memory->silences;
    list_release(&old->list);
    if (code == 0)
        memory->silences = *changed;
    return code;
}

int alert_memory_silence(struct alert_memory *memory, const struct alert_silence *silence,
                         usec_t wall, struct error *err)
{
    struct alert_silences changed = { 0 };

    for (size_t i = 0; i < memory->silences.list.count; i++) {
        const struct alert_silence *other = &memory->silences.list.items[i];
        bool is_same = strcmp(other->name, silence->name) == 0 &&
                       strcmp(other->subject, silence->subject) == 0;
        if (!is_same && !is_over(other, wall))
            list_add(&changed.list, *other);
    }
    if (changed.list.count >= ALERT_SILENCES_MAX) {
        list_release(&changed.list);
        return error_set(err, -EDQUOT, "more than %d silences", ALERT_SILENCES_MAX);
    }
    list_add(&changed.list, *silence);
    return settle(memory, &changed, err);
}

int alert_memory_unsilence(struct alert_memory *memory, const char *name, const char *subject,
                           usec_t wall, unsigned *ret_count, struct error *err)
{
    struct alert_silences changed = { 0 };
    unsigned count = 0;

    for (size_t i = 0; i < memory->silences.list.count; i++) {
        const struct alert_silence *silence = &memory->silences.list.items[i];
        bool is_it = (!name || strcmp(name, silence->name) == 0) &&
                     (!subject || strcmp(subject, silence->subject) == 0);
        count += is_it && !is_over(silence, wall);
        if (!is_it && !is_over(silence, wall))
            list_add(&changed.list, *silence);
    }
    if (count == 0) {
        list_release(&changed.list);
        return error_set(err, -ENOENT, "alerts: nothing of the kind is silenced");
    }
    int code = settle(memory, &changed, err);
    if (code == 0)
        *ret_count = count;
    return code;
}

void alert_memory_release(struct alert_memory *memory)
{
    alert_store_close(memory->store);
    list_release(&memory->silences.list);
    free(memory->path);
}
