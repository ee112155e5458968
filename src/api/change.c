/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/config: what is in force, what would change, changes and their log, and changes taken back.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/configure.h"
#include "wire/json.h"

enum { WORDS_MAX = 240 /* of a change, in the log */ };

struct apply {
    struct api_change change;
    struct api *api;
    struct http_request *request;
    struct config *config; /* NULL: the one before the change to be undone */
    uint64_t undo;         /* its number; 0 with is_undo: the last one's */
    uint64_t seen;         /* the last change that its author has seen */
    uint64_t number;       /* what it became; 0: nothing */
    struct text changes;
    bool is_undo, is_dry_run, has_seen;
};

static bool is_on(const struct http_request *request, const char *key)
{
    const char *value = http_query(request, key);

    return value && strcmp(value, "0") != 0;
}

static int read_number(const struct http_request *request, const char *key, uint64_t *ret,
                       bool *ret_given, struct error *err)
{
    const char *text = http_query(request, key);
    char *end;

    *ret_given = text != NULL;
    if (!text)
        return 0;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno != 0)
        return error_set(err, -EINVAL, "%s '%.40s': expected the number of a change", key, text);
    *ret = value;
    return 0;
}

/* ---- looking ---- */

static int find_change(const struct api *api, uint64_t number, const struct config_change **ret,
                       struct error *err)
{
    const struct config_log *log = &api_state(api)->config_log;

    *ret = config_log_find(log, number);
    if (*ret)
        return 0;
    if (config_log_last(log) == 0)
        return error_set(err, -ENOENT, "change %" PRIu64 ": nothing has been changed yet", number);
    if (number > 0 && number < log->items.items[0].number)
        return error_set(err, -ENOENT,
                         "change %" PRIu64 ": too long ago; the last %d are kept, from %" PRIu64,
                         number, CONFIG_LOG_KEPT, log->items.items[0].number);
    return error_set(err, -ENOENT, "change %" PRIu64 ": no such change; the last one is %" PRIu64,
                     number, config_log_last(log));
}

static int read_blob(const struct api *api, uint64_t blob, json_t **ret, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };

    int code = api->ports.blob_get(api->ports.user, blob, &bytes, err);
    return code < 0 ? code
                    : json_parse(text_string(&bytes), bytes.length, HTTP_BODY_MAX, "configuration",
                                 ret, err);
}

void handle_config(struct call *call)
{
    const struct config_change *change;
    json_t *document = NULL;
    uint64_t number = 0;
    struct error err;
    bool has_number;

    int code = read_number(call->request, "at", &number, &has_number, &err);
    if (code == 0 && !has_number) {
        AUTO(config) struct config *config = config_of_state(api_state(call->api));
        document = config_to_json(config);
    } else if (code == 0) {
        code = find_change(call->api, number, &change, &err);
        if (code == 0)
            code = read_blob(call->api, change->after, &document, &err);
    }
    if (code < 0)
        reply_error(call->request, code, &err);
    else
        reply_json(call->request, 200, document);
}

void handle_config_log(struct call *call)
{
    const struct config_log *log = &api_state(call->api)->config_log;
    json_t *list = json_array();

    for (size_t i = log->items.count; i > 0; i--) {
        const struct config_change *change = &log->items.items[i - 1];
        json_array_append_new(
            list,
            json_pack("{s:I, s:o, s:s, s:i, s:s, s:o}", "number", (json_int_t)change->number, "at",
                      view_time(call->api, change->at), "user", change->user, "count",
                      (int)change->count, "text", change->words, "undone",
                      change->undone ? json_integer((json_int_t)change->undone) : json_null()));
    }
    reply_json(call->request, 200,
               json_pack("{s:o, s:I}", "changes", list, "last", (json_int_t)config_log_last(log)));
}

/* ---- changing ---- */

/* The lines in one, without the columns; cut where it gets long. */
static void say_in_one_line(const struct text *lines, struct text *out)
{
    const char *at = text_string(lines);

    for (; *at && out->length < WORDS_MAX; at++) {
        if (*at == '\n')
            text_add(out, at[1] ? "; " : "");
        else if (*at != ' ' || at[1] != ' ')
            text_add_char(out, *at);
    }
    while (*at && (*at & 0xc0) == 0x80) /* not within a character */
        text_add_char(out, *at++);
    if (*at)
        text_add(out, " ...");
}

static uint64_t add_blob(const struct apply *apply, const struct config *config)
{
    json_t *document = config_to_json(config);
    char *bytes = json_dumps(document, JSON_COMPACT);
    uint64_t blob = apply->api->ports.blob_add(apply->api->ports.user, bytes ? bytes : "{}",
                                               bytes ? strlen(bytes) : 2);

    free(bytes);
    json_decref(document);
    return blob;
}

static void emit_change(struct apply *apply, const struct config *old, size_t count)
{
    AUTO_RELEASE(text) struct text words = { 0 };
    const struct state *state = api_state(apply->api);

    say_in_one_line(&apply->changes, &words);
    apply->number = config_log_last(&state->config_log) + 1;
    struct event event = {
        .kind = EVENT_CHANGE,
        .change = { .number = apply->number,
                    .user = apply->request->who->name,
                    .before = add_blob(apply, old),
                    .after = add_blob(apply, apply->config),
                    .words = text_string(&words),
                    .count = (uint32_t)count,
                    .undone = apply->undo },
    };
    apply->api->ports.emit(apply->api->ports.user, &event);
}

/* What was before the change to be undone. */
static int recall(struct apply *apply, struct error *err)
{
    const struct config_log *log = &api_state(apply->api)->config_log;
    const struct config_change *change;
    json_t *document = NULL;

    if (apply->undo == 0)
        apply->undo = config_log_last(log);
    if (apply->undo == 0)
        return error_set(err, -ENOENT, "undo: nothing has been changed yet");
    int code = find_change(apply->api, apply->undo, &change, err);
    if (code == 0)
        code = read_blob(apply->api, change->before, &document, err);
    if (code == 0)
        code = config_parse(document, NULL, NULL, &apply->config, err);
    json_decref(document);
    return code < 0 ? code : configure_settle(apply->config, err);
}

/* Who looked at the difference and agreed agreed to that one. */
static int check_seen(const struct apply *apply, struct error *err)
{
    const struct config_log *log = &api_state(apply->api)->config_log;
    uint64_t last = config_log_last(log);

    if (!apply->has_seen || apply->seen == last)
        return 0;
    const struct config_change *change = config_log_find(log, last);
    return error_set(err, -EALREADY,
                     "config: %s changed it meanwhile (change %" PRIu64 "); look at it again",
                     change ? change->user : "somebody", last);
}

static int run_apply(struct api_change *change, struct error *err)
{
    struct apply *apply = CONTAINER_OF(change, struct apply, change);
    const struct state *state = api_state(apply->api);
    AUTO(config) struct config *old = config_of_state(state);

    int code = check_seen(apply, err);
    if (code == 0 && apply->is_undo)
        code = recall(apply, err);
    if (code < 0)
        return code;
    code = configure_check(state, apply->config, err);
    if (code < 0)
        return apply->is_undo ? error_prefix(err, code, "undo of change %" PRIu64, apply->undo)
                              : code;
    size_t count = config_diff(old, apply->config, &apply->changes);
    if (apply->is_dry_run || count == 0)
        return 0;
    configure_emit(apply->api, apply->config);
    emit_change(apply, old, count);
    return 0;
}

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

static void destroy_apply(struct apply *apply)
{
    config_destroy(apply->config);
    text_release(&apply->changes);
    free(apply);
}

static void done_apply(struct api_change *change, int code, const struct error *err)
{
    struct apply *apply = CONTAINER_OF(change, struct apply, change);
    const struct config_log *log = &api_state(apply->api)->config_log;

    if (code < 0)
        reply_error(apply->request, code, err);
    else
        reply_json(apply->request, 200,
                   json_pack("{s:o, s:b, s:o, s:o, s:I}", "changes", view_lines(&apply->changes),
                             "applied", !apply->is_dry_run, "number",
                             apply->number ? json_integer((json_int_t)apply->number) : json_null(),
                             "undone",
                             apply->undo ? json_integer((json_int_t)apply->undo) : json_null(),
                             "last", (json_int_t)config_log_last(log)));
    destroy_apply(apply);
}

static struct apply *create_apply(struct call *call, struct error *err)
{
    struct apply *apply = mem_zero(1, sizeof(*apply));

    *apply = (struct apply){
        .change = { .run = run_apply, .done = done_apply },
        .api = call->api,
        .request = call->request,
        .is_dry_run = is_on(call->request, "dry_run"),
    };
    int code = 0;
    if (!apply->is_dry_run && !call->request->who->is_admin)
        code = error_set(err, -EACCES, "config: only administrators change it");
    if (code == 0)
        code = read_number(call->request, "seen", &apply->seen, &apply->has_seen, err);
    if (code == 0)
        return apply;
    reply_error(call->request, code, err);
    destroy_apply(apply);
    return NULL;
}

void handle_apply(struct call *call)
{
    struct error err = { "" };
    struct apply *apply = create_apply(call, &err);

    if (!apply)
        return;
    json_t *body = read_body(call->request);
    if (!body) {
        destroy_apply(apply);
        return;
    }
    int code = config_parse(body, NULL, NULL, &apply->config, &err);
    json_decref(body);
    if (code == 0)
        code = configure_settle(apply->config, &err);
    if (code == 0)
        code = configure_find_programs(api_state(call->api), apply->config, &err);
    if (code < 0) {
        reply_error(call->request, code, &err);
        destroy_apply(apply);
        return;
    }
    call->api->ports.enqueue(call->api->ports.user, &apply->change);
}

void handle_undo(struct call *call)
{
    struct error err = { "" };
    struct apply *apply = create_apply(call, &err);
    bool has_number;

    if (!apply)
        return;
    apply->is_undo = true;
    int code = read_number(call->request, "change", &apply->undo, &has_number, &err);
    if (code == 0 && has_number && apply->undo == 0)
        code = error_set(&err, -EINVAL, "change: 0, expected the number of a change, from 1");
    if (code < 0) {
        reply_error(call->request, code, &err);
        destroy_apply(apply);
        return;
    }
    call->api->ports.enqueue(call->api->ports.user, &apply->change);
}

/* ---- in a state of another time ---- */

static bool is_elsewhere(const struct state *state, const struct config *config, uint32_t number)
{
    const struct queue *queue = &state->queues.items[number];
    int32_t wanted = config_find_queue(config, queue->name);

    if (wanted < 0 || queue->is_removed)
        return false;
    int32_t parent = config->queues[wanted].parent;
    return strcmp(state->queues.items[queue->parent].name,
                  parent >= 0 ? config->queues[parent].name : "root") != 0 ||
           state->queues.items[queue->parent].is_removed;
}

/* Whoever waits in one of them goes on waiting there. */
static void emit_away(struct api *api, uint32_t number)
{
    AUTO_FREE char *name = mem_string(api_state(api)->queues.items[number].name);
    struct event event = { .kind = EVENT_QUEUE_REMOVE, .queue_remove = { .name = name } };

    api->ports.emit(api->ports.user, &event);
}

int api_impose(const struct api_ports *ports, const json_t *document, struct error *err)
{
    AUTO(config) struct config *config = NULL;
    struct api api = { .ports = *ports };
    const struct state *state = api_state(&api);

    int code = config_parse(document, NULL, NULL, &config, err);
    if (code == 0)
        code = configure_settle(config, err);
    if (code < 0)
        return code;
    /* A queue has a higher number than its parent: from above, so that its place is known. */
    for (uint32_t i = QUEUE_DEFAULT + 1; i < state->queues.count; i++) {
        if (is_elsewhere(state, config, i))
            emit_away(&api, i);
    }
    configure_emit(&api, config);
    return 0;
}
