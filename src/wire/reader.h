/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_READER_H
#define WIRE_READER_H

/* reader - takes typed values out of a document's objects, and says where one is wrong
 *
 * Errors are "SOURCE:LINE: WHERE: KEY: words"; what is not known of these is left out. A key that
 * is absent or null is no failure: the ret_ parameter is left as it was.
 *
 * Owner:  a reader points to what it was given; what the functions give points into the document,
 *         except where they say that it is new
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/units.h"
#include "wire/plain.h"
#include "wire/yaml.h"

enum { READER_WHERE_SIZE = 128, READER_SCALAR_SIZE = NUMBER_SPELL_SIZE };

struct reader {
    const char *source;             /* NULL: no place in errors */
    const struct yaml_lines *lines; /* NULL: no lines */
    char where[READER_WHERE_SIZE];  /* "stage train", "" */
    struct error *err;
};

/* Report a failure about a key of an object (key may be NULL: about the object). */
int reader_fail(const struct reader *reader, int code, const json_t *object, const char *key,
                const char *format, ...) PRINTF(5, 6);

/* Put the place before words that a parser of a value has put into err. */
int reader_place(const struct reader *reader, int code, const json_t *object, const char *key);
/* The same with the key's line but not its name, where the words begin with it already. */
int reader_place_line(const struct reader *reader, int code, const json_t *object, const char *key);
/* The same with the line of an element of a list. */
int reader_place_item(const struct reader *reader, int code, const json_t *array, size_t index);

/* "a map", "a list", "a string", "a number", "true or false", "nothing"; NULL is nothing */
const char *reader_kind(const json_t *value);

/* "; did you mean 'needs'?", or "" when nothing is near. */
const char *reader_suggest(const char *word, const char *const *known, char *buffer, size_t size);

/* Whether object is one, and has no other keys than these (NULL-terminated). */
int reader_check_keys(const struct reader *reader, const json_t *object, const char *const *known);

/* The value, or NULL when it is absent or null. */
const json_t *reader_get(const json_t *object, const char *key);

int reader_string(const struct reader *reader, const json_t *object, const char *key,
                  size_t length_max, const char **ret);
int reader_name(const struct reader *reader, const json_t *object, const char *key,
                const char **ret);
/* A string that other users are shown, without control characters (base/character.h). */
int reader_line(const struct reader *reader, const json_t *object, const char *key,
                size_t length_max, const char **ret);
int reader_check_line(const struct reader *reader, const json_t *object, const char *key,
                      const char *text);
int reader_bool(const struct reader *reader, const json_t *object, const char *key, bool *ret);
int reader_integer(const struct reader *reader, const json_t *object, const char *key, int64_t min,
                   int64_t max, int64_t *ret);
int reader_duration(const struct reader *reader, const json_t *object, const char *key,
                    usec_t *ret);
/* One of the words (NULL-terminated): its index. */
int reader_word(const struct reader *reader, const json_t *object, const char *key,
                const char *const *words, size_t *ret);

/* A string or number as text. ret_text points to buffer (READER_SCALAR_SIZE) or into the
 * document; it is NULL when the key is absent. expected completes "expected ...". */
int reader_scalar(const struct reader *reader, const json_t *object, const char *key,
                  const char *expected, char *buffer, const char **ret_text);

/* Amounts of GPUs with three decimals. */
int reader_milli(const struct reader *reader, const json_t *object, const char *key,
                 int64_t max_milli, int64_t *ret);

/* A list of names, or one: new, NULL-terminated, also when the key is absent. Each once. */
int reader_names(const struct reader *reader, const json_t *object, const char *key,
                 size_t count_max, char ***ret, size_t *ret_count);

/* A number that may have decimals. */
int reader_real(const struct reader *reader, const json_t *object, const char *key, double min,
                double max, double *ret);

/* The same reader for another place: "queue research". */
struct reader reader_at(const struct reader *reader, const char *format, ...) PRINTF(2, 3);
/* The same reader for the map that a key of its object has. */
struct reader reader_inside(const struct reader *reader, const char *key);

/* The name of an environment variable or a parameter: 1 to max of these letters, no digit first. */
extern const char variable_letters[];
bool variable_is_valid(const char *name, size_t max);
/* A string, a number or true or false as the text of a variable; buffer as of number_spell(). NULL:
 * something else. */
const char *variable_text(const json_t *value, char *buffer);

/* string_is_name() of at most 63 bytes, and neither "." nor "..": it may be a directory. */
bool name_is_valid(const char *name);

char **string_list_copy(char *const *strings);
void string_list_destroy(char **strings); /* NULL-terminated; NULL is fine */

#endif
