/* SPDX-License-Identifier: Apache-2.0 */
#include "core/journal/event.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "core/job/own_speed.h"
#include "core/job/role.h"

static const struct field where_term_fields[] = {
    RECORD_CHARS(struct where_term, 1, key, "name of a label"),
    RECORD_CHARS(struct where_term, 2, value, "value of the label, if has_value"),
    RECORD_UINT(struct where_term, 3, has_value, "1: the label must have this value; 0: any value"),
    RECORD_UINT(struct where_term, 4, is_not, "1: the term is negated"),
    RECORD_UINT(struct where_term, 5, is_or,
                "1: the next term is an alternative in the same condition"),
};
const struct record_type where_term_record =
    RECORD_TYPE("where_term", struct where_term, where_term_fields);

static const struct field own_speed_fields[] = {
    RECORD_CHARS(struct own_speed, 1, model, ""),
    RECORD_UINT(struct own_speed, 2, milli, "in thousandths"),
};
static const struct record_type own_speed_record =
    RECORD_TYPE("own_speed", struct own_speed, own_speed_fields);

static const struct field job_label_fields[] = {
    RECORD_CHARS(struct job_label, 1, name, ""),
};
static const struct record_type job_label_record =
    RECORD_TYPE("job_label", struct job_label, job_label_fields);

static const struct field gpu_ask_fields[] = {
    RECORD_CHARS(struct gpu_ask, 1, model, "empty: any"),
    RECORD_CHARS(struct gpu_ask, 2, profile, "MIG profile"),
    RECORD_INT(struct gpu_ask, 3, size_mib_min, "smallest device memory; 0: no bound"),
    RECORD_INT(struct gpu_ask, 4, size_mib_max, "largest device memory; 0: no bound"),
    RECORD_INT(struct gpu_ask, 5, memory_mib, "memory of a share; 0: in proportion to its compute"),
    RECORD_UINT(struct gpu_ask, 6, milli, "compute of a share; 0: in proportion to its memory"),
    RECORD_UINT(struct gpu_ask, 7, count, "number of devices for each member"),
    RECORD_UINT(struct gpu_ask, 8, kind, "0 whole, 1 fraction, 2 MIG, 3 MPS"),
    RECORD_UINT(struct gpu_ask, 9, nvlink, "1: the devices must be linked"),
    RECORD_CHARS(struct gpu_ask, 10, accelerator,
                 "kind of device, such as tpu; empty: GPUs, or the kind of the model"),
};
static const struct record_type gpu_ask_record =
    RECORD_TYPE("gpu_ask", struct gpu_ask, gpu_ask_fields);

/* What the roles have in common is in the request. */
static const struct field role_fields[] = {
    RECORD_CHARS(struct role, 1, name, ""),
    RECORD_ARRAY(struct role, 2, request.gpus, "alternatives", &gpu_ask_record,
                 request.gpu_alternatives),
    RECORD_INT(struct role, 3, request.cpu_milli, "CPUs of each member, in thousandths"),
    RECORD_INT(struct role, 4, request.memory_mib, "memory of each member; 0: not requested"),
    RECORD_UINT(struct role, 5, request.members, "number of its members"),
    RECORD_UINT(struct role, 6, request.cpu_given,
                "1: requested explicitly: enforced, not only accounted"),
    RECORD_UINT(struct role, 7, request.memory_given, "1: requested explicitly, in the same way"),
};
static const struct record_type role_record = RECORD_TYPE("role", struct role, role_fields);

static const struct field request_fields[] = {
    RECORD_ARRAY(struct request, 1, gpus, "alternatives", &gpu_ask_record, gpu_alternatives),
    RECORD_INT(struct request, 2, cpu_milli, "CPUs of each member, in thousandths"),
    RECORD_INT(struct request, 3, memory_mib, "memory of each member; 0: not requested"),
    RECORD_INT(struct request, 4, max_duration, "time limit; the largest number: none"),
    RECORD_UINT(struct request, 5, members, "number of members; of an elastic gang the minimum"),
    RECORD_UINT(struct request, 6, nodes_min, "fewest nodes over which the members are spread"),
    RECORD_UINT(struct request, 7, nodes_max, "most nodes over which the members are spread"),
    RECORD_CHARS(struct request, 8, pool, "empty: any pool that it may use"),
    RECORD_UINT(struct request, 9, cpu_given,
                "1: requested explicitly: enforced, not only accounted"),
    RECORD_UINT(struct request, 10, memory_given, "1: requested explicitly, in the same way"),
    RECORD_UINT(struct request, 11, members_max,
                "most members of an elastic gang; 0: it is not elastic"),
    RECORD_UINT(struct request, 12, sizes,
                "permitted sizes of an elastic gang: 0 powers of two, 1 any"),
    RECORD_UINT(struct request, 13, per_node, "1: each member of an elastic gang on its own node"),
    RECORD_UINT(struct request, 20, spot, "spot nodes: 0 never, 1 allow, 2 prefer, 3 only"),
    RECORD_UINT(struct request, 21, work, "use of its GPUs: 0 not stated, 1 training, 2 inference"),
    RECORD_ARRAY(struct request, 32, labels, "its labels", &job_label_record, label_count),
    RECORD_ARRAY(struct request, 33, apart,
                 "anti-affinity: labels of jobs with which it shares no node", &job_label_record,
                 apart_count),
    RECORD_LIST(struct request, 34, speeds, "how fast it runs on each model", &own_speed_record),
    RECORD_LIST(struct request, 31, where, "conditions on nodes and devices", &where_term_record),
    RECORD_LIST(struct request, 30, roles, "kinds of members, in the order of their ranks",
                &role_record),
};
const struct record_type request_record = RECORD_TYPE("request", struct request, request_fields);

static const struct field quota_fields[] = {
    RECORD_TEXT(struct event_quota, 1, resource, "cpus, memory or a model"),
    RECORD_OPTION(struct event_quota, 2, quota.guarantee, "guarantee",
                  "GPUs and CPUs in thousandths, memory in MiB", 0, 0),
    RECORD_OPTION(struct event_quota, 3, quota.limit, "limit", "missing: no bound", 1, QUOTA_NONE),
    RECORD_OPTION(struct event_quota, 4, quota.borrow, "borrow",
                  "most above the guarantee; missing: no bound", 1, QUOTA_NONE),
    RECORD_OPTION(struct event_quota, 5, quota.lend, "lend",
                  "part of the unused guarantee that others may use; missing: all", 1, QUOTA_NONE),
};
static const struct record_type quota_record =
    RECORD_TYPE("quota", struct event_quota, quota_fields);

static const struct field subject_fields[] = {
    RECORD_UINT(struct event_subject, 1, kind, "for 0 each user, 1 one user, 2 a Unix group"),
    RECORD_TEXT(struct event_subject, 2, name, "name of the user"),
    RECORD_UINT(struct event_subject, 3, gid, "ID of the group"),
    RECORD_TEXT(struct event_subject, 4, resource, "gpus, cpus, memory, or a model"),
    RECORD_INT(struct event_subject, 5, limit, "GPUs and CPUs in thousandths, memory in MiB"),
};
static const struct record_type subject_record =
    RECORD_TYPE("subject", struct event_subject, subject_fields);

static const struct field cell_fields[] = {
    RECORD_UINT(struct cell_quota, 1, level, "0 pair, 1 NVLink island, 2 node, 3 rack"),
    RECORD_CHARS(struct cell_quota, 2, model, "model of its GPUs"),
    RECORD_UINT(struct cell_quota, 3, gpus, "number of its GPUs"),
    RECORD_UINT(struct cell_quota, 4, count, "number of such cells"),
};
const struct record_type cell_record = RECORD_TYPE("cell", struct cell_quota, cell_fields);

static const struct field queue_name_fields[] = {
    RECORD_UINT(
        struct queue_name, 1, list,
        "0 a model that its jobs may use, 1 a user or 2 a Unix group that may submit, 3 a user "
        "or 4 a Unix group that administers it"),
    RECORD_CHARS(struct queue_name, 2, name, ""),
    RECORD_UINT(struct queue_name, 3, gid, "of a Unix group"),
};
const struct record_type queue_name_record =
    RECORD_TYPE("queue_name", struct queue_name, queue_name_fields);

static const struct field during_fields[] = {
    RECORD_TEXT(struct event_during, 1, window, ""),
    RECORD_TEXT(struct event_during, 2, resource, "gpus, cpus, memory, or a model"),
    RECORD_OPTION(struct event_during, 3, quota.guarantee, "guarantee", "missing: unchanged", 2,
                  ABSENT),
    RECORD_OPTION(struct event_during, 4, quota.limit, "limit", "-1: no bound; missing: unchanged",
                  2, ABSENT),
    RECORD_OPTION(struct event_during, 5, quota.borrow, "borrow",
                  "-1: no bound; missing: unchanged", 2, ABSENT),
    RECORD_OPTION(struct event_during, 6, quota.lend, "lend", "-1: no bound; missing: unchanged", 2,
                  ABSENT),
};
static const struct record_type during_record =
    RECORD_TYPE("during", struct event_during, during_fields);

static const struct field pool_during_fields[] = {
    RECORD_TEXT(struct event_pool_during, 1, window, ""),
    RECORD_OPTION(struct event_pool_during, 2, milli_min, "milli_min", "missing: unchanged", 1,
                  ABSENT),
    RECORD_OPTION(struct event_pool_during, 3, milli_max, "milli_max", "missing: unchanged", 1,
                  ABSENT),
};
static const struct record_type pool_during_record =
    RECORD_TYPE("pool_during", struct event_pool_during, pool_during_fields);

static const struct field budget_fields[] = {
    RECORD_UINT(struct event_budget, 1, account, "0 money, 1 GPU-time"),
    RECORD_INT(struct event_budget, 2, most,
               "amount for each period: millionths of the currency, or GPU-microseconds"),
    RECORD_TEXT(
        struct event_budget, 3, window,
        "each opening and closing of this window begins a period; empty: one period without end"),
    RECORD_UINT(struct event_budget, 4, firmness,
                "when it is used up: 0 no job starts, 1 preemptible jobs are stopped, 2 all jobs "
                "are stopped"),
    RECORD_TEXT(struct event_budget, 5, user,
                "user whose jobs it limits; `each`: each user without a budget by name; empty: "
                "all jobs of the queue"),
};
static const struct record_type budget_record =
    RECORD_TYPE("budget", struct event_budget, budget_fields);

static const struct field span_fields[] = {
    RECORD_INT(struct event_span, 1, from, "first moment, in journal time"),
    RECORD_INT(struct event_span, 2, until, "first moment after the span, in journal time"),
};
const struct record_type span_record = RECORD_TYPE("span", struct event_span, span_fields);

static const struct field held_fields[] = {
    RECORD_UINT(struct event_held, 1, device, "number of the device"),
};
static const struct record_type held_record = RECORD_TYPE("held", struct event_held, held_fields);

static const struct field node_type_fields[] = {
    RECORD_CHARS(struct node_type, 1, name, ""),
#define NODE_TYPE(tag, form, type, member, key, kind, flags, least, most, fallback, words, unit,   \
                  example, sentence)                                                               \
    RECORD_##form(struct node_type, tag, member, sentence),
#include "core/config.def"
};
const struct record_type node_type_record =
    RECORD_TYPE("node_type", struct node_type, node_type_fields);

static const struct field device_type_fields[] = {
    RECORD_CHARS(struct device_type, 1, name, ""),
#define DEVICE_TYPE(tag, form, type, member, key, kind, flags, least, most, fallback, words, unit, \
                    example, sentence)                                                             \
    RECORD_##form(struct device_type, tag, member, sentence),
#include "core/config.def"
};
const struct record_type device_type_record =
    RECORD_TYPE("device_type", struct device_type, device_type_fields);

static const struct field node_settings_fields[] = {
    RECORD_CHARS(struct node_settings, 1, name, ""),
#define NODE(tag, form, type, member, key, kind, flags, least, most, fallback, words, unit,        \
             example, sentence)                                                                    \
    RECORD_##form(struct node_settings, tag, member, sentence),
#include "core/config.def"
};
const struct record_type node_settings_record =
    RECORD_TYPE("node_settings", struct node_settings, node_settings_fields);

#define EVENT(number, ID, name, subject, meaning) static const struct field name##_fields[] = {
#define OPTION(event, tag, member_, name_, meaning, plus, missing)                                 \
    RECORD_OPTION(struct event_##event, tag, member_, #name_, meaning, plus, missing),
#define SWITCH(event, tag, type, member, meaning)                                                  \
    RECORD_SWITCH(struct event_##event, tag, member, meaning),
#define UINT(event, tag, type, member, meaning)                                                    \
    RECORD_UINT(struct event_##event, tag, member, meaning),
#define INT(event, tag, type, member, meaning)                                                     \
    RECORD_INT(struct event_##event, tag, member, meaning),
#define TEXT(event, tag, member, meaning) RECORD_TEXT(struct event_##event, tag, member, meaning),
#define RECORD(event, tag, type, member, meaning, record)                                          \
    RECORD_INNER(struct event_##event, tag, member, meaning, record),
#define RECORDS(event, tag, type, member, meaning, record)                                         \
    RECORD_LIST(struct event_##event, tag, member, meaning, record),
#define END(event)                                                                                 \
    {                                                                                              \
        0                                                                                          \
    }                                                                                              \
    }                                                                                              \
    ;
#include "core/journal/event.def"

enum event_about { WORLD, JOB, DECISION, OTHER };

static const struct {
    struct record_type type;
    const char *meaning;
    enum event_about about;
} kinds[EVENT_KIND_MAX] = {
#define EVENT(number, ID, event, subject, meaning_)                                                \
    [EVENT_##ID] = { .type = { #event, sizeof(struct event_##event), event##_fields,               \
                               COUNT_OF(event##_fields) - 1 },                                     \
                     .meaning = meaning_,                                                          \
                     .about = subject },
#include "core/journal/event.def"
};

static enum event_about about(enum event_kind kind)
{
    return event_type(kind) ? kinds[kind].about : OTHER;
}

bool event_is_of_world(enum event_kind kind)
{
    return about(kind) == WORLD;
}

bool event_is_decision(enum event_kind kind)
{
    return about(kind) == DECISION;
}

/* An event about a job starts with its number, whatever its kind. */
uint64_t event_job(const struct event *event)
{
    enum event_about subject = about(event->kind);

    return subject == JOB || subject == DECISION ? event->submit.id : 0;
}

const struct record_type *event_type(enum event_kind kind)
{
    return kind > EVENT_NONE && kind < EVENT_KIND_MAX && kinds[kind].type.name ? &kinds[kind].type
                                                                               : NULL;
}

const char *event_name(enum event_kind kind)
{
    const struct record_type *type = event_type(kind);

    return type ? type->name : "unknown";
}

const char *event_meaning(enum event_kind kind)
{
    return event_type(kind) ? kinds[kind].meaning : "";
}

/* Every member of the union starts where the union does. */
const void *event_body(const struct event *event)
{
    return &event->boot;
}

void event_encode(const struct event *event, struct text *out)
{
    assert(event_type(event->kind));
    record_put_varint(out, event->kind);
    record_put_varint(out, (uint64_t)event->at);
    record_encode(event_type(event->kind), event_body(event), out);
}

uint64_t event_size(const struct event *event)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };

    event_encode(event, &bytes);
    return bytes.length + EVENT_ROW_BYTES;
}

int event_decode(const void *bytes, size_t length, struct arena *arena, struct event *ret,
                 struct error *err)
{
    const char *s = bytes;
    uint64_t kind, at;

    size_t used = record_get_varint(s, length, &kind);
    size_t used2 = used ? record_get_varint(s + used, length - used, &at) : 0;
    if (used2 == 0)
        return error_set(err, -EBADMSG, "event: cut short");

    const struct record_type *type =
        kind < EVENT_KIND_MAX ? event_type((enum event_kind)kind) : NULL;
    if (!type)
        return error_set(err, -EBADMSG,
                         "event: kind %" PRIu64
                         " is not known: a newer version of tarn wrote it; install that one again",
                         kind);
    memset(ret, 0, sizeof(*ret));
    ret->kind = (enum event_kind)kind;
    ret->at = (usec_t)at;
    int code = record_decode(type, s + used + used2, length - used - used2, arena, &ret->boot, err);
    return code < 0 ? error_prefix(err, code, "event %s", type->name) : 0;
}

void event_settle(const struct event *event, struct text *bytes, struct arena *arena,
                  struct event *ret)
{
    text_clear(bytes);
    event_encode(event, bytes);
    arena_clear(arena);
    int code = event_decode(bytes->bytes, bytes->length, arena, ret, NULL);
    assert(code == 0); /* what we encode we can decode */
    (void)code;
}
