/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_DRA_SEMVER_H
#define ENGINE_KUBE_DRA_SEMVER_H

/* semver - the order of versions such as "12.4.0-rc.1+build"
 *
 * Source: Semantic Versioning 2.0.0, sections 2, 9 to 11
 * Limits: numbers up to INT64_MAX
 */

#include <stdbool.h>
#include <stdint.h>

struct semver {
    int64_t parts[3];
    const char *pre; /* after '-', points into the text; "": none */
    int pre_length;
};

/* False: it is no version. The text must outlive ret. */
bool semver_parse(const char *text, struct semver *ret);
/* -1, 0, 1; what follows '+' does not count. */
int semver_compare(const struct semver *a, const struct semver *b);

#endif
