/* SPDX-License-Identifier: Apache-2.0 */
#include "control/when.h"

#include <errno.h>
#include <time.h>

#include "time/begin.h"

int when_parse(const char *what, const char *text, usec_t now, usec_t *ret, struct error *err)
{
    time_t seconds = (time_t)(now / USEC_PER_SEC);
    struct begin_fields fields;
    struct tm parts = { 0 };

    if (!begin_split(text, &fields))
        return error_set(err, -EINVAL, "%s '%.40s': expected one like 14:30 or 2030-01-31T08:00",
                         what, text);
    localtime_r(&seconds, &parts);
    if (fields.has_date) {
        parts.tm_year = fields.lacks_year ? parts.tm_year : fields.year - 1900;
        parts.tm_mon = fields.month - 1;
        parts.tm_mday = fields.day;
    }
    if (fields.is_relative)
        parts.tm_mday += fields.day;
    parts.tm_hour = fields.hour;
    parts.tm_min = fields.minute;
    parts.tm_sec = fields.second;
    parts.tm_isdst = -1;
    time_t wanted = mktime(&parts);
    if (wanted != (time_t)-1 && !fields.has_date && !fields.is_relative && wanted <= seconds) {
        parts.tm_mday++;
        parts.tm_isdst = -1;
        wanted = mktime(&parts);
    }
    if (fields.lacks_year && wanted <= seconds) {
        parts.tm_year++;
        parts.tm_isdst = -1;
        wanted = mktime(&parts);
    }
    if (fields.has_date && parts.tm_mday != fields.day)
        return error_set(err, -EINVAL, "%s '%.40s': the year has no such day", what, text);
    if (wanted == (time_t)-1 || wanted > seconds + (time_t)10 * 366 * 86400)
        return error_set(err, -EINVAL, "%s '%.40s': not within ten years", what, text);
    *ret = (usec_t)wanted * USEC_PER_SEC;
    return 0;
}
