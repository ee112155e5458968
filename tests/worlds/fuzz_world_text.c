/* SPDX-License-Identifier: Apache-2.0 */
/* A world as text: what a failure is handed on as. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worlds/fuzz_text.h"
#include "worlds/fuzz_world.h"

/* Events have their own names. */
static const char *const kind_names[FUZZ_ACTION_KINDS] = {
    [FUZZ_SNAPSHOT] = "SNAPSHOT", [FUZZ_RESTART] = "RESTART", [FUZZ_ENGINE_RESTART] = "ENGINE",
    [FUZZ_FORGET] = "FORGET",     [FUZZ_REFRESH] = "REFRESH",
};

void fuzz_world_format(const struct fuzz_world *world, struct text *out)
{
    text_add(out, "world");
    fuzz_text_put(&fuzz_temper_record, &world->temper, out);
    text_add_char(out, '\n');
    for (size_t i = 0; i < world->actions.count; i++) {
        const struct fuzz_action *action = &world->actions.items[i];
        text_printf(out, "%" PRId64 " ", action->at);
        if (action->kind == FUZZ_EVENT) {
            text_add(out, event_name(action->event.kind));
            fuzz_text_put(event_type(action->event.kind), event_body(&action->event), out);
        } else
            text_add(out, kind_names[action->kind]);
        text_add_char(out, '\n');
    }
}

static int parse_kind(struct fuzz_action *action, const char *name, size_t length,
                      struct error *err)
{
    for (uint8_t i = FUZZ_EVENT + 1; i < FUZZ_ACTION_KINDS; i++) {
        if (strlen(kind_names[i]) == length && strncmp(kind_names[i], name, length) == 0) {
            action->kind = i;
            return 0;
        }
    }
    for (int i = EVENT_NONE + 1; i < EVENT_KIND_MAX; i++) {
        const char *known = event_name((enum event_kind)i);
        if (strlen(known) == length && strncmp(known, name, length) == 0 &&
            !event_is_decision((enum event_kind)i)) {
            action->event.kind = (enum event_kind)i;
            return 0;
        }
    }
    return error_set(err, -EBADMSG,
                     "'%.*s': expected an event or one of SNAPSHOT, RESTART, "
                     "ENGINE, FORGET, REFRESH",
                     (int)(length < 40 ? length : 40), name);
}

static int parse_action(struct fuzz_world *world, const char *at, struct error *err)
{
    struct fuzz_action action = { .kind = FUZZ_EVENT };
    char *end;

    errno = 0;
    action.at = strtoll(at, &end, 10);
    if (end == at || *end != ' ' || errno != 0 || action.at < 0)
        return error_set(err, -EBADMSG, "'%.20s': expected a time in microseconds", at);
    at = end + strspn(end, " ");
    size_t length = strcspn(at, " ");
    int code = parse_kind(&action, at, length, err);
    if (code < 0)
        return code;
    at += length;
    if (action.kind == FUZZ_EVENT)
        code = fuzz_text_get(event_type(action.event.kind), &at, &world->strings,
                             &action.event.boot, err);
    if (code == 0 && *(at + strspn(at, " ")) != '\0')
        return error_set(err, -EBADMSG, "'%.20s': expected the end of the line", at);
    if (code == 0)
        list_add(&world->actions, action);
    return code;
}

static int parse_line(struct fuzz_world *world, const char *line, bool *has_temper,
                      struct error *err)
{
    if (line[0] == '\0' || line[0] == '#')
        return 0;
    if (*has_temper)
        return parse_action(world, line, err);
    if (!string_starts(line, "world"))
        return error_set(err, -EBADMSG, "expected a line that begins with 'world'");
    line += strlen("world");
    int code = fuzz_text_get(&fuzz_temper_record, &line, &world->strings, &world->temper, err);
    if (code == 0 && world->temper.quantum <= 0)
        return error_set(err, -EBADMSG, "world: quantum: expected a time above 0");
    *has_temper = true;
    return code;
}

int fuzz_world_parse(const char *bytes, size_t length, const char *source, struct fuzz_world **ret,
                     struct error *err)
{
    AUTO(fuzz_world) struct fuzz_world *world = mem_zero(1, sizeof(*world));
    const char *end = bytes + length;
    bool has_temper = false;

    for (unsigned number = 1; bytes < end; number++) {
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t size = (size_t)((stop ? stop : end) - bytes);
        AUTO_FREE char *line = mem_string_of(bytes, size);
        int code = parse_line(world, line, &has_temper, err);
        if (code < 0)
            return error_prefix(err, code, "%s:%u", source, number);
        bytes += size + 1;
    }
    if (!has_temper)
        return error_set(err, -EBADMSG, "%s: is empty, expected a line that begins with 'world'",
                         source);
    *ret = TAKE(world);
    return 0;
}
