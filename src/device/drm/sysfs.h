/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_SYSFS_H
#define DEVICE_DRM_SYSFS_H

/* sysfs - the small files in which the kernel says one thing each
 *
 * What is not there, is empty or is not what was expected is absent: false, and nothing is written.
 * Only the beginning of a file is read, so that one without an end does no harm.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SYSFS_PATH_SIZE = 512,
    SYSFS_TEXT_SIZE = 4096,
    SYSFS_NAMES_MAX = 65536, /* of a folder; the others are not looked at */
};

/* The beginning of a file, without white space at its end. */
bool sysfs_text(const char *folder, const char *file, char *ret, size_t size);
/* A whole file that is one number, decimal or with 0x. */
bool sysfs_number(const char *folder, const char *file, int64_t *ret);
/* The same in hexadecimal, with or without 0x. */
bool sysfs_hex(const char *folder, const char *file, uint64_t *ret);
/* The number behind a key at the beginning of a line: "location_id 768", "ue: 0". */
bool sysfs_key(const char *text, const char *key, int64_t *ret);

/* The names in a folder that begin so, in the order in which people count; malloc'd, NULL at the
 * end, to be given to sysfs_names_free(). A folder that can't be read has none. */
char **sysfs_names(const char *folder, const char *prefix);
void sysfs_names_free(char **names);

#endif
