/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/alerts: active alerts and silences; POST, DELETE /v1/alerts/silences. */
#include <stdio.h>
#include <string.h>

#include "api/routes.h"
#include "api/view/view.h"
#include "base/units.h"
#include "control/lookup.h"
#include "wire/json.h"
#include "wire/reader.h"

enum { SILENCE_DAYS_MAX = 366 };

static json_t *view_silence(const struct alert_silence *silence)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "name", silence->name, "subject",
                     silence->subject, "until",
                     silence->until > 0 ? json_time(silence->until) : json_null(), "at",
                     json_time(silence->at), "by", text_or_null(silence->by), "comment",
                     text_or_null(silence->comment));
}

static json_t *view_alert(const struct api *api, const struct alert_entry *entry,
                          const struct alert_silence *silences, size_t count)
{
    const struct alert_thing *thing = &entry->thing;
    const struct watch_rules *rules = &api_state(api)->settings.watch;
    usec_t wall = control_wall(api_control(api));
    const struct alert_silence *silence = alert_find_silence(silences, count, thing, wall);
    bool is_configured = alert_is_silenced(rules->alert_silence, thing, wall);
    bool is_device = thing->gpu >= 0 && thing->job == 0;

    return json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:b, s:b, s:o}",
                     "name", thing->name, "subject", text_or_null(thing->subject), "severity",
                     alert_severity_name(thing->severity), "uuid",
                     is_device ? json_string(thing->subject) : json_null(), "gpu",
                     thing->gpu >= 0 ? json_integer(thing->gpu) : json_null(), "node",
                     text_or_null(thing->node), "job", number_or_null((int64_t)thing->job), "user",
                     text_or_null(thing->owner), "words", thing->words, "since",
                     view_time(api, entry->since), "told",
                     entry->was_told ? view_time(api, entry->told) : json_null(), "over",
                     !entry->is_seen, "silenced", silence || is_configured, "silence",
                     silence ? view_silence(silence) : json_null());
}

json_t *handle_alerts(struct call *call)
{
    const struct api_alerts *port = &call->api->ports.alerts;
    const struct alert_silence *silences = NULL;
    json_t *list = json_array(), *silent = json_array();
    usec_t wall = control_wall(api_control(call->api));
    size_t count = 0;

    const struct alerts *alerts = port->look ? port->look(port->user, &silences, &count) : NULL;
    for (size_t i = 0; alerts && i < alerts->entries.count; i++)
        json_array_append_new(list,
                              view_alert(call->api, &alerts->entries.items[i], silences, count));
    for (size_t i = 0; i < count; i++) {
        if (silences[i].until == 0 || silences[i].until > wall)
            json_array_append_new(silent, view_silence(&silences[i]));
    }
    return json_pack("{s:o, s:o}", "alerts", list, "silences", silent);
}

/* ---- silence ---- */

static int check_name(const char *name, struct error *err)
{
    if (strcmp(name, "*") != 0 && !alert_name_is_known(name))
        return error_set(err, REFUSED_BAD,
                         "silence: name: '%.40s' is not known; expected a fault's name, job-idle, "
                         "job-memory, job-limit, job-device, budget, journal, "
                         "shortage, file or *",
                         name);
    return 0;
}

static bool is_job(const char *subject)
{
    const char *number = subject + strlen("job:");

    return string_starts(subject, "job:") && *number >= '1' && *number <= '9' &&
           strspn(number, "0123456789") == strlen(number);
}

/* Of a queue, "queue:a:money", or of a user in it, "queue:a:ana:money". */
static bool is_budget(const struct state *state, const char *subject)
{
    const char *kind = strrchr(subject, ':');
    char queue[REQUEST_NAME_SIZE];

    if (!string_starts(subject, "queue:") ||
        (strcmp(kind, ":money") != 0 && strcmp(kind, ":gpu_hours") != 0))
        return false;
    const char *name = subject + strlen("queue:");
    snprintf(queue, sizeof(queue), "%.*s", (int)strcspn(name, ":"), name);
    return name <= kind && state_find_queue(state, queue) >= 0;
}

/* The UUID of a GPU by any of its names; NULL: it is none. */
static const char *uuid_of(const struct state *state, const char *subject)
{
    uint32_t device;

    return device_find(state, subject, &device, NULL) == 0 ? state->devices.items[device].uuid
                                                           : NULL;
}

/* A node, or a file of the state directory that was put aside. */
static bool is_place(const struct state *state, const char *subject)
{
    if (string_starts(subject, "node:"))
        return state_find_node(state, subject + strlen("node:")) >= 0;
    return string_starts(subject, "file:") && subject[strlen("file:")] && !strchr(subject, '/');
}

/* The subject of an alert, in the form that alerts use. */
static int read_subject(const struct state *state, const char *subject, const char **ret,
                        struct error *err)
{
    bool is_itself = strcmp(subject, "*") == 0 || is_job(subject) || is_budget(state, subject) ||
                     is_place(state, subject);

    *ret = is_itself ? subject : uuid_of(state, subject);
    return *ret ? 0
                : error_set(
                      err, REFUSED_BAD,
                      "silence: subject: '%.60s' is not known; expected the UUID or the number of "
                      "a GPU, job:7, node:NAME, file:NAME, queue:NAME:money, "
                      "queue:NAME:USER:gpu_hours or *",
                      subject);
}

static int read_silence(const struct state *state, const json_t *body, usec_t wall,
                        struct alert_silence *ret, struct error *err)
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
        code = reader_line(&reader, body, "comment", ALERT_COMMENT_SIZE - 1, &comment);
    if (code == 0)
        code = reader_duration(&reader, body, "for", &length);
    if (code < 0)
        return code;
    if (!name)
        return error_set(err, REFUSED_BAD, "silence: name: expected the name of an alert, or *");
    if (length <= 0 || length > SILENCE_DAYS_MAX * USEC_PER_DAY)
        return error_set(err, REFUSED_BAD, "silence: for: expected a time up to %d days, like 2h",
                         SILENCE_DAYS_MAX);
    code = check_name(name, err);
    if (code == 0)
        code = read_subject(state, subject, &subject, err);
    if (code < 0)
        return code;
    *ret = (struct alert_silence){ .until = wall + length, .at = wall };
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    snprintf(ret->subject, sizeof(ret->subject), "%s", subject);
    snprintf(ret->comment, sizeof(ret->comment), "%s", comment);
    return 0;
}

json_t *handle_silence(struct call *call)
{
    const struct api_alerts *alerts = &call->api->ports.alerts;
    usec_t wall = control_wall(api_control(call->api));
    struct alert_silence silence;

    int code = read_body(call);
    if (code == 0)
        code = read_silence(api_state(call->api), call->body, wall, &silence, &call->err);
    if (code == 0) {
        snprintf(silence.by, sizeof(silence.by), "%s", call->request->who->name);
        code = alerts->silence(alerts->user, &silence, &call->err);
    }
    return code < 0 ? refuse(call, code) : json_pack("{s:o}", "silence", view_silence(&silence));
}

/* ?name=hot&subject=GPU-0; an absent key matches any. */
json_t *handle_unsilence(struct call *call)
{
    const struct api_alerts *alerts = &call->api->ports.alerts;
    const char *subject = http_query(call->request, "subject");
    unsigned count = 0;

    if (subject && uuid_of(api_state(call->api), subject))
        subject = uuid_of(api_state(call->api), subject);
    int code = alerts->unsilence(alerts->user, http_query(call->request, "name"), subject, &count,
                                 &call->err);
    return code < 0 ? refuse(call, code) : json_pack("{s:i}", "removed", (int)count);
}
