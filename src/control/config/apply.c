/* SPDX-License-Identifier: Apache-2.0 */
#include "control/config/apply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/config/configure.h"
#include "control/lookup.h"
#include "wire/json.h"

enum { WORDS_MAX = 240 /* of a change, in the log */, DOCUMENT_MAX = 32 << 20 };

int apply_find(const struct control *control, uint64_t number, const struct config_change **ret,
               struct error *err)
{
    const struct config_log *log = &control_state(control)->config_log;

    *ret = config_log_find(log, number);
    if (*ret)
        return 0;
    if (config_log_last(log) == 0)
        return error_set(err, REFUSED_NOT_FOUND, "change %" PRIu64 ": nothing has been changed yet",
                         number);
    if (number > 0 && number < log->items.items[0].number)
        return error_set(err, REFUSED_NOT_FOUND,
                         "change %" PRIu64 ": too long ago; the last %d are kept, from %" PRIu64,
                         number, CONFIG_LOG_KEPT, log->items.items[0].number);
    return error_set(err, REFUSED_NOT_FOUND,
                     "change %" PRIu64 ": no such change; the last one is %" PRIu64, number,
                     config_log_last(log));
}

int apply_document(const struct control *control, uint64_t blob, json_t **ret, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };

    int code = control->blobs.get(control->blobs.user, blob, &bytes, err);
    return code < 0 ? code
                    : json_parse(text_string(&bytes), bytes.length, DOCUMENT_MAX, "configuration",
                                 ret, err);
}

/* Join the lines, without the column padding; cut at WORDS_MAX. */
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

static uint64_t add_blob(const struct control *control, const struct config *config)
{
    json_t *document = config_to_json(config);
    char *bytes = json_dumps(document, JSON_COMPACT);
    uint64_t blob = control_blob_add(control, bytes ? bytes : "{}", bytes ? strlen(bytes) : 2);

    free(bytes);
    json_decref(document);
    return blob;
}

static void emit_change(const struct control *control, struct apply *apply,
                        const struct config *old, size_t count)
{
    AUTO_RELEASE(text) struct text words = { 0 };
    const struct state *state = control_state(control);

    say_in_one_line(&apply->changes, &words);
    apply->number = config_log_last(&state->config_log) + 1;
    struct event event = {
        .kind = EVENT_CHANGE,
        .change = { .number = apply->number,
                    .user = apply->who->name,
                    .before = add_blob(control, old),
                    .after = add_blob(control, apply->config),
                    .words = text_string(&words),
                    .count = (uint32_t)count,
                    .undone = apply->undo },
    };
    control_emit(control, event);
}

/* The configuration before the change that is undone. */
static int recall(const struct control *control, struct apply *apply, struct error *err)
{
    const struct config_log *log = &control_state(control)->config_log;
    const struct config_change *change;
    json_t *document = NULL;

    if (apply->undo == 0)
        apply->undo = config_log_last(log);
    if (apply->undo == 0)
        return error_set(err, REFUSED_NOT_FOUND, "undo: nothing has been changed yet");
    int code = apply_find(control, apply->undo, &change, err);
    if (code == 0)
        code = apply_document(control, change->before, &document, err);
    if (code == 0)
        code = config_parse(document, NULL, NULL, &apply->config, err);
    json_decref(document);
    return code < 0 ? code : configure_settle(apply->config, err);
}

/* Consent covers the diff that was shown: refuse if the configuration has changed since. */
static int check_seen(const struct control *control, const struct apply *apply, struct error *err)
{
    const struct config_log *log = &control_state(control)->config_log;
    uint64_t last = config_log_last(log);

    if (!apply->has_seen || apply->seen == last)
        return 0;
    const struct config_change *change = config_log_find(log, last);
    return error_set(err, REFUSED_CONFLICT,
                     "config: changed in the meantime by %s (change %" PRIu64
                     "); review it and apply again",
                     change ? change->user : "another user", last);
}

/* Where all hardware is known, a new doubt is a mistake. */
static int check_doubts(const struct control *control, struct apply *apply,
                        const struct config *old, struct error *err)
{
    const struct state *state = control_state(control);
    AUTO_RELEASE(text) struct text before = { 0 };
    bool is_complete = control->has_fixed_nodes && cluster_is_real(state) &&
                       apply->config->node_type_count == 0 && !apply->is_undo;

    if (configure_doubts(state, apply->config, &apply->doubts) == 0 || !is_complete)
        return 0;
    configure_doubts(state, old, &before);
    for (const char *at = text_string(&apply->doubts); *at; at = strchr(at, '\n') + 1) {
        AUTO_FREE char *line = mem_string_of(at, strcspn(at, "\n") + 1);
        if (!strstr(text_string(&before), line))
            return error_set(err, REFUSED_NEVER, "%.*s", (int)strcspn(line, "\n"), line);
    }
    return 0;
}

int apply_run(const struct control *control, struct apply *apply, struct error *err)
{
    const struct state *state = control_state(control);
    AUTO(config) struct config *old = config_of_state(state);

    int code = check_seen(control, apply, err);
    if (code == 0 && apply->is_undo)
        code = recall(control, apply, err);
    if (code < 0)
        return code;
    code = configure_check(state, apply->config, err);
    if (code == 0)
        code = check_doubts(control, apply, old, err);
    if (code < 0)
        return apply->is_undo ? error_prefix(err, code, "undo of change %" PRIu64, apply->undo)
                              : code;
    size_t count = config_diff(old, apply->config, &apply->changes);
    config_diff_at_start(old, apply->config, &apply->doubts);
    if (apply->is_dry_run || count == 0)
        return 0;
    configure_emit(control, apply->config);
    emit_change(control, apply, old, count);
    return 0;
}

void apply_release(struct apply *apply)
{
    config_destroy(apply->config);
    text_release(&apply->changes);
    text_release(&apply->doubts);
}

/* ---- in a state of another time ---- */

static bool is_elsewhere(const struct state *state, const struct config *config, uint32_t number)
{
    const struct queue *queue = &state->queues.items[number];
    int32_t wanted = config_find_queue(config, queue->name);

    if (wanted < 0 || queue->is_removed)
        return false;
    const char *parent = config->queues[wanted].parent;
    return strcmp(state->queues.items[queue->parent].name, parent[0] ? parent : "root") != 0 ||
           state->queues.items[queue->parent].is_removed;
}

int apply_impose(const struct control *control, const json_t *document, struct error *err)
{
    AUTO(config) struct config *config = NULL;
    const struct state *state = control_state(control);

    int code = config_parse(document, NULL, NULL, &config, err);
    if (code == 0)
        code = configure_settle(config, err);
    if (code < 0)
        return code;
    /* Parents have lower numbers than children: going up, the parent is settled first. Waiting jobs
     * keep their queue. */
    for (uint32_t i = QUEUE_DEFAULT + 1; i < state->queues.count; i++) {
        if (is_elsewhere(state, config, i))
            control_emit(control,
                         (struct event){ .kind = EVENT_QUEUE_REMOVE,
                                         .queue_remove.name = state->queues.items[i].name });
    }
    configure_emit(control, config);
    return 0;
}
