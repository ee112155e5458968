/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_DEVICE_TYPE_H
#define CORE_CLUSTER_DEVICE_TYPE_H

/* device_type - devices that no driver reports, and that the configuration describes (TPU, FPGA,
 * NPU
 * ...)
 *
 * Their names are NAME-0, NAME-1 ... . Templates define the environment variables of their jobs and
 * their device files: ${index} is the number of one device; ${indices}, ${uuids} (comma-separated)
 * and ${count} are those of a job's devices.
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

/* The members are defined in config.def. 0 and "": not set. */
struct device_type {
    char name[REQUEST_NAME_SIZE];
#define DEVICE_TYPE(tag, form, type, member, ...) type member;
#include "core/config.def"
};

/* The kind of its devices, "" for GPUs: `kind`, or else its name in lower case. */
const char *device_type_kind(const struct device_type *type, device_kind buffer);

/* The values of the names in a template; NULL: not permitted there. */
struct device_words {
    const char *index, *indices, *uuids, *count;
};

/* False: the template has a name that is unknown or not permitted there; ret then has the beginning
 * of that name. */
bool device_type_expand(const char *template, const struct device_words *words, struct text *ret);

/* Whether a device such as "tpu-3" is of this type, and its number. */
bool device_type_is(const struct device_type *type, const char *uuid, uint32_t *ret_number);

#endif
