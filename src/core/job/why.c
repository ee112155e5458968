/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/why.h"

#include "base/compiler.h"

#define WHY(ID, name, meaning) { name, meaning },
static const struct {
    const char *name, *meaning;
} reasons[] = {
#include "core/job/why.def"
};

DEFINE_WORDS(why, enum why_kind, reasons)
