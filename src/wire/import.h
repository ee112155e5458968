/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_IMPORT_H
#define WIRE_IMPORT_H

/* import - what makers of a configuration from that of another system share
 *
 * Limits: IMPORT_DEPTH_MAX levels of queues, IMPORT_WEIGHT_MAX
 */

#include <stddef.h>

#include "base/text.h"

enum { IMPORT_DEPTH_MAX = 8, IMPORT_WEIGHT_MAX = 1000000 };

/* A name as YAML has it: in quotes, where it would be something else. */
void import_add_name(struct text *text, const char *name);

/* A queue and the name of the one above it; NULL: at the top. */
struct import_branch {
    const char *name, *parent;
};

/* Called for each branch that was moved: what is wrong with it. */
typedef void import_moved_fn(void *user, size_t index, const char *what, const char *words);

/* Make a tree of them: a parent that is not there is the root, rings are cut, and what is too deep
 * is raised. */
void import_settle(struct import_branch *branches, size_t count, import_moved_fn *moved,
                   void *user);

#endif
