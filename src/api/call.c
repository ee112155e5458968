/* SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "control/phrases.h"
#include "io/net/peer.h"
#include "wire/json.h"
#include "wire/yaml.h"

enum { BODY_VALUES_MAX = 500000, BODY_CONTAINERS_MAX = 100000, QUERY_KEYS_MAX = 15 };

char *json_bytes(json_t *body)
{
    char *bytes = json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));

    json_decref(body);
    if (!bytes) /* only invalid UTF-8 cannot be encoded, and parsers refuse it */
        bytes = mem_string("{}");
    size_t length = strlen(bytes);
    bytes = mem_resize(bytes, length + 2, 1);
    memcpy(bytes + length, "\n", 2);
    return bytes;
}

void reply_json(struct http_request *request, unsigned status, json_t *body)
{
    char *bytes = json_bytes(body);

    http_reply(request, status, "application/json", bytes, strlen(bytes));
}

/* Whether the client has a reply with this hash already. */
static bool tag_reply(struct http_request *request, uint64_t hash)
{
    const char *known = http_header(request, "If-None-Match");
    char tag[24];

    snprintf(tag, sizeof(tag), "\"%016" PRIx64 "\"", hash);
    http_header_add(request, "ETag", tag);
    return known && (strcmp(known, "*") == 0 || strstr(known, tag));
}

void reply_tagged(struct http_request *request, char *bytes)
{
    size_t length = strlen(bytes);

    bool has_it = tag_reply(request, map_hash(bytes, length));
    if (has_it)
        bytes[0] = '\0';
    http_reply(request, has_it ? 304 : 200, "application/json", bytes, has_it ? 0 : length);
}

void reply_packed(struct http_request *request, const char *bytes, const struct text *packed)
{
    bool has_it = tag_reply(request, map_hash(bytes, strlen(bytes)));
    size_t length = has_it ? 0 : packed->length;

    char *copy = mem_zero(length + 1, 1);
    http_header_add(request, "Content-Encoding", "gzip");
    http_header_add(request, "Vary", "Accept-Encoding");
    memcpy(copy, packed->bytes, length);
    http_reply(request, has_it ? 304 : 200, "application/json", copy, length);
}

/* The one table from refusals (control/control.h) to HTTP. Other codes are internal errors. */
static const struct answer {
    int code;
    unsigned status;
    const char *name;
} answers[] = {
#define REFUSAL(code, status, name, when) { code, status, name },
#include "api/contract/refusals.def"
    /* What parsers say of a value beside -EINVAL: out of range, too much, too long, too deep. */
    { -ERANGE, 400, "bad_request" },
    { -E2BIG, 400, "bad_request" },
    { -ENAMETOOLONG, 400, "bad_request" },
    { -ELOOP, 400, "bad_request" },
    /* Of what the machine lacks, beside -EAGAIN. */
    { -ENOMEM, 503, "shortage" },
    { -EMFILE, 503, "shortage" },
    { -ENFILE, 503, "shortage" },
    { 0, 500, "internal" },
};

int call_check_owner(const struct api *api, uid_t uid, struct error *err)
{
    uid_t owner = api_control(api)->owner;
    char name[IDENTITY_NAME_SIZE];

    if (owner == 0 || uid == owner)
        return 0;
    peer_name(owner, name, NULL);
    return error_set(err, REFUSED_FORBIDDEN,
                     "this daemon does not run as root, so all jobs are those of user %s; only %s "
                     "may use it",
                     name, name);
}

int call_check_user(const struct api *api, const struct identity *who, struct error *err)
{
    bool is_root_here = who->source == IDENTITY_PEER && who->uid == 0;

    return is_root_here ? 0 : call_check_owner(api, who->uid, err);
}

void reply_error(struct http_request *request, int code, const struct error *err)
{
    const struct answer *answer = answers;

    while (answer->code != 0 && answer->code != code)
        answer++;
    /* It may quote the beginning of a word, which may end within a character. */
    bool is_whole = string_is_utf8(err->text, strlen(err->text));
    AUTO_FREE char *message = is_whole ? mem_string(err->text) : string_copy_clean(err->text);
    reply_json(request, answer->status,
               json_pack("{s:{s:s, s:s}}", "error", "code", answer->name, "message", message));
}

json_t *refuse(struct call *call, int code)
{
    call->code = code;
    return NULL;
}

/* ---- the query ---- */

static int check_keys(struct call *call)
{
    const char *keys[QUERY_KEYS_MAX + 1], *odd;
    bool is_repeated;
    AUTO_RELEASE(text) struct text known = { 0 };
    size_t count = 0;

    for (const struct query_key *at = call->operation->query; at->key; at++) {
        if (at->kind == QUERY_HEADER)
            continue;
        text_printf(&known, "%s%s", count > 0 ? ", " : "", at->key);
        keys[count++] = at->key;
    }
    keys[count] = NULL;
    odd = http_query_odd(call->request, keys, &is_repeated);
    if (odd && is_repeated)
        return error_set(&call->err, REFUSED_BAD, "parameter '%.40s': more than once", odd);
    return odd ? error_set(&call->err, REFUSED_BAD, "unknown parameter '%.40s'; expected %s", odd,
                           count > 0 ? text_string(&known) : "none")
               : 0;
}

static bool is_number(const struct query_key *key, const char *text)
{
    char *end;

    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && errno == 0 && value >= key->least &&
           value <= key->most;
}

static bool is_one_of(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; *at; at += strcspn(at, ","), at += *at ? 2 : 0) {
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    }
    return false;
}

/* "expected a, b or c" */
static int refuse_word(struct call *call, const struct query_key *key, const char *text)
{
    const char *last = strrchr(key->words, ',');
    int before = last ? (int)(last - key->words) : 0;

    return error_set(&call->err, REFUSED_BAD, "%s '%.40s': expected %.*s%s%s", key->key, text,
                     before, key->words, last ? " or " : "", last ? last + 2 : key->words);
}

static int check_value(struct call *call, const struct query_key *key)
{
    const char *text = http_query(call->request, key->key);

    if (!text)
        return key->kind == QUERY_NEEDED
                   ? error_set(&call->err, REFUSED_BAD,
                               "parameter '%s' is missing; expected the %s", key->key, key->meaning)
                   : 0;
    switch (key->kind) {
    case QUERY_FLAG:
        if (text[0] && !is_one_of("0, 1", text))
            return error_set(&call->err, REFUSED_BAD, "%s '%.40s': expected 0 or 1", key->key,
                             text);
        break;
    case QUERY_NUMBER:
        if (!is_number(key, text))
            return error_set(&call->err, REFUSED_BAD,
                             "%s '%.40s': expected a number from %" PRIu64 " to %" PRIu64, key->key,
                             text, key->least, key->most);
        break;
    case QUERY_WORDS:
        if (!is_one_of(key->words, text))
            return refuse_word(call, key, text);
        break;
    case QUERY_TEXT:
    case QUERY_NEEDED:
    case QUERY_HEADER:
        break;
    }
    return 0;
}

int check_query(struct call *call)
{
    int code = check_keys(call);

    for (const struct query_key *at = call->operation->query; code == 0 && at->key; at++)
        code = check_value(call, at);
    return code;
}

bool query_is_on(const struct call *call, const char *key)
{
    const char *value = http_query(call->request, key);

    assert(operation_key(call->operation, key));
    return value && strcmp(value, "0") != 0;
}

uint64_t query_number(const struct call *call, const char *key, uint64_t fallback)
{
    const char *value = http_query(call->request, key);

    assert(operation_key(call->operation, key));
    return value ? strtoull(value, NULL, 10) : fallback;
}

/* ---- the body ---- */

static int read_yaml(struct call *call)
{
    const struct text *bytes = &call->request->body;
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;

    return yaml_parse(bytes->bytes, bytes->length, "body", &call->body, &lines, &call->err);
}

static int read_json(struct call *call)
{
    const struct text *bytes = &call->request->body;
    struct json_measure measure = json_measure(text_string(bytes), bytes->length);

    /* Bounds memory: a JSON value takes about a hundred times its bytes. */
    if (measure.values > BODY_VALUES_MAX || measure.containers > BODY_CONTAINERS_MAX)
        return error_set(&call->err, REFUSED_BAD,
                         "body: more than %d values, or %d objects and lists", BODY_VALUES_MAX,
                         BODY_CONTAINERS_MAX);
    return json_parse(bytes->bytes, bytes->length, HTTP_BODY_MAX, "body", &call->body, &call->err);
}

int read_body(struct call *call)
{
    const char *type = http_header(call->request, "Content-Type");

    if (call->request->body.length == 0)
        return error_set(&call->err, REFUSED_BAD, "body: empty, expected JSON");
    int code = type && string_starts(type, "application/yaml") ? read_yaml(call) : read_json(call);
    return code < 0 || json_is_object(call->body) || json_is_array(call->body)
               ? code
               : error_set(&call->err, REFUSED_BAD, "body: expected an object or a list");
}

/* ---- the path ---- */

const struct group *call_group(const struct call *call)
{
    return call->index == 0 ? state_group(api_state(call->api), call->id) : NULL;
}

struct job *call_job(struct call *call)
{
    const struct state *state = api_state(call->api);
    unsigned long long id = call->id;
    const struct group *group = state_group(state, id);
    const struct job *task =
        group && call->index > 0 ? find_task(state, group, call->index - 1) : NULL;
    struct job *job = call->index == 0 ? state_job(state, id) : NULL;

    if (job || task)
        return job ? job : state_job(state, task->id);
    if (call->index > 0)
        call->code = error_set(&call->err, REFUSED_NOT_FOUND, "job %llu_%u: no such task", id,
                               call->index - 1);
    else if (group)
        call->code = error_set(&call->err, REFUSED_BAD,
                               "%llu is %s of %u jobs; name one of them: tarn show %llu", id,
                               group_kind_name(group->kind), group->job_count, id);
    else
        call->code = error_set(&call->err, REFUSED_NOT_FOUND, "job %llu: no such job", id);
    return NULL;
}
