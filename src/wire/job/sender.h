/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SENDER_H
#define WIRE_JOB_SENDER_H

/* sender - what a job takes over from the process that submits it
 *
 * Environment, working directory, umask, soft resource limits, and the job that it is part of: the
 * keys sender_* of a document.
 * The document owns the values.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/engine.h"
#include "wire/reader.h"

enum { SENDER_LIMITS_MAX = 16 };

struct sender {
    const json_t *env; /* NULL: none */
    const char *cwd;   /* absolute, or NULL */
    bool has_umask;
    mode_t umask;
    struct engine_limit limits[SENDER_LIMITS_MAX];
    uint32_t limit_count;
    uint64_t job; /* that it is part of; 0: none */
};

int sender_read(const struct reader *reader, const json_t *document, struct sender *ret);

/* Add those of this process to a document: its umask, its limits, and the job that it is part of,
 * unless the document has one. */
void sender_add_own(json_t *document);

#endif
