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
/* Whether UTF-8 contains a control character (base/character.h). Text that is shown to other users
 * must not. */
bool string_has_control(const char *text);
/* The first one: "the character U+200B at position 5"; NULL: none. */
enum { CONTROL_WORDS_SIZE = 64 };
const char *string_tell_control(const char *text, char ret[CONTROL_WORDS_SIZE]);
bool string_is_blank(const char *text); /* blanks only, or empty */
/* Untrusted text, such as a program name, made safe for terminals and JSON: invalid UTF-8 and
 * control characters become '?'; text that does not fit is cut between characters. ret may be
 * bytes. */
void string_clean(char *ret, size_t size, const char *bytes, size_t length);
char *string_copy_clean(const char *words);
/* Lines of it, made safe in the same way: newlines and tabs stay. */
void text_add_clean(struct text *text, const char *words);
/* A name of a job, queue, pool ...: 1 to max bytes of letters, digits and "._-+@", not first '-'.
 */
bool string_is_name(const char *string, size_t max);

/* The candidate nearest to word (edit distance, at most a third of its length and one), or NULL.
 * candidates ends with NULL. */
const char *string_nearest(const char *word, const char *const *candidates);

#endif
