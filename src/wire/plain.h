/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_PLAIN_H
#define WIRE_PLAIN_H

/* plain - what a word without quotes in YAML means, and the spelling of numbers
 */

#include <jansson.h>

enum { NUMBER_SPELL_SIZE = 64 };

/* The value of a plain scalar that is no string: new; or NULL. */
json_t *plain_parse(const char *text);

/* A number in its shortest spelling that reads back the same; buffer of NUMBER_SPELL_SIZE. */
const char *number_spell(const json_t *number, char *buffer);

#endif
