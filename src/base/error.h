/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* error - the message of a failure
 *
 * Functions that can fail return 0 or a negative errno and take a struct error
 * (which may be NULL) as their last argument. The function that fails writes the message; a caller
 * may prefix its own location.
 */

#include <stdbool.h>

#include "base/compiler.h"

enum { ERROR_TEXT_SIZE = 480 };

struct error {
    char text[ERROR_TEXT_SIZE]; /* in place: reporting a failure cannot fail */
};

/* Fill err and return the code, so that a failure takes one line:
 *     return error_set(err, -EINVAL, "node %s: no GPUs", name);
 * Text that does not fit is cut.
 */
int error_set(struct error *err, int code, const char *format, ...) PRINTF(3, 4);

/* Whether a code of a failed system call means that the machine lacks processes, threads,
 * descriptors, memory or space on a disk for now: the same call may succeed later. */
bool error_is_shortage(int code);

/* Prefix the location: "pools.yaml:12: node a: no GPUs". */
int error_prefix(struct error *err, int code, const char *format, ...) PRINTF(3, 4);

#endif
