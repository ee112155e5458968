/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/why.h"

#include "base/compiler.h"

#define WHY(ID, name, meaning) { name, meaning },
static const struct {
    const char *name, *meaning;
} reasons[] = {
#include "core/job/why.def"
};

const char *why_name(enum why_kind kind)
{
    return (size_t)kind < COUNT_OF(reasons) ? reasons[kind].name : "unknown";
}

const char *why_meaning(enum why_kind kind)
{
    return (size_t)kind < COUNT_OF(reasons) ? reasons[kind].meaning : "";
}
