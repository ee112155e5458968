/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_OWNER_H
#define ENGINE_OWNER_H

/* owner - which member a process belongs to
 *
 * By its control group (.../tarn/KEY/MEMBER), which it can't leave; where there is none, by the
 * marker that every process of a job has in its environment.
 */

#include <stdbool.h>

#include "engine/launch.h"

/* key: of members.h. False: it belongs to none of ours, or is gone. root: "" or that of a test. */
bool owner_find(const char *root, const char *key, uint32_t pid, struct member_id *ret);

#endif
