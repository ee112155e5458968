/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBE_KUBE_MANIFEST_H
#define WIRE_KUBE_KUBE_MANIFEST_H

/* kube_manifest - the objects in files of Kubernetes, as `kubectl apply -f` takes them
 *
 * A file has one or more documents of YAML or JSON; a List is the objects in it.
 *
 * Owner:       the caller; objects point into documents, which kube_objects_release() frees
 * On failure:  "FILE:LINE: words" with -EBADMSG or -EINVAL; the objects up to there are kept
 * Limits:      those of yaml.h for each document
 */

#include <jansson.h>

#include "base/error.h"
#include "base/mem.h"
#include "wire/reader.h"
#include "wire/yaml.h"

struct kube_object {
    const char *source, *kind, *name;
    const char *space;         /* its namespace; "default" without one */
    const json_t *json, *spec; /* spec: NULL: there is none */
    const struct yaml_lines *lines;
};

struct kube_document {
    json_t *json;
    struct yaml_lines *lines;
};

struct kube_objects {
    LIST(struct kube_object) all;
    LIST(struct kube_document) documents;
};

/* Add those of a text. source names it in messages, and must stay. */
int kube_objects_read(struct kube_objects *objects, const char *source, const char *text,
                      struct error *err);
void kube_objects_release(struct kube_objects *objects); /* also of a zeroed one */

/* A reader with the object's place: "FILE:LINE: ClusterQueue team-a: KEY: words". */
struct reader kube_object_reader(const struct kube_object *object, struct error *err);

#endif
