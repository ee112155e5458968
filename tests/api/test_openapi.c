/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/contract/openapi.h"
#include "api/contract/operation.h"
#include "api/contract/schema.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/json.h"

static const json_t *at(const json_t *value, const char *const *keys)
{
    for (; *keys; keys++)
        value = json_object_get(value, *keys);
    return value;
}
#define AT(value, ...) at(value, (const char *const[]){ __VA_ARGS__, NULL })

static const json_t *view_of(const json_t *document, const struct operation *operation)
{
    char method[8] = "";

    for (size_t i = 0; operation->method[i]; i++)
        method[i] = (char)tolower((unsigned char)operation->method[i]);
    return AT(document, "paths", operation->path, method);
}

static void every_route_is_described(void **state)
{
    AUTO(json) json_t *document = openapi_document("1");
    size_t views = 0;
    const char *path;
    json_t *methods;

    (void)state;
    for (size_t i = 0; i < operation_count; i++) {
        const struct operation *operation = &operations[i];
        const json_t *view = view_of(document, operation);
        AUTO_FREE char *status = mem_printf("%u", operation->status);
        assert_string_equal(json_string_value(AT(view, "operationId")), operation->id);
        assert_non_null(AT(view, "responses", status));
        assert_non_null(AT(view, "responses", "default"));
        assert_true((operation->body[0] != '\0') == (AT(view, "requestBody") != NULL));
    }
    json_object_foreach((json_t *)(uintptr_t)AT(document, "paths"), path, methods)
    {
        views += json_object_size(methods);
    }
    assert_int_equal(views, operation_count);
}

static void each_parameter_is_described_once(void **state)
{
    AUTO(json) json_t *document = openapi_document("1");

    (void)state;
    for (size_t i = 0; i < operation_count; i++) {
        const json_t *list = AT(view_of(document, &operations[i]), "parameters"), *parameter;
        size_t in_path = 0, in_query = 0, braces = 0, keys = 0, k;
        json_array_foreach(list, k, parameter)
        {
            if (AT(parameter, "$ref"))
                continue;
            bool is_path = strcmp(json_string_value(AT(parameter, "in")), "path") == 0;
            AUTO_FREE char *part = mem_printf("{%s}", json_string_value(AT(parameter, "name")));
            in_path += is_path;
            in_query += !is_path;
            assert_true(!is_path || strstr(operations[i].path, part));
            assert_true(!is_path || json_is_true(AT(parameter, "required")));
            const struct query_key *key =
                operation_key(&operations[i], json_string_value(AT(parameter, "name")));
            if (key)
                assert_string_equal(json_string_value(AT(parameter, "in")),
                                    key->kind == QUERY_HEADER ? "header" : "query");
        }
        for (const char *c = operations[i].path; *c; c++)
            braces += *c == '{';
        while (operations[i].query[keys].key) {
            const struct query_key *key = &operations[i].query[keys++];
            assert_ptr_equal(operation_key(&operations[i], key->key), key); /* no other has it */
        }
        assert_int_equal(in_path, braces);
        assert_int_equal(in_query, keys);
    }
}

static void names_of_operations_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < operation_count; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(operations[i].id, operations[k].id);
            assert_true(strcmp(operations[i].path, operations[k].path) != 0 ||
                        strcmp(operations[i].method, operations[k].method) != 0);
        }
    }
}

/* Each reference of a value leads to something; adds the names of the schemas to used. */
static void check_references(const json_t *document, const json_t *value, json_t *used)
{
    const char *key;
    json_t *item;
    size_t i;

    json_array_foreach(value, i, item) check_references(document, item, used);
    if (!json_is_object(value))
        return;
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        const char *text = json_string_value(item);
        char section[32], name[64];
        if (strcmp(key, "$ref") != 0) {
            check_references(document, item, used);
            continue;
        }
        assert_int_equal(sscanf(text, "#/components/%31[a-z]/%63s", section, name), 2);
        if (!AT(document, "components", section, name))
            fail_msg("%s leads nowhere", text);
        json_object_set_new(used, name, json_true());
    }
}

static void every_reference_resolves_and_every_schema_is_used(void **state)
{
    AUTO(json) json_t *document = openapi_document("1");
    AUTO(json) json_t *used = json_object();
    const char *name;
    json_t *schema;

    (void)state;
    check_references(document, document, used);
    json_object_foreach((json_t *)(uintptr_t)AT(document, "components", "schemas"), name, schema)
    {
        bool is_base = false;
        for (const struct schema_row *row = schema_rows; row->name; row++)
            is_base |= row->kind == SCHEMA_OBJECT && strcmp(row->type, name) == 0;
        if (!is_base && !json_object_get(used, name))
            fail_msg("schema %s is not used", name);
    }
}

static void a_needed_key_has_a_schema(void **state)
{
    AUTO(json) json_t *components = schema_components();
    const json_t *needed;
    const char *name;
    json_t *schema;
    size_t i;

    (void)state;
    json_object_foreach(components, name, schema)
    {
        json_array_foreach(AT(schema, "required"), i, needed)
        {
            if (!AT(schema, "properties", json_string_value(needed)))
                fail_msg("%s: %s is needed, but has no schema", name, json_string_value(needed));
        }
    }
    assert_non_null(AT(components, "JobDetail", "properties", "label")); /* of its base */
}

static void a_type_becomes_a_schema(void **state)
{
    static const struct {
        const char *type, *schema;
    } cases[] = {
        { "any", "{}" },
        { "integer", "{\"type\":\"integer\"}" },
        { "number?", "{\"type\":[\"number\",\"null\"]}" },
        { "time?", "{\"format\":\"date-time\",\"type\":[\"string\",\"null\"]}" },
        { "string|number?", "{\"type\":[\"string\",\"number\",\"null\"]}" },
        { "'a'|'b'?", "{\"enum\":[\"a\",\"b\",null],\"type\":[\"string\",\"null\"]}" },
        { "[string]", "{\"items\":{\"type\":\"string\"},\"type\":\"array\"}" },
        { "Job", "{\"$ref\":\"#/components/schemas/Job\"}" },
        { "Job?", "{\"anyOf\":[{\"$ref\":\"#/components/schemas/Job\"},{\"type\":\"null\"}]}" },
        { "{Job:[integer?]}",
          "{\"additionalProperties\":{\"items\":{\"type\":[\"integer\",\"null\"]},"
          "\"type\":\"array\"},"
          "\"propertyNames\":{\"$ref\":\"#/components/schemas/Job\"},\"type\":\"object\"}" },
        { "[Job|Group]", "{\"items\":{\"anyOf\":[{\"$ref\":\"#/components/schemas/Job\"},"
                         "{\"$ref\":\"#/components/schemas/Group\"}]},\"type\":\"array\"}" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(json) json_t *schema = schema_of_type(cases[i].type);
        AUTO_FREE char *bytes = json_dumps(schema, JSON_COMPACT | JSON_SORT_KEYS);
        assert_string_equal(bytes, cases[i].schema);
    }
}

static void an_enumeration_has_each_word_once(void **state)
{
    (void)state;
    for (unsigned n = 0; schema_enumeration(n); n++) {
        const char *name = schema_enumeration(n);
        struct schema_word word, other;
        for (unsigned i = 0; schema_word(name, i, &word); i++) {
            assert_true(word.name && word.name[0] && strcmp(word.name, "unknown") != 0);
            for (unsigned k = 0; k < i && schema_word(name, k, &other); k++)
                assert_string_not_equal(word.name, other.name);
        }
        assert_true(schema_word(name, 0, &word));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_described),
        cmocka_unit_test(each_parameter_is_described_once),
        cmocka_unit_test(names_of_operations_differ),
        cmocka_unit_test(every_reference_resolves_and_every_schema_is_used),
        cmocka_unit_test(a_needed_key_has_a_schema),
        cmocka_unit_test(a_type_becomes_a_schema),
        cmocka_unit_test(an_enumeration_has_each_word_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
