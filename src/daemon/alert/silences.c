/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/alert/silences.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "io/log.h"
#include "io/file.h"
#include "wire/json.h"

enum { FILE_MAX = 1 << 20 };

typedef LIST(struct alert_silence) silence_list;

static bool is_over(const struct alert_silence *silence, usec_t wall)
{
    return silence->until != 0 && silence->until <= wall;
}

static int save(const struct silences *silences, const silence_list *list, struct error *err)
{
    AUTO(json) json_t *entries = json_array();

    for (size_t i = 0; i < list->count; i++) {
        const struct alert_silence *silence = &list->items[i];
        json_array_append_new(entries,
                              json_pack("{s:s, s:s, s:I, s:I, s:s, s:s}", "name", silence->name,
                                        "subject", silence->subject, "until",
                                        (json_int_t)silence->until, "at", (json_int_t)silence->at,
                                        "by", silence->by, "comment", silence->comment));
    }
    AUTO_FREE char *bytes = json_dumps(entries, JSON_INDENT(1));
    if (!bytes)
        return error_set(err, -EINVAL, "silences: words that are not UTF-8");
    return file_replace(silences->path, bytes, strlen(bytes), err);
}

/* The new list is the list once it is on disk. */
static int settle(struct silences *silences, silence_list *list, struct error *err)
{
    int code = save(silences, list, err);

    if (code < 0) {
        list_release(list);
        return code;
    }
    list_release(&silences->list);
    silences->list.items = list->items;
    silences->list.count = list->count;
    silences->list.capacity = list->capacity;
    return 0;
}

int silences_add(struct silences *silences, const struct alert_silence *silence, usec_t wall,
                 struct error *err)
{
    silence_list list = { 0 };

    for (size_t i = 0; i < silences->list.count; i++) {
        const struct alert_silence *other = &silences->list.items[i];
        bool is_same = strcmp(other->name, silence->name) == 0 &&
                       strcmp(other->subject, silence->subject) == 0;
        if (!is_same && !is_over(other, wall))
            list_add(&list, *other);
    }
    if (list.count >= ALERT_SILENCES_MAX) {
        list_release(&list);
        return error_set(err, -EDQUOT, "more than %d silences", ALERT_SILENCES_MAX);
    }
    list_add(&list, *silence);
    return settle(silences, &list, err);
}

int silences_remove(struct silences *silences, const char *name, const char *subject, usec_t wall,
                    unsigned *ret_count, struct error *err)
{
    silence_list list = { 0 };
    unsigned count = 0;

    for (size_t i = 0; i < silences->list.count; i++) {
        const struct alert_silence *silence = &silences->list.items[i];
        bool is_it = (!name || strcmp(name, silence->name) == 0) &&
                     (!subject || strcmp(subject, silence->subject) == 0);
        count += is_it && !is_over(silence, wall);
        if (!is_it && !is_over(silence, wall))
            list_add(&list, *silence);
    }
    if (count == 0) {
        list_release(&list);
        return error_set(err, -ENOENT, "alerts: nothing of the kind is silenced");
    }
    int code = settle(silences, &list, err);
    if (code == 0)
        *ret_count = count;
    return code;
}

static bool recall(struct silences *silences, json_t *value)
{
    const char *name, *subject, *by, *comment;
    struct alert_silence silence = { 0 };
    json_int_t until, at;

    if (json_unpack(value, "{s:s, s:s, s:I, s:I, s:s, s:s}", "name", &name, "subject", &subject,
                    "until", &until, "at", &at, "by", &by, "comment", &comment) < 0)
        return false;
    silence.until = until;
    silence.at = at;
    snprintf(silence.name, sizeof(silence.name), "%s", name);
    snprintf(silence.subject, sizeof(silence.subject), "%s", subject);
    snprintf(silence.by, sizeof(silence.by), "%s", by);
    snprintf(silence.comment, sizeof(silence.comment), "%s", comment);
    list_add(&silences->list, silence);
    return true;
}

void silences_load(struct silences *silences, char *path)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO(json) json_t *list = NULL;
    struct error err;

    *silences = (struct silences){ .path = path };
    int code = file_read(path, FILE_MAX, &text, &err);
    if (code == -ENOENT)
        return;
    if (code == 0)
        code = json_parse(text_string(&text), text.length, FILE_MAX, path, &list, &err);
    if (code == 0 && !json_is_array(list))
        code = error_set(&err, -EBADMSG, "%s: expected a list", path);
    for (size_t i = 0; code == 0 && i < json_array_size(list); i++) {
        if (i >= ALERT_SILENCES_MAX || !recall(silences, json_array_get(list, i)))
            code = error_set(&err, -EBADMSG, "%s: entry %zu makes no sense", path, i);
    }
    if (code < 0)
        log_line(LOG_WARNING, "what is to be silent is not all known reason='%s'", err.text);
}

void silences_release(struct silences *silences)
{
    list_release(&silences->list);
    free(silences->path);
}
