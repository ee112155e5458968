/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SELECT_H
#define CLI_SELECT_H

/* select - parses the jobs of a command: "7", "7_3", "7-9"
 *
 * Limits: SELECT_MAX jobs per command
 */

#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"

enum { SELECT_MAX = 10000, ID_SIZE = 48 };

struct selection {
    char (*ids)[ID_SIZE];
    size_t count;
};

/* Fails at the first invalid word. */
int selection_read(struct selection *selection, char *const *words, struct error *err);
void selection_add(struct selection *selection, const char *id);
void selection_release(struct selection *selection);

#endif
