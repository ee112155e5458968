/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/health/alert.h"
#include "time/begin.h"
#include "time/civil.h"
#include "wire/config/config.h"

/* "a" or [a, b], without commas and blanks in them. */
static int read_names(const struct reader *reader, const json_t *object, const char *key, char *ret,
                      size_t size)
{
    const json_t *value = reader_get(object, key);
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    AUTO_RELEASE(text) struct text names = { 0 };

    for (size_t i = 0; value && i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        const char *name = json_string_value(item);
        if (!name || !name[0] || strpbrk(name, ", \t\n"))
            return reader_fail(reader, -EINVAL, object, key, "expected a name or a list of names");
        text_printf(&names, "%s%s", i > 0 ? "," : "", name);
    }
    if (names.length >= size)
        return reader_fail(reader, -EINVAL, object, key, "longer than %zu letters in all",
                           size - 1);
    memcpy(ret, text_string(&names), names.length + 1);
    return 0;
}

static int read_text(const struct reader *reader, const json_t *object, const char *key, char *ret)
{
    const char *text = NULL;

    int code = reader_string(reader, object, key, WATCH_TEXT_SIZE - 1, &text);
    if (code == 0 && text)
        snprintf(ret, WATCH_TEXT_SIZE, "%s", text);
    return code;
}

/* Less than a minute is rarely what was meant: "30" is not enough to say so. */
static bool has_unit(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t length = text ? strlen(text) : 0;

    return length > 0 && text[length - 1] == 's';
}

static int check_idle(const struct reader *reader, const json_t *idle,
                      const struct watch_rules *rules)
{
    usec_t least = watch_idle_least(rules);

    if (rules->idle_warn > 0 && rules->idle_warn < WATCH_IDLE_LEAST_S * USEC_PER_SEC &&
        !has_unit(reader_get(idle, "warn")))
        return reader_fail(reader, -EINVAL, idle, "warn",
                           "expected at least a minute, or seconds that are called so, like 30s");
    if (rules->idle_stop > 0 && rules->idle_warn == 0)
        return reader_fail(reader, -EINVAL, idle, "stop",
                           "nobody is stopped without a warning; expected warn: TIME, too");
    if (rules->idle_stop > 0 && rules->idle_stop < rules->idle_warn + least)
        return reader_fail(reader, -EINVAL, idle, "stop",
                           "expected at least a minute more than warn, or twice a shorter one");
    if (rules->idle_action != IDLE_WARN && rules->idle_stop == 0)
        return reader_fail(reader, -EINVAL, idle, "action", "when? expected stop: TIME, too");
    return 0;
}

static int read_idle(const struct reader *above, const json_t *document, struct watch_rules *rules)
{
    static const char *const keys[] = { "warn", "stop", "action", "dry_run", "exempt", NULL };
    static const char *const actions[] = { "warn", "requeue", "cancel", NULL };
    const json_t *idle = reader_get(document, "idle");
    struct reader reader = *above;
    size_t action = IDLE_CANCEL;

    if (!idle)
        return 0;
    snprintf(reader.where, sizeof(reader.where), "idle");
    int code = reader_check_keys(&reader, idle, keys);
    if (code == 0)
        code = reader_duration(&reader, idle, "warn", &rules->idle_warn);
    if (code == 0)
        code = reader_duration(&reader, idle, "stop", &rules->idle_stop);
    if (code == 0)
        code = reader_word(&reader, idle, "action", actions, &action);
    if (code == 0)
        code = reader_bool(&reader, idle, "dry_run", &rules->idle_dry_run);
    if (code == 0)
        code = read_names(&reader, idle, "exempt", rules->idle_exempt, WATCH_NAMES_SIZE);
    bool is_told = reader_get(idle, "action") != NULL;
    rules->idle_action = is_told || rules->idle_stop > 0 ? (uint8_t)action : IDLE_WARN;
    return code < 0 ? code : check_idle(&reader, idle, rules);
}

/* For the shell; its program is not searched for. */
static int read_command(const struct reader *reader, const json_t *object, const char *key,
                        char *ret)
{
    int code = read_text(reader, object, key, ret);

    if (code == 0 && ret[0] && ret[0] != '/')
        return reader_fail(reader, -EINVAL, object, key, "expected an absolute path");
    return code;
}

static int read_health(const struct reader *above, const json_t *document,
                       struct watch_rules *rules)
{
    static const char *const keys[] = { "jobs", "before", "after", "timeout", NULL };
    static const char *const jobs[] = { "able", "all", "stay", NULL };
    const json_t *health = reader_get(document, "health");
    struct reader reader = *above;
    size_t rule = SICK_ABLE;

    if (!health)
        return 0;
    snprintf(reader.where, sizeof(reader.where), "health");
    int code = reader_check_keys(&reader, health, keys);
    if (code == 0)
        code = reader_word(&reader, health, "jobs", jobs, &rule);
    rules->sick_jobs = (uint8_t)rule;
    if (code == 0)
        code = read_command(&reader, health, "before", rules->health_before);
    if (code == 0)
        code = read_command(&reader, health, "after", rules->health_after);
    if (code == 0)
        code = reader_duration(&reader, health, "timeout", &rules->health_timeout);
    if (code == 0 && reader_get(health, "timeout") &&
        (rules->health_timeout < USEC_PER_SEC || rules->health_timeout > USEC_PER_HOUR))
        return reader_fail(&reader, -ERANGE, health, "timeout", "expected 1s to 1h");
    if (code == 0 && rules->health_timeout > 0 && !rules->health_before[0] &&
        !rules->health_after[0])
        return reader_fail(&reader, -EINVAL, health, "timeout",
                           "of what? expected before: COMMAND or after: COMMAND, too");
    return code;
}

/* A date with or without a time, in UTC. */
static int read_until(const struct reader *reader, const json_t *silence, usec_t *ret)
{
    struct begin_fields fields;
    const char *text = NULL;
    char date[32];

    int code = reader_string(reader, silence, "until", sizeof(date) - 1, &text);
    *ret = 0;
    if (code < 0 || !text)
        return code;
    snprintf(date, sizeof(date), "%s", text);
    if (date[0] && date[strlen(date) - 1] == 'Z')
        date[strlen(date) - 1] = '\0';
    if (!begin_split(date, &fields) || !fields.has_date)
        return reader_fail(reader, -EINVAL, silence, "until",
                           "expected a date in UTC, like 2030-01-31T08:00");
    *ret = civil_day(fields.year, fields.month, fields.day) * USEC_PER_DAY +
           (fields.hour * 3600 + fields.minute * 60 + fields.second) * USEC_PER_SEC;
    return 0;
}

static int read_silence(const struct reader *reader, const json_t *silence, struct text *ret)
{
    static const char *const keys[] = { "fault", "uuid", "until", NULL };
    const char *fault = "*", *uuid = "*";
    usec_t until = 0;

    int code = reader_check_keys(reader, silence, keys);
    if (code == 0)
        code = reader_string(reader, silence, "fault", ALERT_NAME_SIZE - 1, &fault);
    if (code == 0 && strcmp(fault, "*") != 0 && !alert_name_is_known(fault))
        return reader_fail(reader, -EINVAL, silence, "fault", "'%.40s' is none", fault);
    if (code == 0)
        code = reader_string(reader, silence, "uuid", ALERT_SUBJECT_SIZE - 1, &uuid);
    if (code == 0 && (!uuid[0] || strpbrk(uuid, ", \t\n")))
        return reader_fail(reader, -EINVAL, silence, "uuid", "expected the UUID of a GPU");
    if (code == 0)
        code = read_until(reader, silence, &until);
    if (code == 0)
        text_printf(ret, "%s%s %s %" PRId64, ret->length > 0 ? "," : "", fault, uuid,
                    until / USEC_PER_SEC);
    return code;
}

static int read_silences(const struct reader *above, const json_t *alerts,
                         struct watch_rules *rules)
{
    const json_t *list = reader_get(alerts, "silence");
    AUTO_RELEASE(text) struct text text = { 0 };
    int code = 0;

    if (list && !json_is_array(list))
        return reader_fail(above, -EINVAL, alerts, "silence",
                           "expected a list of {fault, uuid, until}");
    for (size_t i = 0; code == 0 && i < json_array_size(list); i++) {
        struct reader reader = *above;
        snprintf(reader.where, sizeof(reader.where), "alerts.silence[%zu]", i);
        code = read_silence(&reader, json_array_get(list, i), &text);
    }
    if (code == 0 && text.length >= sizeof(rules->alert_silence))
        return reader_fail(above, -EINVAL, alerts, "silence", "longer than %zu letters in all",
                           sizeof(rules->alert_silence) - 1);
    if (code == 0)
        memcpy(rules->alert_silence, text_string(&text), text.length + 1);
    return code;
}

static int read_owners(const struct reader *reader, const json_t *alerts, struct watch_rules *rules)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    const char *domain = rules->alert_owner_mail;

    int code = read_text(reader, alerts, "owner_command", rules->alert_owner_command);
    if (code == 0 && rules->alert_owner_command[0] && rules->alert_owner_command[0] != '/')
        code = reader_fail(reader, -EINVAL, alerts, "owner_command", "expected an absolute path");
    if (code == 0)
        code = read_text(reader, alerts, "owner_mail", rules->alert_owner_mail);
    if (code == 0 && (strspn(domain, letters) != strlen(domain) || domain[0] == '.'))
        code = reader_fail(reader, -EINVAL, alerts, "owner_mail",
                           "expected what stands behind the @ of people's addresses, like "
                           "example.org");
    return code;
}

/* HOST, HOST:PORT or [ADDRESS]:PORT, with or without somebody's name before it. */
static bool has_host(const char *rest)
{
    size_t length = strcspn(rest, "/?#");
    const char *end = rest + length, *name = memrchr(rest, '@', length);
    const char *host = name ? name + 1 : rest;
    bool is_address = host[0] == '[';
    size_t host_length = strcspn(host, is_address ? "]" : ":/?#");
    const char *port = host + host_length + is_address;

    if (host_length < 1u + is_address || port > end)
        return false;
    if (port == end)
        return true;
    size_t digits = strspn(port + 1, "0123456789");
    return *port == ':' && digits > 0 && digits <= 5 && port + 1 + digits == end;
}

/* Of one of two schemes. What nothing could be sent to is refused where somebody reads it. */
static int read_url(const struct reader *reader, const json_t *object, const char *key,
                    const char *const schemes[2], char *ret)
{
    int code = read_text(reader, object, key, ret);
    bool is_good = false;

    for (size_t i = 0; code == 0 && i < 2; i++)
        is_good |= string_starts(ret, schemes[i]) && has_host(ret + strlen(schemes[i]));
    if (code < 0 || !ret[0] || (is_good && !strchr(ret, ' ') && !string_has_control(ret)))
        return code;
    return reader_fail(reader, -EINVAL, object, key, "expected %s or %s, and a host", schemes[0],
                       schemes[1]);
}

static int read_alerts(const struct reader *above, const json_t *document,
                       struct watch_rules *rules)
{
    static const char *const keys[] = { "command",       "webhook",     "mail",
                                        "repeat",        "mail_server", "silence",
                                        "owner_command", "owner_mail",  NULL };
    static const char *const web[] = { "http://", "https://" };
    static const char *const mail[] = { "smtp://", "smtps://" };
    const json_t *alerts = reader_get(document, "alerts");
    struct reader reader = *above;

    if (!alerts)
        return 0;
    snprintf(reader.where, sizeof(reader.where), "alerts");
    int code = reader_check_keys(&reader, alerts, keys);
    if (code == 0)
        code = read_text(&reader, alerts, "command", rules->alert_command);
    if (code == 0 && rules->alert_command[0] && rules->alert_command[0] != '/')
        code = reader_fail(&reader, -EINVAL, alerts, "command", "expected an absolute path");
    if (code == 0)
        code = read_url(&reader, alerts, "webhook", web, rules->alert_webhook);
    if (code == 0)
        code = read_names(&reader, alerts, "mail", rules->alert_mail, WATCH_TEXT_SIZE);
    if (code == 0)
        code = read_url(&reader, alerts, "mail_server", mail, rules->alert_mail_server);
    if (code == 0)
        code = read_silences(&reader, alerts, rules);
    if (code == 0)
        code = read_owners(&reader, alerts, rules);
    return code < 0 ? code : reader_duration(&reader, alerts, "repeat", &rules->alert_repeat);
}

static int read_affinity(const struct reader *reader, const json_t *document,
                         struct watch_rules *rules)
{
    static const char *const words[] = { "near", "any", NULL };
    size_t word = 0;

    int code = reader_word(reader, document, "affinity", words, &word);
    rules->cpus_anywhere = word == 1;
    return code;
}

int config_watch_read(const struct reader *reader, const json_t *document, struct watch_rules *ret)
{
    struct watch_rules rules = { 0 };

    int code = read_idle(reader, document, &rules);
    if (code == 0)
        code = reader_duration(reader, document, "memory_grace", &rules.memory_grace);
    if (code == 0)
        code = read_affinity(reader, document, &rules);
    if (code == 0)
        code = read_health(reader, document, &rules);
    if (code == 0)
        code = read_alerts(reader, document, &rules);
    if (code == 0)
        *ret = rules;
    return code;
}

static void put_duration(json_t *object, const char *key, usec_t duration)
{
    char buffer[UNITS_TEXT_SIZE];

    if (duration > 0)
        json_object_set_new(object, key, json_string(config_duration_spell(buffer, duration)));
}

static void put_text(json_t *object, const char *key, const char *text)
{
    if (text[0])
        json_object_set_new(object, key, json_string(text));
}

static void put_names(json_t *object, const char *key, const char *names)
{
    json_t *list = json_array();

    for (const char *at = names; *at;) {
        size_t length = strcspn(at, ",");
        json_array_append_new(list, json_stringn(at, length));
        at += length + (at[length] == ',');
    }
    if (json_array_size(list) > 0)
        json_object_set(object, key, list);
    json_decref(list);
}

/* As read_until() takes it. */
static void put_until(json_t *silence, int64_t seconds)
{
    struct civil date = civil_of_day(seconds / 86400);
    int rest = (int)(seconds % 86400);

    json_object_set_new(silence, "until",
                        json_sprintf("%04d-%02d-%02dT%02d:%02d:%02d", (int)date.year, date.month,
                                     date.day, rest / 3600, rest / 60 % 60, rest % 60));
}

static void put_silences(json_t *object, const char *silences)
{
    json_t *list = json_array();

    for (const char *at = silences; *at; at += *at == ',') {
        char fault[ALERT_NAME_SIZE] = "", uuid[ALERT_SUBJECT_SIZE] = "";
        long long until = 0;
        json_t *silence = json_object();
        sscanf(at, "%31s %95s %lld", fault, uuid, &until);
        if (strcmp(fault, "*") != 0)
            json_object_set_new(silence, "fault", json_string(fault));
        if (strcmp(uuid, "*") != 0)
            json_object_set_new(silence, "uuid", json_string(uuid));
        if (until > 0)
            put_until(silence, until);
        json_array_append_new(list, silence);
        at += strcspn(at, ",");
    }
    if (json_array_size(list) > 0)
        json_object_set(object, "silence", list);
    json_decref(list);
}

static void put_object(json_t *document, const char *key, json_t *object)
{
    if (json_object_size(object) > 0)
        json_object_set(document, key, object);
    json_decref(object);
}

void config_watch_to_json(const struct watch_rules *rules, json_t *document)
{
    json_t *idle = json_object(), *health = json_object(), *alerts = json_object();

    put_duration(idle, "warn", rules->idle_warn);
    put_duration(idle, "stop", rules->idle_stop);
    if (rules->idle_stop > 0)
        json_object_set_new(idle, "action", json_string(idle_action_name(rules->idle_action)));
    if (rules->idle_dry_run)
        json_object_set_new(idle, "dry_run", json_true());
    put_names(idle, "exempt", rules->idle_exempt);
    put_object(document, "idle", idle);
    put_duration(document, "memory_grace", rules->memory_grace);
    if (rules->sick_jobs != SICK_ABLE)
        json_object_set_new(health, "jobs", json_string(sick_jobs_name(rules->sick_jobs)));
    put_text(health, "before", rules->health_before);
    put_text(health, "after", rules->health_after);
    put_duration(health, "timeout", rules->health_timeout);
    put_object(document, "health", health);
    if (rules->cpus_anywhere)
        json_object_set_new(document, "affinity", json_string("any"));
    put_text(alerts, "command", rules->alert_command);
    put_text(alerts, "webhook", rules->alert_webhook);
    put_names(alerts, "mail", rules->alert_mail);
    put_text(alerts, "mail_server", rules->alert_mail_server);
    put_duration(alerts, "repeat", rules->alert_repeat);
    put_silences(alerts, rules->alert_silence);
    put_text(alerts, "owner_command", rules->alert_owner_command);
    put_text(alerts, "owner_mail", rules->alert_owner_mail);
    put_object(document, "alerts", alerts);
}
