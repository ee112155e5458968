/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/alert/alert_memory.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "io/log.h"
#include "io/file.h"
#include "wire/json.h"

enum { FILE_MAX = 4 << 20 };

struct alert_saving {
    uv_work_t work;
    struct alert_memory *memory; /* NULL: it is gone */
    char *path, *bytes;
    int code;
    struct error err;
};

/* ---- as text ---- */

static json_t *entry_to_json(const struct alert_entry *entry)
{
    const struct alert_thing *thing = &entry->thing;

    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:I, s:i, s:I, s:I}", "fault", thing->name,
                     "user", thing->owner, "job", (json_int_t)thing->job, "uuid", thing->subject,
                     "node", thing->node, "words", thing->words, "gpu", (json_int_t)thing->gpu,
                     "severity", (int)thing->severity, "since", (json_int_t)entry->since, "told",
                     (json_int_t)entry->told);
}

static char *to_text(const struct alerts *alerts)
{
    AUTO(json) json_t *list = json_array();

    for (size_t i = 0; i < alerts->entries.count; i++) {
        if (alerts->entries.items[i].was_told)
            json_array_append_new(list, entry_to_json(&alerts->entries.items[i]));
    }
    return json_dumps(list, JSON_INDENT(1));
}

static void recall(struct alerts *alerts, json_t *value, usec_t now)
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

void alert_memory_load(struct alert_memory *memory, uv_loop_t *loop, char *path,
                       struct alerts *alerts, usec_t now)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO(json) json_t *list = NULL;
    struct error err;

    *memory = (struct alert_memory){ .loop = loop, .path = path };
    int code = file_read(path, FILE_MAX, &text, &err);
    if (code == -ENOENT)
        return;
    if (code == 0)
        code = json_parse(text_string(&text), text.length, FILE_MAX, path, &list, &err);
    if (code < 0)
        log_line(LOG_WARNING, "what was told before is not known reason='%s'", err.text);
    for (size_t i = 0; i < json_array_size(list); i++)
        recall(alerts, json_array_get(list, i), now);
}

/* ---- into the file ---- */

static void save(uv_work_t *work)
{
    struct alert_saving *saving = work->data;

    saving->code = file_replace(saving->path, saving->bytes, strlen(saving->bytes), &saving->err);
}

static void start(struct alert_memory *memory, char *bytes);

static void on_saved(uv_work_t *work, int status)
{
    struct alert_saving *saving = work->data;
    struct alert_memory *memory = saving->memory;

    bool failed = status < 0 || saving->code < 0;

    if (status == 0 && saving->code < 0 && memory && !memory->is_behind)
        log_line(LOG_WARNING, "what was told is not kept reason='%s'", saving->err.text);
    free(saving->path);
    free(saving->bytes);
    free(saving);
    if (!memory)
        return;
    memory->saving = NULL;
    memory->is_behind = failed;
    if (memory->next)
        start(memory, TAKE(memory->next));
}

static void start(struct alert_memory *memory, char *bytes)
{
    struct alert_saving *saving = mem_zero(1, sizeof(*saving));

    saving->memory = memory;
    saving->path = mem_string(memory->path);
    saving->bytes = bytes;
    saving->work.data = saving;
    memory->saving = saving;
    uv_queue_work(memory->loop, &saving->work, save, on_saved);
}

void alert_memory_save(struct alert_memory *memory, const struct alerts *alerts)
{
    char *bytes = to_text(alerts);

    if (!bytes)
        return;
    if (!memory->saving) {
        start(memory, bytes);
        return;
    }
    free(memory->next);
    memory->next = bytes;
}

void alert_memory_release(struct alert_memory *memory)
{
    if (memory->saving)
        memory->saving->memory = NULL;
    free(memory->path);
    free(memory->next);
}
