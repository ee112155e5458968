/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FIELDS_H
#define CLI_FIELDS_H

/* fields - typed values from the API's replies, with defaults
 *
 * A value that is absent, null or of another type reads as "", 0, false, FIELD_ABSENT (a duration)
 * or 0 (a time). Texts point into the reply.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/text.h"
#include "base/units.h"

#define FIELD_ABSENT ((usec_t)-1)

/* A string for people; "" if it is none. Other users wrote some of them: control characters that a
 * terminal would obey become '?' in the value itself. */
const char *value_text(const json_t *value);
const char *field_text(const json_t *object, const char *key);
int64_t field_number(const json_t *object, const char *key);
double field_real(const json_t *object, const char *key);
int64_t field_milli(const json_t *object, const char *key); /* rounded */
bool field_is_true(const json_t *object, const char *key);
bool field_is_null(const json_t *object, const char *key); /* or absent */
usec_t field_seconds(const json_t *object, const char *key);
time_t field_time(const json_t *object, const char *key);
usec_t field_wall(const json_t *object, const char *key); /* to the millisecond */

/* "4m12s", or "" if it is absent. Returns buffer, which has UNITS_TEXT_SIZE bytes. */
const char *field_duration(const json_t *object, const char *key, char *buffer);

usec_t clock_read(clockid_t which);

/* A local time: "14:20", "Tue 14:20", "2026-11-20 14:20". */
enum { CLOCK_SIZE = 32 };
const char *clock_format(char *buffer, time_t when);

/* An array of numbers as "0-3" or "4,7". */
void numbers_format(const json_t *array, struct text *text);

/* A model name as people write it: "H100" for "h100". */
void upper_add(const char *string, struct text *text);

#endif
