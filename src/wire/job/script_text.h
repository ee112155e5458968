/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SCRIPT_TEXT_H
#define WIRE_JOB_SCRIPT_TEXT_H

/* script_text - a script in JSON, byte for byte
 *
 * A script in UTF-8 is the key `script`. Any other, such as one with comments in Latin-1, is the
 * key `script_bytes`: each of its characters, U+0001 to U+00FF, is one byte.
 */

#include <jansson.h>
#include <stddef.h>

/* Neither has a NUL in it. */
void script_text_put(json_t *object, const char *script, size_t length);
/* The bytes of script_bytes; NULL: a character is none. New. */
char *script_text_decode(const char *text);

#endif
