/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_UNIX_NAMES_H
#define CONTROL_UNIX_NAMES_H

/* unix_names - home directories and Unix groups of this machine (io/names.h) */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/identity.h"

/* The name, or the number if there is no name. Returns buffer. */
const char *group_name_of(gid_t gid, char *buffer, size_t size);
const char *home_of(uid_t uid, char *buffer, size_t size); /* "/" if there is none */

/* By name or number. Fails with -EINVAL (no such group) or -ETIMEDOUT (io/names.h). */
int find_group(const char *name, uint32_t *ret_gid, struct error *err);

bool user_is_in_group(const struct identity *who, gid_t gid);

#endif
