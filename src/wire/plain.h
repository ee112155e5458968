/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_PLAIN_H
#define WIRE_PLAIN_H

/* plain - what a word without quotes in YAML means, and the spelling of numbers
 *
 * 3.10 may be a version, 7e10 a commit: only the reader of a key knows. A word becomes a number,
 * true or false where that is written as the word is; otherwise it stays a string with its text,
 * and those who expect a number ask plain_read().
 */

#include <jansson.h>

enum { NUMBER_SPELL_SIZE = 64 };

/* The value of a plain scalar that stands for exactly this text: new. NULL: a string. */
json_t *plain_parse(const char *text);

/* What a value means to those who expect a number, true or false: of the string "1.50", "0x1F" or
 * "True" that, of everything else (also "1.5" and "true") the value itself. A new reference. */
json_t *plain_read(const json_t *value);

/* A number in its shortest spelling that reads back the same; buffer of NUMBER_SPELL_SIZE. */
const char *number_spell(const json_t *number, char *buffer);

#endif
