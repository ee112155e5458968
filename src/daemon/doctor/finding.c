/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/doctor/finding.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

#include "wire/json.h"

static bool any_bad;
static json_t *report; /* NULL: people read it */

void findings_begin(bool is_json)
{
    report = is_json ? json_array() : NULL;
}

void finding_say(enum grade grade, const char *what, const char *format, ...)
{
    static const char *const marks[] = { "ok  ", "note", "BAD " };
    static const char *const names[] = { "ok", "note", "bad" };
    char words[1024];
    va_list args;

    any_bad |= grade == GRADE_BAD;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    if (report)
        json_array_append_new(report, json_pack("{s:s, s:s, s:s}", "grade", names[grade], "what",
                                                what, "text", words));
    else
        printf("%s  %-10s %s\n", marks[grade], what, words);
}

bool findings_end(void)
{
    if (report) {
        json_print(report, JSON_INDENT(2));
        json_decref(report);
    }
    return !any_bad;
}
