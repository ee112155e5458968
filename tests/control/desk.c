/* SPDX-License-Identifier: Apache-2.0 */
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>

#include "control/config/configure.h"
#include "control/submit.h"
#include "core/engine.h"
#include "wire/yaml.h"

static struct state *state_of(const void *user)
{
    return ((const struct desk *)user)->state;
}

static void emit(void *user, struct event *event)
{
    struct desk *desk = user;
    struct error err;

    event->at = desk->now;
    if (state_apply(desk->state, event, &err) < 0)
        fail_msg("%s", err.text);
    desk->emitted++;
    desk->last = event->kind;
}

static void enqueue(void *user, struct change *change)
{
    struct desk *desk = user;

    change->next = desk->changes;
    desk->changes = change;
}

static usec_t now(const void *user)
{
    return ((const struct desk *)user)->now;
}

static usec_t wall_ahead(const void *user)
{
    return ((const struct desk *)user)->wall_ahead;
}

static uint64_t blob_add(void *user, const void *bytes, size_t length)
{
    struct desk *desk = user;
    struct text text = { 0 };

    text_add_bytes(&text, bytes, length);
    list_add(&desk->blobs, text);
    return desk->blobs.count;
}

static int blob_get(void *user, uint64_t id, struct text *ret, struct error *err)
{
    struct desk *desk = user;

    if (id == 0 || id > desk->blobs.count)
        return error_set(err, -ENOENT, "blob %" PRIu64 ": no such blob", id);
    text_add_bytes(ret, desk->blobs.items[id - 1].bytes, desk->blobs.items[id - 1].length);
    return 0;
}

static void tend_soon(void *user)
{
    ((struct desk *)user)->tended++;
}

static void describe(void *user)
{
    ((struct desk *)user)->described++;
}

void desk_tell(struct desk *desk, struct event event)
{
    emit(desk, &event);
}

static void add_node(struct desk *desk, const char *name, const char *model, uint32_t gpus)
{
    desk_tell(desk,
              (struct event){ .kind = EVENT_NODE,
                              .node = { .name = name, .cpu_milli = 8000, .memory_mib = 65536 } });
    for (uint32_t i = 0; i < gpus; i++) {
        AUTO_FREE char *uuid = mem_printf("GPU-%s%u", name, i);
        desk_tell(desk, (struct event){ .kind = EVENT_DEVICE,
                                        .device = { .node = name,
                                                    .uuid = uuid,
                                                    .model = model,
                                                    .product = model,
                                                    .address = "0000:01:00.0",
                                                    .vendor = "nvidia",
                                                    .index = i,
                                                    .memory_mib = 81920 } });
    }
}

struct desk *desk_create(void)
{
    struct desk *desk = mem_zero(1, sizeof(*desk));

    desk->state = state_create();
    desk->now = USEC_PER_HOUR;
    desk->wall_ahead = INT64_C(1900000000) * USEC_PER_SEC;
    desk->control = (struct control){
        .world = { .user = desk, .state = state_of, .emit = emit, .enqueue = enqueue },
        .clock = { .user = desk, .now = now, .wall_ahead = wall_ahead },
        .blobs = { .user = desk, .add = blob_add, .get = blob_get },
        .watchers = { desk, tend_soon, describe },
        .grace = 30 * USEC_PER_SEC,
        .owner = 500,
    };
    identity_set(&desk->root, IDENTITY_PEER, "root", 0, 0, 500);
    identity_set(&desk->ana, IDENTITY_PEER, "ana", 1000, 100, 500);
    identity_set(&desk->eve, IDENTITY_PEER, "eve", 1001, 100, 500);
    add_node(desk, "a", "h100", 4);
    add_node(desk, "b", "a100", 2);
    return desk;
}

void desk_destroy(struct desk *desk)
{
    if (!desk)
        return;
    state_destroy(desk->state);
    for (size_t i = 0; i < desk->blobs.count; i++)
        text_release(&desk->blobs.items[i]);
    list_release(&desk->blobs);
    free(desk);
}

unsigned desk_run_changes(struct desk *desk)
{
    unsigned count = 0;

    while (desk->changes) {
        struct change *change = desk->changes;
        struct error err = { "" };
        desk->changes = change->next;
        int code = change->run(change, &err);
        change->done(change, code, &err);
        count++;
    }
    return count;
}

json_t *desk_json(const char *yaml)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    json_t *document = NULL;
    struct error err;

    if (yaml_parse(yaml, strlen(yaml), "test", &document, &lines, &err) < 0)
        fail_msg("%s", err.text);
    return document;
}

struct config *desk_config(const char *yaml)
{
    AUTO(json) json_t *document = desk_json(yaml);
    struct config *config = NULL;

    ASSERT_DONE(config_parse(document, NULL, NULL, &config, &err));
    return config;
}

void desk_configure(struct desk *desk, const char *yaml)
{
    AUTO(config) struct config *config = desk_config(yaml);

    ASSERT_DONE(configure_settle(config, &err));
    ASSERT_DONE(configure_check(desk->state, config, &err));
    configure_emit(&desk->control, config);
}

uint64_t desk_submit(struct desk *desk, const struct identity *who, const char *yaml)
{
    uint64_t first = desk->state->next_id;
    AUTO(json) json_t *document = desk_json(yaml);

    ASSERT_DONE(submit_all(&desk->control, who, document, &err));
    return first;
}

void desk_start(struct desk *desk, uint64_t job)
{
    static const struct lease_member member = { .node = 0 };
    static const struct slice slice = { .device = 0, .milli = 1000 };
    uint32_t attempt = state_job(desk->state, job)->run->attempt + 1;

    desk_tell(desk, (struct event){ .kind = EVENT_GRANT,
                                    .grant = { .job = job,
                                               .attempt = attempt,
                                               .lease = { .members = &member,
                                                          .members_count = 1,
                                                          .slices = &slice,
                                                          .slices_count = 1 } } });
    desk_tell(desk, (struct event){ .kind = EVENT_STARTED,
                                    .started = { .job = job, .attempt = attempt } });
}

void desk_end(struct desk *desk, uint64_t job)
{
    desk_tell(desk, (struct event){ .kind = EVENT_ENDED,
                                    .ended = { .job = job,
                                               .attempt = state_job(desk->state, job)->run->attempt,
                                               .kind = ENGINE_ENDED } });
}
