/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/mcp/tool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/contract/openapi.h"
#include "api/contract/schema.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "cli/remote.h"
#include "io/net/client.h"
#include "wire/json.h"

static const struct tool tools[] = {
#define TOOL(name, operation, KIND, usual, never, description)                                     \
    { #name, #operation, TOOL_##KIND, usual, never, description },
#include "daemon/mcp/tools.def"
};

static const char confirm_meaning[] =
    "the confirm of the reply to the same call without it. Call without it first: nothing is "
    "changed, and the reply says what the call would do. Show that to the user before you confirm";

const struct tool *tool_find(const char *name, bool is_read_only)
{
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        if (strcmp(tools[i].name, name) == 0)
            return is_read_only && tools[i].kind != TOOL_READ ? NULL : &tools[i];
    }
    return NULL;
}

static const struct operation *operation_of(const struct tool *tool)
{
    const struct operation *at = operations;

    while (strcmp(at->id, tool->operation_id) != 0) {
        at++;
        assert(at < operations + operation_count); /* routes.def has a row for each */
    }
    return at;
}

static bool has_body(const struct operation *operation)
{
    return operation->body[0] != '\0';
}

/* ---- schemas ---- */

/* A schema that stands for itself: of what it refers to, only the type stays. */
static void cut_references(json_t *schema, const json_t *components)
{
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    const char *key;
    json_t *value;
    size_t i;

    if (reference) {
        const json_t *named = json_object_get(components, strrchr(reference, '/') + 1);
        json_object_set(schema, "type", json_object_get(named, "type"));
        json_object_del(schema, "$ref");
    }
    json_object_foreach(schema, key, value) cut_references(value, components);
    json_array_foreach(schema, i, value) cut_references(value, components);
}

/* Of a body "Name", or "Name|[Name]": a list is not offered. The many keys of a job are listed
 * once, by the tool that submits it. */
static json_t *schema_of_body(const struct tool *tool, const struct operation *operation)
{
    AUTO_FREE char *name = mem_string_of(operation->body, strcspn(operation->body, "|?"));
    AUTO(json) json_t *components = schema_components();

    if (tool->kind == TOOL_READ && strcmp(name, "JobDocument") == 0)
        return json_pack("{s:s, s:{}, s:s}", "type", "object", "properties", "description",
                         "the arguments of the tool submit, without confirm");
    json_t *schema = json_deep_copy(json_object_get(components, name));
    cut_references(schema, components);
    return schema;
}

static json_t *schema_of_flag(void)
{
    return json_pack("{s:s}", "type", "boolean");
}

/* Of the path and the query. */
static json_t *schema_of_parameters(const struct tool *tool, const struct operation *operation)
{
    json_t *schema = json_pack("{s:s, s:{}, s:[], s:b}", "type", "object", "properties", "required",
                               "additionalProperties", 0);
    AUTO(json) json_t *parameters = openapi_parameters(operation);
    const json_t *parameter;
    size_t i;

    json_array_foreach(parameters, i, parameter)
    {
        const char *name = json_string_value(json_object_get(parameter, "name"));
        if (strcmp(name, tool->never) == 0)
            continue;
        const struct query_key *key = operation_key(operation, name);
        json_t *value = key && key->kind == QUERY_FLAG
                            ? schema_of_flag()
                            : json_deep_copy(json_object_get(parameter, "schema"));
        json_object_set(value, "description", json_object_get(parameter, "description"));
        json_object_set_new(json_object_get(schema, "properties"), name, value);
        if (json_is_true(json_object_get(parameter, "required")))
            json_array_append_new(json_object_get(schema, "required"), json_string(name));
    }
    return schema;
}

static json_t *schema_of_arguments(const struct tool *tool)
{
    const struct operation *operation = operation_of(tool);
    json_t *schema = has_body(operation) ? schema_of_body(tool, operation)
                                         : schema_of_parameters(tool, operation);

    if (tool->kind != TOOL_READ)
        json_object_set_new(
            json_object_get(schema, "properties"), "confirm",
            json_pack("{s:s, s:s}", "type", "string", "description", confirm_meaning));
    return schema;
}

json_t *tool_list(bool is_read_only)
{
    json_t *list = json_array();

    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        const struct tool *tool = &tools[i];
        if (!tool_find(tool->name, is_read_only))
            continue;
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o, s:{s:b, s:b, s:b}}", "name", tool->name, "description",
                            tool->description, "inputSchema", schema_of_arguments(tool),
                            "annotations", "readOnlyHint", tool->kind == TOOL_READ,
                            "destructiveHint", tool->kind == TOOL_DESTROYS, "openWorldHint", 0));
    }
    return list;
}

/* ---- requests ---- */

static int wrong(const struct tool *tool, const char *name, const char *expected, struct error *err)
{
    return error_set(err, -EINVAL, "%s: argument %s: expected %s", tool->name, name, expected);
}

/* A number or a word as text; NULL: it is neither. */
static char *word_of(const json_t *value)
{
    if (json_is_integer(value))
        return mem_printf("%lld", (long long)json_integer_value(value));
    return json_is_string(value) && json_string_length(value) > 0
               ? mem_string(json_string_value(value))
               : NULL;
}

/* The path, with the arguments in place of its braces. */
static int fill_path(const struct tool *tool, const struct operation *operation,
                     const json_t *arguments, struct text *path, struct error *err)
{
    const char *at = operation->path, *end;

    for (const char *open = strchr(at, '{'); open; at = end, open = strchr(at, '{')) {
        const struct path_part *part = path_part_at(open, &end);
        AUTO_FREE char *word = word_of(json_object_get(arguments, part->name));
        if (!word)
            return wrong(tool, part->name, part->meaning, err);
        text_add_bytes(path, at, (size_t)(open - at));
        if (!string_is_name(word, strlen(word))) /* it could be another path, or a query */
            return wrong(tool, part->name, part->meaning, err);
        text_add(path, word);
    }
    text_add(path, at);
    return 0;
}

static int add_key(const struct tool *tool, const struct query_key *key, const json_t *value,
                   struct text *path, struct error *err)
{
    if (key->kind == QUERY_FLAG) {
        if (!json_is_boolean(value))
            return wrong(tool, key->key, "true or false", err);
        client_query_add(path, key->key, json_is_true(value) ? "1" : "0");
        return 0;
    }
    AUTO_FREE char *word = word_of(value);
    if (!word)
        return wrong(tool, key->key, key->kind == QUERY_NUMBER ? "a number" : "text", err);
    client_query_add(path, key->key, word);
    return 0;
}

static bool is_path_part(const struct operation *operation, const char *name)
{
    const char *end;

    for (const char *at = strchr(operation->path, '{'); at; at = strchr(end, '{')) {
        if (strcmp(path_part_at(at, &end)->name, name) == 0)
            return true;
    }
    return false;
}

/* The usual values of what is not given. */
static void add_usual(const struct tool *tool, const json_t *arguments, struct text *path)
{
    AUTO_FREE char *copy = mem_string(tool->usual);
    char *rest = copy;

    for (char *key = strsep(&rest, "&"); key && key[0]; key = strsep(&rest, "&")) {
        char *value = strchr(key, '=');
        *value++ = '\0';
        /* From a certain job on, the oldest ones come first. */
        if (!json_object_get(arguments, key) &&
            !(strcmp(key, "newest") == 0 && json_object_get(arguments, "after")))
            client_query_add(path, key, value);
    }
}

static int fill_query(const struct tool *tool, const struct operation *operation,
                      const json_t *arguments, struct text *path, struct error *err)
{
    const json_t *value;
    const char *name;

    json_object_foreach((json_t *)arguments, name, value)
    {
        const struct query_key *key = operation_key(operation, name);
        bool is_known = key && key->kind != QUERY_HEADER && strcmp(name, tool->never) != 0;
        if (is_path_part(operation, name) || json_is_null(value))
            continue;
        if (!is_known)
            return error_set(err, -EINVAL, "%s: it has no argument '%.60s'", tool->name, name);
        int code = add_key(tool, key, value, path, err);
        if (code < 0)
            return code;
    }
    add_usual(tool, arguments, path);
    return 0;
}

/* Relative paths of a job are those of this process. Its environment stays here: it is that of the
 * program that runs the tools, and may have secrets of it. */
static char *body_of(const struct operation *operation, const json_t *arguments)
{
    AUTO(json) json_t *body = json_copy((json_t *)arguments);
    AUTO_FREE char *here = remote_is_given() ? NULL : getcwd(NULL, 0);

    if (here && strstr(operation->body, "JobDocument"))
        json_object_set_new(body, "sender_cwd", json_string(here));
    return json_dumps(body, JSON_COMPACT);
}

int tool_request(const struct tool *tool, const json_t *arguments, struct tool_request *ret,
                 struct error *err)
{
    *ret = (struct tool_request){ .operation = operation_of(tool) };
    int code = fill_path(tool, ret->operation, arguments, &ret->path, err);
    if (code == 0 && has_body(ret->operation))
        ret->body = body_of(ret->operation, arguments);
    else if (code == 0)
        code = fill_query(tool, ret->operation, arguments, &ret->path, err);
    if (code < 0)
        tool_request_release(ret);
    return code;
}

void tool_request_release(struct tool_request *request)
{
    text_release(&request->path);
    free(request->body);
    *request = (struct tool_request){ 0 };
}
