/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_PATTERN_H
#define WIRE_JOB_PATTERN_H

/* pattern - file names with %-letters, as Slurm has them
 *
 *   %j job number      %A number of the array (or the job)   %a array index (0 when it is none)
 *   %x job name        %u user                               %t rank
 *   %N node            %% a percent sign                 %s step; of a step, %J is %j.%s
 *
 * A number between % and the letter pads numbers with zeros: %4a. What a value has of '/' becomes
 * '_', so that a name can't lead elsewhere.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

struct pattern_values {
    uint64_t job;
    uint64_t array; /* 0: not an array */
    uint32_t index;
    uint32_t rank;
    const uint64_t *step; /* NULL: not a step */
    const char *name;     /* never NULL, as the next two */
    const char *user;
    const char *node;
};

/* Fails with "'%q': ..." and the letters there are; text is unchanged then. */
int pattern_expand(const char *pattern, const struct pattern_values *values, struct text *text,
                   struct error *err);
int pattern_check(const char *pattern, struct error *err);

/* Whether each member or task has a file of its own. */
bool pattern_has_rank(const char *pattern);

#endif
