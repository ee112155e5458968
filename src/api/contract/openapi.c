/* SPDX-License-Identifier: Apache-2.0 */
#include "api/contract/openapi.h"

#include <string.h>

#include "api/contract/operation.h"
#include "api/contract/schema.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/job/request.h"

static json_t *list_of_words(const char *words)
{
    json_t *list = json_array();

    for (const char *at = words; *at; at += at[0] == ',' ? 2 : 0) {
        size_t length = strcspn(at, ",");
        json_array_append_new(list, json_stringn(at, length));
        at += length;
    }
    return list;
}

static json_t *schema_of_key(const struct query_key *key)
{
    switch (key->kind) {
    case QUERY_FLAG:
        return json_pack("{s:s, s:[i, i]}", "type", "integer", "enum", 0, 1);
    case QUERY_NUMBER:
        return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)key->least,
                         "maximum", (json_int_t)key->most);
    case QUERY_WORDS:
        return json_pack("{s:s, s:o}", "type", "string", "enum", list_of_words(key->words));
    case QUERY_HEADER:
        return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[!-~]{1,64}$");
    case QUERY_TEXT:
    case QUERY_NEEDED:
        break;
    }
    return json_pack("{s:s}", "type", "string");
}

static json_t *schema_of_part(const struct path_part *part)
{
    switch (part->kind) {
    case PATH_NUMBER:
        return json_pack("{s:s, s:i}", "type", "integer", "minimum", 0);
    case PATH_TASK:
        return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9]+(_[0-9]+)?$");
    case PATH_NAME:
        break;
    }
    return json_pack("{s:s, s:i, s:i, s:s}", "type", "string", "minLength", 1, "maxLength",
                     REQUEST_NAME_SIZE, "pattern", "^[^/]+$");
}

json_t *openapi_parameters(const struct operation *operation)
{
    json_t *list = json_array();
    const char *end;

    for (const char *at = strchr(operation->path, '{'); at; at = strchr(end, '{')) {
        const struct path_part *part = path_part_at(at, &end);
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", part->name, "in",
                                              "path", "required", 1, "description", part->meaning,
                                              "schema", schema_of_part(part)));
    }
    for (const struct query_key *key = operation->query; key->key; key++) {
        json_t *parameter = json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", key->key, "in",
                                      key->kind == QUERY_HEADER ? "header" : "query", "required",
                                      key->kind == QUERY_NEEDED, "description", key->meaning,
                                      "schema", schema_of_key(key));
        if (key->kind == QUERY_FLAG)
            json_object_set_new(parameter, "allowEmptyValue", json_true());
        json_array_append_new(list, parameter);
    }
    return list;
}

static json_t *parameters_of(const struct operation *operation)
{
    json_t *list = openapi_parameters(operation);

    if (operation->content == CONTENT_TAGGED)
        json_array_append_new(list,
                              json_pack("{s:s}", "$ref", "#/components/parameters/IfNoneMatch"));
    return list;
}

/* "?" at its end is not a part of the type: the body may be left out. */
static json_t *body_of(const struct operation *operation)
{
    AUTO_FREE char *type = mem_string(operation->body);
    size_t length = strlen(type);
    bool is_needed = type[length - 1] != '?';

    type[length - !is_needed] = '\0';
    return json_pack("{s:b, s:{s:{s:o}, s:{s:o}}}", "required", is_needed, "content",
                     "application/json", "schema", schema_of_type(type), "application/yaml",
                     "schema", schema_of_type(type));
}

static json_t *reply_of(const struct operation *operation)
{
    const char *type = content_type(operation->content);
    bool is_stream = operation->content == CONTENT_EVENTS;
    json_t *reply = json_pack("{s:s}", "description", operation->summary);

    if (!type) {
        json_object_set_new(reply, "description",
                            json_string("one byte with a descriptor (SCM_RIGHTS) follows"));
        return reply;
    }
    json_t *content =
        json_pack("{s:o}", "schema", schema_of_type(is_stream ? "string" : operation->reply));
    if (is_stream) /* the data of each event */
        json_object_set_new(content, "x-event-data", schema_of_type(operation->reply));
    json_object_set_new(reply, "content", json_pack("{s:o}", type, content));
    if (operation->content == CONTENT_TAGGED)
        json_object_set_new(reply, "headers",
                            json_pack("{s:{s:s}}", "ETag", "$ref", "#/components/headers/ETag"));
    return reply;
}

static json_t *replies_of(const struct operation *operation)
{
    json_t *replies = json_object(), *reply = reply_of(operation);
    AUTO_FREE char *status = mem_printf("%u", operation->status);

    json_object_set(replies, status, reply);
    if (operation->status == 201 && operation_key(operation, "dry_run"))
        json_object_set(replies, "200", reply);
    json_decref(reply);
    if (operation->content == CONTENT_TAGGED)
        json_object_set_new(replies, "304",
                            json_pack("{s:s}", "$ref", "#/components/responses/NotModified"));
    json_object_set_new(replies, "default",
                        json_pack("{s:s}", "$ref", "#/components/responses/Error"));
    return replies;
}

static json_t *view_operation(const struct operation *operation)
{
    json_t *view = json_pack(
        "{s:s, s:s, s:o, s:o, s:o}", "operationId", operation->id, "summary", operation->summary,
        "description", json_sprintf("Callers: %s.", callers_meaning(operation->callers)),
        "parameters", parameters_of(operation), "responses", replies_of(operation));

    if (operation->body[0])
        json_object_set_new(view, "requestBody", body_of(operation));
    return view;
}

static json_t *paths(void)
{
    json_t *views = json_object();

    for (size_t i = 0; i < operation_count; i++) {
        const struct operation *operation = &operations[i];
        char method[8] = "";
        if (!json_object_get(views, operation->path))
            json_object_set_new(views, operation->path, json_object());
        for (size_t k = 0; operation->method[k] && k + 1 < sizeof(method); k++)
            method[k] = (char)(operation->method[k] - 'A' + 'a');
        json_object_set_new(json_object_get(views, operation->path), method,
                            view_operation(operation));
    }
    return views;
}

/* What each code means, for readers. */
static json_t *view_error(void)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    text_add(&text, "The request failed.");
    for (const struct refusal_meaning *at = refusal_meanings; at->name; at++)
        text_printf(&text, "\n- %u `%s`: %s", at->status, at->name, at->when);
    return json_pack("{s:s, s:{s:{s:o}}}", "description", text_string(&text), "content",
                     "application/json", "schema", schema_of_type("Error"));
}

static json_t *components(void)
{
    static const char tag[] = "names this reply; another reply has another one";

    return json_pack(
        "{s:o, s:{s:o, s:{s:s}}, s:{s:{s:s, s:s, s:s, s:{s:s}}}, s:{s:{s:s, s:{s:s}}}}", "schemas",
        schema_components(), "responses", "Error", view_error(), "NotModified", "description",
        "the reply would be the one with this ETag", "parameters", "IfNoneMatch", "name",
        "If-None-Match", "in", "header", "description", "ETag of a reply that the client has",
        "schema", "type", "string", "headers", "ETag", "description", tag, "schema", "type",
        "string");
}

json_t *openapi_document(const char *version)
{
    return json_pack(
        "{s:s, s:{s:s, s:s, s:s, s:{s:s, s:s}}, s:[{s:s, s:s}], s:o, s:o}", "openapi", "3.1.0",
        "info", "title", "tarn", "version", version, "description",
        "The API of the tarn daemon. The kernel identifies the client of the Unix socket. Times "
        "are ISO 8601 in UTC; durations are seconds, sizes MiB; GPUs and CPUs are numbers. null: "
        "not known, or it does not apply.",
        "license", "name", "Apache-2.0", "identifier", "Apache-2.0", "servers", "url",
        "http://localhost", "description", "the Unix socket of the daemon", "paths", paths(),
        "components", components());
}
