/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_REFUSAL_H
#define CONTROL_REFUSAL_H

/* refusal - why a request is refused
 *
 * A use case refuses with one of these. The values are those of errno, because what a parser, the
 * store or the system says on the way (-EINVAL, -ENOSPC, ...) is handed on as it is; api/reply.c
 * has the one table from codes to HTTP.
 */

#include <errno.h>

enum refusal {
    REFUSED_BAD = -EINVAL,         /* the request makes no sense, whatever the state */
    REFUSED_FORBIDDEN = -EACCES,   /* it does, but not from them */
    REFUSED_NOT_FOUND = -ENOENT,   /* what it names is not there */
    REFUSED_CONFLICT = -EALREADY,  /* not in the state that things are in; later perhaps */
    REFUSED_NEVER = -EDOM,         /* it could never be done here */
    REFUSED_TOO_MANY = -EDQUOT,    /* a limit is reached; again when something has gone */
    REFUSED_METHOD = -ENOTSUP,     /* the path is known, but not with this verb */
    REFUSED_STOPPING = -ESHUTDOWN, /* the daemon is stopping */
    REFUSED_TIMEOUT = -ETIMEDOUT,  /* the answer would have taken too long */
    REFUSED_DISK_FULL = -ENOSPC,   /* nothing can be made durable now */
};

#endif
