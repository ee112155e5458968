/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/config: show, apply, diff (dry run), log and undo. */
#include <string.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "control/config/apply.h"
#include "control/config/configure.h"

/* ---- what only administrators see ----
 *
 * An address, as that of the alert webhook, may have a password or a secret path in it: others see
 * its scheme and its host. */

static void add_place(struct text *out, const char *address, size_t length)
{
    const char *slash = memchr(address, '/', length);
    size_t host = slash ? (size_t)(slash - address) : length;
    const char *at = memrchr(address, '@', host);

    text_add_bytes(out, at ? at + 1 : address, host - (at ? (size_t)(at + 1 - address) : 0));
    if (slash && host + 1 < length)
        text_add(out, "/...");
}

static json_t *without_secrets(const char *words)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    const char *mark;

    while ((mark = strstr(words, "://"))) {
        const char *address = mark + 3;
        size_t length = strcspn(address, " \t'\",;\n");

        text_add_bytes(&out, words, (size_t)(address - words));
        add_place(&out, address, length);
        words = address + length;
    }
    text_add(&out, words);
    return json_string(text_string(&out));
}

/* The same value, which is taken over. It is ours, and not deep. */
static json_t *hide_secrets(json_t *value)
{
    const char *key;
    json_t *part;
    size_t i;

    json_object_foreach(value, key, part)
        json_object_set_new(value, key, hide_secrets(json_incref(part)));
    json_array_foreach(value, i, part)
        json_array_set_new(value, i, hide_secrets(json_incref(part)));
    if (!json_is_string(value) || !strstr(json_string_value(value), "://"))
        return value;
    part = without_secrets(json_string_value(value));
    json_decref(value);
    return part;
}

static json_t *as_seen_by(const struct identity *who, json_t *value)
{
    return who->is_admin ? value : hide_secrets(value);
}

/* ---- show ---- */

json_t *handle_config(struct call *call)
{
    const struct config_change *change;
    json_t *document = NULL;

    if (!http_query(call->request, "at")) {
        AUTO(config) struct config *config = config_of_state(api_state(call->api));
        return as_seen_by(call->request->who, config_to_json(config));
    }
    int code = apply_find(api_control(call->api), query_number(call, "at", 0), &change, &call->err);
    if (code == 0)
        code = apply_document(api_control(call->api), change->after, &document, &call->err);
    return code < 0 ? refuse(call, code) : as_seen_by(call->request->who, document);
}

json_t *handle_config_log(struct call *call)
{
    const struct config_log *log = &api_state(call->api)->config_log;
    json_t *list = json_array();

    for (size_t i = log->items.count; i > 0; i--) {
        const struct config_change *change = &log->items.items[i - 1];
        json_array_append_new(
            list, json_pack("{s:I, s:o, s:s, s:i, s:s, s:o}", "number", (json_int_t)change->number,
                            "at", view_time(call->api, change->at), "user", change->user, "count",
                            (int)change->count, "text", change->words, "undone",
                            number_or_null((int64_t)change->undone)));
    }
    return as_seen_by(call->request->who, json_pack("{s:o, s:I}", "changes", list, "last",
                                                    (json_int_t)config_log_last(log)));
}

/* ---- apply and undo ---- */

static json_t *view_lines(const struct text *text)
{
    json_t *lines = json_array();

    for (const char *at = text_string(text); *at;) {
        size_t length = strcspn(at, "\n");
        json_array_append_new(lines, json_stringn(at, length));
        at += length + (at[length] == '\n');
    }
    return lines;
}

struct applying {
    struct deferred deferred;
    struct apply apply;
};

static int run_applying(struct deferred *deferred, struct error *err)
{
    struct applying *applying = CONTAINER_OF(deferred, struct applying, deferred);

    return apply_run(api_control(deferred->api), &applying->apply, err);
}

static json_t *answer_applying(struct deferred *deferred)
{
    const struct apply *apply = &CONTAINER_OF(deferred, struct applying, deferred)->apply;
    const struct config_log *log = &api_state(deferred->api)->config_log;

    json_t *view =
        json_pack("{s:o, s:o, s:b, s:o, s:o, s:I}", "changes", view_lines(&apply->changes),
                  "warnings", view_lines(&apply->doubts), "applied", !apply->is_dry_run, "number",
                  number_or_null((int64_t)apply->number), "undone",
                  number_or_null((int64_t)apply->undo), "last", (json_int_t)config_log_last(log));
    return as_seen_by(deferred->request->who, view);
}

static void release_applying(struct deferred *deferred)
{
    apply_release(&CONTAINER_OF(deferred, struct applying, deferred)->apply);
}

static struct applying *create_applying(struct call *call, int *ret_code)
{
    static const struct deferred_ops ops = { .run = run_applying,
                                             .answer = answer_applying,
                                             .release = release_applying };
    struct applying *applying = deferred_create(call, sizeof(*applying), &ops);
    struct apply *apply = &applying->apply;
    apply->who = call->request->who;
    apply->is_dry_run = query_is_on(call, "dry_run");
    applying->deferred.is_routine = apply->is_dry_run;
    apply->has_seen = http_query(call->request, "seen");
    apply->seen = query_number(call, "seen", 0);
    *ret_code = 0;
    if (!apply->is_dry_run && !apply->who->is_admin)
        *ret_code =
            error_set(&call->err, REFUSED_FORBIDDEN, "config: only administrators change it");
    return applying;
}

static int read_config(struct call *call, struct config **ret)
{
    int code = read_body(call);
    if (code == 0)
        code = config_parse(call->body, NULL, NULL, ret, &call->err);
    if (code == 0)
        code = configure_settle(*ret, &call->err);
    /* The daemon can see files that the user of a dry run can't. */
    return code < 0 || !call->request->who->is_admin
               ? code
               : configure_find_programs(api_state(call->api), *ret, &call->err);
}

json_t *handle_apply(struct call *call)
{
    int code;

    struct applying *applying = create_applying(call, &code);
    if (code == 0)
        code = read_config(call, &applying->apply.config);
    return deferred_begin(call, &applying->deferred, code);
}

json_t *handle_undo(struct call *call)
{
    int code;

    struct applying *applying = create_applying(call, &code);
    applying->apply.is_undo = true;
    applying->apply.undo = query_number(call, "change", 0);
    return deferred_begin(call, &applying->deferred, code);
}
