/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_DEVICE_TYPE_H
#define CORE_CLUSTER_DEVICE_TYPE_H

/* device_type - devices of a machine that no driver is asked for: an administrator says that they
 * are there (TPU, FPGA, NPU ...)
 *
 * They are called NAME-0, NAME-1 ... . What a job is told about them, and which files are theirs,
 * is a template: ${index} of one; ${indices}, ${uuids} (with commas) and ${count} of a job's.
 */

#include <stdbool.h>

#include "core/job/request.h"

struct text;

enum {
    DEVICE_TYPES_MAX = 16,
    DEVICE_TYPE_COUNT_MAX = 64,
    DEVICE_TYPE_ENV_SIZE = 1024,
    DEVICE_TYPE_FILES_SIZE = 512,
    DEVICE_TYPE_VENDOR_SIZE = 16,
    DEVICE_LABELS_SIZE = 256,
    DEVICE_KIND_SIZE = REQUEST_KIND_SIZE,
};

typedef char device_vendor[DEVICE_TYPE_VENDOR_SIZE], device_env[DEVICE_TYPE_ENV_SIZE],
    device_files[DEVICE_TYPE_FILES_SIZE], device_labels[DEVICE_LABELS_SIZE],
    device_kind[DEVICE_KIND_SIZE];

/* Members and what they mean: config.def. 0 and "": not said. */
struct device_type {
    char name[REQUEST_NAME_SIZE];
#define DEVICE_TYPE(tag, form, type, member, ...) type member;
#include "core/config.def"
};

/* The kind that its devices have, "" for GPUs: its name in lower case unless it says one. */
const char *device_type_kind(const struct device_type *type, device_kind buffer);

/* What stands for the names in a template; NULL: it may not be used there. */
struct device_words {
    const char *index, *indices, *uuids, *count;
};

/* False: the template has a name that is none, or is not to be used there; ret has its beginning
 * then. */
bool device_type_expand(const char *template, const struct device_words *words, struct text *ret);

/* Whether "tpu-3" is one of type tpu, and which. */
bool device_type_is(const struct device_type *type, const char *uuid, uint32_t *ret_number);

#endif
