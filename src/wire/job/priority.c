/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/job/submission.h"

enum { PRIORITY_LOW = -100, PRIORITY_HIGH = 100 };

int priority_parse(const char *text, int32_t *ret, struct error *err)
{
    static const struct {
        const char *name;
        int32_t value;
    } names[] = { { "low", PRIORITY_LOW }, { "normal", 0 }, { "high", PRIORITY_HIGH } };
    char *end;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i].name, text) == 0) {
            *ret = names[i].value;
            return 0;
        }
    }
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < -SUBMISSION_PRIORITY_MAX || value > SUBMISSION_PRIORITY_MAX)
        return error_set(err, -EINVAL, "'%.40s', expected low, normal, high or -%d to %d", text,
                         SUBMISSION_PRIORITY_MAX, SUBMISSION_PRIORITY_MAX);
    *ret = (int32_t)value;
    return 0;
}
