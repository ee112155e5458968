/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_TEXT_H
#define WORLDS_FUZZ_TEXT_H

/* fuzz_text - a record as a line that a person can read and change, and back
 *
 *   record := (NAME '=' value)*          value := NUMBER | 'TEXT' | '{' record '}' | '[' ('{'
 * record
 * '}')* ']'
 *
 * Goes by the record tables (base/record.h), so that a new event or a new field needs nothing here.
 * What is zero or empty is not written. Texts have no quotes in them. At most 64 in a list.
 */

#include "base/record.h"

void fuzz_text_put(const struct record_type *type, const void *object, struct text *out);

/* Fills *object, which is zero; texts live in arena. Moves *at to the end of the record: a '}' or
 * the end of the text. Fails with -EBADMSG: "queue: 'wieght': no such field". */
int fuzz_text_get(const struct record_type *type, const char **at, struct arena *arena,
                  void *object, struct error *err);

#endif
