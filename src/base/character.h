/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CHARACTER_H
#define BASE_CHARACTER_H

/* character - one character of UTF-8, and whether a person sees it
 *
 * A terminal or a browser acts on control characters, or shows nothing for them: with one of them,
 * two names that look the same differ. Joiners (ZWJ, ZWNJ, variation selectors) are part of the
 * words of some languages and of emoji: they are accepted behind a character from U+0600 on,
 * where the scripts begin that use them, and are control characters elsewhere.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes the character at s takes, or 0 when it is none. Limits are those of RFC 3629. */
size_t character_length(const char *s, size_t left);

/* The character at s, which is not empty, and its length; 0 and one byte: no UTF-8. */
uint32_t character_decode(const char *s, size_t left, size_t *ret_length);

/* before: the character before it in the same text, 0 at its beginning. */
bool character_is_control(uint32_t before, uint32_t c);
bool character_is_joiner(uint32_t c);
bool character_is_blank(uint32_t c);

#endif
