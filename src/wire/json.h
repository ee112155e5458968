/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JSON_H
#define WIRE_JSON_H

/* json - untrusted JSON text into values, within limits
 *
 * Refused, with the line and column: text that is not UTF-8, a key given twice, a NUL in a string,
 * more than JSON_DEPTH_MAX levels, more than size_max bytes, anything after the value.
 */

#include <jansson.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

enum { JSON_DEPTH_MAX = 64, JSON_SIZE_MAX = 16 << 20, JSON_ASSIGN_KEYS_MAX = 16 };

/* AUTO(json) json_t *document = ...; */
static inline void json_destroy(json_t *value)
{
    json_decref(value);
}
static inline void json_auto_destroy(json_t **value)
{
    json_decref(*value);
}

/* What text that is JSON has in it, found without a parser. */
struct json_measure {
    size_t depth, values, containers; /* values: at most */
};
struct json_measure json_measure(const char *text, size_t length);

/* source may be NULL: errors then begin with "line L, column C". Any value is allowed at the top.
 */
int json_parse(const char *text, size_t length, size_t size_max, const char *source,
               json_t **ret_value, struct error *err);

/* The value as compact JSON, as the API gives it. */
void json_add(const json_t *value, struct text *out);

/* The value for a terminal, with jansson's flags: control and invisible characters, which
 * other users may have chosen, are \uXXXX. A program that reads it gets the same strings. */
void json_add_visible(const json_t *value, size_t flags, struct text *out);
void json_print(const json_t *value, size_t flags); /* to standard output, with a newline */

/* "a,b" as a list; new. NULL: none. */
json_t *json_names(const char *names);

/* A wall time as ISO 8601 in UTC with milliseconds; new. */
json_t *json_time(usec_t wall);
void json_time_add(usec_t wall, struct text *out);

/* "backfill.depth=4": a value, in YAML, into an object, by keys that lead there; objects that are
 * not there are made. Fails with -EINVAL and "--set backfill.depth=4: ...". */
int json_assign(json_t *object, const char *assignment, struct error *err);

#endif
