/* SPDX-License-Identifier: Apache-2.0 */
#include "api/when.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static bool is_time(const struct tm *parts)
{
    return parts->tm_hour >= 0 && parts->tm_hour < 24 && parts->tm_min >= 0 && parts->tm_min < 60 &&
           parts->tm_sec >= 0 && parts->tm_sec < 60;
}

int when_parse(const char *text, usec_t now, usec_t *ret, struct error *err)
{
    time_t seconds = (time_t)(now / USEC_PER_SEC);
    struct tm parts, today;
    int end = 0;

    localtime_r(&seconds, &today);
    parts = today;
    parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
    bool is_clock = sscanf(text, "%2d:%2d%n:%2d%n", &parts.tm_hour, &parts.tm_min, &end,
                           &parts.tm_sec, &end) >= 2;
    if (!is_clock) {
        int count =
            sscanf(text, "%4d-%2d-%2d%n%*1[T ]%2d:%2d%n:%2d%n", &parts.tm_year, &parts.tm_mon,
                   &parts.tm_mday, &end, &parts.tm_hour, &parts.tm_min, &end, &parts.tm_sec, &end);
        if (count < 3)
            end = 0;
        parts.tm_year -= 1900;
        parts.tm_mon -= 1;
    }
    if (end == 0 || text[end] != '\0' || !is_time(&parts))
        return error_set(err, -EINVAL, "begin '%.40s': expected one like 14:30 or 2030-01-31T08:00",
                         text);

    parts.tm_isdst = -1;
    time_t wanted = mktime(&parts);
    if (wanted != (time_t)-1 && is_clock && wanted <= seconds) {
        parts.tm_mday++;
        parts.tm_isdst = -1;
        wanted = mktime(&parts);
    }
    if (wanted == (time_t)-1 || wanted > seconds + (time_t)10 * 366 * 86400)
        return error_set(err, -EINVAL, "begin '%.40s': not within ten years", text);
    *ret = (usec_t)wanted * USEC_PER_SEC;
    return 0;
}
