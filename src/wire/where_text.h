/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_WHERE_TEXT_H
#define WIRE_WHERE_TEXT_H

/* where_text - conditions (core/job/where.h) in documents: a text, or a list of texts */

#include "core/job/where.h"
#include "wire/reader.h"

/* Add those of a key. On failure the list has part of them. */
int where_read(const struct reader *reader, const json_t *object, const char *key, where_list *ret);

/* A text for each condition; new. */
json_t *where_to_json(const struct where_term *terms, uint32_t count);

#endif
