/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/label.h"

#include <stddef.h>

#include "base/text.h"

bool label_is_builtin(const char *key)
{
    static const char *const keys[] = { "node", "rack", "block", "type",
                                        "spot", "model", "kind", NULL };

    return string_is_in(key, keys);
}
