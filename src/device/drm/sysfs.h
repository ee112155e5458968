/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_SYSFS_H
#define DEVICE_DRM_SYSFS_H

/* sysfs - reads the kernel's small files, each of which has one value
 *
 * If a file is missing or empty, or has unexpected content, the functions return false and write
 * nothing. They read only the beginning of a file, so that an endless file does no harm.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SYSFS_PATH_SIZE = 512,
    SYSFS_TEXT_SIZE = 4096,
    SYSFS_NAMES_MAX = 65536, /* names per folder; more are ignored */
};

/* The beginning of a file, without white space at its end. */
bool sysfs_text(const char *folder, const char *file, char *ret, size_t size);
/* A file that consists of one number, decimal or with 0x. */
bool sysfs_number(const char *folder, const char *file, int64_t *ret);
/* The same in hexadecimal, with or without 0x. */
bool sysfs_hex(const char *folder, const char *file, uint64_t *ret);
/* The number after a key at the beginning of a line: "location_id 768", "ue: 0". */
bool sysfs_key(const char *text, const char *key, int64_t *ret);

/* The names in a folder with this prefix, in natural order (2 before 10); malloc'd,
 * NULL-terminated; free them with sysfs_names_free(). A folder that cannot be read gives no names.
 */
char **sysfs_names(const char *folder, const char *prefix);
void sysfs_names_free(char **names);

#endif
