/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/alerts: what is wrong now, and what is silenced; POST, DELETE /v1/alerts/silences. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/inside.h"
#include "base/units.h"
#include "wire/json.h"
#include "wire/reader.h"

enum { SILENCE_DAYS_MAX = 366 };

static usec_t wall_of(const struct api *api)
{
    return api->ports.now(api->ports.user) + api->ports.wall_ahead(api->ports.user);
}

static json_t *text_or_null(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

static json_t *view_silence(const struct alert_silence *silence)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "name", silence->name, "subject",
                     silence->subject, "until",
                     silence->until > 0 ? json_time(silence->until) : json_null(), "at",
                     json_time(silence->at), "by", text_or_null(silence->by), "comment",
                     text_or_null(silence->comment));
}

static json_t *view_alert(const struct api *api, const struct alert_entry *entry,
                          const struct api_silences *silences)
{
    const struct alert_thing *thing = &entry->thing;
    const struct watch_rules *rules = &api_state(api)->settings.watch;
    usec_t wall = wall_of(api);
    const struct alert_silence *silence =
        alert_find_silence(silences->items, silences->count, thing, wall);
    bool is_configured = alert_is_silenced(rules->alert_silence, thing, wall);
    bool is_device = thing->gpu >= 0 && thing->job == 0;

    return json_pack(
        "{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:b, s:b, s:o}", "name",
        thing->name, "subject", text_or_null(thing->subject), "severity",
        alert_severity_name(thing->severity), "uuid",
        is_device ? json_string(thing->subject) : json_null(), "gpu",
        thing->gpu >= 0 ? json_integer(thing->gpu) : json_null(), "node", text_or_null(thing->node),
        "job", thing->job > 0 ? json_integer((json_int_t)thing->job) : json_null(), "user",
        text_or_null(thing->owner), "words", thing->words, "since", view_time(api, entry->since),
        "told", entry->was_told ? view_time(api, entry->told) : json_null(), "over",
        !entry->is_seen, "silenced", silence || is_configured, "silence",
        silence ? view_silence(silence) : json_null());
}

void handle_alerts(struct call *call)
{
    const struct api_ports *ports = &call->api->ports;
    struct api_silences silences = { 0 };
    const struct alerts *alerts = ports->alerts ? ports->alerts(ports->user, &silences) : NULL;
    json_t *list = json_array(), *silent = json_array();

    for (size_t i = 0; alerts && i < alerts->entries.count; i++)
        json_array_append_new(list, view_alert(call->api, &alerts->entries.items[i], &silences));
    for (size_t i = 0; i < silences.count; i++) {
        const struct alert_silence *silence = &silences.items[i];
        if (silence->until == 0 || silence->until > wall_of(call->api))
            json_array_append_new(silent, view_silence(silence));
    }
    reply_json(call->request, 200, json_pack("{s:o, s:o}", "alerts", list, "silences", silent));
}

/* ---- silence ---- */

static bool may_change(struct call *call)
{
    struct error err;

    if (is_admin(call->api, call->request->uid) && call->api->ports.silence)
        return true;
    error_set(&err, -EACCES, "alerts: only administrators silence them");
    reply_error(call->request, -EACCES, &err);
    return false;
}

static int check_words(const char *name, const char *subject, struct error *err)
{
    if (strcmp(name, "*") != 0 && !alert_name_is_known(name))
        return error_set(err, -EINVAL,
                         "silence: name: '%.40s' is none; expected a fault's name, job-idle, "
                         "job-memory, job-limit, job-device, budget, journal or *",
                         name);
    if (!subject[0] || string_has_control(subject))
        return error_set(err, -EINVAL,
                         "silence: subject: expected a UUID, job:7, queue:NAME:money "
                         "or *");
    return 0;
}

static int read_silence(const json_t *body, usec_t wall, struct alert_silence *ret,
                        struct error *err)
{
    static const char *const keys[] = { "name", "subject", "for", "comment", NULL };
    struct reader reader = { .where = "silence", .err = err };
    const char *name = NULL, *subject = "*", *comment = "";
    usec_t length = 0;

    int code = reader_check_keys(&reader, body, keys);
    if (code == 0)
        code = reader_string(&reader, body, "name", ALERT_NAME_SIZE - 1, &name);
    if (code == 0)
        code = reader_string(&reader, body, "subject", ALERT_SUBJECT_SIZE - 1, &subject);
    if (code == 0)
        code = reader_string(&reader, body, "comment", ALERT_COMMENT_SIZE - 1, &comment);
    if (code == 0)
        code = reader_duration(&reader, body, "for", &length);
    if (code < 0)
        return code;
    if (!name)
        return error_set(err, -EINVAL, "silence: name: expected the name of an alert, or *");
    if (length <= 0 || length > SILENCE_DAYS_MAX * USEC_PER_DAY)
        return error_set(err, -EINVAL, "silence: for: expected a time up to %d days, like 2h",
                         SILENCE_DAYS_MAX);
    code = check_words(name, subject, err);
    if (code == 0 && string_has_control(comment))
        code = error_set(err, -EINVAL, "silence: comment: expected one line");
    if (code < 0)
        return code;
    *ret = (struct alert_silence){ .until = wall + length, .at = wall };
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    snprintf(ret->subject, sizeof(ret->subject), "%s", subject);
    snprintf(ret->comment, sizeof(ret->comment), "%s", comment);
    return 0;
}

void handle_silence(struct call *call)
{
    const struct api_ports *ports = &call->api->ports;
    struct alert_silence silence;
    struct error err = { "" };

    if (!may_change(call))
        return;
    json_t *body = read_body(call->request);
    if (!body)
        return;
    int code = read_silence(body, wall_of(call->api), &silence, &err);
    json_decref(body);
    if (code == 0) {
        user_name_of(call->request->uid, silence.by, sizeof(silence.by));
        code = ports->silence(ports->user, &silence, &err);
    }
    if (code < 0)
        reply_error(call->request, code, &err);
    else
        reply_json(call->request, 200, json_pack("{s:o}", "silence", view_silence(&silence)));
}

/* ?name=hot&subject=GPU-0: of these; without one of them: of any. */
void handle_unsilence(struct call *call)
{
    const struct api_ports *ports = &call->api->ports;
    struct error err = { "" };
    static const char *const keys[] = { "name", "subject", NULL };
    unsigned count = 0;

    if (!may_change(call))
        return;
    int code = check_query(call->request, keys, &err);
    if (code == 0)
        code = ports->unsilence(ports->user, http_query(call->request, "name"),
                                http_query(call->request, "subject"), &count, &err);
    if (code < 0)
        reply_error(call->request, code, &err);
    else
        reply_json(call->request, 200, json_pack("{s:i}", "removed", (int)count));
}
