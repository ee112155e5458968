/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/yaml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/plain.h"

enum { ANCHORS_MAX = 1000 };

struct yaml_lines {
    struct map map; /* from a place in a container to its line */
};

/* What a value weighs after its aliases are written out. */
struct weight {
    size_t nodes;
    size_t bytes;
};

/* A mapping or sequence that is still open. */
struct frame {
    json_t *value;
    char *key; /* of a mapping: the one whose value comes next */
    uint32_t key_line;
    char *anchor;
    struct weight before; /* what the document weighed when it was opened */
};

struct anchor {
    char *name;
    json_t *value;
    struct weight weight;
};

struct loader {
    const char *source;
    struct frame frames[YAML_DEPTH_MAX];
    size_t depth;
    LIST(struct anchor) anchors;
    struct weight weight;
    json_t *root;
    bool has_root;
    struct yaml_lines *lines;
    struct error *err;
};

static uint64_t place_of_key(const json_t *object, const char *key)
{
    return map_hash(&object, sizeof(object)) * 31 + map_hash(key, strlen(key));
}

static uint64_t place_of_index(const json_t *array, size_t index)
{
    return map_hash(&array, sizeof(array)) * 31 + map_hash(&index, sizeof(index));
}

static uint32_t line_at(const struct yaml_lines *lines, uint64_t place)
{
    uint64_t line;

    return lines && map_get(&lines->map, place, &line) ? (uint32_t)line : 0;
}

uint32_t yaml_key_line(const struct yaml_lines *lines, const json_t *object, const char *key)
{
    return line_at(lines, place_of_key(object, key));
}

uint32_t yaml_index_line(const struct yaml_lines *lines, const json_t *array, size_t index)
{
    return line_at(lines, place_of_index(array, index));
}

void yaml_lines_destroy(struct yaml_lines *lines)
{
    if (!lines)
        return;
    map_release(&lines->map);
    free(lines);
}

static int PRINTF(4, 5)
    fail(const struct loader *loader, int code, const yaml_mark_t *mark, const char *format, ...)
{
    char words[ERROR_TEXT_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    return error_set(loader->err, code, "%s:%zu:%zu: %s", loader->source, mark->line + 1,
                     mark->column + 1, words);
}

static int count(struct loader *loader, const yaml_mark_t *mark, struct weight more)
{
    loader->weight.nodes += more.nodes;
    loader->weight.bytes += more.bytes;
    if (loader->weight.nodes > YAML_NODES_MAX)
        return fail(loader, -E2BIG, mark, "more than %d values", YAML_NODES_MAX);
    if (loader->weight.bytes > YAML_EXPANDED_MAX)
        return fail(loader, -E2BIG, mark, "more than %d MiB with all aliases",
                    YAML_EXPANDED_MAX >> 20);
    return 0;
}

/* Take a reference of value and put it where the next value belongs. */
static void put(struct loader *loader, json_t *value, const yaml_mark_t *mark)
{
    uint32_t line = (uint32_t)mark->line + 1;

    json_incref(value);
    if (loader->depth == 0) {
        loader->root = value;
        loader->has_root = true;
        return;
    }
    struct frame *top = &loader->frames[loader->depth - 1];
    if (json_is_array(top->value)) {
        map_set(&loader->lines->map, place_of_index(top->value, json_array_size(top->value)), line);
        json_array_append_new(top->value, value);
        return;
    }
    map_set(&loader->lines->map, place_of_key(top->value, top->key), top->key_line);
    json_object_set_new(top->value, top->key, value);
    free(TAKE(top->key));
}

static const struct anchor *find_anchor(const struct loader *loader, const char *name)
{
    for (size_t i = loader->anchors.count; i > 0; i--) {
        if (strcmp(loader->anchors.items[i - 1].name, name) == 0)
            return &loader->anchors.items[i - 1];
    }
    return NULL;
}

static int name_anchor(struct loader *loader, const char *name, json_t *value, struct weight before,
                       const yaml_mark_t *mark)
{
    if (loader->anchors.count == ANCHORS_MAX)
        return fail(loader, -E2BIG, mark, "more than %d anchors", ANCHORS_MAX);
    struct weight weight = { loader->weight.nodes - before.nodes,
                             loader->weight.bytes - before.bytes };
    list_add(
        &loader->anchors,
        (struct anchor){ .name = mem_string(name), .value = json_incref(value), .weight = weight });
    return 0;
}

/* A mapping waits for a key: whatever comes now must be one. */
static struct frame *awaits_key(struct loader *loader)
{
    struct frame *top = loader->depth > 0 ? &loader->frames[loader->depth - 1] : NULL;

    return top && json_is_object(top->value) && !top->key ? top : NULL;
}

static int read_key(struct loader *loader, struct frame *top, const yaml_event_t *event)
{
    const char *key = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;

    if (event->data.scalar.anchor)
        return fail(loader, -EINVAL, &event->start_mark,
                    "an anchor on a key; expected it on the value");
    if (strlen(key) != length)
        return fail(loader, -EINVAL, &event->start_mark, "a NUL character in a key");
    if (json_object_get(top->value, key))
        return fail(loader, -EINVAL, &event->start_mark,
                    "key '%.60s' is given twice, first on line %" PRIu32, key,
                    yaml_key_line(loader->lines, top->value, key));
    top->key = mem_string(key);
    top->key_line = (uint32_t)event->start_mark.line + 1;
    return count(loader, &event->start_mark, (struct weight){ 1, length });
}

static int read_scalar(struct loader *loader, const yaml_event_t *event)
{
    const char *bytes = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    const char *anchor = (const char *)event->data.scalar.anchor;
    size_t length = event->data.scalar.length;
    json_t *value = NULL;

    struct frame *mapping = awaits_key(loader);
    if (mapping)
        return read_key(loader, mapping, event);
    if (tag && strcmp(tag, YAML_STR_TAG) != 0 && strcmp(tag, "!") != 0)
        return fail(loader, -EINVAL, &event->start_mark, "a tag; expected a plain value");
    if (strlen(bytes) != length)
        return fail(loader, -EINVAL, &event->start_mark, "a NUL character in a string");

    struct weight before = loader->weight;
    if (count(loader, &event->start_mark, (struct weight){ 1, length }) < 0)
        return -E2BIG;
    if (!tag && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        value = plain_parse(bytes);
    if (!value)
        value = json_stringn(bytes, length);
    if (!value)
        return fail(loader, -EINVAL, &event->start_mark, "a string that is not UTF-8");
    int code = anchor ? name_anchor(loader, anchor, value, before, &event->start_mark) : 0;
    if (code == 0)
        put(loader, value, &event->start_mark);
    json_decref(value);
    return code;
}

static int read_alias(struct loader *loader, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;

    if (awaits_key(loader))
        return fail(loader, -EINVAL, &event->start_mark, "an alias as a key; expected a word");
    for (size_t i = 0; i < loader->depth; i++) {
        if (string_equal(loader->frames[i].anchor, name))
            return fail(loader, -EINVAL, &event->start_mark, "alias '%.60s' contains itself", name);
    }
    const struct anchor *anchor = find_anchor(loader, name);
    if (!anchor)
        return fail(loader, -EINVAL, &event->start_mark, "alias '%.60s' has no anchor before it",
                    name);
    int code = count(loader, &event->start_mark, anchor->weight);
    if (code == 0)
        put(loader, anchor->value, &event->start_mark);
    return code;
}

static int open_container(struct loader *loader, const yaml_event_t *event, bool is_mapping)
{
    const char *tag =
        (const char *)(is_mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag);
    const char *anchor = (const char *)(is_mapping ? event->data.mapping_start.anchor
                                                   : event->data.sequence_start.anchor);

    if (awaits_key(loader))
        return fail(loader, -EINVAL, &event->start_mark, "a list or map as a key; expected a word");
    if (tag && strcmp(tag, YAML_MAP_TAG) != 0 && strcmp(tag, YAML_SEQ_TAG) != 0)
        return fail(loader, -EINVAL, &event->start_mark, "a tag; expected a plain value");
    if (loader->depth == YAML_DEPTH_MAX)
        return fail(loader, -E2BIG, &event->start_mark, "more than %d levels deep", YAML_DEPTH_MAX);
    struct weight before = loader->weight;
    int code = count(loader, &event->start_mark, (struct weight){ 1, 0 });
    if (code < 0)
        return code;
    json_t *value = is_mapping ? json_object() : json_array();
    put(loader, value, &event->start_mark);
    loader->frames[loader->depth++] = (struct frame){
        .value = value,
        .anchor = mem_string(anchor),
        .before = before,
    };
    return 0;
}

static int close_container(struct loader *loader, const yaml_event_t *event)
{
    struct frame frame = loader->frames[--loader->depth];
    int code = 0;

    if (frame.anchor)
        code = name_anchor(loader, frame.anchor, frame.value, frame.before, &event->start_mark);
    free(frame.key);
    free(frame.anchor);
    json_decref(frame.value);
    return code;
}

static int take_event(struct loader *loader, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (loader->has_root)
            return fail(loader, -EINVAL, &event->start_mark, "a second document; expected one");
        return 0;
    case YAML_SCALAR_EVENT:
        return read_scalar(loader, event);
    case YAML_ALIAS_EVENT:
        return read_alias(loader, event);
    case YAML_MAPPING_START_EVENT:
        return open_container(loader, event, true);
    case YAML_SEQUENCE_START_EVENT:
        return open_container(loader, event, false);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        return close_container(loader, event);
    default:
        return 0;
    }
}

/* The reader tells where it is in bytes, the scanner in lines and columns. */
static yaml_mark_t mark_of_offset(const char *text, size_t offset)
{
    yaml_mark_t mark = { 0 };

    for (size_t i = 0; i < offset; i++) {
        mark.column++;
        if (text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        }
    }
    return mark;
}

static int syntax_error(const struct loader *loader, const yaml_parser_t *parser, const char *text,
                        size_t length)
{
    const char *problem = parser->problem ? parser->problem : "not YAML";

    if (parser->error == YAML_READER_ERROR) {
        size_t offset = parser->problem_offset < length ? parser->problem_offset : length;
        yaml_mark_t mark = mark_of_offset(text, offset);
        return fail(loader, -EINVAL, &mark, "%s", problem);
    }
    if (parser->context)
        return fail(loader, -EINVAL, &parser->problem_mark, "%s (%s, line %zu)", problem,
                    parser->context, parser->context_mark.line + 1);
    return fail(loader, -EINVAL, &parser->problem_mark, "%s", problem);
}

static int load(struct loader *loader, const char *text, size_t length)
{
    yaml_parser_t parser;
    bool at_end = false;
    int code = 0;

    if (!yaml_parser_initialize(&parser))
        abort();
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    while (!at_end && code == 0) {
        yaml_event_t event;

        if (!yaml_parser_parse(&parser, &event)) {
            code = syntax_error(loader, &parser, text, length);
            break;
        }
        code = take_event(loader, &event);
        at_end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return code;
}

static void loader_release(struct loader *loader)
{
    while (loader->depth > 0) {
        struct frame *frame = &loader->frames[--loader->depth];
        json_decref(frame->value);
        free(frame->key);
        free(frame->anchor);
    }
    for (size_t i = 0; i < loader->anchors.count; i++) {
        free(loader->anchors.items[i].name);
        json_decref(loader->anchors.items[i].value);
    }
    list_release(&loader->anchors);
    json_decref(loader->root);
    yaml_lines_destroy(loader->lines);
}

int yaml_parse(const char *text, size_t length, const char *source, json_t **ret_document,
               struct yaml_lines **ret_lines, struct error *err)
{
    if (length > YAML_SIZE_MAX)
        return error_set(err, -E2BIG, "%s: larger than %d MiB", source, YAML_SIZE_MAX >> 20);

    struct loader loader = {
        .source = source,
        .lines = mem_zero(1, sizeof(struct yaml_lines)),
        .err = err,
    };
    int code = load(&loader, text, length);
    if (code == 0) {
        *ret_document = loader.has_root ? TAKE(loader.root) : json_null();
        *ret_lines = TAKE(loader.lines);
    }
    loader_release(&loader);
    return code;
}
