/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_FILE_H
#define IO_FILE_H

/* file - small files, whole */

#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

/* Append a file's bytes to text; its size need not be known (/proc). Fails with -EFBIG above
 * bytes_max, or as open and read do. */
int file_read(const char *path, size_t bytes_max, struct text *text, struct error *err);

/* Write into a file that is there, in one write, as the kernel's own files want it. */
int file_put(const char *path, const char *value, struct error *err);

/* Make or replace a file so that after a power loss it is either the old or the new one. */
int file_replace(const char *path, const char *bytes, size_t length, struct error *err);

/* Rename what cannot be used to PATH.WORD-SECONDS, so that it is kept; a database takes its log
 * along. ret_name, if not NULL: the new name, to be freed. Fails as rename() does. */
int file_put_aside(const char *path, const char *word, char **ret_name, struct error *err);
/* Copy it to such a name. Fails as file_read() and file_replace() do. */
int file_copy_aside(const char *path, const char *word, char **ret_name, struct error *err);

/* Make a folder unless it is there; its parent must be. */
int folder_make(const char *path, unsigned mode, struct error *err);
/* Make the names in a folder durable. */
int folder_sync(const char *path, struct error *err);
/* 1: it is empty, 0: it is not; or as opendir() fails. */
int folder_is_empty(const char *path);

#endif
