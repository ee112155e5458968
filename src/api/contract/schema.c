/* SPDX-License-Identifier: Apache-2.0 */
#include "api/contract/schema.h"

#include <assert.h>
#include <string.h>

#include "api/contract/operation.h"
#include "base/mem.h"
#include "core/engine.h"
#include "core/health/alert.h"
#include "core/health/reading.h"
#include "core/job/job.h"
#include "core/job/request.h"
#include "core/job/why.h"
#include "sched/placement/model_score.h"
#include "wire/config/config_schema.h"
#include "wire/json.h"

#define REFERENCE "#/components/schemas/"

const struct schema_row schema_rows[] = {
#define SCHEMA(name, base, meaning) { SCHEMA_OBJECT, #name, base, meaning },
#define FIELD(key, type, meaning)   { SCHEMA_FIELD, key, type, meaning },
#define MAYBE(key, type, meaning)   { SCHEMA_MAYBE, key, type, meaning },
#include "api/contract/schemas.def"
    { .name = NULL },
};

static const struct schema_row job_keys[] = {
#define JOB_KEY(name, places, type, meaning) { SCHEMA_MAYBE, name, type, meaning },
#include "wire/job/job_keys.def"
#undef JOB_KEY
};

/* ---- enumerations ---- */

static struct schema_word state_word(unsigned i)
{
    return (struct schema_word){ job_state_name(i), job_state_meaning(i) };
}

static struct schema_word result_word(unsigned i)
{
    return (struct schema_word){ job_result_name(i + 1), job_result_meaning(i + 1) };
}

static struct schema_word why_word(unsigned i)
{
    return (struct schema_word){ why_name(i), why_meaning(i) };
}

static struct schema_word reading_word(unsigned i)
{
    return (struct schema_word){ reading_about[i].name, NULL };
}

static struct schema_word spot_word(unsigned i)
{
    return (struct schema_word){ spot_rule_name((uint8_t)i), NULL };
}

static struct schema_word model_word(unsigned i)
{
    return (struct schema_word){ model_rule_name((uint8_t)i), NULL };
}

static struct schema_word severity_word(unsigned i)
{
    return (struct schema_word){ alert_severity_name(i), NULL };
}

static struct schema_word isolation_word(unsigned i)
{
    static const struct schema_word words[] = {
        { "accounted", "tracked at allocation, not enforced" },
        { "watched", "tarn measures the use, and acts when it is exceeded" },
        { "isolated", "the kernel or the device enforces it" },
    };

    return words[i];
}

static struct schema_word error_word(unsigned i)
{
    return (struct schema_word){ refusal_meanings[i].name, refusal_meanings[i].when };
}

enum { SEVERITIES = HEALTH_CRITICAL + 1, ISOLATIONS = ISOLATION_ISOLATED + 1 };
enum {
    REFUSALS = 0
#define REFUSAL(code, status, name, when) +1
#define OTHER(status, name, when)         +1
#include "api/contract/refusals.def"
};

static const struct {
    const char *name;
    unsigned count;
    struct schema_word (*word)(unsigned i);
} enumerations[] = {
    { "JobState", JOB_STATE_COUNT, state_word }, { "JobResult", RESULT_COUNT - 1, result_word },
    { "WhyKind", WHY_COUNT, why_word },          { "ReadingName", READINGS, reading_word },
    { "SpotRule", SPOT_RULES, spot_word },       { "ModelRule", MODEL_RULES, model_word },
    { "Severity", SEVERITIES, severity_word },   { "Enforcement", ISOLATIONS, isolation_word },
    { "ErrorCode", REFUSALS, error_word },
};

const char *schema_enumeration(unsigned i)
{
    return i < COUNT_OF(enumerations) ? enumerations[i].name : NULL;
}

bool schema_word(const char *enumeration, unsigned i, struct schema_word *ret)
{
    for (size_t k = 0; k < COUNT_OF(enumerations); k++) {
        if (strcmp(enumerations[k].name, enumeration) != 0 || i >= enumerations[k].count)
            continue;
        *ret = enumerations[k].word(i);
        return true;
    }
    return false;
}

static json_t *schema_of_words(const char *enumeration)
{
    json_t *words = json_array();
    struct schema_word word;

    for (unsigned i = 0; schema_word(enumeration, i, &word); i++)
        json_array_append_new(words, json_string(word.name));
    return json_pack("{s:s, s:o}", "type", "string", "enum", words);
}

/* ---- types ---- */

static json_t *parse_union(const char **at);

static void skip(const char **at, char wanted)
{
    assert(**at == wanted);
    (*at)++;
}

static size_t word_length(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
}

static json_t *schema_of_name(const char *name, size_t length)
{
    bool is_reference = name[0] >= 'A' && name[0] <= 'Z';

    if (length == strlen("any") && strncmp(name, "any", length) == 0)
        return json_object();
    if (length == strlen("time") && strncmp(name, "time", length) == 0)
        return json_pack("{s:s, s:s}", "type", "string", "format", "date-time");
    return is_reference
               ? json_pack("{s:o}", "$ref", json_sprintf(REFERENCE "%.*s", (int)length, name))
               : json_pack("{s:o}", "type", json_stringn(name, length));
}

static json_t *parse_map(const char **at)
{
    size_t length = word_length(*at);
    json_t *names = NULL;

    if ((*at)[length] == ':') {
        names = schema_of_name(*at, length);
        *at += length + 1;
    }
    json_t *schema =
        json_pack("{s:s, s:o}", "type", "object", "additionalProperties", parse_union(at));
    if (names)
        json_object_set_new(schema, "propertyNames", names);
    return schema;
}

static json_t *parse_one(const char **at)
{
    const char *begin = *at;
    json_t *schema;

    if (*begin == '[') {
        skip(at, '[');
        schema = json_pack("{s:s, s:o}", "type", "array", "items", parse_union(at));
        skip(at, ']');
    } else if (*begin == '{') {
        skip(at, '{');
        schema = parse_map(at);
        skip(at, '}');
    } else if (*begin == '\'') {
        skip(at, '\'');
        size_t length = word_length(*at);
        schema =
            json_pack("{s:s, s:[o]}", "type", "string", "enum", json_stringn(begin + 1, length));
        *at += length;
        skip(at, '\'');
    } else {
        size_t length = word_length(begin);
        assert(length > 0);
        schema = schema_of_name(begin, length);
        *at += length;
    }
    return schema;
}

/* Words beside each other are one enumeration. */
static void add_choice(json_t *choices, json_t *schema)
{
    json_t *last = json_array_get(choices, json_array_size(choices) - 1);
    json_t *words = json_object_get(last, "enum"), *more = json_object_get(schema, "enum");

    if (words && more) {
        json_array_extend(words, more);
        json_decref(schema);
    } else
        json_array_append_new(choices, schema);
}

/* The types alone, if no choice says more than its type. */
static json_t *plain_types(const json_t *choices)
{
    json_t *types = json_array(), *choice;
    size_t i;

    json_array_foreach(choices, i, choice)
    {
        if (json_object_size(choice) == 1 && json_is_string(json_object_get(choice, "type")))
            json_array_append(types, json_object_get(choice, "type"));
    }
    if (json_array_size(types) == json_array_size(choices))
        return types;
    json_decref(types);
    return NULL;
}

static json_t *join(json_t *choices)
{
    json_t *types = plain_types(choices), *schema;

    if (json_array_size(choices) == 1)
        schema = json_incref(json_array_get(choices, 0));
    else
        schema = types ? json_pack("{s:O}", "type", types) : json_pack("{s:O}", "anyOf", choices);
    json_decref(types);
    json_decref(choices);
    return schema;
}

static json_t *or_null(json_t *schema)
{
    json_t *type = json_object_get(schema, "type"), *words = json_object_get(schema, "enum");

    if (!type)
        return json_pack("{s:[o, {s:s}]}", "anyOf", schema, "type", "null");
    if (json_is_array(type))
        json_array_append_new(type, json_string("null"));
    else
        json_object_set_new(schema, "type", json_pack("[O, s]", type, "null"));
    if (words)
        json_array_append_new(words, json_null());
    return schema;
}

static json_t *parse_union(const char **at)
{
    json_t *choices = json_array();

    add_choice(choices, parse_one(at));
    while (**at == '|') {
        skip(at, '|');
        add_choice(choices, parse_one(at));
    }
    json_t *schema = join(choices);
    if (**at == '?') {
        skip(at, '?');
        schema = or_null(schema);
    }
    return schema;
}

json_t *schema_of_type(const char *type)
{
    const char *at = type;
    json_t *schema = parse_union(&at);

    assert(*at == '\0');
    return schema;
}

/* ---- components ---- */

static void describe(json_t *schema, const char *meaning)
{
    if (meaning[0])
        json_object_set_new(schema, "description", json_string(meaning));
}

static json_t *closed_object(void)
{
    return json_pack("{s:s, s:{}, s:[], s:b}", "type", "object", "properties", "required",
                     "additionalProperties", 0);
}

static void add_base(json_t *components, json_t *schema, const char *base)
{
    json_t *from = json_object_get(components, base);

    assert(json_is_object(from)); /* it stands before in the list */
    json_object_update(json_object_get(schema, "properties"), json_object_get(from, "properties"));
    json_array_extend(json_object_get(schema, "required"), json_object_get(from, "required"));
}

static void add_field(json_t *schema, const struct schema_row *row)
{
    json_t *value = schema_of_type(row->type);

    describe(value, row->meaning);
    json_object_set_new(json_object_get(schema, "properties"), row->name, value);
    if (row->kind == SCHEMA_FIELD)
        json_array_append_new(json_object_get(schema, "required"), json_string(row->name));
}

/* null is as good as no key. */
static json_t *job_document(void)
{
    json_t *schema = closed_object();

    for (size_t i = 0; i < COUNT_OF(job_keys); i++) {
        json_t *value = or_null(schema_of_type(job_keys[i].type));
        describe(value, job_keys[i].meaning);
        json_object_set_new(json_object_get(schema, "properties"), job_keys[i].name, value);
    }
    describe(schema, "a job, a stage or a pipeline (04-jobfile.md)");
    return schema;
}

json_t *schema_components(void)
{
    json_t *components = json_object(), *schema = NULL;

    for (size_t i = 0; i < COUNT_OF(enumerations); i++)
        json_object_set_new(components, enumerations[i].name,
                            schema_of_words(enumerations[i].name));
    json_object_set_new(components, "JobDocument", job_document());
    json_object_set_new(components, "Config", config_schema());
    json_object_set_new(components, "ReservationKeys", config_schema_of(KEYS_RESERVATION));
    for (const struct schema_row *row = schema_rows; row->name; row++) {
        if (row->kind != SCHEMA_OBJECT) {
            add_field(schema, row);
            continue;
        }
        schema = closed_object();
        describe(schema, row->meaning);
        if (row->type[0])
            add_base(components, schema, row->type);
        json_object_set_new(components, row->name, schema);
    }
    json_object_del(components, "ReservationKeys");
    return components;
}
