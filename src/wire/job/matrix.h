/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_MATRIX_H
#define WIRE_JOB_MATRIX_H

/* matrix - the combinations of a stage's parameters, and their values in texts
 *
 * Combinations are counted in key order, the last key changing fastest. ${name} stands for a
 * value only where name is a key of the matrix; every other $ is the shell's.
 *
 * Order of calls:  matrix_read, (the rest)*, matrix_release
 * Limits:          MATRIX_AXES_MAX keys, combinations_max in all, MATRIX_VALUE_MAX bytes a value
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "wire/reader.h"

enum {
    MATRIX_AXES_MAX = 16,
    MATRIX_NAME_MAX = 32,
    MATRIX_VALUE_MAX = 256,
    MATRIX_DIRECTORY_MAX = 200,
};

struct matrix {
    struct matrix_axis *axes;
    size_t axis_count;
    size_t count; /* of combinations; 1 without a matrix */
};

/* Whether a name is a variable that the text may well mean: then it is no misspelt key. */
typedef bool matrix_known_fn(void *user, const char *name);

/* Key "matrix" of object. An absent one gives the one empty combination. */
int matrix_read(const struct reader *reader, const json_t *object, size_t combinations_max,
                struct matrix *ret);
void matrix_release(struct matrix *matrix);

/* "lr=0.1 seed=1", new; NULL without a matrix. */
char *matrix_combination(const struct matrix *matrix, size_t index);
/* "lr=0.1,seed=1", a safe file name, another for each combination; new, NULL without a matrix. */
char *matrix_directory(const struct matrix *matrix, size_t index);

/* Add text with the values of a combination. Fails at a name that is nearly a key's. */
int matrix_substitute(const struct matrix *matrix, size_t index, const char *text,
                      matrix_known_fn *is_known, void *user, struct text *ret_text,
                      struct error *err);

#endif
