/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CALENDAR_READ_H
#define WIRE_CONFIG_CALENDAR_READ_H

/* calendar_read - a calendar as the value of a key of a document
 *
 * The value is a string, a list of strings, or an object with `during` and `except`, each a string
 * or a list. Errors read "SOURCE:LINE: window NAME: text". ret is NULL when the key is absent.
 */

#include "time/calendar.h"
#include "wire/reader.h"

int calendar_read(const struct reader *reader, const json_t *object, const char *key,
                  const char *name, struct calendar **ret);

#endif
