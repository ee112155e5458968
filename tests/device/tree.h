/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DEVICE_TREE_H
#define TESTS_DEVICE_TREE_H

/* tree - a machine's files, as a folder made from one text
 *
 *   [/folder]           what follows is in there
 *   => target           the folder itself is a link to target, which is made
 *   file = content      \n, \t and \\ in the content
 *   file -> target      a link
 *   # ...               and empty lines are nothing
 */

#include "base/mem.h"

/* For cmocka: *state is the root, in /tmp. */
int tree_set_up(void **state);
int tree_tear_down(void **state);

/* One file below root, with the folders above it. */
void tree_put(const char *root, const char *path, const char *content);
void tree_remove(const char *root, const char *path);
/* One of tests/device/trees: "mi250". */
void tree_make(const char *root, const char *name);

#endif
