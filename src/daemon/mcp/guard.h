/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_MCP_GUARD_H
#define DAEMON_MCP_GUARD_H

/* guard - actions that were previewed, and wait for their confirmation
 *
 * A confirmation is random, works for one call with the arguments that were previewed, once, within
 * GUARD_VALID_S. The oldest of more than GUARD_PENDING_MAX is forgotten.
 */

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/units.h"
#include "io/secret.h"

enum { GUARD_VALID_S = 600, GUARD_PENDING_MAX = 100 };

struct guard_pending {
    char confirm[SECRET_SIZE];
    json_t *arguments, *preview;
    const char *tool; /* its name, a constant */
    usec_t made;
};

/* Zeroed first. */
struct guard {
    LIST(struct guard_pending) pending;
};

/* now: of a clock that only goes on. Returns the confirmation, valid until the next call. */
const char *guard_add(struct guard *guard, const char *tool, const json_t *arguments,
                      const json_t *preview, usec_t now);
/* *ret is what was previewed, of the guard. Fails with -EINVAL. */
int guard_check(struct guard *guard, const char *confirm, const char *tool, const json_t *arguments,
                usec_t now, const json_t **ret, struct error *err);
/* It does not work again. */
void guard_forget(struct guard *guard, const char *confirm);
void guard_release(struct guard *guard);

#endif
