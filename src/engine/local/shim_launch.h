/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_SHIM_LAUNCH_H
#define ENGINE_LOCAL_SHIM_LAUNCH_H

/* shim_launch - writes the order for one tarn-shim
 *
 * Limits:  ORDER_BYTES_MAX bytes in total
 * Spec:    doc/spec/06-shim.md
 */

#include <stdint.h>

#include "base/text.h"
#include "core/engine.h"

enum { MEMBER_NAME_SIZE = 48 };

/* "12.1.0": job, attempt, rank. Returns the buffer, of MEMBER_NAME_SIZE. */
char *member_name(char *buffer, struct member_id id);
/* The reverse; false: not such a name. */
bool member_parse(const char *name, size_t length, struct member_id *ret);

/* Add one key and its value. */
void launch_add(struct text *order, const char *key, const char *format, ...) PRINTF(3, 4);

/* Add the keys that follow from the launch. Fails with -EINVAL (no command, a path that is not
 * absolute) or -E2BIG. */
int launch_write(const struct engine_launch *launch, struct text *order, struct error *err);

/* Add the user that the job runs as, with all groups. */
void launch_add_user(struct text *order, const struct engine_launch *launch);

#endif
