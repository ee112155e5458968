/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/* text - a string that grows, for building replies, listings and records
 *
 * Order of calls:  TEXT_INIT or zeroed, (add | clear)*, release or text_take
 * Owner: the code that declares it; text_take() passes on the bytes
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct text {
    char *bytes;   /* always NUL-terminated once something was added */
    size_t length; /* without the NUL */
    size_t capacity;
};

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t length);
void text_add_char(struct text *text, char c);
void text_printf(struct text *text, const char *format, ...) PRINTF(2, 3);
void text_clear(struct text *text);   /* empty, memory kept */
void text_release(struct text *text); /* empty, memory given back */
char *text_take(struct text *text);   /* the bytes ("" when empty); the text is empty afterwards */
const char *text_string(const struct text *text); /* never NULL */

/* Small helpers on plain strings. */
bool string_equal(const char *a, const char *b); /* both may be NULL; NULL equals NULL only */
bool string_starts(const char *string, const char *prefix);
bool string_ends(const char *string, const char *end);
bool string_is_in(const char *string, const char *const *words); /* words ends with NULL */
bool string_is_utf8(const char *bytes, size_t length); /* no overlong forms, no surrogates */
/* A character on which a terminal acts instead of showing it: U+0000 to U+001F and U+007F to
 * U+009F, separators of lines, and what changes the direction of the text beside it. */
bool character_is_control(uint32_t c);
/* Whether UTF-8 contains a control character. Text that is shown to other users must not. */
bool string_has_control(const char *text);
/* Untrusted text, such as a program name, made safe for terminals and JSON: invalid UTF-8 and
 * control characters become '?'; text that does not fit is cut between characters. ret may be
 * bytes. */
void string_clean(char *ret, size_t size, const char *bytes, size_t length);
char *string_copy_clean(const char *words);
/* A name of a job, queue, pool ...: 1 to max bytes of letters, digits and "._-+@", not first '-'.
 */
bool string_is_name(const char *string, size_t max);

/* The candidate nearest to word (edit distance, at most a third of its length and one), or NULL.
 * candidates ends with NULL. */
const char *string_nearest(const char *word, const char *const *candidates);

#endif
