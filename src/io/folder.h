/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_FOLDER_H
#define IO_FOLDER_H

/* folder - folders that other users own, by descriptors
 *
 * The owner of a folder may replace what is in it by links and mounts of file systems that hang. No
 * function here follows a link, opens anything but a folder, or enters another file system.
 *
 * Descriptors: for paths alone (O_PATH), closed on exec. A name has no slash.
 */

#include "base/error.h"

/* The folder at a path, whose last name is no link. Fails as open(2) does. */
int folder_open(const char *path, int *ret_fd, struct error *err);
/* The folder of this name, which is made if it is not there. Fails with -ENOTDIR if a file or a
 * link has the name, -EXDEV if another file system is mounted there, or as mkdir(2) does; the
 * message begins with path/name. */
int folder_enter(int folder, const char *path, const char *name, int *ret_fd, struct error *err);
/* The same, and it stays closed. */
int folder_make_in(int folder, const char *path, const char *name, struct error *err);

#endif
