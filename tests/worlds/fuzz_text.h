/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_TEXT_H
#define WORLDS_FUZZ_TEXT_H

/* fuzz_text - a record as a line that a person can read and change, and back
 *
 *   record := (NAME '=' value)*
 *   value  := NUMBER | 'TEXT' | '{' record '}' | '[' ('{' record '}')* ']'
 *
 * It uses the record tables (base/record.h), so that a new event or field needs no code here. Zero
 * and empty values are omitted. Texts contain no quotes. A list has at most 64 items.
 */

#include "base/record.h"

void fuzz_text_put(const struct record_type *type, const void *object, struct text *out);

/* Fills *object, which is zero; texts live in arena. Moves *at to the end of the record: a '}' or
 * the end of the text. Fails with -EBADMSG: "queue: 'wieght': no such field". */
int fuzz_text_get(const struct record_type *type, const char **at, struct arena *arena,
                  void *object, struct error *err);

#endif
