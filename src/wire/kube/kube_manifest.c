/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/kube/kube_manifest.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

struct reader kube_object_reader(const struct kube_object *object, struct error *err)
{
    struct reader reader = { .source = object->source, .lines = object->lines, .err = err };

    return reader_at(&reader, "%.40s %.60s", object->kind, object->name);
}

/* ---- objects ---- */

static int add_object(struct kube_objects *objects, const struct kube_document *document,
                      const char *source, const json_t *json, struct error *err)
{
    struct reader reader = { .source = source, .lines = document->lines, .err = err };
    struct kube_object object = {
        .source = source, .json = json, .lines = document->lines, .space = "default"
    };

    if (!json_is_object(json))
        return reader_fail(&reader, -EINVAL, NULL, NULL, "%s, expected an object with a kind",
                           reader_kind(json));
    object.kind = json_string_value(reader_get(json, "kind"));
    if (!object.kind)
        return reader_fail(&reader, -EINVAL, json, "kind", "expected the kind of the object");
    const json_t *meta = reader_get(json, "metadata");
    object.name = json_string_value(reader_get(meta, "name"));
    if (!object.name)
        return reader_fail(&reader, -EINVAL, json, "kind", "%.40s without metadata.name",
                           object.kind);
    reader = reader_at(&reader, "%.40s %.60s", object.kind, object.name);
    int code = reader_string(&reader, meta, "namespace", SIZE_MAX, &object.space);
    if (code < 0)
        return code;
    object.spec = reader_get(json, "spec");
    if (object.spec && !json_is_object(object.spec))
        return reader_fail(&reader, -EINVAL, json, "spec", "%s, expected a map",
                           reader_kind(object.spec));
    list_add(&objects->all, object);
    return 0;
}

/* An object, or those of a list. */
static int add_document(struct kube_objects *objects, const struct kube_document *document,
                        const char *source, struct error *err)
{
    const char *kind = json_string_value(reader_get(document->json, "kind"));
    const json_t *items = reader_get(document->json, "items");
    const size_t tail = strlen("List");

    if (!kind || strlen(kind) < tail || strcmp(kind + strlen(kind) - tail, "List") != 0 ||
        !json_is_array(items))
        return add_object(objects, document, source, document->json, err);
    for (size_t i = 0; i < json_array_size(items); i++) {
        int code = add_object(objects, document, source, json_array_get(items, i), err);
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- documents ---- */

static bool is_marker(const char *line, const char *marker)
{
    return strncmp(line, marker, 3) == 0 && strchr(" \t\r\n", line[3]);
}

/* The line that ends a document, or the end of the text. "---" also ends directives, which belong
 * to the document after them. */
static const char *document_end(const char *text)
{
    bool has_directives = false;

    while (*text) {
        if (is_marker(text, "...") || (is_marker(text, "---") && !has_directives))
            return text;
        has_directives = *text == '%' || (has_directives && !is_marker(text, "---"));
        const char *line = strchr(text, '\n');
        text = line ? line + 1 : text + strlen(text);
    }
    return text;
}

/* Empty lines in the place of the documents before it make the numbers of its lines right. */
static int read_document(struct kube_objects *objects, const char *source, size_t lines_before,
                         const char *text, size_t length, struct error *err)
{
    AUTO_RELEASE(text) struct text whole = { 0 };
    struct kube_document document;

    for (size_t i = 0; i < lines_before; i++)
        text_add_char(&whole, '\n');
    text_add_bytes(&whole, text, length);
    int code = yaml_parse(whole.bytes, whole.length, source, &document.json, &document.lines, err);
    if (code < 0)
        return code;
    list_add(&objects->documents, document);
    return json_is_null(document.json) ? 0 : add_document(objects, &document, source, err);
}

static size_t count_lines(const char *text, const char *end)
{
    size_t count = 0;

    for (; text < end; text++)
        count += *text == '\n';
    return count;
}

int kube_objects_read(struct kube_objects *objects, const char *source, const char *text,
                      struct error *err)
{
    const char *at = text;

    for (;;) {
        const char *end = document_end(at);
        int code = end > at ? read_document(objects, source, count_lines(text, at), at,
                                            (size_t)(end - at), err)
                            : 0;
        if (code < 0 || !*end)
            return code;
        at = end + 3;
    }
}

void kube_objects_release(struct kube_objects *objects)
{
    LIST_EACH (struct kube_document, document, &objects->documents) {
        json_decref(document->json);
        yaml_lines_destroy(document->lines);
    }
    list_release(&objects->documents);
    list_release(&objects->all);
}
